"""``sstep-verify merge``: one report of all shards of a campaign."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import click


@click.command("merge")
@click.argument("folders", nargs=-1, required=True, type=click.Path(), metavar="DIR...")
@click.option("--out", required=True, type=click.Path(), help="Folder of the report.")
def command(folders, out):
    """Make one report of what run --shard 1/N to N/N have left in the folders DIR.

    Verdict for verdict it is the report of an undivided run. Shards of different campaigns, versions,
    commits or data are refused, and so are missing, repeated, interrupted or damaged ones.

    Exit codes are those of run.
    """
    from sstep_verify.campaign.loop.merge import merge
    from sstep_verify.cli.running.campaign import write_carefully
    from sstep_verify.cli.telling.outcome import finish
    from sstep_verify.reporting import check_destination

    folder = check_destination(out)
    folder.parent.mkdir(parents=True, exist_ok=True)
    collected = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".partial", dir=folder.parent))
    try:
        results = merge(folders, collected, ("sstep-verify", *sys.argv[1:]))
        written = write_carefully(results, folder, collected)
    finally:
        shutil.rmtree(collected, ignore_errors=True)
    finish(results, written, out)
