"""Linear algebra of the searches in high precision, for kernels of low rank.

With unscaled polynomial kernels the entries of Q span so many magnitudes that float64 loses all that
decides the active set. Where the feature space has p < m dimensions, ``Q = F F'`` and each Newton system
reduces to p x p (Woodbury), which is affordable with hundreds of bits. While a Cholesky factor in float64
of that p x p matrix, its columns scaled, still contracts the error, the matrix itself is never formed in
high precision: products with F refine the solution.

Nothing is proved of the solutions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from flint import arb_mat
from sstep_reference.arithmetic import Balls
from sstep_reference.inputs import svm_constants

from sstep_verify.oracle.balls.kernel_balls import feature_rows
from sstep_verify.problems import Problem


def shifted(matrix: Any, shift: Any) -> Any:
    """A square matrix with a number added to its diagonal."""
    result = arb_mat(matrix)
    for k in range(matrix.nrows()):
        result[k, k] = result[k, k] + shift
    return result


def solved(matrix: Any, right: Any) -> Any:
    """Midpoints of a solution, an arb_mat as the right-hand side is; None if there is no finite one."""
    try:
        solution = matrix.solve(right, algorithm="approx").mid()
    except ZeroDivisionError:
        return None
    return solution if all(value.is_finite() for value in solution.entries()) else None


MOST_REFINEMENTS = 10
GUARD_BITS = 32
"""Bits of the arithmetic that the residual of a refined solution need not reach."""

LEAST_GAIN = 2.0**10
"""Factor by which a refinement must reduce the residual; where it does not, the matrix is formed."""

MOST_EXPONENT = 511
"""Largest power of four that the scale may be: the next one is infinite in float64."""

Solver = Callable[[np.ndarray], np.ndarray]


class LowRankSystem:
    """``H = (Q + omega I) / scale`` as ``F F' + omega / scale I``: linear algebra of midpoints of balls.

    Parameters
    ----------
    problem : Problem
        A K-SVM with a linear or polynomial kernel for which `feature_dimensions` is not None.
    arithmetic : Balls
        Its precision is that of the search. All methods must be called inside its `working()`.

    Attributes
    ----------
    features : arb_mat, shape (m, p)
        Rows ``y_i phi(a_i)``, divided by the root of the scale (F).
    shift : arb
        ``omega / scale``.
    negligible : float
        Half of the arithmetic's bits, as a size.
    """

    small = 1e-40

    def __init__(self, problem: Problem, arithmetic: Balls):
        self.samples = problem.samples
        rows = _signed_features(problem, arithmetic)
        largest = max(float(sum((value * value for value in row), start=row[0] * 0)) for row in rows)
        # A power of four: its root is exact, and so are the box and the shift divided by it.
        _, shift = svm_constants(arithmetic, problem.loss.task, problem.hinge.C)
        exponent = min(math.log2(largest + float(shift)) / 2, MOST_EXPONENT) if largest > 0 else 0
        self.scale = 4.0 ** math.ceil(exponent)
        root = math.sqrt(self.scale)
        self._rows = [[(value / root).mid() for value in row] for row in rows]
        self.features = arb_mat(self._rows)
        self._transposed = self.features.transpose()
        self.shift = shift / arithmetic.number(self.scale)
        self.negligible = 2.0 ** (-arithmetic.bits // 2)
        self._residual = 2.0 ** (GUARD_BITS - arithmetic.bits)
        self._floats: np.ndarray | None = np.array([[float(value) for value in row] for row in self._rows])

    def rows(self, places: list[int]) -> Any:
        """Some rows of F, an arb_mat."""
        return arb_mat([self._rows[i] for i in places])

    def product(self, vector: np.ndarray) -> np.ndarray:
        """``H x``."""
        column = self._column(vector)
        return self.array(self.features * (self._transposed * column) + self.shift * column)

    def solver(self, weights: np.ndarray) -> Solver | None:
        """Solver by Woodbury's identity, or None where its p x p system cannot be solved."""
        inverse = 1 / (weights + self.shift)
        refining = self._refining(inverse)
        formed = None if refining else self._formed(inverse)
        if refining is None and formed is None:
            return None

        def solve(rhs: np.ndarray) -> np.ndarray:
            nonlocal formed
            part = self.settled(rhs * inverse)
            right = (self._transposed * self._column(part)).mid()
            correction = refining(right) if refining and self._floats is not None else None
            if correction is None:
                # The weights become more and more uneven: what fails now would fail from now on.
                self._floats = None
                formed = formed or self._formed(inverse)
                if formed is None:
                    return np.full(len(rhs), np.nan)
                correction = formed(right)
            return self.settled(part - inverse * self.array(self.features * correction))

        return solve

    def _formed(self, inverse: np.ndarray) -> Callable[[Any], Any] | None:
        """Solver of ``(I + F' W F) c = r``, the matrix formed and inverted in high precision."""
        scaled = arb_mat(
            [[value * weight for value in row] for row, weight in zip(self._rows, inverse, strict=True)]
        )
        core = shifted((self._transposed * scaled).mid(), 1)
        inner = solved(core, shifted(core * 0, 1))
        return None if inner is None else lambda right: inner * right

    def _refining(self, inverse: np.ndarray) -> Callable[[Any], Any] | None:
        """The same by a float64 factor and refinement; its solver returns None where that fails."""
        if self._floats is None:
            return None
        rows = self._floats * np.sqrt([float(value) for value in inverse])[:, None]
        norms = np.sqrt(1 + (rows * rows).sum(axis=0))
        rows /= norms
        core = rows.T @ rows
        core.flat[:: len(core) + 1] += 1 / norms**2
        try:
            factor = scipy.linalg.cho_factor(core, lower=True, overwrite_a=True)
        except (np.linalg.LinAlgError, ValueError):
            return None

        def solve(right: Any) -> Any:
            solution, residual = right * 0, right
            scaled = _floats(residual) / norms
            first = before = float(np.linalg.norm(scaled))
            for _ in range(MOST_REFINEMENTS):
                change = scipy.linalg.cho_solve(factor, scaled, check_finite=False) / norms
                solution = (solution + arb_mat(len(change), 1, change.tolist())).mid()
                image = self._column(self.array(self.features * solution) * inverse)
                residual = (right - solution - self._transposed * image).mid()
                scaled = _floats(residual) / norms
                size = float(np.linalg.norm(scaled))
                if size <= self._residual * first:
                    return solution
                if not size * LEAST_GAIN <= before:
                    return None
                before = size
            return None

        return solve

    def settled(self, vector: np.ndarray) -> np.ndarray:
        """Midpoints: radii carried through the iterations would grow beyond use."""
        points = np.empty(len(vector), dtype=object)
        points[:] = [value.mid() for value in vector]
        return points

    def array(self, column: Any) -> np.ndarray:
        """Midpoints of an m x 1 arb_mat as a vector."""
        points = np.empty(column.nrows(), dtype=object)
        points[:] = column.mid().entries()
        return points

    def _column(self, vector: np.ndarray) -> Any:
        return arb_mat(len(vector), 1, list(vector))


def _floats(column: Any) -> np.ndarray:
    return np.array([float(value) for value in column.entries()])


def _signed_features(problem: Problem, arithmetic: Balls) -> list[list]:
    """Rows ``y_i phi(a_i)``, whose inner products are the entries of Q."""
    rows = feature_rows(problem, arithmetic)
    return [[int(y) * value for value in row] for y, row in zip(problem.targets, rows, strict=True)]
