"""``sstep-verify apply``: predict new samples by a saved result of ``solve``."""

from __future__ import annotations

from pathlib import Path

import click

from sstep_verify.cli.options import FORCE


@click.command("apply")
@click.argument("model", metavar="MODEL")
@click.option("--test", metavar="FILE", required=True, help="LIBSVM file of samples to predict.")
@click.option("--predictions", metavar="FILE", required=True, help="File for the predictions.")
@click.option("--on", "data", metavar="DATA", help="The training data, if they are elsewhere now.")
@click.option("--force", is_flag=True, help=FORCE)
@click.option(
    "--hang-limit", type=click.FloatRange(min=0), default=40.0, show_default=True, metavar="SECONDS",
    help="Under mpiexec: end the job when no rank makes progress for so long; 0: never.",
)  # fmt: skip
def command(model, hang_limit, **given):
    """Predict new samples by a saved result of solve.

    \b
      sstep-verify apply model.npz --test new.txt --predictions predicted.txt

    MODEL is a file that `solve` wrote. It names its training data, which are read again: they must be
    where they were, or be named by --on. It may be of any number of ranks. A line of the predictions is
    that of `solve`: class and decision value (K-SVM), or value (K-RR).

    Exit codes: 0 predicted; 2 usage or input error; 4 a rank failed or was lost.
    """  # noqa: D301
    from sstep_verify.cli.work import on_ranks

    def apply_on(communicator, watchdog) -> None:
        from sstep_verify.cli.work import Progress
        from sstep_verify.solver.communicator import on_all_ranks
        from sstep_verify.solver.training.model import apply, read_model

        found = on_all_ranks(communicator, lambda: read_model(Path(model)))
        progress = Progress(watchdog, communicator.rank == 0)
        lines = apply(found, given.pop("test"), given.pop("predictions"), communicator, progress, **given)
        if communicator.rank == 0:
            click.echo("\n".join(lines))

    on_ranks(apply_on, hang_limit)
