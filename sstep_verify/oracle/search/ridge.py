"""Search for K-RR solutions to many digits: float64 solves, refined against residuals in balls."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
from flint import arb_mat
from sstep_reference.arithmetic import Balls

from sstep_verify.numerics import kernel_matrix
from sstep_verify.oracle.balls.kernel_balls import BallKernel
from sstep_verify.oracle.balls.objectives import derivative
from sstep_verify.oracle.search.features import with_features_that_occur
from sstep_verify.oracle.search.low_rank import shifted, solved
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import unit_roundoff

MOST_ROUNDS = 60
MOST_SHIFTS = 60
DENSE_SAMPLES = 800
"""Largest m for which the whole matrix is held and solved in balls where float64 cannot refine."""


class RidgeSearch:
    """Points near the solution of ``(K/lambda + m I) a = y``; it proves nothing.

    Parameters
    ----------
    problem : Problem
        A K-RR.
    keep : bool
        Keep the entries of the kernel in balls from pass to pass.

    Attributes
    ----------
    kernel : BallKernel
        The kernel of the last call of `point`.
    """

    def __init__(self, problem: Problem, *, keep: bool):
        self._problem, self._keep = with_features_that_occur(problem), keep
        self._point: list[Any] | None = None

    def point(self, digits: int, bits: int) -> tuple[list[Any], str]:
        """Refine the point until it has the digits asked, or nothing improves.

        Parameters
        ----------
        digits : int
            Decimal digits asked for in the Euclidean norm.
        bits : int
            Precision of the balls.

        Returns
        -------
        list of m exact balls, str
            The point, and how it was found. Later calls begin where earlier ones ended.
        """
        arithmetic = self._arithmetic = Balls(bits)
        self.kernel = BallKernel(self._problem, arithmetic, keep=self._keep)
        self._targets = [arithmetic.number(value) for value in self._problem.targets.tolist()]
        point, how = self._point, "float64 Cholesky and refinement"
        # Of a point known already it is not said how much a correction gained.
        before = None if point else self._length(self._targets)
        point = point or self._corrected([arithmetic.number(0)] * len(self._targets), self._targets)
        for _ in range(MOST_ROUNDS):
            residual = self._residual(point)
            length = self._length(residual)
            if self._enough(point, length, digits):
                break
            if before is not None and not length < before / 2:
                if self._problem.samples <= DENSE_SAMPLES:
                    point, how = self._solved(point), "the whole system solved in balls"
                break
            point = self._corrected(point, residual)
            # As a correction gains as much as the last.
            if before is not None and self._enough(point, length / before * length, digits):
                break
            before = length
        self._point = point
        return point, how

    def _residual(self, point: list) -> list:
        """Enclosures of ``y - K x / lambda - m x``."""
        problem, arithmetic = self._problem, self._arithmetic
        with arithmetic.working():
            images = self.kernel.product(arb_mat(len(point), 1, point)).entries()
            return derivative(problem, arithmetic, point, images)

    def _length(self, vector: list) -> Any:
        """Ball that holds the Euclidean norm."""
        with self._arithmetic.working():
            return sum((value.abs_upper() ** 2 for value in vector), self._arithmetic.number(0)).sqrt()

    def _enough(self, point: list, residual: Any, digits: int) -> bool:
        length = self._length(point)
        with self._arithmetic.working():
            # Some of the residual's room is left for the rounding to decimals, with `enclosure.ROOM`.
            allowed = length * self._problem.samples * self._arithmetic.number(10) ** (-digits)
            return bool(residual * 8 <= allowed)

    def _corrected(self, point: list, residual: list) -> list:
        """The point moved by a float64 solution, its right-hand side scaled so that nothing underflows."""
        arithmetic = self._arithmetic
        with arithmetic.working():
            scale = max((abs(value.mid()) for value in residual), key=lambda value: value.mid())
            if scale.is_zero():
                return point
            rhs = np.array([float((value.mid() / scale).mid()) for value in residual])
            with np.errstate(over="ignore", invalid="ignore"):
                change = scipy.linalg.cho_solve(self._factor, rhs, check_finite=False)
            if not np.isfinite(change).all():
                return point
            moves = zip(point, change.tolist(), strict=True)
            return [(x + scale * arithmetic.number(step)).mid() for x, step in moves]

    def _solved(self, known: list) -> list:
        """Solution of the whole system, midpoints; the point known where balls cannot solve it."""
        arithmetic, m = self._arithmetic, self._problem.samples
        with arithmetic.working():
            matrix = shifted(self.kernel.matrix() / arithmetic.number(self._problem.ridge.penalty), m)
            solution = solved(matrix, arb_mat(m, 1, self._targets))
            if solution is None:
                return known
            midpoints = solution.entries()
            # ||a*|| <= ||y|| / m: too few bits for a system that is nearly singular give anything.
            size, largest = self._length(midpoints) * m, self._length(self._targets) * 2
            return midpoints if size <= largest else known

    @cached_property
    def _factor(self) -> tuple:
        """Cholesky factor of ``K/lambda + m I`` in float64, shifted as little as lets it exist there."""
        m, shift = self._problem.samples, 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = kernel_matrix(self._problem)
            matrix /= self._problem.ridge.penalty
            diagonal = matrix.diagonal() + m
            for _ in range(MOST_SHIFTS):
                np.fill_diagonal(matrix, diagonal + shift)
                try:
                    # The transpose is the same matrix in the order that is copied fastest.
                    return scipy.linalg.cho_factor(matrix.T, lower=True, check_finite=False)
                except np.linalg.LinAlgError:
                    shift = max(4 * shift, m * unit_roundoff("float64") * float(diagonal.max()))
        return np.full((m, m), np.nan), True
