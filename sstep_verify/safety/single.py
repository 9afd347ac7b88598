"""Windows in float32: the production solver's recurrence in plain NumPy, which that solver has not.

Kernel entries of all coordinates of a window, stale products, then the steps in place; every operation in
float32, and the input rounded to it first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg

from sstep_verify.declaration import Declaration, Precision
from sstep_verify.problems import PolynomialKernel, Problem, RBFKernel
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
        self._data = problem.dense.astype(SINGLE)
        self._targets = problem.targets.astype(SINGLE)

    def log(self, draws: np.ndarray) -> np.ndarray:
        """New value of each drawn coordinate of one window, shape (s, b); NaN once it has broken down."""
        with np.errstate(all="ignore"):
            return self._logged(draws)

    def _logged(self, draws: np.ndarray) -> np.ndarray:
        places, order = np.unique(draws, return_inverse=True)
        rows = self._kernel(places)
        window = self._svm if self._problem.is_svm else self._ridge
        return np.asarray(window(places, order.reshape(draws.shape), rows), dtype=np.float64)

    def _kernel(self, places: np.ndarray) -> np.ndarray:
        kernel = self._problem.kernel
        if isinstance(kernel, RBFKernel):
            rows = np.empty((places.size, self._data.shape[0]), dtype=SINGLE)
            for row, i in enumerate(places):
                difference = self._data - self._data[i]
                np.einsum("ij,ij->i", difference, difference, out=rows[row])
            return np.exp(-SINGLE(kernel.sigma) * rows)
        products = self._data[places] @ self._data.T
        if isinstance(kernel, PolynomialKernel):
            base = products + SINGLE(kernel.offset)
            products = base.copy()
            for _ in range(kernel.degree - 1):
                products *= base
        return products

    def _svm(self, places: np.ndarray, order: np.ndarray, rows: np.ndarray) -> list[list[np.float32]]:
        loss, labels = self._problem.hinge, self._targets
        C = SINGLE(loss.C)
        shift = SINGLE(1) / (SINGLE(2) * C) if loss.shift else SINGLE(0)
        upper = SINGLE(loss.upper)
        own = labels[places]
        stale = own * (rows @ (labels * self._alpha))
        signed = own[:, None] * rows[:, places] * own[None, :]
        now, gained = self._alpha[places].copy(), np.zeros(places.size, dtype=SINGLE)
        log = []
        for i in order[:, 0]:
            curvature = signed[i, i] + shift
            new = upper
            if curvature > 0:
                slope = stale[i] + signed[i] @ gained - SINGLE(1) + shift * now[i]
                new = min(max(now[i] - slope / curvature, SINGLE(0)), upper)
            gained[i] += new - now[i]
            now[i] = new
            log.append([new])
        return log

    def _ridge(self, places: np.ndarray, order: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
        penalty, samples = SINGLE(self._problem.ridge.penalty), SINGLE(self._problem.samples)
        stale, own = rows @ self._alpha, rows[:, places]
        now, gained = self._alpha[places].copy(), np.zeros(places.size, dtype=SINGLE)
        targets = self._targets[places]
        log: list[np.ndarray] = []
        for block in order:
            right = targets[block] - samples * now[block] - (stale[block] + own[block] @ gained) / penalty
            system = own[np.ix_(block, block)] / penalty + samples * np.eye(block.size, dtype=SINGLE)
            try:
                factor = scipy.linalg.cho_factor(system, check_finite=False)
            except np.linalg.LinAlgError:
                return log + [np.full(block.size, np.nan)] * (len(order) - len(log))
            new = now[block] + scipy.linalg.cho_solve(factor, right, check_finite=False)
            gained[block] += new - now[block]
            now[block] = new
            log.append(new)
        return log
