"""What real windows lose: run from one vector, each step compared with the exact one from its own iterate.

Float64 windows are made by the production solver. Float32, which it has not, is its recurrence in plain
NumPy: kernel entries of all coordinates of a window, stale products, then the steps in place, every
operation in float32, and the input rounded to it first. Each logs the new value of every drawn coordinate,
so a is known exactly before and after each step.

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
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from sstep_reference import Kernel as ReferenceKernel
from sstep_reference.arithmetic import Float

from sstep_verify.declaration import Declaration, Precision
from sstep_verify.problems import IndexStream, LinearKernel, PolynomialKernel, Problem, RBFKernel
from sstep_verify.problems.kernels import parameters_of
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, magnitudes, norm, unit_roundoff
from sstep_verify.rounding.formulas import Formulas
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.solver.packet import WindowError
from sstep_verify.solver.run import ProductionSolver
from sstep_verify.solver.settings import Options

MOST_WINDOWS = 8
"""Windows that are run for each s, where the stream is long enough for as many."""

MOST_WORDS = 1 << 23
"""Kernel entries in longdouble that are held; longer windows are not measured."""

MOST_WORK = 1 << 29
"""Products that measuring the windows of one s may take."""

LONG, SINGLE = np.longdouble, np.float32

JUDGE = Formulas("longdouble judge", precision="longdouble", products="rows", rbf="difference")


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


def long_kernel(problem: Problem, places: np.ndarray) -> tuple[np.ndarray, ...]:
    """Some coordinates, shape (c,), ascending, and their kernel rows in longdouble, signed by both labels.

    Then the sizes and the errors of these, shape (c, m) each.
    """
    signs = problem.signs.astype(LONG)
    entries = kernel_entries(problem, JUDGE, places)
    rows = kernel_rows(problem, places, LONG) * signs * signs[places, None]
    return places, rows, entries.magnitude, entries.solver_error


class LongRows:
    """What windows of logged steps from one vector, shape (m,), lost.

    By `long_kernel` of all coordinates drawn.
    """

    @np.errstate(over="ignore", invalid="ignore")
    def __init__(self, problem: Problem, kernel: tuple[np.ndarray, ...], alpha: np.ndarray):
        self._places, *entries = kernel
        self._samples, absolute = problem.samples, magnitudes(alpha)
        if problem.is_svm:
            loss, over, targets = problem.hinge, LONG(1), np.ones(problem.samples)
            self._shift, self._upper = 1 / (2 * LONG(loss.C)) if loss.shift else LONG(0), LONG(loss.upper)
            self._step = self._clipped
        else:
            over, targets = LONG(problem.ridge.penalty), problem.targets
            self._shift, self._step = LONG(problem.samples), self._solved
        start = alpha.astype(LONG)
        self._start, self._targets = start[self._places], targets[self._places].astype(LONG)
        self._stale, self._stale_sizes, self._stale_errors = (
            part @ vector / over for part, vector in zip(entries, (start, absolute, absolute), strict=True)
        )
        self._kernel, self._sizes, self._errors = (part[:, self._places] / over for part in entries)

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
            total += self._step(kernel[np.ix_(block, block)], values, slope, error * ROUND_UP)
        return total * ROUND_UP if total < math.inf else math.inf

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
        return length * length / 2 * ROUND_UP


class Sample:
    """Coordinates that windows draw, uniformly and in blocks of b, and the kernel's rows there, for all
    precisions, up to the largest s.
    """

    def __init__(self, samples: int, block: int, most: int, seed: int):
        self._samples, self._kernels = samples, dict[str, tuple[np.ndarray, ...]]()
        self.stream = IndexStream("uniform", samples, block, most, seed)
        rows = MOST_WORDS // samples
        self.length = most if samples <= rows else min(rows // block, most)

    def kernel(self, problem: Problem) -> tuple[np.ndarray, ...]:
        """A problem's rows of all coordinates drawn in the first `length` blocks.

        A precision may hold another problem than the given one (rounding/arithmetic.py), and rows of its
        own.
        """
        if problem.digest not in self._kernels:
            places = np.unique(self.stream.blocks(0, self.length))
            self._kernels[problem.digest] = long_kernel(problem, places)
        return self._kernels[problem.digest]

    def windows(self, s: int) -> int:
        """How many windows of s steps are run; 0 where they would take too long."""
        drawn = self.stream.block * s
        work = drawn * min(drawn, self._samples)
        if s > self.length or work > MOST_WORK:
            return 0
        return max(min(MOST_WINDOWS, self.length // s, MOST_WORK // (4 * work)), 1)


class Windows:
    """Windows of one problem, in float64 or float32, that begin at numbers of it, shape (m,)."""

    def __init__(self, problem: Problem, alpha: np.ndarray, precision: str, sample: Sample):
        self._problem, self._alpha, self._sample = problem, alpha, sample
        self._solver = None if precision == "float32" else ProductionSolver()

    def measure(self, s: int) -> tuple[float | None, int]:
        """Run windows of s steps: the largest loss of one at most, None where none is run; how many."""
        count = self._sample.windows(s)
        if not count:
            return None, 0
        worst = 0.0
        for begin in range(0, count * s, s):
            draws = self._sample.stream.blocks(begin, begin + s)
            worst = max(worst, self._rows.loss(draws, self._log(draws, begin, s)))
        return worst, count

    @cached_property
    def _rows(self) -> LongRows:
        return LongRows(self._problem, self._sample.kernel(self._problem), self._alpha)

    def _log(self, draws: np.ndarray, begin: int, s: int) -> np.ndarray:
        """New value of each drawn coordinate; NaN where the window broke down."""
        if self._solver is None:
            return single_log(self._problem, self._alpha, draws)
        request = RunRequest(self._problem, self._sample.stream, s, s, begin, self._alpha, log=True)
        try:
            log = self._solver.run(request).log
        except WindowError:
            return np.full(draws.shape, np.nan)
        assert log is not None
        return np.asarray(log, dtype=np.float64).reshape(draws.shape)


def declaration_of(precision: Precision) -> Declaration:
    """What makes the windows of a precision: the production solver, or the same recurrence in float32."""
    production = Options().declaration(1)
    if precision == "float64":
        return production
    # Norm expansion loses every digit of a distance that is small compared with the norms, sooner than
    # float32 can afford.
    return replace(production, name="float32 loop", precision=precision, rbf="difference")


@np.errstate(all="ignore")
def single_log(problem: Problem, alpha: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """New value of each drawn coordinate of one window in float32, shape (s, b), from a of shape (m,).

    NaN once it has broken down.
    """
    places, order = np.unique(draws, return_inverse=True)
    rows, signs = kernel_rows(problem, places, SINGLE), problem.signs.astype(SINGLE)
    alpha, targets = alpha.astype(SINGLE), problem.targets[places].astype(SINGLE)
    stale = signs[places] * (rows @ (signs * alpha))
    kernel = signs[places, None] * rows[:, places] * signs[places]
    now, gained = alpha[places], np.zeros(places.size, dtype=SINGLE)
    step = _clipped if problem.is_svm else _solved
    log = np.full(draws.shape, np.nan)
    for values, block in zip(log, order.reshape(draws.shape), strict=True):
        products = stale[block] + kernel[block] @ gained
        try:
            values[:] = step(problem, kernel[np.ix_(block, block)], now[block], products, targets[block])
        except np.linalg.LinAlgError:
            break
        gained[block] += values.astype(SINGLE) - now[block]
        now[block] = values
    return log


def _clipped(
    problem: Problem, kernel: np.ndarray, values: np.ndarray, products: np.ndarray, _: np.ndarray
) -> np.ndarray:
    """New value of a coordinate of a K-SVM."""
    loss = problem.hinge
    shift = SINGLE(1) / (SINGLE(2) * SINGLE(loss.C)) if loss.shift else SINGLE(0)
    curvature = kernel[0] + shift
    if not curvature[0] > 0:
        return np.array([loss.upper], dtype=SINGLE)
    slope = products - SINGLE(1) + shift * values
    return np.clip(values - slope / curvature, SINGLE(0), SINGLE(loss.upper))


def _solved(
    problem: Problem, kernel: np.ndarray, values: np.ndarray, products: np.ndarray, targets: np.ndarray
) -> np.ndarray:
    """New values of a block of a K-RR; a LinAlgError where its system is not positive definite."""
    penalty, samples = SINGLE(problem.ridge.penalty), SINGLE(problem.samples)
    right = targets - samples * values - products / penalty
    system = kernel / penalty + samples * np.eye(values.size, dtype=SINGLE)
    factor = scipy.linalg.cho_factor(system, check_finite=False)
    return values + np.asarray(scipy.linalg.cho_solve(factor, right, check_finite=False))
