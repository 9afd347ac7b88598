"""Search for a feasible point near the optimum of a K-SVM: floats, then many digits. It proves nothing.

How good a point is says weak duality, both objectives enclosed in balls: it needs no active set, so exact
ties and singular Q need no decision.

The L2 optimum is searched, where the kernel has low rank, by Newton's method on the primal, many digits.

In the feature space of p dimensions, with rows ``f_i = y_i phi(a_i)`` and slacks ``x_i = 1 - <f_i, w>``,
the primal divided by 2C is ``omega/2 |w|^2 + 1/2 sum max(0, x_i)^2``: piecewise quadratic and strictly
convex. Newton's method with an exact line search ends after finitely many steps, here about ten, in the
very pieces of the optimum; ``a_i = max(0, x_i) / omega``. Its Hessian ``omega I + sum f_i f_i'`` over the
positive slacks changes by few rows from step to step, so each costs one p x p solve. It proves nothing.

Source: S. S. Keerthi, D. DeCoste, A modified finite Newton method for fast solution of large scale linear
SVMs, Journal of Machine Learning Research 6 (2005); O. L. Mangasarian, A finite Newton method for
classification, Optimization Methods and Software 17 (2002).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from flint import arb_mat
from sstep_reference.arithmetic import Balls

from sstep_verify.numerics import kernel_matrix
from sstep_verify.oracle.balls.decimals import decimals_of, exact_decimal, nearest_decimal
from sstep_verify.oracle.balls.kernel_balls import feature_dimensions
from sstep_verify.oracle.search.active_set import BallDual, Polisher
from sstep_verify.oracle.search.interior_point import DenseSystem, Interior, interior_point
from sstep_verify.oracle.search.low_rank import LowRankSystem, shifted, solved
from sstep_verify.oracle.verify.kernel import ball_ends
from sstep_verify.problems import Problem

MOST_STEPS = 60


def primal_newton(system: LowRankSystem) -> Interior:
    """Minimise the primal of a K-SVM with squared hinge.

    Parameters
    ----------
    system : LowRankSystem
        Features and shift (omega > 0), divided by their scale. To be called inside the arithmetic's
        `working()`.

    Returns
    -------
    Interior
        Dual vector; at zero are the coordinates whose slack is not positive. `finished` says whether a
        step left every slack's sign, or every slack up to half of the bits, as it was.
    """
    search = _Newton(system)
    finished = any(search.step() for _ in range(MOST_STEPS))
    positive = _signs(search.slacks) > 0
    divisor = system.shift * system.scale
    alpha = np.array(
        [float(x / divisor) if counts else 0.0 for x, counts in zip(search.slacks, positive, strict=True)]
    )
    return Interior(alpha, ~positive, np.zeros(len(alpha), dtype=bool), finished)


class _Newton:
    """The point (w), its slacks, and the Gram matrix of the rows whose slack is positive."""

    def __init__(self, system: LowRankSystem):
        self._system = system
        p = system.features.ncols()
        self._point = arb_mat(p, 1, [0] * p)
        self.slacks = system.settled(1 - system.array(system.features * self._point))
        self._counted = np.zeros(system.samples, dtype=bool)
        self._gram = arb_mat(p, p, [0] * (p * p))
        self._sum = arb_mat(p, 1, [0] * p)

    def step(self) -> bool:
        """One step; whether the minimum is reached."""
        positive = _signs(self.slacks) > 0
        self._count(positive)
        aim = solved(shifted(self._gram, self._system.shift), self._sum)
        if aim is None:
            return False
        there = self._system.settled(1 - self._system.array(self._system.features * aim))
        move, change = (aim - self._point).mid(), self._system.settled(there - self.slacks)
        # A slack that is exactly 0 at the optimum may change its sign by rounding for ever.
        still = max(abs(float(value)) for value in change) <= self._system.negligible
        if still or ((_signs(there) > 0) == positive).all():
            self._point, self.slacks = aim, there
            return True
        length = self._line_search(move, change)
        self._point = (self._point + move * length).mid()
        self.slacks = self._system.settled(self.slacks + change * length)
        return False

    def _count(self, positive: np.ndarray) -> None:
        """Bring Gram matrix and sum of the rows with positive slack up to date."""
        for gained, sign in ((positive & ~self._counted, 1), (self._counted & ~positive, -1)):
            places = np.flatnonzero(gained).tolist()
            if places:
                rows = self._system.rows(places)
                columns = rows.transpose()
                ones = arb_mat(len(places), 1, [1] * len(places))
                self._gram = (self._gram + columns * rows * sign).mid()
                self._sum = (self._sum + columns * ones * sign).mid()
        self._counted = positive

    def _line_search(self, move: Any, change: np.ndarray) -> Any:
        """Length at which the derivative along the move, increasing and piecewise linear, vanishes."""
        shift = self._system.shift
        slope = (self._point.transpose() * move)[0, 0] * shift
        curvature = (move.transpose() * move)[0, 0] * shift
        slacks, changes = self.slacks, change
        signs, directions = _signs(slacks), _signs(changes)
        inside = (signs > 0) | ((signs == 0) & (directions > 0))
        slope = slope + (slacks[inside] * changes[inside]).sum()
        curvature = curvature + (changes[inside] ** 2).sum()
        crossing = np.flatnonzero((signs * directions < 0) & (directions != 0))
        breaks = np.array([float(-slacks[i] / changes[i]) for i in crossing])
        for place in np.argsort(breaks):
            i = crossing[place]
            if float(slope + curvature * breaks[place]) >= 0:
                break
            leaving = -1 if inside[i] else 1
            slope = slope + leaving * slacks[i] * changes[i]
            curvature = curvature + leaving * changes[i] ** 2
        return (-slope / curvature).mid()


def _signs(vector: np.ndarray) -> np.ndarray:
    return np.sign([float(value) for value in vector])


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
