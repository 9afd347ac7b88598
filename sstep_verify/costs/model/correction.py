"""A smooth correction of the model for cells that were measured: a Gaussian process on log residuals.

Over logarithms of P, s and b, with Matern 3/2 correlation, in three parts: shared by all runs of a data
set, by those of a method and kernel on it, and by a cell (data set, method, kernel, b). Its 13
hyperparameters are set, not fitted. It returns to the model away from what was measured, so it interpolates
and does not extrapolate.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.costs.model.timings import Array, Runs

PARTS = ((0.25, 3.0, 6.0, 3.0), (0.15, 4.0, 6.0, 3.0), (0.15, 4.0, 6.0, 3.0))
"""Of each part: size, and lengths in log2 P, log2 s and log2 b."""

NOISE = 0.15
"""Standard deviation of the log of a run; residuals beyond 1.5 of it count less."""


class Correction:
    """What the model is off by, near runs that were measured.

    Parameters
    ----------
    runs : Runs
        Runs measured.
    residuals : ndarray, shape (k,)
        Logarithms of measured over modelled.
    """

    def __init__(self, runs: Runs, residuals: Array):
        self._runs = runs
        shared = self._covariance(runs, runs)
        weights = np.ones(len(runs))
        for _ in range(6):
            solved = np.linalg.solve(shared + np.diag(NOISE**2 / weights), residuals)
            left = np.abs(residuals - shared @ solved) / NOISE
            weights = np.minimum(1.0, 1.5 / np.maximum(left, 1e-9))
        self._solved = solved

    def __call__(self, runs: Runs) -> Array:
        """Logarithm of the factor for runs, shape (k,)."""
        return np.asarray(self._covariance(runs, self._runs) @ self._solved)

    @staticmethod
    def _covariance(one: Runs, other: Runs) -> Array:
        def far(name: str) -> Array:
            return np.abs(np.log2(getattr(one, name))[:, None] - np.log2(getattr(other, name))[None])

        def same(name: str) -> Array:
            return np.asarray(getattr(one, name)[:, None] == getattr(other, name)[None])

        gaps = [far("ranks"), far("s"), far("block")]
        data = same("data")
        program = data & same("method") & same("kernel")
        found = np.zeros(data.shape)
        for (size, *lengths), shared in zip(PARTS, (data, program, program & same("block")), strict=True):
            term = size**2 * shared
            for gap, length in zip(gaps, lengths, strict=True):
                term = term * (1 + gap / length) * np.exp(-gap / length)
            found += term
        return found
