"""Active sets of a K-SVM: solve on the free coordinates to many digits, flip what violates, repeat.

And the dual of a K-SVM in balls, which the searches ask.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import scipy.linalg
from flint import arb_mat
from sstep_reference.arithmetic import Balls
from sstep_reference.inputs import svm_constants

from sstep_verify.oracle.balls.exact_kernel import magnitude_interval
from sstep_verify.oracle.balls.kernel_balls import BallKernel, feature_dimensions
from sstep_verify.oracle.balls.objectives import derivative, objectives, signed
from sstep_verify.oracle.search.interior_point import Interior
from sstep_verify.oracle.search.low_rank import shifted, solved
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import norm_upper


class BallDual:
    """The dual of a K-SVM in balls: ``max 1'a - 1/2 a'Qa - omega/2 a'a`` over the box."""

    def __init__(self, problem: Problem, arithmetic: Balls):
        self.problem, self.arithmetic = problem, arithmetic
        self.kernel = BallKernel(problem, arithmetic)
        self.matrix = self.kernel.matrix()
        self.labels = [int(label) for label in problem.targets]
        with arithmetic.working():
            self.upper, self.shift = svm_constants(arithmetic, problem.loss.task, problem.hinge.C)

    def feasible(self, values: list) -> list:
        """Exact points nearest to balls or numbers, moved into the box."""
        zero = self.arithmetic.number(0)
        return [
            self.arithmetic.clip(self.arithmetic.number(value).mid(), zero, self.upper).mid()
            for value in values
        ]

    def products(self, alpha: list) -> list:
        """Enclosures of ``Q a``, m balls."""
        with self.arithmetic.working():
            images, _ = self.kernel.image(signed(self.problem, alpha))
            return signed(self.problem, images)

    def gradient(self, alpha: list) -> list:
        """Enclosures of the gradient of the minimised dual, ``Qa - 1 + omega a``."""
        products = self.products(alpha)
        with self.arithmetic.working():
            return derivative(self.problem, self.arithmetic, alpha, products)

    def system(self, places: list[int]) -> Any:
        """``Q + omega I`` on some coordinates, an arb_mat."""
        with self.arithmetic.working():
            signs = self.labels
            system = arb_mat([[self.matrix[i, j] * (signs[i] * signs[j]) for j in places] for i in places])
            return shifted(system, self.shift)

    def rounded_system(self, places: list[int]) -> np.ndarray:
        """``Q + omega I`` on some coordinates, rounded to float64."""
        rows = [[float(self.matrix[i, j]) for j in places] for i in places]
        labels = np.array([self.labels[i] for i in places], dtype=np.float64)
        matrix = np.array(rows).reshape(len(places), -1) * labels[:, None] * labels
        matrix.flat[:: len(places) + 1] += self.problem.hinge.shift
        return matrix

    def images(self, places: list[int]) -> Any:
        """Rows F with ``Q = F F'`` on some coordinates, an arb_mat; None unless F has fewer columns."""
        dimensions = feature_dimensions(self.problem)
        if dimensions is None or dimensions >= len(places):
            return None
        with self.arithmetic.working():
            images = self.kernel.images[0]
            return arb_mat([[self.labels[i] * images[i, k] for k in range(images.ncols())] for i in places])

    def relative_width(self, alpha: list) -> float:
        """Upper bound on ``(P(a) - D(a)) / D(a)`` at an exact feasible point.

        It is infinite if D(a) is not positive.
        """
        products = self.products(alpha)
        with self.arithmetic.working():
            dual, primal, _ = objectives(self.problem, self.arithmetic, alpha, products)
            lower = dual.lower()
            return magnitude_interval((primal.upper() - lower) / lower)[1] if lower > 0 else np.inf


MOST_ROUNDS = 10
MOST_REFINEMENTS = 200
NEGLIGIBLE = 1e-280
"""Residuals below this are zero to every precision used; float64 cannot hold much smaller ones."""

SOLVED = 2.0**-0.75
"""A system is solved when its residual is this to the power of the bits; its right-hand side is 1."""

RANK_TOLERANCE = 1e-11
"""Eigenvalues below this part of the largest count as zero where a singular system is solved."""


