"""``sstep-verify run``: run a campaign, write its report, say what it showed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click


@click.command("run")
@click.argument("campaign", default="embedded", metavar="[NAME|FILE.toml]")
@click.option("--data", "directory", type=click.Path(), help="Folder with the data sets in LIBSVM format.")
@click.option("--out", type=click.Path(), help="Folder of the report  [default: sstep-verify-out/NAME]")
@click.option("--only", default="", metavar="TEXT", help="Run only the cases whose id contains TEXT.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes  [default: one per core]")
@click.option("--list", "list_cases", is_flag=True, help="List the ids of the cases and stop.")
def command(campaign, directory, out, only, jobs, list_cases):
    """Run a campaign and write its report.

    Shipped campaigns: embedded (default; needs no download) and paper (the paper's convergence
    experiments). Any other is a TOML file. The last line printed is the report's folder.
    """
    from sstep_verify.campaign.definition import read_definition
    from sstep_verify.campaign.expand import expand

    definition = read_definition(campaign)
    if list_cases:
        for group in expand(definition, only):
            for spec in group.specs:
                click.echo(spec.id)
        return
    from sstep_verify.errors import require
    from sstep_verify.reporting import check_destination

    require("flint", "exact")
    folder = check_destination(out or Path("sstep-verify-out") / definition.name)
    results = _run(definition, directory, only, jobs or os.cpu_count() or 1)
    _finish(results, folder)


def _run(definition, directory, only, jobs):
    from threadpoolctl import threadpool_limits
    from tqdm import tqdm

    from sstep_verify.campaign.runner import Plan, run_campaign

    with tqdm(unit="problem", disable=None, leave=False) as bar, threadpool_limits(1):

        def progress(done: int, planned: int, case: str) -> None:
            bar.total = planned
            bar.set_postfix_str(case, refresh=False)
            bar.update(done - bar.n)

        plan = Plan(definition, directory, only, jobs, ("sstep-verify", *sys.argv[1:]))
        return run_campaign(plan, progress)


def _finish(results, folder) -> None:
    from sstep_verify.reporting import write_report

    written = write_report(results, folder)
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
    click.echo(str(written.folder))
    sys.exit(summary.exit_code)
