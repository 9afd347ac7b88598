"""What real windows lose: run from one vector, each step compared with the exact one from its own iterate.

Float64 windows are made by the production solver. Float32, which it has not, is its recurrence in plain
NumPy: kernel entries of all coordinates of a window, stale products, then the steps in place, every
operation in float32, and the input rounded to it first. Each logs the new value of every drawn coordinate,
so a is known exactly before and after each step, and what the step lost follows (safety/long_rows.py).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import scipy.linalg

from sstep_verify.declaration import Declaration, Precision
from sstep_verify.problems import IndexStream, Problem
from sstep_verify.protocol import RunRequest
from sstep_verify.safety.long_rows import LongKernel, LongRows, kernel_rows
from sstep_verify.solver.packet import WindowError
from sstep_verify.solver.settings import Options
from sstep_verify.solver.solver import ProductionSolver

MOST_WINDOWS = 8
"""Windows that are run for each s, where the stream is long enough for as many."""

MOST_WORDS = 1 << 23
"""Kernel entries in longdouble that are held; longer windows are not measured."""

MOST_WORK = 1 << 29
"""Products that measuring the windows of one s may take."""


class Sample:
    """Coordinates that windows draw, uniformly, and the kernel's rows there, for all precisions.

    Parameters
    ----------
    samples, block, most, seed : int
        Samples (m), coordinates of a block (b), largest s, seed of the draws.
    """

    def __init__(self, samples: int, block: int, most: int, seed: int):
        self._samples, self._kernels = samples, dict[str, LongKernel]()
        self.stream = IndexStream("uniform", samples, block, most, seed)
        rows = MOST_WORDS // samples
        self.length = most if samples <= rows else min(rows // block, most)

    def kernel(self, problem: Problem) -> LongKernel:
        """A problem's rows of all coordinates drawn in the first `length` blocks.

        A precision may hold another problem than the given one (rounding/held.py), and rows of its own.
        """
        if problem.digest not in self._kernels:
            places = np.unique(self.stream.blocks(0, self.length))
            self._kernels[problem.digest] = LongKernel(problem, places)
        return self._kernels[problem.digest]

    def windows(self, s: int) -> int:
        """How many windows of s steps are run; 0 where they would take too long."""
        drawn = self.stream.block * s
        work = drawn * min(drawn, self._samples)
        if s > self.length or work > MOST_WORK:
            return 0
        return max(min(MOST_WINDOWS, self.length // s, MOST_WORK // (4 * work)), 1)


class Windows:
    """Windows of one problem and precision from one vector.

    Parameters
    ----------
    problem : Problem
        The problem.
    alpha : ndarray, shape (m,)
        Where each of them begins, numbers of the precision.
    precision : str
        "float64" or "float32".
    sample : Sample
        What they draw.
    """

    def __init__(self, problem: Problem, alpha: np.ndarray, precision: str, sample: Sample):
        self._problem, self._alpha, self._sample = problem, alpha, sample
        self._single = SingleWindows(problem, alpha) if precision == "float32" else None
        self._solver = ProductionSolver()

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
        if self._single is not None:
            return self._single.log(draws)
        request = RunRequest(self._problem, self._sample.stream, s, s, begin, self._alpha, log=True)
        try:
            log = self._solver.run(request).log
        except WindowError:
            return np.full(draws.shape, np.nan)
        assert log is not None
        return np.asarray(log, dtype=np.float64).reshape(draws.shape)


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
