"""Running a campaign for a command: its folder, progress, report, what it showed, and the exit code."""

from __future__ import annotations

import functools
import itertools
import shlex
import signal
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from sstep_verify.cli.options import ORACLES, jobs_option, processors, with_options
from sstep_verify.errors import InputError
from sstep_verify.files import Output, check

VACUOUS = (
    "VACUOUS: nothing could be compared on this problem, or its checks would have passed with a defect "
    "too. This shows nothing of the solver; take data on which a defect shows (docs/verdicts.md)"
)
"""What is said once of problems that are VACUOUS."""

VACUOUS_VECTOR = (
    "VACUOUS: a faulty vector would pass too, or an enclosure is too wide to decide. This shows nothing of "
    "the vector (docs/final-vector.md)"
)
"""The same of a vector that was handed over."""


def campaign_options(folder: str, seed: str) -> Callable[[Callable], Callable]:
    """Decorate a command with what is run of a campaign, how, and where the report goes.

    Unless one is named that is `folder` in ``sstep-verify-out``; `seed` says what --seed is for.
    """
    options = (
        click.option("--only", default="", metavar="TEXT", help="Run only the cases that TEXT selects."),
        click.option(
            "--oracle", type=click.Choice(ORACLES), default="arb", show_default=True,
            help="Exact values: balls of Arb, or mpmath at two precisions, m <= 200.",
        ),
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
        click.option("--keep-runs", is_flag=True, help="Keep the runs for `explain --again`."),
        click.option("--resume", is_flag=True, help="Keep what an interrupted run had finished; continue."),
        click.option("--force", is_flag=True, help="Discard what an interrupted run had finished."),
    )  # fmt: skip

    return with_options(*options)


def run_and_report(definition, given, *, draws: bool = False, keeps: bool = True) -> None:
    """Run a campaign, write its report, say what it showed, and end with its exit code.

    `given` are the options of a command by name, of which ``sstep-verify run`` has the most. Where it
    `draws`, the seed is the usual one unless one is given; an interrupted run that `keeps` leaves what it
    finished, for --resume. InputError if options, data or parameters cannot be used.
    """
    from sstep_verify.campaign.kept import keep_campaign
    from sstep_verify.campaign.model import Plan
    from sstep_verify.campaign.partial import Partial, kept_seed
    from sstep_verify.campaign.pool import ending
    from sstep_verify.campaign.profile import with_oracle
    from sstep_verify.campaign.read import units_of
    from sstep_verify.campaign.run import run_campaign
    from sstep_verify.cli.work import ended_by, of_problems
    from sstep_verify.ranks.environment import promised_size, size_variable
    from sstep_verify.report.write import RUNS, check_destination

    if (size := promised_size()) > 1:
        name = size_variable()
        raise InputError(
            f"one process runs a campaign, but a launcher has started {size} processes, as {name} in the "
            "environment says: leave it out, and take --jobs N for more of them; if there was none, unset "
            f"{name}"
        )
    out, only = given["out"], given.get("only", "")
    resume, force = given.get("resume", False), given.get("force", False)
    if resume and force:
        raise InputError(
            "--resume keeps what an interrupted run had finished, --force discards it: name one"
        )
    if out is not None:
        check(Output("--out", out, replace=True, folder=True))
    definition = with_oracle(definition, given.get("oracle", "arb"))
    name = f"{definition.name}-part" if only else definition.name
    partial_of = functools.partial(_partial_of, keeps=keeps)
    place = Path(out or Path("sstep-verify-out") / name)
    kept = kept_seed(partial_of(place)) if resume and draws else None
    definition, seed = _seeded(definition, given.get("seed"), kept, draws)
    units = units_of(definition, only)
    if given.get("list_cases"):
        for case in dict.fromkeys(case for unit in units for case in unit.cases or unit.keys):
            click.echo(case)
        return
    if given.get("xfails"):
        definition = _expecting(definition, given["xfails"], units)
    # One MPI job at a time: ranks that wait keep a core busy.
    jobs = 1 if any(unit.ranks > 1 for unit in units) else given.get("jobs") or processors()
    command = ("sstep-verify", *sys.argv[1:], *([] if seed is None else ["--seed", str(seed)]))
    remark = "" if seed is None else f"seed {seed} of all that is drawn; another --seed draws others"
    plan = Plan(definition, given.get("directory"), only, jobs, command, say=_say, announce=click.echo)
    plan = replace(plan, remark=remark)
    written: Path | None = None
    folder = check_destination(place)
    keep = bool(given.get("keep_runs"))
    if keep and definition.kind != "family":
        raise InputError("--keep-runs is for campaigns with verdicts on runs; leave it out")
    if (folder / RUNS).is_dir() and not resume:
        _say(f"{place}: this report replaces one with kept runs; name another --out to keep that")
    partial = Partial(partial_of(folder), resume, _say, force=force or not keeps, keeps=keeps)
    hung_up = [signal.SIGHUP] if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN else []
    try:
        with ended_by(ending, signal.SIGTERM, *hung_up), of_problems() as progress:
            plan = replace(plan, partial=partial, artefacts=partial.artefacts)
            plan = replace(plan, keep=partial.runs) if keep else plan
            results = run_campaign(plan, progress)
        unwritten = None
        try:
            saved = functools.partial(keep_campaign, plan, results) if keep else None
            written = write_carefully(results, folder, partial.artefacts, partial.named, saved)
        except InputError as error:
            unwritten = error
        if written:
            partial.reported(tried=not results.summary.interrupted and results.summary.exit_code != 4)
    finally:
        partial.close()
    there = partial_of(folder) if keeps and partial_of(folder).is_dir() else None
    finish(results, written, out or folder, there, unwritten)


