"""``sstep-verify judge``: judge exported runs that were made elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from sstep_verify.cli.options.expected import expected_options


@click.command("judge")
@click.argument("folder", metavar="DIR", type=click.Path())
@click.option(
    "--out", type=click.Path(), help="Folder of the report  [default: sstep-verify-out/NAME-judged]"
)
@click.option(
    "--jobs", type=click.IntRange(min=1, max=1024), default=1, show_default=True, help="Processes."
)
@expected_options
def command(folder, out, jobs, xfails, write_xfails):
    """Judge the runs in DIR, which sstep-verify export wrote and its script solve.sh made.

    No program is started. Runs that are asked for only now, since they begin where others were, are written
    into DIR: start solve.sh again, which makes these alone, then judge again. A problem with a run that is
    not made, or not whole, is not judged, and that is said.

    The report, its last line and the exit codes are those of check.
    """
    from threadpoolctl import threadpool_limits

    from sstep_verify.campaign.batch.collect import StoredRuns, collect, unmade
    from sstep_verify.campaign.batch.manifest import RUNS, read_batch
    from sstep_verify.cli.running.campaign import Asked, judge

    place = Path(folder)
    before = read_batch(place)
    with threadpool_limits(1):
        batch = collect(before, place)
    if left := unmade(batch, place):
        new = len(batch.runs) - len(before.runs)
        click.echo(
            f"{len(left)} {'runs are' if len(left) > 1 else 'run is'} not made yet, {new} of them asked "
            f"for only now: sh {folder}/solve.sh makes what is missing; then judge again",
            err=True,
        )
    source = StoredRuns(str((place / RUNS).resolve()), batch.program)
    definition = batch.definition(source, place)
    # The report of check has the plain name, and what it keeps for --resume is not for us to take.
    out = out or Path("sstep-verify-out") / f"{definition.name}-judged"
    asked = Asked(
        out=out, only=batch.only, jobs=jobs, xfails=xfails, write_xfails=write_xfails, keeps=False
    )
    judge(definition, asked)
