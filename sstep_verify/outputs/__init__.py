"""Output paths: whether a file or folder may be written, who is writing it, and how it is put in place.

Whoever writes for the user claims its paths first::

    wanted = [Output("--out", "r.npz"), Output("--predictions", "p.txt", replace=True)]
    with claim(wanted, inputs=[("DATA", "data")]) as (result, predictions):
        write_whole(result, lambda handle: handle.write(content))

A claimed path is a regular file (or a folder) or absent, is none of the inputs and none of the other
outputs, and belongs to this process until the end of the block. Links are followed: what a link names is
judged, locked and written, and the link stays. Everything is made under a temporary name beside its target,
``.NAME.XXXXXXXX.partial``, and renamed, so that a reader finds all of it or what was there before. What a
killed process left behind is removed at the next claim of the same path; a lock on every temporary file
tells the dead from the living.
"""

from sstep_verify.outputs.paths import Output, check, shortened
from sstep_verify.outputs.writing import claim, csv_text, whole_folder, write_table, write_text, write_whole

__all__ = [
    "Output", "check", "claim", "csv_text", "shortened", "whole_folder", "write_table", "write_text",
    "write_whole",
]  # fmt: skip