def _expecting(definition, listed, units):
    """The campaign with the failures that a file lists as expected, of the cases that are run."""
    from sstep_verify.campaign.read import units_of
    from sstep_verify.campaign.summary import read_expected

    if definition.kind != "family":
        raise InputError("--xfails is for campaigns with verdicts")
    every = {key for unit in units_of(definition) for key in unit.keys}
    planned = {key for unit in units for key in unit.keys}
    known = read_expected(listed, every)
    return replace(definition, expected=tuple(one for one in known if one.id in planned))


def _partial_of(folder: Path, *, keeps: bool) -> Path:
    """Where finished problems are kept until the report in a folder is complete."""
    return folder.with_name(f"{folder.name}.partial" if keeps else f".{folder.name}.judged")


def _seeded(definition, given, kept, draws: bool):
    """The campaign with what is drawn from a seed, and the seed if the command did not name it.

    It is the one given, that of the run which is resumed, or where it `draws` the usual one.
    """
    from sstep_verify.campaign import profile

    seed = kept if given is None else given
    if seed is None and draws:
        seed = profile.SEED
    made = profile.seeded(definition, seed)
    return made, made.seed if given is None else None


def _say(line: str) -> None:
    from tqdm import tqdm

    tqdm.write(line, file=sys.stderr)


