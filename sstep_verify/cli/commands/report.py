"""``report`` makes a report again from its results, or lists what failed."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from sstep_verify.errors import InputError, counted
from sstep_verify.files import Output, check, write_text


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
def report(results, out, xfails):
    """Rebuild a report from its RESULTS.json; nothing is run.

    A report that is in the folder is replaced as a whole. Artefacts and kept runs next to RESULTS.json stay
    with it.
    """
    from sstep_verify.campaign.kept import copy_runs
    from sstep_verify.report.results import load
    from sstep_verify.report.write import ARTEFACTS, RUNS, write_report

    document = load(results)  # Before its folder is looked at: a wrong name is said to be one.
    if xfails is not None:
        if out is not None:
            raise InputError("--xfails writes a list instead of a report: leave out --out")
        _list_failures(document, xfails)
        return
    source = Path(results).resolve().parent
    keep = partial(copy_runs, source / RUNS) if (source / RUNS).is_dir() else None
    click.echo(str(write_report(document, out or source, source / ARTEFACTS, keep=keep)))


def _list_failures(document, path) -> None:
    """Write what failed as a list of expected failures, with the reasons that a list there gives."""
    from sstep_verify.campaign.summary import UNFILLED, expected_text, planned_ids, read_expected

    target = check(Output("--xfails", path, replace=True))
    known = read_expected(target, planned_ids(document)) if target.exists() else ()
    text = expected_text(document, known)
    write_text(target, text)
    lacking = text.count(UNFILLED)
    todo = f"; {lacking} without a reason: write it there" if lacking else ""
    click.echo(f"{path}: {counted(text.count('[[expected]]'), 'failure')}{todo}")
