"""Search for a feasible point near the optimum of a K-SVM: floats, then many digits. It proves nothing.

How good a point is says weak duality, both objectives enclosed in balls: it needs no active set, so exact
ties and singular Q need no decision.

The L2 optimum is searched by `primal_newton` where the kernel has low rank.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from sstep_reference.arithmetic import Balls

from sstep_verify.numerics import kernel_matrix
from sstep_verify.oracle.balls.decimals import decimals_of, exact_decimal, nearest_decimal
from sstep_verify.oracle.balls.kernel_balls import feature_dimensions
from sstep_verify.oracle.search.active_set import BallDual, Polisher
from sstep_verify.oracle.search.features import with_features_that_occur
from sstep_verify.oracle.search.interior_point import DenseSystem, Interior, interior_point
from sstep_verify.oracle.search.low_rank import LowRankSystem
from sstep_verify.oracle.search.primal_newton import primal_newton
from sstep_verify.oracle.verify.kernel import ball_ends
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


def search(
    problem: Problem, target: float = TARGET, precisions: tuple[int, ...] = PRECISIONS
) -> tuple[tuple[str, ...], int, str, BallDual]:
    """Search the optimum of a K-SVM with more and more bits.

    Parameters
    ----------
    problem : Problem
        A K-SVM.
    target : float
        Relative width at which the search ends.
    precisions : tuple of int
        Bits of the balls, in the order tried; at least two.

    Returns
    -------
    tuple of m str
        The best point, in decimals, exactly in the box.
    int
        Precision that the search ended with.
    str
        How the search began, for reports.
    BallDual
        The problem in those balls.
    """
    problem = with_features_that_occur(problem)
    low_rank = feature_dimensions(problem) is not None
    start, method = _first(problem, low_rank)
    extended = low_rank and method != FLOAT_METHOD
    opened = False
    point, width = list[Any](), np.inf
    for bits in precisions:
        dual = BallDual(problem, Balls(bits))
        for candidate, its_width in Polisher(dual, start).points():
            if not point or its_width < width:
                point, width = candidate, its_width
            if width <= target:
                break
        if width <= target:
            break
        if low_rank and not extended:
            # Few flips do not mend sets that float64 got wrong in many places.
            start, method, extended = extended_search(problem), EXTENDED_METHOD, True
        elif not width <= HOPELESS:
            if opened or not np.isfinite(problem.hinge.upper):
                break
            # The optimum over a >= 0 is the one sought if it lies below C; a far end misleads the search.
            start, opened = _float_search(problem, np.inf), True
    end = Fraction(problem.hinge.C) if problem.hinge.shift == 0 else None
    decimals = tuple(_decimal(ball_ends(value)[1], end, bits) for value in point)
    return decimals, bits, method, dual


def _decimal(value: Fraction, end: Fraction | None, bits: int) -> str:
    """A coordinate of the box in decimals, ends exactly."""
    text = nearest_decimal(value, decimals_of(bits))
    return exact_decimal(end) if end is not None and (value == end or Fraction(text) > end) else text


def _first(problem: Problem, low_rank: bool) -> tuple[Interior, str]:
    """Where the first round of polishing begins, and how that was found."""
    if low_rank and problem.hinge.shift > 0:
        start = over_low_rank(problem, primal_newton)
        if start.finished:
            return start, PRIMAL_METHOD
    start = _float_search(problem, problem.hinge.upper)
    if low_rank and not start.finished:
        return extended_search(problem), EXTENDED_METHOD
    return start, FLOAT_METHOD


def _float_search(problem: Problem, upper: float) -> Interior:
    labels = problem.targets
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = kernel_matrix(problem)
        matrix *= labels[:, None]
        matrix *= labels
        matrix.flat[:: problem.samples + 1] += problem.hinge.shift
    return interior_point(DenseSystem(matrix), upper)


def extended_search(problem: Problem) -> Interior:
    """The interior point method in `EXTENDED_BITS`."""
    return over_low_rank(problem, partial(interior_point, upper=problem.hinge.upper))


def over_low_rank(problem: Problem, method: Callable[[LowRankSystem], Interior]) -> Interior:
    """What a method makes of the low rank of a kernel in `EXTENDED_BITS`."""
    arithmetic = Balls(EXTENDED_BITS)
    with arithmetic.working():
        return method(LowRankSystem(problem, arithmetic))
