"""Search for a feasible point near the optimum of a K-SVM: floats, then many digits. It proves nothing.

How good a point is says weak duality, both objectives enclosed in balls: it needs no active set, so exact
ties and singular Q need no decision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sstep_reference.arithmetic import Balls

from sstep_verify.numerics.kernel_matrix import kernel_matrix
from sstep_verify.oracle.balls.feature_map import feature_dimensions
from sstep_verify.oracle.balls.svm_balls import BallDual, ObjectiveEnclosure
from sstep_verify.oracle.search.active_set import Polisher
from sstep_verify.oracle.search.interior_point import DenseSystem, Interior, interior_point
from sstep_verify.oracle.search.low_rank import LowRankSystem
from sstep_verify.oracle.search.primal_newton import primal_newton
from sstep_verify.problems import Problem

TARGET = 2.0**-100
"""Relative width of the enclosure at which the search ends."""

PRECISIONS = (300, 600, 1200)
"""Bits of the balls, tried in this order while the width is above `TARGET`."""

EXTENDED_BITS = 192
"""Bits of the searches that use the low rank of a kernel: where float64 does not converge, and for L2."""

FLOAT_METHOD = "float64 interior point"
EXTENDED_METHOD = f"interior point of {EXTENDED_BITS} bits (float64 failed)"
PRIMAL_METHOD = f"Newton's method on the primal, {EXTENDED_BITS} bits"

HOPELESS = 1e-3
"""Relative width above which the active set is wrong, and more bits would only cost time."""


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The best point of a search.

    Parameters
    ----------
    best : ObjectiveEnclosure
        The narrowest enclosure.
    dual : BallDual
        The problem in the balls that the search ended with.
    method : str
        How the search began, for reports.
    """

    best: ObjectiveEnclosure
    dual: BallDual
    method: str


def search(problem: Problem, target: float, precisions: tuple[int, ...]) -> SearchResult:
    """Search the optimum of a K-SVM with more and more bits.

    Parameters
    ----------
    problem : Problem
        A K-SVM.
    target : float
        Relative width at which the search ends.
    precisions : tuple of int
        Bits of the balls, in the order tried; at least two.
    """
    low_rank = feature_dimensions(problem) is not None
    start, method = _first(problem, low_rank)
    extended = low_rank and method != FLOAT_METHOD
    opened = False
    best: ObjectiveEnclosure | None = None
    for bits in precisions:
        dual = BallDual(problem, Balls(bits))
        best = _polished(dual, start, best, target)
        if best.relative_width <= target:
            break
        if low_rank and not extended:
            # Few flips do not mend sets that float64 got wrong in many places.
            start, method, extended = _extended_search(problem), EXTENDED_METHOD, True
        elif not best.relative_width <= HOPELESS:
            if opened or not np.isfinite(problem.hinge.upper):
                break
            # The optimum over a >= 0 is the one sought if it lies below C; a far end misleads the search.
            start, opened = _float_search(problem, np.inf), True
    assert best is not None
    return SearchResult(best, dual, method)


def _first(problem: Problem, low_rank: bool) -> tuple[Interior, str]:
    """Where the first round of polishing begins, and how that was found."""
    if low_rank and problem.hinge.shift > 0:
        start = _primal_search(problem)
        if start.finished:
            return start, PRIMAL_METHOD
    start = _float_search(problem, problem.hinge.upper)
    if low_rank and not start.finished:
        return _extended_search(problem), EXTENDED_METHOD
    return start, FLOAT_METHOD


def _float_search(problem: Problem, upper: float) -> Interior:
    labels = problem.targets
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = kernel_matrix(problem)
        matrix *= labels[:, None]
        matrix *= labels
        matrix.flat[:: problem.samples + 1] += problem.hinge.shift
    return interior_point(DenseSystem(matrix), upper)


def _extended_search(problem: Problem) -> Interior:
    arithmetic = Balls(EXTENDED_BITS)
    with arithmetic.working():
        return interior_point(LowRankSystem(problem, arithmetic), problem.hinge.upper)


def _primal_search(problem: Problem) -> Interior:
    arithmetic = Balls(EXTENDED_BITS)
    with arithmetic.working():
        return primal_newton(LowRankSystem(problem, arithmetic))


def _polished(
    dual: BallDual, start: Interior, best: ObjectiveEnclosure | None, target: float
) -> ObjectiveEnclosure:
    """Narrowest enclosure along the rounds of the active set method from `start`, or `best`."""
    for point in Polisher(dual, start).points():
        enclosure = dual.enclosed(point)
        if best is None or enclosure.relative_width < best.relative_width:
            best = enclosure
        if best.relative_width <= target:
            break
    assert best is not None
    return best