class Polisher:
    """Active set method in balls, from a guess of the point and of the active sets."""

    def __init__(self, dual: BallDual, start: Interior):
        self._dual = dual
        self._at_zero, self._at_upper = start.at_zero.copy(), start.at_upper & ~start.at_zero
        self._alpha = dual.feasible(np.nan_to_num(start.alpha).tolist())

    def points(self) -> Iterator[tuple[list, float]]:
        """Feasible points of many digits with their relative widths; the first is the guess itself."""
        yield self._alpha, self._dual.relative_width(self._alpha)
        seen = set()
        for _ in range(MOST_ROUNDS):
            state = (self._at_zero.tobytes(), self._at_upper.tobytes())
            if state in seen:
                return
            seen.add(state)
            self._solve()
            point = self._dual.feasible(self._alpha)
            yield point, self._dual.relative_width(point)
            self._flip()

    def _solve(self) -> None:
        """Put the active coordinates on their ends, and the free ones where the gradient vanishes."""
        ends = {True: self._dual.arithmetic.number(0), False: self._dual.upper}
        free = ~(self._at_zero | self._at_upper)
        self._alpha = [
            value if free[i] else ends[bool(self._at_zero[i])] for i, value in enumerate(self._alpha)
        ]
        places = np.flatnonzero(free).tolist()
        if not places:
            return
        matrix = self._dual.rounded_system(places)
        few = self._low_rank_solver(places)
        for solver in (few, _cholesky(matrix), self._ball_solver(places), _truncated(matrix)):
            if solver is not None and self._refine(places, solver):
                return

    def _refine(self, places: list[int], solver: Callable) -> bool:
        """Iterative refinement on the free coordinates; whether it reached the precision of the balls."""
        dual = self._dual
        alpha, previous = list(self._alpha), np.inf
        for _ in range(MOST_REFINEMENTS):
            with dual.arithmetic.working():
                slopes = dual.gradient(alpha)
                residual = [-slopes[i].mid() for i in places]
            norm = norm_upper(np.array([float(value) for value in residual]))
            if norm < previous:
                self._alpha = list(alpha)
            if norm <= max(SOLVED**dual.arithmetic.bits, NEGLIGIBLE):
                return True
            if not norm < previous / 4:
                return False
            previous = norm
            with np.errstate(all="ignore"):
                change = solver(residual)
            if change is None:
                return False
            with dual.arithmetic.working():
                for i, step in zip(places, change, strict=True):
                    alpha[i] = (alpha[i] + step).mid()
        return False

    def _flip(self) -> None:
        """Free what its gradient draws off an end; put on the end what has left the box."""
        dual = self._dual
        for i, gradient in enumerate(dual.gradient(dual.feasible(self._alpha))):
            value, slope = self._alpha[i].mid(), gradient.mid()
            if self._at_zero[i]:
                self._at_zero[i] = not slope < 0
            elif self._at_upper[i]:
                self._at_upper[i] = not slope > 0
            elif value < 0:
                self._at_zero[i] = True
            elif dual.upper is not None and value > dual.upper:
                self._at_upper[i] = True

    def _low_rank_solver(self, places: list[int]) -> Callable | None:
        """Solver by Woodbury's identity in balls, where omega > 0 and the kernel's rank is low."""
        dual = self._dual
        rows = dual.images(places) if dual.problem.hinge.shift > 0 else None
        if rows is None:
            return None
        with dual.arithmetic.working():
            columns = rows.transpose()
            core = shifted((columns * rows).mid(), dual.shift)

        def solution(right: Any) -> Any:
            part = solved(core, (columns * right).mid())
            return None if part is None else ((right - rows * part) / dual.shift).mid()

        return self._in_balls(solution)

    def _ball_solver(self, places: list[int]) -> Callable:
        """Solver of the free system in balls, which is made when first used."""
        system = cache(lambda: self._dual.system(places))
        return self._in_balls(lambda right: solved(system(), right))

    def _in_balls(self, solution: Callable[[Any], Any]) -> Callable:
        """Solver from one of a column of balls; it gives None where there is no finite solution."""

        def solve(residual: list) -> list | None:
            with self._dual.arithmetic.working():
                change = solution(arb_mat(len(residual), 1, residual))
                return None if change is None else change.entries()

        return solve


def _cholesky(matrix: np.ndarray) -> Callable | None:
    try:
        factor = scipy.linalg.cho_factor(matrix)
    except (np.linalg.LinAlgError, ValueError):
        return None
    return lambda residual: scipy.linalg.cho_solve(factor, [float(value) for value in residual]).tolist()


def _truncated(matrix: np.ndarray) -> Callable | None:
    """Solver of least norm for a singular system: the smallest eigenvalues count as zero."""
    if not np.isfinite(matrix).all():
        return None
    values, vectors = scipy.linalg.eigh(matrix)
    kept = values > RANK_TOLERANCE * values[-1]
    values, vectors = values[kept], vectors[:, kept]
    return lambda residual: (
        vectors @ ((vectors.T @ np.array([float(value) for value in residual])) / values)
    ).tolist()
