"""Kernel rows in longdouble, and what the steps of a logged window lost against exact ones.

The loss of a step follows from the gradient (K-SVM) or the block's right-hand side (K-RR) after it,
formed in longdouble. Its own error, bounded as that of any solver in longdouble, is added, so that what
is said is never less than what was lost. Both are, but for the sign of a right-hand side, ``K a + omega x -
t``: K-SVM with its shift omega and t = 1, K-RR with its kernel over lambda, omega = m and t = y.

K-SVM: with x the new value, ``z = x - g/eta`` and ``c = clip(z)``,

    f(x) - f(c) = eta (c - z)(x - c) + eta (x - c)^2 / 2.

K-RR: ``rho' G^{-1} rho / 2``, at most ``||rho||^2 / (2m)``, which is taken where float64 cannot be trusted
with G: where its trace over m exceeds 2^30.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sstep_reference import Kernel as ReferenceKernel
from sstep_reference.arithmetic import Float

from sstep_verify.declaration import Declaration
from sstep_verify.problems import LinearKernel, PolynomialKernel, Problem, RBFKernel
from sstep_verify.problems.kernels import parameters_of
from sstep_verify.rounding.arithmetic import OUTWARD, gamma, magnitudes, norm, unit_roundoff
from sstep_verify.rounding.kernel.entries import kernel_entries

LONG = np.longdouble

JUDGE = Declaration(
    "longdouble judge", precision="longdouble", products="rows", rbf="difference", function_ulps=2.0
)


def kernel_rows(problem: Problem, places: np.ndarray, kind: Any) -> np.ndarray:
    """Kernel rows of some samples in a number type, shape (c, m); RBF by squared differences.

    Those of a kernel of one's own are the reference's, one by one.
    """
    data, kernel = problem.dense.astype(kind), problem.kernel
    if isinstance(kernel, RBFKernel):
        rows = np.empty((places.size, problem.samples), dtype=kind)
        for row, i in enumerate(places):
            difference = data - data[i]
            np.einsum("ij,ij->i", difference, difference, out=rows[row])
        return np.exp(-kind(kernel.sigma) * rows)
    if not isinstance(kernel, LinearKernel | PolynomialKernel):
        given: Any = problem.dense
        truth = ReferenceKernel(Float(kind), given, kernel.name, **parameters_of(kernel))
        return np.array(truth.columns(places.tolist()))
    products = data[places] @ data.T
    if isinstance(kernel, LinearKernel):
        return products
    base = products + kind(kernel.offset)
    power = base.copy()
    for _ in range(kernel.degree - 1):
        power *= base
    return power


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
        self.rows = kernel_rows(problem, places, LONG) * signs * signs[places, None]
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

    @np.errstate(over="ignore", invalid="ignore")
    def __init__(self, problem: Problem, kernel: LongKernel, alpha: np.ndarray):
        self._samples, self._places, absolute = problem.samples, kernel.places, magnitudes(alpha)
        if problem.is_svm:
            loss, over, targets = problem.hinge, LONG(1), np.ones(problem.samples)
            self._shift, self._upper = 1 / (2 * LONG(loss.C)) if loss.shift else LONG(0), LONG(loss.upper)
            self._step = self._clipped
        else:
            over, targets = LONG(problem.ridge.penalty), problem.targets
            self._shift, self._step = LONG(problem.samples), self._solved
        start = alpha.astype(LONG)
        self._start, self._targets = start[self._places], targets[self._places].astype(LONG)
        self._stale = kernel.rows @ start / over
        self._stale_sizes = kernel.magnitude @ absolute / over
        self._stale_errors = kernel.errors @ absolute / over
        self._kernel, self._sizes, self._errors = (
            entries[:, self._places] / over for entries in (kernel.rows, kernel.magnitude, kernel.errors)
        )

    @np.errstate(over="ignore", invalid="ignore")
    def loss(self, draws: np.ndarray, log: np.ndarray) -> float:
        """Loss of a window whose log is given, at most; infinite for one that broke down."""
        if not np.isfinite(log).all():
            return math.inf
        used, local = np.unique(np.searchsorted(self._places, draws), return_inverse=True)
        grid = np.ix_(used, used)
        kernel, sizes, errors = self._kernel[grid], self._sizes[grid], self._errors[grid]
        roundoff = gamma(2 * self._samples + 16, unit_roundoff("longdouble"))
        now, gained, moved = self._start[used], LONG(0) * used, LONG(0) * used
        total = 0.0
        for block, values in zip(local.reshape(draws.shape), log.astype(LONG), strict=True):
            gained[block] += values - now[block]
            moved[block] += np.abs(values - now[block])
            now[block] = values
            rows = used[block]
            slope = self._stale[rows] + kernel[block] @ gained + self._shift * values - self._targets[rows]
            terms = self._stale_sizes[rows] + sizes[block] @ moved + self._shift * np.abs(values)
            terms += np.abs(self._targets[rows])
            error = self._stale_errors[rows] + errors[block] @ moved + roundoff * terms
            total += self._step(kernel[np.ix_(block, block)], values, slope, error * OUTWARD)
        return total * OUTWARD if total < math.inf else math.inf

    def _clipped(
        self, kernel: np.ndarray, values: np.ndarray, slope: np.ndarray, error: np.ndarray
    ) -> float:
        """Loss of a step of a K-SVM."""
        curvature = kernel[0, 0] + self._shift
        if not curvature > 0:
            return 0.0
        z = values - np.concatenate([slope - error, slope + error]) / curvature
        c = np.clip(z, 0, self._upper)
        return float(np.max(curvature * ((c - z) * (values - c) + (values - c) ** 2 / 2)))

    def _solved(
        self, kernel: np.ndarray, values: np.ndarray, slope: np.ndarray, error: np.ndarray
    ) -> float:
        """Loss of a block step of a K-RR."""
        rho = slope.astype(np.float64)
        system = kernel.astype(np.float64) + self._samples * np.eye(values.size)
        if np.trace(system) <= self._samples * 2.0**30:
            square = float(rho @ np.linalg.solve(system, rho)) * (1.0 + 2.0**-10)
        else:
            square = float(rho @ rho) / self._samples
        off = norm(error.astype(np.float64)) / math.sqrt(self._samples)
        length = math.sqrt(max(square, 0.0)) + off
        return length * length / 2 * OUTWARD
