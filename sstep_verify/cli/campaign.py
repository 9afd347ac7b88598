"""Running a campaign for a command: its folder, progress, report, what it showed, and the exit code."""

from __future__ import annotations

import itertools
import shlex
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path

import click

from sstep_verify.cli.options import jobs_option, processors, with_options


def campaign_options(folder: str, seed: str) -> Callable[[Callable], Callable]:
    """Decorate a command with what is run of a campaign, how, and where the report goes.

    Unless one is named that is `folder` in ``sstep-verify-out``; `seed` says what --seed is for.
    """
    options = (
        click.option("--only", default="", metavar="TEXT", help="Run only the cases that TEXT selects."),
        click.option("--list", "list_cases", is_flag=True, help="List the ids of the cases and stop."),
        click.option(
            "--seed", type=click.IntRange(0, 2**32 - 1), metavar="N",
            help=seed,
        ),
        click.option(
            "--xfails", type=click.Path(), metavar="FILE",
            help="Failures that are expected; `report --xfails` writes such a list.",
        ),
        jobs_option("; always 1 where a problem is run on several ranks"),
        click.option(
            "--out", type=click.Path(), metavar="FOLDER",
            help=f"Folder of the report  [default: sstep-verify-out/{folder}, with --only {folder}-part]",
        ),
        click.option("--resume", is_flag=True, help="Keep what an interrupted run had finished; go on."),
        click.option("--force", is_flag=True, help="Discard what an interrupted run had finished."),
    )  # fmt: skip

    return with_options(*options)


@dataclass(frozen=True)
class Asked:
    """Options of a run, see ``sstep-verify run --help``."""

    directory: str | None = None
    out: str | None = None
    only: str = ""
    jobs: int | None = None
    shard: str = ""
    others: tuple[str, ...] = ()
    resume: bool = False
    force: bool = False
    list_cases: bool = False
    xfails: str | None = None
    seed: int | None = None
    draws: bool = False
    """Whether a seed is drawn where none is given."""
    keeps: bool = True
    """Whether an interrupted run leaves what it finished, for --resume."""

    @classmethod
    def of(cls, given, **more):
        """Those among the values of a command's options, and more."""
        return cls(**{item.name: given[item.name] for item in fields(cls) if item.name in given} | more)


def judge(definition, asked: Asked, statement: str | None = None) -> None:
    """Run a campaign, write its report or shard, say what it showed, and end with its exit code.

    InputError if options, data or parameters cannot be used, or the `statement` that ``check`` asks for, in
    a folder, cannot be made.
    """
    from sstep_verify.campaign.model import Plan
    from sstep_verify.campaign.partial import Partial
    from sstep_verify.campaign.pool import ending
    from sstep_verify.campaign.read import units_of
    from sstep_verify.campaign.run import Shard, run_campaign
    from sstep_verify.cli.work import ended_by, of_problems
    from sstep_verify.errors import InputError
    from sstep_verify.files import Output, check
    from sstep_verify.ranks.environment import promised_size
    from sstep_verify.report.write import check_destination

    if (size := promised_size()) > 1:
        raise InputError(
            f"one process runs a campaign, but a launcher has started {size} processes: leave it out, and "
            "take --jobs N for more of them here, or --shard I/N for a job array"
        )
    if asked.resume and asked.force:
        raise InputError(
            "--resume keeps what an interrupted run had finished, --force discards it: name one"
        )
    if asked.out is not None:
        check(Output("--out", asked.out, replace=True, folder=True))
    part, others = Shard.parse(asked.shard) if asked.shard else None, [Path(one) for one in asked.others]
    units = units_of(definition, asked.only)
    if asked.list_cases:
        for case in dict.fromkeys(case for unit in units for case in unit.cases or unit.keys):
            click.echo(case)
        return
    definition = _expecting(definition, asked, units)
    # One MPI job at a time: ranks that wait keep a core busy.
    jobs = 1 if any(unit.ranks > 1 for unit in units) else asked.jobs or processors()
    command = ("sstep-verify", *sys.argv[1:])
    plan = Plan(
        definition, asked.directory, asked.only, jobs, command, say=_say, announce=click.echo, shard=part,
        runs=statement is not None,
    )  # fmt: skip
    name = f"{definition.name}-part" if asked.only else definition.name
    if part:
        folder = Path(asked.out or Path("sstep-verify-out") / f"{name}.shard-{part.index}-of-{part.count}")
        partial = Partial(folder, asked.resume, _say, force=asked.force, stays=True, others=others)
    else:
        folder = check_destination(asked.out or Path("sstep-verify-out") / name)
        if statement is not None:
            from sstep_verify.campaign.statement.files import check_place, state

            check_place(statement, folder)
        beside = folder.with_name(f"{folder.name}.partial" if asked.keeps else f".{folder.name}.judged")
        forced = asked.force or not asked.keeps
        partial = Partial(beside, asked.resume, _say, force=forced, keeps=asked.keeps, others=others)
    hung_up = [signal.SIGHUP] if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN else []
    try:
        plan = _seeded(plan, asked, partial)
        definition = plan.definition
        with ended_by(ending, signal.SIGTERM, *hung_up), of_problems() as progress:
            results = run_campaign(replace(plan, partial=partial, artefacts=partial.artefacts), progress)
        if part:
            written = None
        else:
            artefacts = partial.artefacts_for_report()
            refused = None
            if statement is not None:
                refused = state(statement, definition, asked.only, results, artefacts)
            written = write_carefully(results, folder, artefacts)
            if written:
                partial.reported(tried=not results.summary.interrupted and results.summary.exit_code != 4)
    finally:
        partial.close()
    if part:
        finish_shard(results, folder)
    if refused and results.summary.exit_code == 0:
        raise refused
    if refused:
        click.echo(f"no statement was written: {refused}", err=True)
    finish(results, written, asked.out or folder)


