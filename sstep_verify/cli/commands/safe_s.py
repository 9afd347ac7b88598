"""``sstep-verify safe-s``: the largest s that is certified safe on the user's data."""

from __future__ import annotations

import sys

import click

from sstep_verify.cli.options import (
    block_option,
    claimed_out,
    data_argument,
    folder_option,
    print_json,
    problem_of,
    problem_options,
)
from sstep_verify.declaration import Precision

BOTH: tuple[Precision, ...] = ("float64", "float32")

ENTRIES = frozenset({"safe-s.csv", *(f"{precision}.svg" for precision in BOTH)})
"""What the folder of --out may hold, and is replaced with."""


@click.command("safe-s")
@data_argument
@problem_options(required=True)
@block_option
@click.option(
    "--largest-s", "most", type=click.IntRange(1, 1 << 16), default=1024, show_default=True, metavar="S",
    help="Largest s to examine.",
)  # fmt: skip
@click.option(
    "--precision", type=click.Choice(["both", *BOTH]), default="both", show_default=True,
    help="Arithmetic of the steps.",
)  # fmt: skip
@click.option(
    "--iterations", type=click.IntRange(min=0), help="Most iterations of training  [default: 100 passes]"
)
@click.option(
    "--tolerance", type=float, default=1e-6, show_default=True,
    help="Relative gap (K-SVM) or residual (K-RR) at which training stops.",
)  # fmt: skip
@folder_option
@click.option(
    "--out", metavar="FOLDER", help="Folder for a CSV and a figure for each precision; it is replaced."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of lines.")
def command(data, **given):
    """Certify up to which s windows cost, beyond classical steps, no more than the attainable accuracy.

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
    from sstep_verify.solver.training.pipeline import limit_in_words

    with (
        claimed_out(given["out"], data, given["directory"], entries=ENTRIES) as folder,
        threadpool_limits(1),
    ):
        problem, trained, found = _certified(data, given)
        if folder is not None:
            write(found, folder)
    training = {
        "iterations": trained.iteration,
        "relative_at_most": trained.stated().relative[1],
        "tolerance": given["tolerance"],
    }
    if given["as_json"]:
        from sstep_verify.report.plain import plain

        print_json(document(found) | {"training": plain(training)})
    else:
        measure = "gap" if problem.is_svm else "residual"
        click.echo(
            f"{problem.label}: trained {trained.iteration} iterations, relative {measure} "
            f"{limit_in_words(trained.stated().relative[1])}{_short(trained, given['tolerance'])}"
        )
        for line in lines(found):
            click.echo(line)
        if folder is not None:
            click.echo(f"safe-s.csv and figures: {given['out']}")
    _end(found)


def _short(trained, tolerance) -> str:
    """What training fell short of, in words; empty where it reached its tolerance."""
    if not trained.iteration:
        return " (nothing was trained: windows begin at a = 0)"
    relative = trained.stated().relative[1]
    if relative <= tolerance:
        return ""
    far = ", and far from the optimum: what follows says little of a trained vector"
    return f" (stopped before --tolerance{far if relative > 1.0 else ''})"


def _end(found) -> None:
    from sstep_verify.safety.report import beyond

    wrong = beyond(found)
    if wrong:
        click.echo("\n".join(wrong), err=True)
        sys.exit(1)
    if any(curve.largest == 0 for curve in found.curves):
        sys.exit(3)


def _certified(data, given):
    """The problem, its training and the certificate."""
    from sstep_verify.safety import certify, trained_alpha

    problem, _ = problem_of(data, given)
    block, precision = given["block"], given["precision"]
    trained = trained_alpha(
        problem, block=block, iterations=given["iterations"], tolerance=given["tolerance"]
    )
    precisions = BOTH if precision == "both" else (precision,)
    found = certify(
        problem, trained.trajectory.final, precisions=precisions, block=block, most=given["most"]
    )
    return problem, trained, found
