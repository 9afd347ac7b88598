"""Search for K-RR solutions to many digits: float64 solves, refined against residuals in balls."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from flint import arb_mat
from sstep_reference.arithmetic import Balls

from sstep_verify.numerics.kernel_matrix import kernel_matrix
from sstep_verify.oracle.balls.kernel_balls import BallKernel
from sstep_verify.oracle.balls.objectives import ridge_residual
from sstep_verify.oracle.search.systems import shifted, solved
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import unit_roundoff

MOST_ROUNDS = 60
MOST_SHIFTS = 60
FACTOR_WORDS = 60_000_000
"""Words that kept Cholesky factors may take; a factor that does not fit is made anew each time."""

DENSE_SAMPLES = 800
"""Largest m for which the whole matrix is held and solved in balls where float64 cannot refine."""


class RidgeSearch:
    """Points near the solutions of ``(K/lambda + m I) a = y``; it proves nothing.

    Parameters
    ----------
    problem : Problem
        A K-RR; its penalty is not used.
    keep : bool
        Keep the entries of the kernel in balls from pass to pass.
    """

    def __init__(self, problem: Problem, *, keep: bool):
        self._problem, self._keep = problem, keep
        self._approximate = _FloatSystems(problem)
        self._points: dict[float, list[Any]] = {}

    def points(self, penalties: list[float], digits: int, bits: int) -> dict[float, tuple[list[Any], str]]:
        """Refine the points of all penalties until they have the digits asked, or nothing improves.

        Parameters
        ----------
        penalties : list of float
            Regularisation parameters (lambda); they share the passes over the kernel.
        digits : int
            Decimal digits asked for in the Euclidean norm.
        bits : int
            Precision of the balls.

        Returns
        -------
        dict of float to (list of m exact balls, str)
            By penalty the point, and how it was found. Later calls begin where earlier ones ended.
        """
        self._arithmetic, points = Balls(bits), self._points
        self._kernel = BallKernel(self._problem, self._arithmetic, keep=self._keep)
        self._targets = [self._arithmetic.number(value) for value in self._problem.targets.tolist()]
        hows = dict.fromkeys(penalties, "float64 Cholesky and refinement")
        # Of a point known already it is not said how much a correction gained.
        lengths = {p: self._length(self._targets) for p in penalties if p not in points}
        for p in lengths:
            points[p] = self._corrected(p, [self._arithmetic.number(0)] * len(self._targets), self._targets)
        pending = list(penalties)
        for _ in range(MOST_ROUNDS):
            for penalty, residual in self._residuals(pending).items():
                length, before = self._length(residual), lengths.get(penalty)
                if self._enough(points[penalty], length, digits):
                    pending.remove(penalty)
                elif before is not None and not length < before / 2:
                    pending.remove(penalty)
                    if self._problem.samples <= DENSE_SAMPLES:
                        points[penalty] = self._solved(penalty, points[penalty])
                        hows[penalty] = "the whole system solved in balls"
                else:
                    lengths[penalty] = length
                    points[penalty] = self._corrected(penalty, points[penalty], residual)
                    # As a correction gains as much as the last.
                    if before is not None and self._enough(
                        points[penalty], length / before * length, digits
                    ):
                        pending.remove(penalty)
            if not pending:
                break
        return {p: (points[p], hows[p]) for p in penalties}

    def _residuals(self, penalties: list[float]) -> dict[float, list]:
        """Enclosures of ``y - K x / lambda - m x`` by penalty, by one product with the kernel."""
        number, samples = self._arithmetic.number, self._problem.samples
        with self._arithmetic.working():
            together = arb_mat([self._points[p] for p in penalties]).transpose()
            columns = self._kernel.product(together).transpose().tolist()
            return {
                p: ridge_residual(number(p), samples, self._targets, self._points[p], images)
                for p, images in zip(penalties, columns, strict=True)
            }

    def _length(self, vector: list) -> Any:
        """Ball that holds the Euclidean norm."""
        with self._arithmetic.working():
            return sum((value.abs_upper() ** 2 for value in vector), self._arithmetic.number(0)).sqrt()

    def _enough(self, point: list, residual: Any, digits: int) -> bool:
        length = self._length(point)
        with self._arithmetic.working():
            # Some of the residual's room is left for the rounding to decimals, with `decimals.ROOM`.
            allowed = length * self._problem.samples * self._arithmetic.number(10) ** (-digits)
            return bool(residual * 8 <= allowed)

    def _corrected(self, penalty: float, point: list, residual: list) -> list:
        """The point moved by a float64 solution, its right-hand side scaled so that nothing underflows."""
        arithmetic = self._arithmetic
        with arithmetic.working():
            scale = max((abs(value.mid()) for value in residual), key=lambda value: value.mid())
            if scale.is_zero():
                return point
            rhs = np.array([float((value.mid() / scale).mid()) for value in residual])
            change = self._approximate.solve(penalty, rhs)
            moves = zip(point, change.tolist(), strict=True)
            return [(x + scale * arithmetic.number(step)).mid() for x, step in moves]

    def _solved(self, penalty: float, known: list) -> list:
        """Solution of the whole system, midpoints; the point known where balls cannot solve it."""
        arithmetic, m = self._arithmetic, self._problem.samples
        with arithmetic.working():
            matrix = shifted(self._kernel.matrix() / arithmetic.number(penalty), m)
            solution = solved(matrix, arb_mat(m, 1, self._targets))
            if solution is None:
                return known
            midpoints = solution.entries()
            # ||a*|| <= ||y|| / m: too few bits for a system that is nearly singular give anything.
            size, largest = self._length(midpoints) * m, self._length(self._targets) * 2
            return midpoints if size <= largest else known


class _FloatSystems:
    """``K/lambda + m I`` in float64, from which a search begins: nothing is known of the errors."""

    def __init__(self, problem: Problem):
        with np.errstate(over="ignore", invalid="ignore"):
            self._kernel = kernel_matrix(problem)
        self._samples = problem.samples
        self._factors: dict[float, tuple] = {}

    def solve(self, penalty: float, rhs: np.ndarray) -> np.ndarray:
        """Approximate solution of ``(K/lambda + m I) x = rhs``, shape (m,); always finite."""
        factor = self._factors.get(penalty)
        if factor is None:
            factor = self._factor(penalty)
            if (len(self._factors) + 1) * self._samples**2 <= FACTOR_WORDS:
                self._factors[penalty] = factor
        with np.errstate(over="ignore", invalid="ignore"):
            solution = scipy.linalg.cho_solve(factor, rhs, check_finite=False)
        return solution if np.isfinite(solution).all() else np.zeros(self._samples)

    def _factor(self, penalty: float) -> tuple:
        """Cholesky factor, of the matrix shifted as little as lets it exist in float64."""
        m = self._samples
        shift = 0.0
        for _ in range(MOST_SHIFTS):
            with np.errstate(over="ignore", invalid="ignore"):
                matrix = self._kernel / penalty
                diagonal = matrix.diagonal() + m
                np.fill_diagonal(matrix, diagonal + shift)
                try:
                    # The transpose is the same matrix in the order that needs no copy.
                    return scipy.linalg.cho_factor(
                        matrix.T, lower=True, overwrite_a=True, check_finite=False
                    )
                except np.linalg.LinAlgError:
                    shift = max(4 * shift, m * unit_roundoff("float64") * float(diagonal.max()))
        return np.full((m, m), np.nan), True
