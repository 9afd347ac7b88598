"""``sstep-verify run``: run a campaign, write its report, say what it showed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click


@click.command("run")
@click.argument("campaign", default="embedded", metavar="[NAME|FILE.toml]")
@click.option("--data", "directory", type=click.Path(), help="Folder with the data sets in LIBSVM format.")
@click.option(
    "--out",
    type=click.Path(),
    help="Folder of the report  [default: sstep-verify-out/NAME, with --only NAME-part]",
)
@click.option("--only", default="", metavar="TEXT", help="Run only the cases that TEXT selects.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes  [default: one per core]")
@click.option("--resume", is_flag=True, help="Go on with an interrupted run: keep what it had finished.")
@click.option("--list", "list_cases", is_flag=True, help="List the ids of the cases and stop.")
def command(campaign, directory, out, only, jobs, resume, list_cases):
    """Run a campaign and write its report.

    Shipped campaigns: embedded (default; needs no download), paper (the paper's convergence
    experiments), stability (errors of s-step against classical, over s and condition; needs no
    download) and certified (optima of the paper's problems, proved to 30 digits; runs no solver).
    Any other is a TOML file. The last line printed is the report's folder.

    An id names data, kernel with its parameters, task, and C or lambda, such as duke/rbf,sigma=1/svm-l1/C=1
    (see --list). TEXT selects the case that has it as its whole id; else all whose id contains it, where a
    number that TEXT begins or ends with must be whole: C=1 does not select C=100, C=1.5 or C=1e-05.

    The problems have no bias term, as in the paper. bias = 1.0 in a family of a campaign file appends a
    constant feature to its data, as -B does in LIBLINEAR (linear and polynomial kernels).

    Finished problems are kept in OUT.partial until the report is complete. After an interruption
    --resume takes them from there, if campaign file, data and versions are the same, and runs the rest.
    """
    from sstep_verify.campaign.definition import read_definition

    definition = read_definition(campaign)
    if list_cases:
        for case in _case_ids(definition, only):
            click.echo(case)
        return
    from sstep_verify.errors import InputError, require
    from sstep_verify.launch.environment import promised_size
    from sstep_verify.reporting import check_destination, write_report

    if (size := promised_size()) > 1:
        raise InputError(
            f"a launcher started {size} processes, but a campaign starts its own: run it without mpiexec"
        )
    require("flint", "exact")
    name = f"{definition.name}-part" if only else definition.name
    folder = check_destination(out or Path("sstep-verify-out") / name)
    partial = _partial(folder, resume)
    try:
        results = _run(definition, directory, only, jobs or os.cpu_count() or 1, partial)
        written = write_report(results, folder, partial.artefacts_for_report())
        partial.reported()
    finally:
        partial.close()
    _finish(results, written)


def _partial(folder: Path, resume: bool):
    from sstep_verify.campaign.partial import Partial

    return Partial(folder.with_name(f"{folder.name}.partial"), resume, _say)


def _say(line: str) -> None:
    from tqdm import tqdm

    tqdm.write(line, file=sys.stderr)


def _case_ids(definition, only) -> list[str]:
    if definition.scenarios:
        from sstep_verify.campaign.stability_definition import case_ids

        return case_ids(definition.scenarios, only)
    if definition.optima:
        from sstep_verify.campaign.certified_definition import optimum_units

        return [unit.case for unit in optimum_units(definition.optima, only)]
    from sstep_verify.campaign.expand import expand

    return [spec.id for group in expand(definition, only) for spec in group.specs]


def _run(definition, directory, only, jobs, partial):
    from threadpoolctl import threadpool_limits
    from tqdm import tqdm

    from sstep_verify.campaign.runner import Plan, run_campaign
    from sstep_verify.cli.spaced_lines import SpacedLines

    with tqdm(unit="problem", disable=None, leave=False) as bar, threadpool_limits(1):
        lines = SpacedLines(bar.disable)

        def progress(done: int, planned: int, case: str) -> None:
            lines.say(f"{done} of {planned} problems, {case}")
            bar.total = planned
            bar.set_postfix_str(case, refresh=False)
            bar.update(done - bar.n)

        if any(family.ranks > 1 for family in definition.families):
            jobs = 1  # One MPI job at a time: ranks that wait keep a core busy.
        command_line = ("sstep-verify", *sys.argv[1:])
        plan = Plan(definition, directory, only, jobs, command_line, partial.artefacts, partial, _say)
        if definition.scenarios:
            from sstep_verify.campaign.stability import run_stability

            return run_stability(plan, progress)
        if definition.optima:
            from sstep_verify.campaign.certified import run_certified

            return run_certified(plan, progress)
        return run_campaign(plan, progress)


def _finish(results, written) -> None:
    summary = results.summary
    click.echo(f"{results.campaign.name}: {summary.sentence}")
    for case in results.cases:
        if case.status != "PASS":
            click.echo(f"  {case.status} {case.id}: {case.reason}")
    for note in results.campaign.notes:
        if note.startswith("internal error"):
            click.echo(note, err=True)
    for message in written.messages:
        click.echo(message, err=True)
    if summary.steps:
        click.echo(f"judged {summary.steps_judged} of {summary.steps} steps")
    click.echo(str(written.folder))
    sys.exit(summary.exit_code)
