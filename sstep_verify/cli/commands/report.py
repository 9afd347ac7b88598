"""What is written already: ``report`` makes a report anew, ``statement`` reads one or proves it anew."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from sstep_verify.cli.options import folder_option, jobs_option, processors
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
    """Make a report anew from its RESULTS.json; nothing is run.

    A report that is in the folder is replaced as a whole. The artefacts beside RESULTS.json stay with it.
    """
    from sstep_verify.report.results import load
    from sstep_verify.report.write import ARTEFACTS, write_report

    document = load(results)  # Before its folder is looked at: a wrong name is said to be one.
    if xfails is not None:
        if out is not None:
            raise InputError("--xfails writes a list in the place of a report: leave out --out")
        _list_failures(document, xfails)
        return
    source = Path(results).resolve().parent
    click.echo(str(write_report(document, out or source, source / ARTEFACTS)))


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


@click.command("statement")
@click.argument("folder", type=click.Path(), metavar="FOLDER")
@click.option("--verify", is_flag=True, help="Judge the recorded runs again, and compare every field.")
@folder_option
@jobs_option()
def statement(folder, verify, directory, jobs):
    """Read the statement in FOLDER that an author publishes of a solver, or prove it anew.

    A statement is made by ``sstep-verify check ... --statement FOLDER``: it says which sentences of the
    specification passed, failed or could not be seen, for which s and on how many ranks, beside the
    results of the check and its recorded runs. --verify judges these runs again, offline, and runs no
    solver.

    Exit codes: 0 read, or proved anew, whatever it says of the solver; 1 refused, and the field is named;
    2 usage or input error.
    """
    from sstep_verify.campaign.statement.verify import StatementError, prove_statement, read_statement
    from sstep_verify.cli.work import of_problems

    try:
        if verify:
            with of_problems() as progress:
                found, differences = prove_statement(folder, directory, jobs or processors(), progress)
        else:
            found, differences = read_statement(folder)[0], []
    except StatementError as error:
        click.echo(f"{folder}: {error}", err=True)
        sys.exit(1)
    for line in (*_lines(found), *differences):
        click.echo(line)
    click.echo(
        _PROVED
        if verify
        else f"not proved yet: {shlex.join(['sstep-verify', 'statement', folder, '--verify'])}"
    )


_PROVED = (
    "proved anew: the recorded runs give every verdict that is stated. That this solver made them, and in "
    "this environment, is its author's word"
)

OUTCOMES_IN_WORDS = {"failed": "failed, or one of several that a FAIL may break"}
"""Outcomes of a sentence that a word alone would say too much of."""


def _lines(found) -> list[str]:
    """What is stated, in plain words."""
    counts: dict[str, list[str]] = {}
    for one in found.sentences:
        counts.setdefault(one.outcome, []).append(one.number)
    ranks = ", ".join(map(str, found.asked.selection.ranks))
    lines = [
        f"{found.solver.name}: {found.outcome} by specification {found.specification}, profile "
        f"{found.asked.profile}, P = {ranks}",
        ", ".join(found.right),
        *(
            f"{OUTCOMES_IN_WORDS.get(outcome, outcome)}: {counted(len(numbers), 'sentence')}"
            + (f" ({', '.join(numbers)})" if outcome in ("failed", "inconclusive", "vacuous") else "")
            for outcome, numbers in counts.items()
        ),
    ]
    for name, words in (
        ("worst_ratio", "largest measured / bound"),
        ("worst_detection_limit", "largest detection limit"),
    ):
        if worst := getattr(found, name):
            shown = "infinite" if worst.value is None else f"{worst.value:g}"
            lines.append(f"{words}: {shown} ({worst.check}, {worst.case}, s = {worst.s})")
    return lines
