"""Write portable test vectors, or prove them again: ``python -m sstep_verify.vectors``."""

from __future__ import annotations

import json
import sys

import click
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from sstep_verify.errors import InputError, counted, visible
from sstep_verify.files.streams import open_standard_streams
from sstep_verify.vectors.layout import MOST_VECTORS, write_vectors
from sstep_verify.vectors.record import VectorError
from sstep_verify.vectors.verify import verify_vectors

COUNT = 240
"""Vectors that are written where no number is given."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--verify", is_flag=True, help="Prove the vectors of DIR again, then stop.")
@click.option(
    "--count", type=click.IntRange(1, MOST_VECTORS), help=f"How many are written.  [default: {COUNT}]"
)
@click.option("--force", is_flag=True, help="Replace vectors that are there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def command(folder, verify, count, force, as_json):
    """Write test vectors into DIR, for solvers in any language, or prove those of DIR again.

    A vector is a folder: a small problem, the coordinates drawn, s, a0, the exact a at every window end
    with proof, how far a correct solver in float64 or float32 may be from it, and the mistakes it
    shows. README.md in DIR says how to use them without Python. The same vectors are written every time.

    Exit codes: 0 written, or all proved again; 1 --verify rejects them, and the file at fault is named;
    2 usage or input error.
    """
    try:
        if verify and (count is not None or force):
            raise InputError("--verify writes nothing: leave out --count and --force")
        with threadpool_limits(1), tqdm(unit=" vectors", leave=False, disable=None) as bar:
            if verify:
                line, document = _proved(folder, bar.update)
            else:
                bar.total = count or COUNT
                made = len(write_vectors(folder, bar.total, force, bar.update))
                document = {"vectors": made, "folder": str(folder)}
                vectors = f"{made} vector{'s' * (made > 1)}"
                line = f"{vectors} written to {folder}; README.md there says how to use them"
    except VectorError as error:
        if as_json:
            click.echo(json.dumps({"proved": False, "where": error.where, "reason": str(error)}))
        click.echo(visible(f"{folder}: {error}"), err=True)
        sys.exit(1)
    except (InputError, OSError) as error:
        raise click.UsageError(visible(str(error))) from error
    click.echo(json.dumps(document) if as_json else visible(line))


def _proved(folder, done) -> tuple[str, dict[str, object]]:
    """What is said of vectors that were proved again: in words, and as plain values."""
    index = verify_vectors(folder, done)
    flags = sorted({flag for entry in index.vectors for flag in entry.flags})
    proved, shown = counted(len(index.vectors), "vector"), counted(len(flags), "kind")
    line = f"{proved} proved again, which show {shown} of defects"
    return line, {"proved": True, "vectors": len(index.vectors), "flags": flags}


if __name__ == "__main__":
    open_standard_streams()
    command(prog_name="python -m sstep_verify.vectors")
