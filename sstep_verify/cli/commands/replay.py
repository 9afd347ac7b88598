"""``sstep-verify replay``: judge an artefact again, without the solver and without its data set."""

from __future__ import annotations

import json
import sys

import click


@click.command("replay")
@click.argument("artefact", type=click.Path(), metavar="ARTEFACT")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def command(artefact, as_json):
    """Judge an artefact again, offline.

    ARTEFACT is a folder that a report holds under artefacts/: the problem, the index stream and the runs
    on which a check said FAIL or INCONCLUSIVE. No solver is run. The verdict is made anew and compared
    with the stored one.

    Exit codes: 0 no FAIL; 1 FAIL; 2 the artefact is incomplete or was changed; 3 inconclusive; 4 another
    verdict than the stored one.
    """
    from threadpoolctl import threadpool_limits

    from sstep_verify.campaign.artefact import read_artefact
    from sstep_verify.campaign.artefact_replay import rejudge

    kept = read_artefact(artefact)
    with threadpool_limits(1):
        rejudged = rejudge(kept)
    if as_json:
        _print_json(kept, rejudged)
    else:
        _print_lines(kept, rejudged)
    sys.exit(rejudged.exit_code)


def _print_json(kept, rejudged) -> None:
    from sstep_verify.reporting.plain import plain

    document = {
        "check": kept.check,
        "case": kept.case.id,
        "s": kept.s,
        "stored_version": kept.version,
        "stored": kept.verdicts,
        "verdicts": [verdict.as_dict() for verdict in rejudged.verdicts],
        "disagreements": rejudged.disagreements,
        "differences": rejudged.differences,
        "run": kept.case.replay_command,
        "exit_code": rejudged.exit_code,
    }
    click.echo(json.dumps(plain(document), indent=1, ensure_ascii=False))


def _print_lines(kept, rejudged) -> None:
    for verdict in rejudged.verdicts:
        _show(verdict)
    stored = ", ".join(str(verdict["status"]) for verdict in kept.verdicts)
    click.echo(f"stored verdict (version {kept.version}): {stored}; {_agreement(rejudged)}")
    for line in (*rejudged.disagreements, *rejudged.differences):
        click.echo(f"  {line}")
    click.echo(f"with the solver: {kept.case.replay_command or 'no command was kept'}")


def _show(verdict) -> None:
    click.echo(f"{verdict.status} {verdict.check} on {verdict.case}, s = {verdict.s}, b = {verdict.block}")
    click.echo(
        f"  ratio {verdict.ratio:.6g} = measured {verdict.measured:.6g} / bound {verdict.bound:.6g} "
        f"({verdict.units}); {verdict.executed} of {verdict.planned} comparisons"
    )
    for term in verdict.terms:
        reason = f": {term.reason}" if term.reason else ""
        seen = "visible" if term.seen else "not visible"
        click.echo(f"  {term.name}: {seen}, detection limit {term.detection_limit:.3g}{reason}")
    click.echo(f"  {verdict.reason}")


def _agreement(rejudged) -> str:
    if rejudged.disagreements:
        return "the new verdict DISAGREES"
    if rejudged.differences:
        return "the new verdict agrees, with other numbers (another machine, library or version)"
    return "the new verdict agrees in every number"
