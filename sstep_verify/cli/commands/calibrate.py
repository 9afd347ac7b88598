"""``sstep-verify perf calibrate``: measure this machine for ``predict``."""

from __future__ import annotations

from pathlib import Path

import click

from sstep_verify.cli.options.problem import FORCE
from sstep_verify.cli.options.values import Numbers


@click.command("calibrate")
@click.argument("machine", metavar="FILE", type=click.Path(dir_okay=False))
@click.option(
    "--np", "ranks", type=Numbers(least=2, none=True), default="2", show_default=True, metavar="P,P,...",
    help="Numbers of ranks whose collectives are measured; none: one process alone.",
)  # fmt: skip
@click.option(
    "--seconds", type=click.FloatRange(0.01, 10), default=0.15, show_default=True,
    help="For each single measurement, about.",
)  # fmt: skip
@click.option("--force", is_flag=True, help=FORCE)
def command(machine, ranks, seconds, force):
    """Measure this machine with the production solver, and write a machine file for `predict`.

    Measured are the panel's rate over rows of a window (dense and sparse), kernel functions, the product
    with a, recurrences, what a window costs beside them, and allreduce and reduce-scatter by size on P
    ranks of this machine, which is named after the file. Then runs that were not used are predicted and
    measured: how far off they were stands in the file, and beside every prediction. About half a minute;
    other work on the machine spoils it.

    Exit codes: 0 written; 2 usage or input error, or no MPI for the ranks; 4 a rank failed.
    """
    from threadpoolctl import threadpool_limits

    from sstep_verify.costs.machine import write
    from sstep_verify.outputs import Output, claim
    from sstep_verify.timing.calibrate import calibrate

    with claim([Output("FILE", machine, force)]), threadpool_limits(1):
        found = calibrate(
            Path(machine).stem,
            ranks,
            seconds,
            tell=lambda line: click.echo(line, err=True),
        )
        write(found, machine)
    click.echo(f"{machine}: predictions are off by {found.error}")
