"""Files that are read whole, and paths that are written: who writes there, and how it is put in place.

What is read are regular files, none larger than its reader allows; `records` are those of TOML or JSON.

Whoever writes for the user claims its paths first::

    wanted = [Output("--out", "r.npz"), Output("--predictions", "p.txt", replace=True)]
    with claim(wanted, inputs=[("DATA", "data")]) as (result, predictions):
        write_whole(result, lambda handle: handle.write(content))

A claimed path is a regular file (or a folder) or absent, is none of the inputs and none of the other
outputs, and belongs to this process until the end of the block. Links are followed: what a link names is
judged, locked and written, and the link stays. Everything is made under a temporary name next to its
target, ``.NAME.XXXXXXXX.partial``, and renamed, so that a reader finds all of it or what was there before.
What a killed process left behind is removed at the next claim of the same path; a lock on every temporary
file tells the dead from the living.
"""

from sstep_verify.files.claims import claim
from sstep_verify.files.paths import (
    MALFORMED_ARRAY,
    Output,
    check,
    folder_stem,
    open_regular,
    read_whole,
    shortened,
)
from sstep_verify.files.writing import csv_text, whole_folder, write_table, write_text, write_whole

__all__ = [
    "MALFORMED_ARRAY", "Output", "check", "claim", "csv_text", "folder_stem", "open_regular",
    "read_whole", "shortened", "whole_folder", "write_table", "write_text", "write_whole",
]  # fmt: skip
