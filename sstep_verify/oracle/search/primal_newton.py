"""Newton's method on the primal of an L2 K-SVM whose kernel has low rank, with many digits.

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

from typing import Any

import numpy as np
from flint import arb_mat

from sstep_verify.oracle.search.interior_point import Interior
from sstep_verify.oracle.search.low_rank import LowRankSystem, shifted, solved

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
