"""What is said of the quantity that is out of its bound first: where, how far, and what is likely wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sstep_verify.checks.probed.compared import CURVATURE, GRADIENT, INCREMENT, ROWS, STORED, Compared
from sstep_verify.checks.probed.quantities import ProbedRun
from sstep_verify.checks.steps.causes import never_first

CAUSES = {
    ROWS: "the kernel function, the data or the reduction is wrong; see kernel-entries",
    CURVATURE: "the diagonal, its shift or (K-RR) the block's matrix is wrong",
    INCREMENT: "the quotient, the clip or (K-RR) the solve is wrong",
    STORED: "the update of a is wrong",
}
"""What is wrong where this quantity is the first."""


def told_first(run: ProbedRun, found: Sequence[Compared], first: Compared, step: int) -> str:
    """Sentences on the first quantity out of its bound.

    Parameters
    ----------
    run : ProbedRun
        The run.
    found : sequence of Compared
        All quantities.
    first : Compared
        The one that is out first.
    step : int
        Its step.
    """
    within = "everything before is within its bound" if len(found) > 1 else ""
    if first.name != ROWS:
        within = "kernel rows and everything before are within theirs"
    coordinate = int(run.draws[step].ravel()[_drawn(run, first, step)])
    values = ""
    if first.recorded is not None and first.own is not None:
        recorded, own = (float(values[step, first.place[step]]) for values in (first.recorded, first.own))
        if math.isfinite(recorded) or math.isfinite(own):
            values = f": recorded {recorded!r}, the judge's own {own!r}"
    finding = first.finding(step)
    words = (
        f"The first quantity that is out of its bound is the {_title(first.name)} of iteration {step + 1}, "
        f"counted from 1 (step {step % run.width + 1} of its window, coordinate {coordinate}){values}; "
        f"difference {finding.measured:.3g}, bound {finding.bound:.3g} (bounds/step/probed.py). "
    )
    return f"{words}{within[:1].upper()}{within[1:]}: {_cause(run, first, step)}. {_more(first)}"


def _title(name: str) -> str:
    return {ROWS: "kernel row", STORED: "new value"}.get(name, name)


def _drawn(run: ProbedRun, first: Compared, step: int) -> int:
    """Which coordinate of its block a value belongs to."""
    per_coordinate = {ROWS: run.case.problem.samples, CURVATURE: run.block}.get(first.name, 1)
    return min(int(first.place[step]) // per_coordinate, run.block - 1)


def _cause(run: ProbedRun, first: Compared, step: int) -> str:
    named = first.without()
    if named:
        return f"leaving out one part reproduces it ({', '.join(named)})"
    if first.name != GRADIENT:
        return CAUSES[first.name]
    if step % run.width == 0:
        return (
            "no correction acts in the first step of a window, so the product with a, or what is added "
            "to it, is wrong"
        )
    if never_first(first.wrong, run.width):
        windows = len(range(0, run.steps, run.width))
        return f"those of the first steps of all {windows} windows are right, so the correction is wrong"
    return "the correction or the stale product is wrong"


def _more(first: Compared) -> str:
    many = (
        f"{first.out} of {first.distance.size} values of the {_title(first.name)} are out of their bounds"
    )
    return f"{many}, in {first.wrong.size} steps."
