"""Search for the K-SVM optimum: Mehrotra's primal-dual interior point method in float64.

It proves nothing; what it finds is polished and enclosed in balls (`svm_optimum`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

MOST_ITERATIONS = 100
SMALL = 1e-15
"""Complementarity, relative to the objective's terms, at which the search ends."""

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


def interior_point(matrix: np.ndarray, upper: float) -> Interior:
    """Minimise ``1/2 a'Ha - 1'a`` over ``0 <= a <= upper``.

    Parameters
    ----------
    matrix : ndarray, shape (m, m)
        Positive semidefinite matrix (H = Q + omega I), float64; overwritten by H over its largest
        diagonal entry, in which scale the search works.
    upper : float
        Upper end of the box (nu), may be infinite.

    Returns
    -------
    Interior
    """
    scale = float(matrix.diagonal().max())
    scale = scale if scale > 0 else 1.0
    matrix /= scale
    # A far upper end whose multiplier starts at 1 can drown all other complementarity; one that starts
    # small can leave the centre where many coordinates end up there. Neither start suits every problem.
    for small_top in (False, True):
        search = _Search(matrix, upper * scale, small_top)
        with np.errstate(all="ignore"):
            for _ in range(MOST_ITERATIONS):
                if search.finished() or not search.step():
                    break
            finished = search.finished()
        if finished or not search.bounded:
            break
    slack, above = search.point, search.above
    return Interior(slack / scale, slack < search.lower, above < search.top, finished)


class _Search:
    """State of the method: the point, its slack from above, and the multipliers of both ends."""

    def __init__(self, matrix: np.ndarray, upper: float, small_top: bool):
        m = matrix.shape[0]
        self.matrix, self.upper = matrix, upper
        self.bounded = bool(np.isfinite(upper))
        self.point = np.full(m, min(upper / 2, 1.0))
        self.above = upper - self.point
        gradient = matrix @ self.point - 1.0
        self.lower = np.maximum(gradient, 0.0) + 1.0
        self.top = np.maximum(-gradient, 0.0) + 1.0 if self.bounded else np.zeros(m)
        if small_top:
            self.top /= np.maximum(self.above, 1.0)

    def finished(self) -> bool:
        """Whether stationarity and complementarity are at the level of rounding."""
        stationarity = np.abs(self._stationarity()).max()
        size = max(1.0, float(np.abs(self.point).sum()))
        return self._complementarity() * self.point.size <= SMALL * size and stationarity <= 1e-13 * size

    def step(self) -> bool:
        """One predictor-corrector step; False where float64 can make none."""
        weights = self.lower / self.point
        if self.bounded:
            weights = weights + self.top / self.above
        factor = _factor(self.matrix, weights)
        if factor is None:
            return False
        before = self._complementarity()
        affine = self._direction(factor, 0.0, None)
        length = self._length(affine)
        after = self._complementarity(affine, length)
        centring = (after / before) ** 3 * before
        change = self._direction(factor, centring, affine)
        length = _STAY_INSIDE * self._length(change)
        if not (np.isfinite(length) and length > 1e-10 and np.isfinite(change[0]).all()):
            return False
        moved, lower, top = change
        self.point = self.point + length * moved
        self.lower = self.lower + length * lower
        if self.bounded:
            self.above = self.above - length * moved
            self.top = self.top + length * top
        return True

    def _stationarity(self) -> np.ndarray:
        return self.matrix @ self.point - 1.0 - self.lower + self.top

    def _complementarity(self, change=None, length: float = 0.0) -> float:
        moved, lower, top = (0.0, 0.0, 0.0) if change is None else change
        total = (self.point + length * moved) @ (self.lower + length * lower)
        count = self.point.size
        if self.bounded:
            total += (self.above - length * moved) @ (self.top + length * top)
            count *= 2
        return float(total) / count

    def _direction(self, factor, centring: float, affine):
        """Newton direction towards complementarity `centring`, with Mehrotra's second-order term."""
        low = centring - self.point * self.lower
        high = centring - self.above * self.top if self.bounded else 0.0
        if affine is not None:
            low = low - affine[0] * affine[1]
            high = high + affine[0] * affine[2] if self.bounded else 0.0
        rhs = -self._stationarity() + low / self.point
        if self.bounded:
            rhs = rhs - high / self.above
        moved = scipy.linalg.cho_solve(factor, rhs, check_finite=False)
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


def _factor(matrix: np.ndarray, weights: np.ndarray):
    """Cholesky factor of ``matrix + diag(weights)``, or None."""
    if not np.isfinite(weights).all():
        return None
    system = matrix.copy()
    system.flat[:: matrix.shape[0] + 1] += weights
    try:
        return scipy.linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
