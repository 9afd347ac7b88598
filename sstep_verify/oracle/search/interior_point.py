"""Search for the K-SVM optimum: Mehrotra's primal-dual interior point method.

It proves nothing; what it finds is polished and enclosed in balls (`svm_optimum`). Number system and
linear algebra are those of the system handed in: a dense float64 matrix, or `LowRankSystem`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from sstep_verify.oracle.search.low_rank import LowRankSystem

MOST_ITERATIONS = 100
SHORTEST = 1e-10
"""Step length below which the search has stalled."""

_STAY_INSIDE = 0.9995

Change = list[tuple[Any, Any]]
"""By end of the box, changes of slack and multiplier along a direction."""


@dataclass(frozen=True, eq=False)
class Interior:
    """Where the interior point method ended, in the variables of the problem.

    Parameters
    ----------
    alpha : ndarray, shape (m,)
        Dual vector, strictly inside its box.
    at_zero, at_upper : ndarray of bool, shape (m,)
        Coordinates whose slack is smaller than its multiplier.
    finished : bool
        Whether the optimality conditions hold up to rounding.
    """

    alpha: np.ndarray
    at_zero: np.ndarray
    at_upper: np.ndarray
    finished: bool


class DenseSystem:
    """A positive semidefinite float64 matrix (Q + omega I), overwritten by H, whose largest entry is 1.

    Attributes
    ----------
    samples : int
        Number of rows (m).
    scale : float
        What the matrix was divided by.
    small : float
        Optimality conditions, relative to their terms, at which the search ends.
    """

    small = 1e-14

    def __init__(self, matrix: np.ndarray):
        self.samples = matrix.shape[0]
        self.scale = float(matrix.diagonal().max()) or 1.0
        # Entries beyond float64 end the search at once, and polishing in balls begins from nothing.
        with np.errstate(invalid="ignore"):
            matrix /= self.scale
        self._matrix = matrix

    def product(self, vector: np.ndarray) -> np.ndarray:
        """``H x``."""
        return self._matrix @ vector

    def solver(self, weights: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
        """Cholesky solver, or None where a pivot is not positive."""
        if not np.isfinite(weights).all():
            return None
        shifted = self._matrix.copy()
        shifted.flat[:: self.samples + 1] += weights
        try:
            factor = scipy.linalg.cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            return None
        return lambda rhs: scipy.linalg.cho_solve(factor, rhs, check_finite=False)

    def settled(self, vector: np.ndarray) -> np.ndarray:
        """The vector itself."""
        return vector


System = DenseSystem | LowRankSystem
"""A positive semidefinite matrix H with largest diagonal entry about 1, and its linear algebra."""


def interior_point(system: System, upper: float) -> Interior:
    """Minimise ``1/2 a'(scale H)a - 1'a`` over ``0 <= a <= upper``.

    Parameters
    ----------
    system : System
        Matrix (H) and scale.
    upper : float
        Upper end of the box (nu), may be infinite.

    Returns
    -------
    Interior
    """
    search = _Search(system, upper * system.scale)
    with np.errstate(all="ignore"):
        for _ in range(MOST_ITERATIONS):
            if search.finished() or not search.step():
                break
        finished = search.finished()
        active = [(end.slack < end.multiplier).astype(bool) for end in search.ends]
        alpha = np.array([float(value) for value in search.ends[0].slack]) / system.scale
    at_zero, at_upper = [*active, np.zeros_like(active[0])][:2]
    return Interior(alpha, at_zero, at_upper, finished)


@dataclass(eq=False)
class _End:
    """One end of the box: how far the point is from it, how a move changes that, and the multiplier."""

    sign: int
    slack: np.ndarray
    multiplier: np.ndarray


class _Search:
    """State of the method: the ends of the box; from the lower one, which is 0, the slack is the point."""

    def __init__(self, system: System, upper: float):
        self._system = system
        bounded = bool(np.isfinite(upper))
        # A box starts from its middle with multipliers that make the point stationary and differ by a
        # factor of at most 2: feasible and near the central path, however far the ends are.
        point = np.full(system.samples, upper / 2 if bounded else 1.0)
        gradient = system.product(point) - 1.0
        margin = float(np.abs(gradient).max()) if bounded else 1.0
        self.ends = [_End(1, point, np.maximum(gradient, 0.0) + margin)]
        if bounded:
            self.ends.append(_End(-1, upper - point, np.maximum(-gradient, 0.0) + margin))

    def finished(self) -> bool:
        """Whether stationarity and complementarity are at the level of rounding."""
        point = self.ends[0].slack
        stationarity = float(np.abs(self._stationarity()).max())
        small = self._system.small * max(1.0, float(np.abs(point).sum()))
        return self._complementarity() * point.size <= small and stationarity <= 10 * small

    def step(self) -> bool:
        """One predictor-corrector step; False where float64 can make none."""
        solve = self._system.solver(sum(end.multiplier / end.slack for end in self.ends))
        if solve is None:
            return False
        before = self._complementarity()
        affine = self._direction(solve, 0.0)
        after = self._complementarity(affine, self._length(affine))
        change = self._direction(solve, (after / before) ** 3 * before, affine)
        length = _STAY_INSIDE * self._length(change)
        if not (length > SHORTEST and np.isfinite(float(np.abs(change[0][0]).sum()))):
            return False
        settled = self._system.settled
        for end, (moved, grown) in zip(self.ends, change, strict=True):
            end.slack = settled(end.slack + length * moved)
            end.multiplier = settled(end.multiplier + length * grown)
        return True

    def _stationarity(self) -> np.ndarray:
        gradient = self._system.product(self.ends[0].slack) - 1.0
        for end in self.ends:
            gradient = gradient - end.sign * end.multiplier
        return gradient

    def _complementarity(self, change: Change | None = None, length: float = 0.0) -> float:
        """Mean product of slack and multiplier, after a step along a direction."""
        total = sum(
            (end.slack + length * moved) @ (end.multiplier + length * grown)
            for end, (moved, grown) in zip(self.ends, change or [(0.0, 0.0)] * len(self.ends), strict=True)
        )
        return float(total) / (self.ends[0].slack.size * len(self.ends))

    def _direction(self, solve: Callable, centring: float, affine: Change | None = None) -> Change:
        """Newton direction towards complementarity `centring`, with Mehrotra's second-order term."""
        wanted = [centring - end.slack * end.multiplier for end in self.ends]
        if affine is not None:
            wanted = [value - moved * grown for value, (moved, grown) in zip(wanted, affine, strict=True)]
        rhs = -self._stationarity()
        for end, value in zip(self.ends, wanted, strict=True):
            rhs = rhs + end.sign * value / end.slack
        moved = solve(rhs)
        return [
            (end.sign * moved, (value - end.multiplier * (end.sign * moved)) / end.slack)
            for end, value in zip(self.ends, wanted, strict=True)
        ]

    def _length(self, change: Change) -> float:
        """Longest step in 0..1 that keeps slacks and multipliers non-negative."""
        ratios = [
            (-values[falls] / steps[falls]).min(initial=1.0)
            for end, pair in zip(self.ends, change, strict=True)
            for values, steps in zip((end.slack, end.multiplier), pair, strict=True)
            for falls in [steps < 0]
        ]
        return float(min(1.0, *ratios))
