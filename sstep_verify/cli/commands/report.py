"""``sstep-verify report``: make page, figures and tables anew from a results.json."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import click


@click.command("report")
@click.argument("results", type=click.Path(), metavar="RESULTS.json")
@click.option(
    "--out", type=click.Path(), metavar="FOLDER",
    help="Folder of the report  [default: the one that holds RESULTS.json]",
)  # fmt: skip
@click.option(
    "--xfails", type=click.Path(), metavar="FILE",
    help="Write no report, but what failed as a list for --xfails; reasons that FILE gives are kept.",
)  # fmt: skip
def command(results, out, xfails):
    """Make a report anew from its RESULTS.json; nothing is run.

    A report that is in the folder is replaced as a whole. The artefacts beside RESULTS.json stay with it.
    """
    from sstep_verify.errors import InputError
    from sstep_verify.report import check_destination, load, write_report
    from sstep_verify.report.write import ARTEFACTS, copy_artefacts

    document = load(results)  # Before its folder is looked at: a wrong name is said to be one.
    if xfails is not None:
        if out is not None:
            raise InputError("--xfails writes a list in the place of a report: leave out --out")
        _list_failures(document, xfails)
        return
    source = Path(results).resolve().parent
    folder = check_destination(out or source)
    with tempfile.TemporaryDirectory() as place:
        copied = Path(place, ARTEFACTS)  # a copy: the old report stays whole until the new one is
        if os.path.lexists(source / ARTEFACTS):
            names = [name for name in sorted(os.listdir(source / ARTEFACTS)) if not name.startswith(".")]
            copy_artefacts(source / ARTEFACTS, copied, names)
        written = write_report(document, folder, copied)
    click.echo(str(written))


def _list_failures(document, path) -> None:
    """Write what failed as a list of expected failures, with the reasons that a list there gives."""
    from sstep_verify.campaign.expected import expected_text, planned_ids, read_expected
    from sstep_verify.outputs import Output, check, write_text

    target = check(Output("--xfails", path, replace=True))
    known = read_expected(target, planned_ids(document)) if target.exists() else ()
    text = expected_text(document, known)
    write_text(target, text)
    click.echo(f"{path}: {text.count('[[expected]]')} failures; give each its reason")
