"""Search for the K-SVM optimum: Mehrotra's primal-dual interior point method.

It proves nothing; what it finds is polished and enclosed in balls (`svm_optimum`). Number system and
linear algebra are those of the system handed in: a dense float64 matrix, or `LowRankSystem`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg

MOST_ITERATIONS = 100
SHORTEST = 1e-10
"""Step length below which the search has stalled."""

_STAY_INSIDE = 0.9995


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


class System(Protocol):
    """A positive semidefinite matrix H with largest diagonal entry about 1, and its linear algebra.

    Vectors are NumPy arrays of shape (m,): float64, or objects of another number system.

    Attributes
    ----------
    samples : int
        Number of rows (m).
    scale : float
        What the matrix of the problem was divided by.
    small : float
        Optimality conditions, relative to their terms, at which the search ends.
    """

    samples: int
    scale: float
    small: float

    def product(self, vector: np.ndarray) -> np.ndarray:
        """``H x``."""

    def solver(self, weights: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
        """Solver of ``H + diag(weights)``, or None if this arithmetic has none."""

    def settled(self, vector: np.ndarray) -> np.ndarray:
        """The vector as it is carried to the next iteration."""


class DenseSystem:
    """A `System` over a float64 matrix.

    Parameters
    ----------
    matrix : ndarray, shape (m, m)
        Positive semidefinite matrix (Q + omega I); overwritten by H.
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
        slack, above = search.point, search.above
        at_zero, at_upper = slack < search.lower, above < search.top
        alpha = np.array([float(value) for value in slack]) / system.scale
    return Interior(alpha, at_zero.astype(bool), at_upper.astype(bool), finished)


class _Search:
    """State of the method: the point, its slack from above, and the multipliers of both ends."""

    def __init__(self, system: System, upper: float):
        self._system = system
        self.bounded = bool(np.isfinite(upper))
        # A box starts from its middle with multipliers that make the point stationary and differ by a
        # factor of at most 2: feasible and near the central path, however far the ends are.
        self.point = np.full(system.samples, upper / 2 if self.bounded else 1.0)
        self.above = upper - self.point
        gradient = system.product(self.point) - 1.0
        margin = float(np.abs(gradient).max()) if self.bounded else 1.0
        self.lower = np.maximum(gradient, 0.0) + margin
        self.top = np.maximum(-gradient, 0.0) + margin if self.bounded else np.zeros(system.samples)

    def finished(self) -> bool:
        """Whether stationarity and complementarity are at the level of rounding."""
        stationarity = float(np.abs(self._stationarity()).max())
        size = max(1.0, float(np.abs(self.point).sum()))
        small = self._system.small * size
        return self._complementarity() * self.point.size <= small and stationarity <= 10 * small

    def step(self) -> bool:
        """One predictor-corrector step; False where float64 can make none."""
        weights = self.lower / self.point
        if self.bounded:
            weights = weights + self.top / self.above
        solve = self._system.solver(weights)
        if solve is None:
            return False
        before = self._complementarity()
        affine = self._direction(solve, 0.0, None)
        length = self._length(affine)
        after = self._complementarity(affine, length)
        centring = (after / before) ** 3 * before
        change = self._direction(solve, centring, affine)
        length = _STAY_INSIDE * self._length(change)
        if not (length > SHORTEST and np.isfinite(float(np.abs(change[0]).sum()))):
            return False
        moved, lower, top = change
        settled = self._system.settled
        self.point = settled(self.point + length * moved)
        self.lower = settled(self.lower + length * lower)
        if self.bounded:
            self.above = settled(self.above - length * moved)
            self.top = settled(self.top + length * top)
        return True

    def _stationarity(self) -> np.ndarray:
        return self._system.product(self.point) - 1.0 - self.lower + self.top

    def _complementarity(self, change: Any = None, length: float = 0.0) -> float:
        moved, lower, top = (0.0, 0.0, 0.0) if change is None else change
        total = (self.point + length * moved) @ (self.lower + length * lower)
        count = self.point.size
        if self.bounded:
            total += (self.above - length * moved) @ (self.top + length * top)
            count *= 2
        return float(total) / count

    def _direction(self, solve: Callable, centring: float, affine):
        """Newton direction towards complementarity `centring`, with Mehrotra's second-order term."""
        low = centring - self.point * self.lower
        high = centring - self.above * self.top if self.bounded else 0.0
        if affine is not None:
            low = low - affine[0] * affine[1]
            high = high + affine[0] * affine[2] if self.bounded else 0.0
        rhs = -self._stationarity() + low / self.point
        if self.bounded:
            rhs = rhs - high / self.above
        moved = solve(rhs)
        lower = (low - self.lower * moved) / self.point
        top = (high + self.top * moved) / self.above if self.bounded else np.zeros_like(moved)
        return moved, lower, top

    def _length(self, change) -> float:
        """Longest step in 0..1 that keeps slacks and multipliers non-negative."""
        moved, lower, top = change
        pairs = [(self.point, moved), (self.lower, lower)]
        if self.bounded:
            pairs += [(self.above, -moved), (self.top, top)]
        ratios = [
            (-values[falls] / steps[falls]).min(initial=1.0)
            for values, steps in pairs
            for falls in [steps < 0]
        ]
        return float(min(1.0, *ratios))
