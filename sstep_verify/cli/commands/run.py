"""``sstep-verify run``: run a campaign, write its report, say what it showed."""

from __future__ import annotations

import inspect
import itertools
import os
import shlex
import sys
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path

import click

from sstep_verify.campaign.shipped import shipped
from sstep_verify.cli.options.completion import campaigns, complete
from sstep_verify.cli.options.expected import expected_options, expecting, write_expected

INTERRUPTED = 130
"""Exit code after Ctrl-C where no report was written."""


def _help() -> str:
    titles = {
        name: tomllib.loads(file.read_text("utf-8"))["campaign"]["title"]
        for name, file in shipped().items()
    }
    width = max(map(len, titles))
    listed = "\n".join(f"      {name:<{width}}  {title}" for name, title in titles.items())
    return inspect.cleandoc(f"""Run a campaign and write its report.

    Shipped campaigns, embedded by default; any other is a TOML file:

    \b
{listed}

    The last line printed is the report's folder.

    An id names data, kernel with its parameters, task, and C or lambda, such as duke/rbf,sigma=1/svm-l1/C=1
    (see --list). TEXT selects the case that has it as its whole id; else all whose id contains it, where a
    number that TEXT begins or ends with must be whole: C=1 does not select C=100, C=1.5 or C=1e-05.

    The problems have no bias term, as in the paper. bias = 1.0 in a family of a campaign file appends a
    constant feature to its data, as -B does in LIBLINEAR (linear and polynomial kernels).

    Finished problems are kept in OUT.partial until the report is complete. After an interruption
    --resume takes them from there, if campaign file, data and versions are the same, and runs the rest.

    Under mpiexec the ranks above 0 run the problems. --shard I/N runs a part in a folder of its own, for
    job arrays; sstep-verify merge makes one report of all parts.
    """)


@click.command("run", help=_help())
@click.argument(
    "campaign", default="embedded", metavar="[NAME|FILE.toml]", shell_complete=complete(campaigns)
)
@click.option("--data", "directory", type=click.Path(), help="Folder with the data sets in LIBSVM format.")
@click.option(
    "--out",
    type=click.Path(),
    help="Folder of the report  [default: sstep-verify-out/NAME, with --only NAME-part]",
)
@click.option("--only", default="", metavar="TEXT", help="Run only the cases that TEXT selects.")
@click.option("--jobs", type=click.IntRange(min=1, max=1024), help="Processes  [default: one per core]")
@click.option("--shard", default="", metavar="I/N", help="Run the I-th of N parts, to be merged.")
@click.option("--resume", is_flag=True, help="Go on with an interrupted run: keep what it had finished.")
@click.option("--force", is_flag=True, help="Discard what an interrupted run had finished.")
@click.option("--list", "list_cases", is_flag=True, help="List the ids of the cases and stop.")
@expected_options
def command(**options):
    """Run a campaign, on the ranks of a job if this is one."""
    from sstep_verify.campaign.definition import read_definition
    from sstep_verify.errors import InputError, MissingExtraError
    from sstep_verify.launch.environment import is_silent_rank, promised_size

    campaign, asked = options.pop("campaign"), Asked(**options)
    if promised_size() == 1 or asked.list_cases:
        if not is_silent_rank():
            judge(read_definition(campaign), asked)
        return
    from sstep_verify.campaign.loop.ranks import executor_of_job

    try:
        with executor_of_job() as executor:
            if executor is not None:
                judge(read_definition(campaign), asked, executor)
    except (InputError, MissingExtraError):
        if is_silent_rank():
            sys.exit(2)
        raise


@dataclass(frozen=True)
class Asked:
    """Options of a run, see ``sstep-verify run --help``."""

    directory: str | None = None
    out: str | None = None
    only: str = ""
    jobs: int | None = None
    shard: str = ""
    resume: bool = False
    force: bool = False
    list_cases: bool = False
    xfails: str | None = None
    write_xfails: str | None = None


