"""A smooth correction of the model for cells that were measured: a curve through log residuals.

Over logarithms of P, s and b, with Matern 3/2 correlation, in three parts of one size: shared by all runs
of a data set, by those of a method and kernel on it, and by a cell (data set, method, kernel, b). Of all
such curves it is the one with the least

    sum |residual - curve| + stiffness / 2 |curve|^2,

by absolute deviations, since some runs and whole jobs took up to ten times as long as their neighbours. It
returns to the model away from what was measured, so it interpolates and does not extrapolate.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from sstep_verify.costs.model.timings import Array, Runs


class Correction:
    """What the model is off by, near runs that were measured.

    Parameters
    ----------
    runs : Runs
        Runs measured.
    residuals : ndarray, shape (k,)
        Logarithms of measured over modelled.
    length : float
        Distance in log2 P, log2 s or log2 b over which runs tell of each other.
    stiffness : float
        How many absolute deviations a curve is worth.

    Notes
    -----
    The curve is a sum of correlations with the runs. Its coefficients solve the dual problem, a quadratic
    one in which none is larger than 1 / stiffness: no run pulls harder, however far off it is. Runs of two
    data sets have nothing to do with each other, so each data set is solved for alone.
    """

    def __init__(self, runs: Runs, residuals: Array, length: float, stiffness: float):
        self._runs, self._length = runs, length
        self._pulls = np.zeros(len(runs))
        for name in np.unique(runs.data):
            mine = np.flatnonzero(runs.data == name)
            known = runs.take(mine)
            self._pulls[mine] = _pulls(self._covariance(known, known), residuals[mine], 1 / stiffness)

    def __call__(self, runs: Runs) -> Array:
        """Logarithm of the factor for runs, shape (k,)."""
        found = np.zeros(len(runs))
        for name in np.unique(runs.data):
            asked, mine = np.flatnonzero(runs.data == name), np.flatnonzero(self._runs.data == name)
            near = self._covariance(runs.take(asked), self._runs.take(mine))
            found[asked] = near @ self._pulls[mine]
        return found

    def _covariance(self, one: Runs, other: Runs) -> Array:
        """Of runs of one data set."""

        def same(name: str) -> Array:
            return np.asarray(getattr(one, name)[:, None] == getattr(other, name)[None])

        program = same("method") & same("kernel")
        parts = 1.0 + program + (program & same("block"))
        for name in ("ranks", "s", "block"):
            gap = np.abs(np.log2(getattr(one, name))[:, None] - np.log2(getattr(other, name))[None])
            parts = parts * (1 + gap / self._length) * np.exp(-gap / self._length)
        return np.asarray(parts)


def _pulls(covariance: Array, residuals: Array, most: float) -> Array:
    """The coefficients, each between -most and most."""

    def objective(pulls: Array) -> tuple[float, Array]:
        curve = covariance @ pulls
        return float(0.5 * pulls @ curve - residuals @ pulls), curve - residuals

    bounds = [(-most, most)] * residuals.size
    best = minimize(objective, np.zeros(residuals.size), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(best.x)