def write_carefully(results, folder: Path, artefacts: Path, names=None, keep=None):
    """Write the report, unless it would put less in place of a whole one; None if it does not.

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
    return write_report(results, folder, artefacts, names, keep)


def _is_whole(folder: Path) -> bool:
    """Whether there is a report of a run that was not interrupted."""
    import json

    try:
        summary = json.loads((folder / "results.json").read_text("utf-8"))["summary"]
        return not summary["interrupted"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return folder.exists()  # What cannot be read is not ours to replace by less.


def finish(
    results, written, named: str | Path, kept: Path | None = None, unwritten: InputError | None = None
) -> None:
    """Say what was shown, and end with its exit code.

    `written` is the folder of the report, None if there is none, and `named` as its user named it, for
    commands that work where the user stands. `kept` is the folder of what was finished, None if nothing is
    kept. Why the report is `unwritten` is raised when all else is said.
    """
    from sstep_verify.report.case import PREDICTED
    from sstep_verify.report.expected import EXPECTED, Expected

    summary = results.summary
    part = ", a part" * bool(results.campaign.parameters.get("only"))
    click.echo(f"{results.campaign.name}{part}: {summary.sentence}")
    for line in (line for part in results.studies.values() for line in part.broken):
        click.echo(f"  {line}")
    expected, vacuous = Expected.of(results), False
    further: dict[bool, str] = {}
    causes: dict[str, str] = {}
    for case in results.cases:
        if case.status not in ("PASS", PREDICTED):
            status = expected.status_of_case(case, results.verdicts_of(case.id))
            vacuous = vacuous or case.status == "VACUOUS"
            reason, *more = _reason(results, case).split("\n", 1)
            stands = _standing(results, case)
            click.echo(f"  {status} {case.id}: {reason}{_others(stands) if stands else ''}")
            for cause in more:  # What is said of an earlier problem is said once.
                first = causes.setdefault(cause, case.id)
                words = cause if first == case.id else f"What is said of {first} is said here too."
                click.echo(textwrap.indent(words, "    "))
            for line in _wider(results.verdicts_of(case.id)):
                click.echo(f"    {line}")
            if unforeseen := expected.unforeseen(results.verdicts_of(case.id)):
                click.echo(f"    not expected: {'; '.join(unforeseen)}")
            if words := _further(results, case, Path(named) if written else kept):
                further.setdefault(status == EXPECTED, words)
    if vacuous:
        click.echo(VACUOUS if any(case.of_runs for case in results.cases) else VACUOUS_VECTOR)
    if further:  # That of a failure which was expected where there is no other.
        click.echo(further[min(further)])
    _tell_errors(results)
    if unwritten and not summary.interrupted:
        raise unwritten
    if written is None:
        none = "no problem was finished" if results.is_empty else "nothing that was finished is kept"
        left = "continue with --resume" if kept else none
        click.echo(f"interrupted; no report was written to {named}: {left}", err=True)
        sys.exit(summary.exit_code)
    if summary.steps:
        from sstep_verify.report.answer import unseen
        from sstep_verify.report.plain import ungrouped

        click.echo(f"judged {summary.steps_judged} of {summary.steps} steps")
        click.echo(ungrouped(f"not looked at: {'; '.join(unseen(results))}"))
    if results.against_classical:
        from sstep_verify.report.stability import stability_sentence

        click.echo(stability_sentence(results))
    if summary.power:
        click.echo(summary.power)
    click.echo(str(written.resolve()))
    sys.exit(summary.exit_code)


def _wider(verdicts) -> list[str]:
    """What is said of final vectors that miss the optimum by little: what they reach, and the way out."""
    from sstep_verify.report.words import larger_tolerance, relative_of
    from sstep_verify.verdict import NoteKind

    said = []
    for notes in (one.get("notes", ()) for one in verdicts if one["status"] == "FAIL"):
        moved = any(note["kind"] == NoteKind.MOVED for note in notes)
        near = [note["detail"] for note in notes if note["kind"] == NoteKind.RELATIVE]
        said += [relative_of(*one, moved=moved) for one in near if larger_tolerance(*one)]
    return said


def _tell_errors(results) -> None:
    from sstep_verify.campaign.model import DISAGREEMENT, INTERNAL, REFUSED

    for word, kinds in ((REFUSED, (REFUSED,)), (INTERNAL, (INTERNAL, DISAGREEMENT))):
        for error in results.campaign.errors(*kinds):
            if error != results.summary.told:
                click.echo(f"{word}: {error}", err=True)


def _reason(results, case) -> str:
    """Why a case has its status: by a failure that was not expected, where there are both."""
    from sstep_verify.report.expected import Expected
    from sstep_verify.report.telling import record_of
    from sstep_verify.report.words import brief_of

    own = results.verdicts_of(case.id)
    stands = _standing(results, case) if Expected.of(results).unforeseen(own) else None
    if stands is None:
        return case.reason
    told = record_of(stands.verdict)
    return f"{told.check}, s = {told.s}: {brief_of(told)}"


def _further(results, case, folder: Path | None) -> str:
    """The command that explains the verdict that stands for a case; else the one that runs it again.

    Artefacts lie in the `folder`; None if they are kept nowhere. Empty of a case that is VACUOUS.
    """
    stands = _standing(results, case)
    if stands is None or not stands.verdict["replay"]:
        return ""
    verdict = stands.verdict
    program, *words, last = shlex.split(verdict["replay"])
    if words != ["explain", "--again"]:
        return f"run {case.id} again: {verdict['replay']}"
    if folder is None:
        return f"run {case.id} again: {verdict['evidence'].get('run_again', 'no command was kept')}"
    return f"more: {shlex.join([program, 'explain', str(folder / last)])}"


def _others(stands) -> str:
    """The other checks that end so at the s of what stands for a case, those that pass there, and those
    that end so at the first s, where that is a smaller one.
    """
    from sstep_verify.report.words import passed_in_words

    passed = passed_in_words(stands.verdict["check"], stands.passed)
    told = {"also": ", ".join(stands.others), "pass": passed}
    if (first := min(one["s"] for one in stands.wrong)) < stands.verdict["s"]:
        at_first = dict.fromkeys(one["check"] for one in stands.wrong if one["s"] == first)
        told[f"first at s = {first}"] = ", ".join(at_first)
    said = "; ".join(f"{name}: {checks}" for name, checks in told.items() if checks)
    return f" ({said})" if said else ""


def _standing(results, case):
    """What stands for a case, as on the page; None where it is VACUOUS."""
    from sstep_verify.report.expected import Expected
    from sstep_verify.report.telling import standing

    if case.status == "VACUOUS":
        return None
    return standing(results.verdicts_of(case.id), case.status, Expected.of(results))
