"""Windows in float32: the production solver's recurrence in plain NumPy, which that solver has not.

Kernel entries of all coordinates of a window, stale products, then the steps in place; every operation in
float32, and the input rounded to it first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg

from sstep_verify.declaration import Declaration, Precision
from sstep_verify.problems import Problem
from sstep_verify.safety.long_rows import kernel_rows
from sstep_verify.solvers.production.options import Options

SINGLE = np.float32


def declaration_of(precision: Precision) -> Declaration:
    """What makes the windows of a precision: the production solver, or the same recurrence in float32."""
    production = Options().declaration(1)
    if precision == "float64":
        return production
    # Norm expansion loses every digit of a distance that is small beside the norms, sooner than float32 can
    # afford.
    return replace(production, name="float32 loop", precision=precision, rbf="difference")


class SingleWindows:
    """Windows of one problem in float32 from one vector.

    Parameters
    ----------
    problem : Problem
        The problem.
    alpha : ndarray, shape (m,)
        Where windows begin, numbers of float32.
    """

    def __init__(self, problem: Problem, alpha: np.ndarray):
        self._problem, self._alpha = problem, alpha.astype(SINGLE)
        self._signs, self._targets = problem.signs.astype(SINGLE), problem.targets.astype(SINGLE)

    @np.errstate(all="ignore")
    def log(self, draws: np.ndarray) -> np.ndarray:
        """New value of each drawn coordinate of one window, shape (s, b); NaN once it has broken down."""
        places, order = np.unique(draws, return_inverse=True)
        rows, signs = kernel_rows(self._problem, places, SINGLE), self._signs
        stale = signs[places] * (rows @ (signs * self._alpha))
        kernel = signs[places, None] * rows[:, places] * signs[places]
        now, gained = self._alpha[places], np.zeros(places.size, dtype=SINGLE)
        step = self._clipped if self._problem.is_svm else self._solved
        log = np.full(draws.shape, np.nan)
        for values, block in zip(log, order.reshape(draws.shape), strict=True):
            products = stale[block] + kernel[block] @ gained
            targets = self._targets[places[block]]
            try:
                values[:] = step(kernel[np.ix_(block, block)], now[block], products, targets)
            except np.linalg.LinAlgError:
                break
            gained[block] += values.astype(SINGLE) - now[block]
            now[block] = values
        return log

    def _clipped(
        self, kernel: np.ndarray, values: np.ndarray, products: np.ndarray, _: np.ndarray
    ) -> np.ndarray:
        """New value of a coordinate of a K-SVM."""
        loss = self._problem.hinge
        shift = SINGLE(1) / (SINGLE(2) * SINGLE(loss.C)) if loss.shift else SINGLE(0)
        curvature = kernel[0] + shift
        if not curvature[0] > 0:
            return np.array([loss.upper], dtype=SINGLE)
        slope = products - SINGLE(1) + shift * values
        return np.clip(values - slope / curvature, SINGLE(0), SINGLE(loss.upper))

    def _solved(
        self, kernel: np.ndarray, values: np.ndarray, products: np.ndarray, targets: np.ndarray
    ) -> np.ndarray:
        """New values of a block of a K-RR; a LinAlgError where its system is not positive definite."""
        penalty, samples = SINGLE(self._problem.ridge.penalty), SINGLE(self._problem.samples)
        right = targets - samples * values - products / penalty
        system = kernel / penalty + samples * np.eye(values.size, dtype=SINGLE)
        factor = scipy.linalg.cho_factor(system, check_finite=False)
        return values + np.asarray(scipy.linalg.cho_solve(factor, right, check_finite=False))
