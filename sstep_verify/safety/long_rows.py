"""Kernel rows in longdouble, and what the steps of a logged window lost against exact ones.

The loss of a step follows from the gradient (K-SVM) or the block's right-hand side (K-RR) after it,
formed in longdouble. Its own error, bounded as that of any solver in longdouble, is added, so that what
is told is never less than what was lost.

K-SVM: with x the new value, ``z = x - g/eta`` and ``c = clip(z)``,

    f(x) - f(c) = eta (c - z)(x - c) + eta (x - c)^2 / 2.

K-RR: ``rho' G^{-1} rho / 2``, at most ``||rho||^2 / (2m)``, which is taken where float64 cannot be trusted
with G: where its trace over m exceeds 2^30.
"""

from __future__ import annotations

import math

import numpy as np

from sstep_verify.bounds.kernel.entries import kernel_entries
from sstep_verify.declaration import Declaration
from sstep_verify.numerics.rounding import OUTWARD, gamma, magnitudes, norm, unit_roundoff
from sstep_verify.problems import PolynomialKernel, Problem, RBFKernel

LONG = np.longdouble

JUDGE = Declaration(
    "longdouble judge", precision="longdouble", products="rows", rbf="difference", function_ulps=2.0
)


class LongKernel:
    """Kernel rows of some coordinates, signed by both labels, with bounds on their errors.

    Parameters
    ----------
    problem : Problem
        The problem.
    places : ndarray of int, shape (c,)
        The coordinates, ascending.
    """

    def __init__(self, problem: Problem, places: np.ndarray):
        signs = problem.signs.astype(LONG)
        entries = kernel_entries(problem, JUDGE, places)
        self.places = places
        self.rows = long_kernel(problem, places) * signs * signs[places, None]
        self.magnitude, self.errors = entries.magnitude, entries.solver_error


class LongRows:
    """What windows of logged steps from one vector lost.

    Parameters
    ----------
    problem : Problem
        The problem.
    kernel : LongKernel
        Rows of all coordinates drawn.
    alpha : ndarray, shape (m,)
        Where windows begin.
    """

    def __init__(self, problem: Problem, kernel: LongKernel, alpha: np.ndarray):
        self._problem, self._places, self._start = problem, kernel.places, alpha.astype(LONG)
        absolute, places = magnitudes(alpha), kernel.places
        self._stale = kernel.rows @ self._start
        self._sizes, self._errors = kernel.magnitude @ absolute, kernel.errors @ absolute
        self._kernel, self._magnitude = kernel.rows[:, places], kernel.magnitude[:, places]
        self._given = kernel.errors[:, places]

    def loss(self, draws: np.ndarray, log: np.ndarray) -> float:
        """Loss of a window whose log is given, at most; infinite for one that broke down."""
        if not np.isfinite(log).all():
            return math.inf
        order = np.searchsorted(self._places, draws)
        used, local = np.unique(order, return_inverse=True)
        grid = np.ix_(used, used)
        kernel, magnitude, given = self._kernel[grid], self._magnitude[grid], self._given[grid]
        now = self._start[self._places[used]]
        gained, moved, total = np.zeros(used.size, dtype=LONG), np.zeros(used.size), 0.0
        for block, values in zip(local.reshape(draws.shape), log.astype(LONG), strict=True):
            gained[block] += values - now[block]
            moved[block] += np.abs(values - now[block]).astype(np.float64)
            now[block] = values
            rows = used[block]
            products = self._stale[rows] + kernel[block] @ gained
            sizes = self._sizes[rows] + magnitude[block] @ moved
            errors = (self._errors[rows] + given[block] @ moved) * OUTWARD
            step = self._svm_step if self._problem.is_svm else self._ridge_step
            total += step(
                self._places[rows], kernel[np.ix_(block, block)], now[block], products, sizes, errors
            )
        return total * OUTWARD

    def _roundoff(self) -> float:
        return gamma(2 * self._problem.samples + 16, unit_roundoff("longdouble"))

    def _svm_step(
        self,
        places: np.ndarray,
        kernel: np.ndarray,
        values: np.ndarray,
        products: np.ndarray,
        sizes: np.ndarray,
        errors: np.ndarray,
    ) -> float:
        loss, x = self._problem.hinge, values[0]
        shift = 1 / (2 * LONG(loss.C)) if loss.shift else LONG(0)
        curvature = kernel[0, 0] + shift
        if not curvature > 0:
            return 0.0
        slope = products[0] - 1 + shift * x
        off = (errors[0] + self._roundoff() * (sizes[0] + 1.0 + float(shift * x))) * OUTWARD
        found = []
        for gradient in (slope - LONG(off), slope + LONG(off)):
            z = x - gradient / curvature
            c = min(max(z, LONG(0)), LONG(loss.upper))
            found.append(float(curvature * ((c - z) * (x - c) + (x - c) ** 2 / 2)))
        return max(found)

    def _ridge_step(
        self,
        places: np.ndarray,
        kernel: np.ndarray,
        values: np.ndarray,
        products: np.ndarray,
        sizes: np.ndarray,
        errors: np.ndarray,
    ) -> float:
        problem, samples = self._problem, self._problem.samples
        penalty, targets = LONG(problem.ridge.penalty), problem.targets[places].astype(LONG)
        left = targets - samples * values - products / penalty
        terms = np.abs(targets) + samples * np.abs(values) + sizes / penalty
        off = errors / penalty + self._roundoff() * terms
        error = norm(off.astype(np.float64)) / math.sqrt(samples)
        system = (kernel / penalty).astype(np.float64) + samples * np.eye(values.size)
        rho = left.astype(np.float64)
        if np.trace(system) <= samples * 2.0**30:
            square = float(rho @ np.linalg.solve(system, rho)) * (1.0 + 2.0**-10)
        else:
            square = float(rho @ rho) / samples
        return (math.sqrt(max(square, 0.0)) + error) ** 2 / 2 * OUTWARD


def long_kernel(problem: Problem, places: np.ndarray) -> np.ndarray:
    """Kernel rows in longdouble, shape (c, m); RBF by squared differences."""
    data, kernel = problem.dense.astype(LONG), problem.kernel
    if isinstance(kernel, RBFKernel):
        rows = np.empty((places.size, problem.samples), dtype=LONG)
        for row, i in enumerate(places):
            difference = data - data[i]
            rows[row] = np.exp(-LONG(kernel.sigma) * (difference * difference).sum(axis=1))
        return rows
    products = data[places] @ data.T
    if not isinstance(kernel, PolynomialKernel):
        return products
    base = products + LONG(kernel.offset)
    power = base.copy()
    for _ in range(kernel.degree - 1):
        power *= base
    return power
