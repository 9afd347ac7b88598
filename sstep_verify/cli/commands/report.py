"""``sstep-verify report``: make page, figures and tables anew from a results.json."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click


@click.command("report")
@click.argument("results", type=click.Path(), metavar="RESULTS.json")
@click.option(
    "--out", type=click.Path(), help="Folder of the report  [default: the one that holds RESULTS.json]"
)
def command(results, out):
    """Make a report anew from its RESULTS.json; nothing is run.

    A report that is in the folder is replaced as a whole. The artefacts beside RESULTS.json stay with it.
    """
    from sstep_verify.reporting import check_destination, load, write_report
    from sstep_verify.reporting.write import ARTEFACTS, copy_artefacts

    document = load(results)  # Before its folder is looked at: a wrong name is said to be one.
    source = Path(results).resolve().parent
    folder = check_destination(out or source)
    with tempfile.TemporaryDirectory() as place:
        copied = Path(place, ARTEFACTS)  # a copy: the old report stays whole until the new one is
        if os.path.lexists(source / ARTEFACTS):
            names = [name for name in sorted(os.listdir(source / ARTEFACTS)) if not name.startswith(".")]
            copy_artefacts(source / ARTEFACTS, copied, names)
        written = write_report(document, folder, copied)
    click.echo(str(written))
