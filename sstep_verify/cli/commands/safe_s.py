"""``sstep-verify safe-s``: the largest s that is certified safe on the user's data."""

from __future__ import annotations

import contextlib
import json
import sys

import click

from sstep_verify.cli.options.completion import complete, data_sets
from sstep_verify.cli.options.problem import kernel_and_loss, problem_options
from sstep_verify.declaration import Precision

BOTH: tuple[Precision, ...] = ("float64", "float32")

AT_LEAST_ONE = click.IntRange(min=1)


@click.command("safe-s")
@click.argument("data", metavar="DATA", shell_complete=complete(data_sets))
@problem_options(required=True)
@click.option("--block", type=AT_LEAST_ONE, default=1, show_default=True, help="K-RR: coordinates a step.")
@click.option(
    "--most", type=click.IntRange(1, 1 << 16), default=1024, show_default=True, help="Largest s looked at."
)
@click.option(
    "--precision", type=click.Choice(["both", *BOTH]), default="both", show_default=True,
    help="Arithmetic of the steps.",
)  # fmt: skip
@click.option(
    "--factor", type=click.FloatRange(min=0, min_open=True), default=1.0, show_default=True,
    help="Times the attainable accuracy that s-step may lose beyond classical.",
)  # fmt: skip
@click.option(
    "--iterations", type=click.IntRange(min=0), help="Most iterations of training  [default: 100 passes]"
)
@click.option(
    "--tolerance", type=float, default=1e-6, show_default=True,
    help="Relative gap (K-SVM) or residual (K-RR) at which training stops.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True,
    help="Seed of training and of the windows that are run; what is certified holds for all.",
)  # fmt: skip
@click.option("--no-measure", is_flag=True, help="Run no windows: bounds alone.")
@click.option("--data", "directory", metavar="DIR", help="Folder with the data sets in LIBSVM format.")
@click.option("--out", metavar="FOLDER", help="Folder for a CSV and a figure for each precision.")
@click.option("--force", is_flag=True, help="Replace a folder that is there.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def command(data, **given):
    """Certify up to which s a window of s steps loses no more accuracy than classical steps may.

    DATA is a LIBSVM file or the name of a data set. The problem is trained as `solve` does. From the vector
    where training ends, for s = 1, 2, 4, ..., are shown: what no window of s steps loses more of the
    objective, whatever coordinates it draws (bound); the same for s classical steps; the attainable
    accuracy, the larger of that and of what the precision shows of the gap; and what windows that were run
    have lost. s is safe if the bound exceeds that for classical steps by no more than the attainable
    accuracy, and is no more than training has gained. The largest such s is found by bisection.
    docs/safe-s.md says more.

    Exit codes: 0 some s is certified in each precision; 1 a window lost more than its bound; 2 usage or
    input error; 3 in one precision no s is certified.
    """
    from threadpoolctl import threadpool_limits

    from sstep_verify.safety.report import document, lines, write

    kernel, loss, rest = kernel_and_loss(given)
    with _claimed(data, rest) as folder, threadpool_limits(1):
        problem, trained, found = _certified(data, kernel, loss, rest)
        if folder is not None:
            write(found, folder)
    training = {
        "iterations": trained.iteration,
        "relative": trained.values.relative,
        "tolerance": rest["tolerance"],
    }
    if rest["as_json"]:
        from sstep_verify.reporting.plain import plain

        told = document(found) | {"training": plain(training)}
        click.echo(json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False))
    else:
        measure = "gap" if problem.is_svm else "residual"
        short = " (stopped before --tolerance)" if trained.values.relative > rest["tolerance"] else ""
        click.echo(
            f"{problem.label}: trained {trained.iteration} iterations, relative {measure} "
            f"{trained.values.relative:.2e}{short}"
        )
        for line in lines(found):
            click.echo(line)
        if folder is not None:
            click.echo(f"safe-s.csv and figures: {rest['out']}")
    _end(found)


def _end(found) -> None:
    from sstep_verify.safety.curves import beyond

    wrong = beyond(found)
    if wrong:
        click.echo("\n".join(wrong), err=True)
        sys.exit(1)
    if any(curve.largest == 0 for curve in found.curves):
        sys.exit(3)


def _certified(data, kernel, loss, given):
    """The problem, its training and the certificate."""
    from sstep_verify.problems import Problem
    from sstep_verify.problems.bias import require_usable, with_constant_feature
    from sstep_verify.problems.data.datasets import load
    from sstep_verify.safety import certify, trained_alpha

    require_usable(given["bias"], kernel)
    task = "regression" if loss.task == "krr" else "classification"
    loaded = load(data, directory=given["directory"], task=task)
    values = with_constant_feature(loaded.data, given["bias"])
    problem = Problem(loaded.name, values, loaded.targets, kernel, loss).with_finite_kernel()
    trained = trained_alpha(
        problem, block=given["block"], iterations=given["iterations"], tolerance=given["tolerance"],
        seed=given["seed"],
    )  # fmt: skip
    chosen = given["precision"]
    precisions = [known for known in BOTH if chosen in ("both", known)]
    found = certify(
        problem, trained.trajectory.final, precisions=precisions, block=given["block"], most=given["most"],
        factor=given["factor"], seed=given["seed"], measure=not given["no_measure"],
    )  # fmt: skip
    return problem, trained, found


@contextlib.contextmanager
def _claimed(data, given):
    """The folder, if there is to be one, held for as long as it takes; None otherwise."""
    from sstep_verify.outputs import Output, claim
    from sstep_verify.problems.data.datasets import stored_file

    if given["out"] is None:
        yield None
        return
    inputs = [("DATA", path) for path in (stored_file(data, given["directory"]),) if path]
    with claim([Output("--out", given["out"], given["force"], folder=True)], inputs) as (folder,):
        yield folder
