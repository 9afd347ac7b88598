"""``sstep-verify vectors``: write portable test vectors, or prove them anew."""

from __future__ import annotations

import json
import sys

import click

COUNT = 240
"""Vectors that are written where no number is given."""


@click.command("vectors")
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option("--verify", is_flag=True, help="Prove the vectors of DIR anew, then stop.")
@click.option("--count", type=click.IntRange(1, 999), help=f"How many are written.  [default: {COUNT}]")
@click.option("--force", is_flag=True, help="Replace vectors that are there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def command(folder, verify, count, force, as_json):
    """Write test vectors into DIR, for solvers in any language, or prove those of DIR anew.

    A vector is a folder: a small problem, the coordinates drawn, s, a0, the exact a at every window end
    with proof, how far a correct solver in float64 or float32 may be from it, and the mistakes it
    shows. README.md in DIR says how to use them without Python. The same vectors are written every time.

    Exit codes: 0 written, or all proved anew; 1 --verify refuses them, and the file at fault is named;
    2 usage or input error.
    """
    from threadpoolctl import threadpool_limits

    from sstep_verify.errors import InputError

    if verify and (count is not None or force):
        raise InputError("vectors: --verify writes nothing: leave out --count and --force")
    with threadpool_limits(1):
        if verify:
            _verify(folder, as_json)
        else:
            _write(folder, count or COUNT, force, as_json)


def _write(folder, count, force, as_json) -> None:
    from tqdm import tqdm

    from sstep_verify.vectors.layout import write_vectors

    with tqdm(total=count, unit=" vectors", leave=False, disable=None) as bar:
        entries = write_vectors(folder, count, force, bar.update)
    if as_json:
        click.echo(json.dumps({"vectors": len(entries), "folder": str(folder)}))
    else:
        vectors = f"{len(entries)} vector{'s' * (len(entries) > 1)}"
        click.echo(f"{vectors} written to {folder}; README.md there says how to use them")


def _verify(folder, as_json) -> None:
    from tqdm import tqdm

    from sstep_verify.vectors.record import VectorError
    from sstep_verify.vectors.verify import verify_vectors

    try:
        with tqdm(unit=" vectors", leave=False, disable=None) as bar:
            index = verify_vectors(folder, bar.update)
    except VectorError as error:
        if as_json:
            click.echo(json.dumps({"proved": False, "where": error.where, "reason": str(error)}))
        click.echo(f"{folder}: {error}", err=True)
        sys.exit(1)
    flags = {flag for entry in index.vectors for flag in entry.flags}
    if as_json:
        click.echo(json.dumps({"proved": True, "vectors": len(index.vectors), "flags": sorted(flags)}))
    else:
        click.echo(
            f"{len(index.vectors)} vectors proved anew; they show {len(flags)} kinds of mistakes of solvers"
        )
