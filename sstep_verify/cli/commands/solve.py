"""``sstep-verify solve``: train a K-SVM or K-RR, on one process or under mpiexec."""

from __future__ import annotations

import math
import os

import click

from sstep_verify.cli.options import data_argument, folder_option, kernel_and_loss, problem_options
from sstep_verify.errors import TOO_SMALL_TOLERANCE

NUMBER = click.IntRange(min=0)
AT_LEAST_ONE: click.ParamType = click.IntRange(min=1)


def or_auto(text: str):
    """A whole number of at least 1, or the word auto."""
    return text if text == "auto" else AT_LEAST_ONE(text)


def windows(given: str):
    """Iterations per window: a number; auto or a file of windows, either with the largest s to be tried."""
    text, largest = given, None
    if text.isdecimal():
        return {"s": AT_LEAST_ONE(text)}
    if not os.path.lexists(text) and ":" in text:
        text, _, most = text.rpartition(":")
        largest = AT_LEAST_ONE(most)
    if text != "auto" and not os.path.lexists(text):
        raise click.BadParameter(f"{given!r} is no number from 1, neither auto nor a file that is there")
    return {"s": "auto", "largest_s": largest, "sequence": None if text == "auto" else text}


@click.command("solve")
@data_argument
@problem_options(required=True)
@click.option(
    "--block", type=or_auto, default="1", show_default=True, metavar="N|auto",
    help="K-RR: coordinates a step; auto: chosen by cost before training begins.",
)  # fmt: skip
@click.option(
    "--s", "steps", type=windows, metavar="S|auto|FILE[:MOST]",
    help="Iterations per window; auto: measured while training runs, with --exchange auto that as well, "
    "but on one rank without MOST by counts; FILE: first the windows of this earlier result or checkpoint "
    "again. MOST: try none beyond it, such as safe-s certifies.  [default: 16; on one rank by counts]",
)  # fmt: skip
@click.option("--iterations", type=NUMBER, help="Most iterations  [default: 100 passes over the samples]")
@click.option(
    "--tolerance", type=float, default=1e-6, show_default=True,
    help="Relative duality gap (K-SVM) or relative residual (K-RR) at which to stop, by a proved upper "
    "limit; 0: never.",
)  # fmt: skip
@click.option(
    "--stream", type=click.Choice(["uniform", "epochs"]), default="uniform", show_default=True,
    help="Coordinates: each drawn independently, as in the paper, or every pass a permutation of all.",
)  # fmt: skip
@click.option("--seed", type=NUMBER, default=0, show_default=True, help="Seed of the drawn coordinates.")
@click.option(
    "--exchange", type=click.Choice(["auto", "allreduce", "support", "reduce-scatter", "gram"]),
    default="auto", show_default=True, help="Communication scheme: what ranks send in a window.",
)  # fmt: skip
@click.option(
    "--partition", type=click.Choice(["work", "contiguous"]), default="work", show_default=True,
    help="Features of a rank: with as much work as any other's, or, as in the paper, next to each other.",
)  # fmt: skip
@click.option(
    "--cache", type=NUMBER, metavar="WORDS",
    help="Words of kernel rows a rank may keep  [default: 67108864 with exchange auto, else 0]",
)  # fmt: skip
@click.option(
    "--interval", type=AT_LEAST_ONE,
    help="Iterations from one measurement and checkpoint to the next  [default: by cost]",
)  # fmt: skip
@click.option(
    "--timers", type=click.Choice(["joined", "separate"]), default="joined", show_default=True,
    help="separate: tell waiting from transfer, at the price of a barrier a window.",
)  # fmt: skip
@click.option(
    "--hang-limit", type=click.FloatRange(min=0), default=40.0, show_default=True, metavar="SECONDS",
    help="Under mpiexec: end the job when no rank makes progress for so long; 0: never.",
)  # fmt: skip
@click.option(
    "--checkpoint-seconds", type=click.FloatRange(min=0), default=600.0, show_default=True,
    metavar="SECONDS", help="Time from one checkpoint to the next; 0: one at every measurement.",
)  # fmt: skip
@folder_option
@click.option(
    "--out", metavar="FILE", required=True, help="File of the result: NumPy's .npz, whatever its name."
)
@click.option("--resume", is_flag=True, help="Continue from the checkpoint next to --out, if there is one.")
@click.option("--force", is_flag=True, help="Replace files that are there.")
@click.option("--test", metavar="FILE", help="LIBSVM file of samples to predict.")
@click.option("--predictions", metavar="FILE", help="File for the predictions.")
def command(**given):
    """Train a kernel machine by s-step dual coordinate descent.

    DATA is a LIBSVM file or the name of a data set. Under mpiexec the features are distributed over all
    ranks: mpiexec -n 4 sstep-verify solve DATA --task svm-l1 --out RESULT.npz

    There is no bias term: a decision passes through the origin (of the kernel's space), and data that need
    an intercept are classified worse than by solvers that have one. --bias 1 offers a constant feature in
    its place, as -B does in LIBLINEAR: it is appended to training data and --test alike, the linear kernel
    gains 1, and the bias, the last weight, is regularised like the others (polynomial: offset + 1; rbf:
    rejected, as nothing changes).

    RESULT holds the dual vector `alpha`, upper limits of gap and residual, what was measured, and the
    options. The last line says the same limits: the true gap is not larger. At the end of every interval
    the gap or residual is measured and, --checkpoint-seconds after the last one, a checkpoint is written
    next to it (RESULT.npz.checkpoint); also at SIGTERM and Ctrl-C, of the last measurement. A killed run
    loses those seconds and an interval. With --resume, on as many ranks with the same kind of processor,
    BLAS and threads, it ends with the same alpha to the last bit; on another kind it continues too, and
    says so, and on another number of ranks it is rejected.
    --resume also continues with more --iterations or a smaller --tolerance; without --iterations it makes
    as many as the run before was to make. It begins where the last whole interval ended, at iteration 0 if
    none did. It replaces no RESULT of more iterations of the same run. Files that are there are only
    replaced with --force; RESULT, its checkpoint and the predictions also with --resume.

    A rank that is killed, loops, stands still, or leaves a collective out ends the whole job, and is named.
    Ranks are taken to hang when for more than --hang-limit seconds none of them enters or leaves a
    collective or ends a step of windows. To the limit is added what the input lets expect: 1 second for 10
    MB of a file to be read, 5 minutes for a data set that may have to be downloaded, 1 second for 1e9
    operations of one rank's kernel rows; and a step may always take 3 times as long as the longest before
    it. A job that its scheduler suspends is not taken to hang. If a slow run is ended wrongly, pass a
    larger limit and --resume.

    Exit codes: 0 trained, be it to the tolerance or to the last iteration (the last lines say which);
    2 usage or input error; 3 trained, but the tolerance is below what float64 can show here: scale the
    data, or ask for a larger one; 4 an error, loss or hang of a rank, which is named (a killed rank ends
    the job with the launcher's code for it); 130 interrupted.
    """
    from sstep_verify.cli.work import load_with_one_thread, on_ranks

    load_with_one_thread()
    for name in ("hang_limit", "checkpoint_seconds"):
        if math.isnan(given[name]):
            hint = f"--{name.replace('_', '-')}"
            raise click.BadParameter("it must be a number of seconds", param_hint=hint)
    limit = given.pop("hang_limit")
    on_ranks(lambda communicator, watchdog: _solve(given, communicator, watchdog), limit)


def _solve(given, communicator, watchdog) -> int:
    from sstep_verify.cli.work import Progress
    from sstep_verify.solver.communicator import on_all_ranks
    from sstep_verify.solver.training.pipeline import solve
    from sstep_verify.trajectory import BELOW_FLOAT64

    settings = on_all_ranks(communicator, lambda: _settings(**given))
    lines, stopped = solve(settings, communicator, Progress(watchdog, communicator.rank == 0))
    if communicator.rank == 0:
        click.echo("\n".join(lines))
    return TOO_SMALL_TOLERANCE if stopped in BELOW_FLOAT64 else 0


def _settings(steps, timers, **given):
    from sstep_verify.solver.settings import Settings

    kernel, loss, rest = kernel_and_loss(given)
    return Settings(kernel=kernel, loss=loss, separate_timers=timers == "separate", **(steps or {}), **rest)