def judge(definition, asked: Asked, executor=None, state=None) -> None:
    """Run a campaign, write its report or shard, say what it showed, and end with its exit code.

    Parameters
    ----------
    definition : Definition
        The campaign.
    asked : Asked
        The options.
    executor : Executor, optional
        The ranks above 0 of a job.
    state : callable, optional
        Given the results and the folder with all recorded runs, writes a statement; for ``check``.

    Raises
    ------
    InputError
        If options, data or parameters cannot be used.
    """
    from sstep_verify.campaign.loop.partial import Partial
    from sstep_verify.campaign.loop.run import Plan
    from sstep_verify.campaign.loop.shards import Shard
    from sstep_verify.campaign.statement.files import stated
    from sstep_verify.errors import InputError, require
    from sstep_verify.reporting import check_destination

    if asked.resume and asked.force:
        raise InputError(
            "--resume keeps what an interrupted run had finished, --force discards it: name one"
        )
    part = Shard.parse(asked.shard) if asked.shard else None
    plan = Plan(
        definition,
        asked.directory,
        asked.only,
        executor.num_workers if executor else asked.jobs or os.cpu_count() or 1,
        ("sstep-verify", *sys.argv[1:]),
        say=_say,
        shard=part,
        executor=executor,
    )
    units = plan.units()
    if asked.list_cases:
        for case in dict.fromkeys(case for unit in units for case in unit.cases or unit.keys):
            click.echo(case)
        return
    require("flint", "exact")
    definition = expecting(definition, asked, units)
    plan = replace(plan, definition=definition, runs=state is not None)
    if not executor and any(unit.ranks > 1 for unit in units):
        plan = replace(plan, jobs=1)  # One MPI job at a time: ranks that wait keep a core busy.
    name = f"{definition.name}-part" if asked.only else definition.name
    if part:
        folder = Path(asked.out or Path("sstep-verify-out") / f"{name}.shard-{part.index}-of-{part.count}")
        partial = Partial(folder, asked.resume, _say, force=asked.force, stays=True)
    else:
        folder = check_destination(asked.out or Path("sstep-verify-out") / name)
        partial = Partial(folder.with_name(f"{folder.name}.partial"), asked.resume, _say, force=asked.force)
    try:
        results = _run(replace(plan, partial=partial, artefacts=partial.artefacts))
        if part:
            written = None
        else:
            artefacts = partial.artefacts_for_report()
            refused = stated(state, results, artefacts) if state else None
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
    write_expected(asked.write_xfails, results, definition)
    finish(results, written, asked.out or folder)


def _say(line: str) -> None:
    from tqdm import tqdm

    tqdm.write(line, file=sys.stderr)


def _run(plan):
    from threadpoolctl import threadpool_limits
    from tqdm import tqdm

    from sstep_verify.campaign.loop.run import run_campaign
    from sstep_verify.cli.telling.spaced_lines import SpacedLines

    form = "{l_bar}{bar}| {n:.1f} of {total_fmt} [{elapsed} so far, {remaining} left]{postfix}"
    with tqdm(bar_format=form, disable=None, leave=False) as bar, threadpool_limits(1):
        lines = SpacedLines(bar.disable)

        def progress(done: float, planned: int, case: str) -> None:
            lines.say(f"{done:.1f} of {planned} problems, {case}", done / planned)
            bar.total = planned
            bar.set_postfix_str(case, refresh=False)
            bar.update(done - bar.n)

        return run_campaign(plan, progress)


def write_carefully(results, folder: Path, artefacts: Path):
    """Write the report, unless it would put less in the place of a whole one; None if it does not.

    After an interruption a whole report stays, and so does any if nothing was finished. Where internal
    errors left a run without some of its problems, a whole report is moved aside.
    """
    from sstep_verify.reporting import write_report

    whole = _is_whole(folder)
    if results.summary.interrupted and (whole or not results.cases):
        return None
    if whole and (results.summary.exit_code == 4 or not results.cases):
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

    Parameters
    ----------
    results : Results
        The document.
    written : Written or None
        Its report; None if an interruption has left things as they were.
    named : str or Path
        The report's folder as its user named it, for commands that work where the user stands.
    """
    summary = results.summary
    click.echo(f"{results.campaign.name}: {summary.sentence}")
    for case in results.cases:
        if case.status != "PASS":
            click.echo(f"  {case.status} {case.id}: {case.reason}")
            for line in _again(results.verdicts_of(case.id), case.status, Path(named)):
                click.echo(f"    {line}")
    for note in results.campaign.notes:
        if note.startswith(("internal error", "not judged")):
            click.echo(note, err=True)
    if written is None:
        kept = "go on with --resume" if results.cases else "no problem was finished"
        click.echo(f"interrupted; no report was written to {named}: {kept}", err=True)
        sys.exit(INTERRUPTED)
    for message in written.messages:
        click.echo(message, err=True)
    if summary.steps:
        click.echo(f"judged {summary.steps_judged} of {summary.steps} steps")
    click.echo(str(written.folder))
    sys.exit(summary.exit_code)


def _again(verdicts, status: str, folder: Path) -> list[str]:
    """Commands that judge the first unsettled verdict of a case again, and that run its solver again."""
    verdict = next((one for one in verdicts if one["status"] == status), None)
    if verdict is None or status == "VACUOUS":
        return []
    *words, last = shlex.split(verdict["replay"])
    if words[1:] != ["replay"]:
        return [f"run it again: {verdict['replay']}"]
    lines = [f"judge it again: {shlex.join([*words, str(folder / last)])}"]
    again = verdict["evidence"].get("run again")
    return [*lines, f"run it again: {again}"] if again else lines


def finish_shard(results, folder: Path) -> None:
    """Say what a shard showed and where it is, and end with its exit code."""
    summary = results.summary
    click.echo(f"{results.campaign.name}, shard {results.campaign.parameters['shard']}: {summary.sentence}")
    for note in results.campaign.notes:
        if note.startswith(("internal error", "not judged")):
            click.echo(note, err=True)
    click.echo(str(folder.resolve()))
    sys.exit(INTERRUPTED if summary.interrupted else summary.exit_code)
