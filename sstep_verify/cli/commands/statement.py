"""``sstep-verify statement``: read what a solver's author states, or prove it anew."""

from __future__ import annotations

import sys

import click

from sstep_verify.cli.options import folder_option, jobs_option, processors


@click.command("statement")
@click.argument("file", type=click.Path(), metavar="FILE")
@click.option("--verify", is_flag=True, help="Judge the recorded runs again, and compare every field.")
@folder_option
@jobs_option
def command(file, verify, directory, jobs):
    """Read the statement FILE that an author publishes of a solver, or prove it anew.

    A statement is made by ``sstep-verify check ... --statement FILE``: FILE says which sentences of the
    specification passed, failed or could not be seen, for which s and on how many ranks; the folder
    beside it holds the recorded runs. --verify judges these runs again, offline, and runs no solver.

    Exit codes: 0 read, or proved anew, whatever it says of the solver; 1 refused, and the field is named;
    2 usage or input error.
    """
    from sstep_verify.campaign.statement.verify import StatementError, prove_statement, read_statement
    from sstep_verify.cli.progress import of_problems

    try:
        if verify:
            with of_problems() as progress:
                statement, differences = prove_statement(file, directory, jobs or processors(), progress)
        else:
            statement, differences = read_statement(file), []
    except StatementError as error:
        click.echo(f"{file}: {error}", err=True)
        sys.exit(1)
    for line in (*_lines(statement), *differences):
        click.echo(line)
    click.echo(_PROVED if verify else f"not proved yet: sstep-verify statement {file} --verify")


_PROVED = (
    "proved anew: the recorded runs give every verdict that is stated. That this solver made them, and in "
    "this environment, is its author's word"
)


def _lines(statement) -> list[str]:
    """What is stated, in plain words."""
    from sstep_verify.campaign.statement.files import right_words

    counts: dict[str, list[str]] = {}
    for one in statement.sentences:
        counts.setdefault(one.outcome, []).append(one.number)
    ranks = ", ".join(map(str, statement.asked.selection.ranks))
    lines = [
        f"{statement.solver.name}: {statement.outcome} by specification {statement.specification}, profile "
        f"{statement.asked.profile}, P = {ranks}",
        ", ".join(right_words(statement)),
        *(
            f"{outcome}: {len(numbers)} sentences"
            + (f" ({', '.join(numbers)})" if outcome in ("failed", "inconclusive", "vacuous") else "")
            for outcome, numbers in counts.items()
        ),
    ]
    for name, words in (
        ("worst_ratio", "largest measured / bound"),
        ("worst_detection_limit", "largest detection limit"),
    ):
        if worst := getattr(statement, name):
            shown = "infinite" if worst.value is None else f"{worst.value:g}"
            lines.append(f"{words}: {shown} ({worst.check}, {worst.case}, s = {worst.s})")
    return lines
