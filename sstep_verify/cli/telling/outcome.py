"""What a campaign that has been run showed, said on the terminal, and the exit code."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click


def finish(results, written, named: str | Path) -> None:
    """Say what was shown, and end with its exit code.

    Parameters
    ----------
    results : Results
        The document.
    written : Path or None
        Folder of its report; None if an interruption has left things as they were.
    named : str or Path
        The report's folder as its user named it, for commands that work where the user stands.
    """
    from sstep_verify.reporting.case import PREDICTED
    from sstep_verify.reporting.stability import stability_sentence

    summary = results.summary
    click.echo(f"{results.campaign.name}: {summary.sentence}")
    for line in (line for part in results.studies.values() for line in part.broken):
        click.echo(f"  {line}")
    for case in results.cases:
        if case.status not in ("PASS", PREDICTED):
            click.echo(f"  {case.status} {case.id}: {case.reason}")
            for line in _again(results.verdicts_of(case.id), case.status, Path(named)):
                click.echo(f"    {line}")
    _tell_errors(results)
    if written is None:
        kept = "no problem was finished" if results.is_empty else "go on with --resume"
        click.echo(f"interrupted; no report was written to {named}: {kept}", err=True)
        sys.exit(summary.exit_code)
    if summary.steps:
        click.echo(f"judged {summary.steps_judged} of {summary.steps} steps")
    if told := stability_sentence(results):
        click.echo(told)
    if summary.power:
        click.echo(summary.power)
    click.echo(str(written))
    sys.exit(summary.exit_code)


def _tell_errors(results) -> None:
    from sstep_verify.campaign.messages import DISAGREEMENT, INTERNAL, REFUSED

    for word, kinds in ((REFUSED, (REFUSED,)), (INTERNAL, (INTERNAL, DISAGREEMENT))):
        for error in results.campaign.errors(*kinds):
            click.echo(f"{word}: {error}", err=True)


def _again(verdicts, status: str, folder: Path) -> list[str]:
    """Commands that judge the first unsettled verdict of a case again, and that run its solver again."""
    verdict = next((one for one in verdicts if one["status"] == status), None)
    if verdict is None or status == "VACUOUS":
        return []
    *words, last = shlex.split(verdict["replay"])
    if words[1:] != ["explain", "--again"]:
        return [f"run it again: {verdict['replay']}"]
    lines = [f"judge it again: {shlex.join([*words, str(folder / last)])}"]
    again = verdict["evidence"].get("run again")
    return [*lines, f"run it again: {again}"] if again else lines


def finish_shard(results, folder: Path) -> None:
    """Say what a shard showed and where it is, and end with its exit code."""
    summary = results.summary
    click.echo(f"{results.campaign.name}, shard {results.campaign.parameters['shard']}: {summary.sentence}")
    _tell_errors(results)
    click.echo(str(folder.resolve()))
    sys.exit(summary.exit_code)