def _expecting(definition, asked, units):
    """The campaign with the failures that are expected of the cases that are run."""
    if not asked.xfails:
        return definition
    from sstep_verify.campaign.read import units_of
    from sstep_verify.campaign.summary import read_expected
    from sstep_verify.errors import InputError

    if definition.kind != "family" or asked.shard:
        raise InputError("--xfails is for whole runs of campaigns with verdicts")
    every = {key for unit in units_of(definition) for key in unit.keys}
    planned = {key for unit in units for key in unit.keys}
    known = read_expected(asked.xfails, every)
    return replace(definition, expected=tuple(one for one in known if one.id in planned))


def _seeded(plan, asked: Asked, partial):
    """The plan with further s: from the seed given, that of the run which is resumed, or one drawn anew."""
    seed = asked.seed
    if seed is None and asked.resume and (asked.draws or asked.others):
        seed = partial.seed()
    if seed is None and not asked.draws:
        return plan
    from sstep_verify.campaign import profile

    seed = profile.new_seed() if seed is None else seed
    definition = profile.with_further_s(plan.definition, seed)
    if definition.seed is None:
        return plan
    if asked.seed is None:
        _say(f"seed {seed}, from which further s are drawn: --seed {seed} draws the same")
    given = () if asked.seed is not None else ("--seed", str(seed))
    return replace(plan, definition=definition, command=(*plan.command, *given))


def _say(line: str) -> None:
    from tqdm import tqdm

    tqdm.write(line, file=sys.stderr)


def write_carefully(results, folder: Path, artefacts: Path):
    """Write the report, unless it would put less in the place of a whole one; None if it does not.

    After an interruption a whole report stays, and so does any if nothing was finished. Where internal
    errors left a run without some of its problems, a whole report is moved aside.
    """
    from sstep_verify.report.write import write_report

    whole = _is_whole(folder)
    if results.summary.interrupted and (whole or results.is_empty):
        return None
    if whole and (results.summary.exit_code == 4 or results.is_empty):
        places = (folder.with_name(f"{folder.name}.previous-{k}") for k in itertools.count(1))
        aside = next(place for place in places if not place.exists())
        folder.rename(aside)
        _say(
            f"the report that was in {folder} is in {aside} now, as this run has not finished every problem"
        )
    return write_report(results, folder, artefacts)


def _is_whole(folder: Path) -> bool:
    """Whether there is a report of a run that was not interrupted."""
    import json

    try:
        summary = json.loads((folder / "results.json").read_text("utf-8"))["summary"]
        return not summary["interrupted"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return folder.exists()  # What cannot be read is not ours to replace by less.


def finish(results, written, named: str | Path) -> None:
    """Say what was shown, and end with its exit code.

    `written` is the folder of the report, None if an interruption has left things as they were; `named` is
    it as its user named it, for commands that work where the user stands.
    """
    from sstep_verify.report.case import PREDICTED

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
    if results.against_classical:
        from sstep_verify.report.stability import stability_sentence

        click.echo(stability_sentence(results))
    if summary.power:
        click.echo(summary.power)
    click.echo(str(written))
    sys.exit(summary.exit_code)


def _tell_errors(results) -> None:
    from sstep_verify.campaign.model import DISAGREEMENT, INTERNAL, REFUSED

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
