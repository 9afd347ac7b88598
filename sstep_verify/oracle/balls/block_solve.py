"""Solutions of block systems to many digits: float64 Cholesky, refined against residuals in balls."""

from __future__ import annotations

import math

import numpy as np
import scipy.linalg
from sstep_reference.arithmetic import Balls
from sstep_reference.arithmetic.balls import BallVector

from sstep_verify.defects.mutation import NONE, Mutation
from sstep_verify.defects.recurrence_ridge import block_system
from sstep_verify.defects.window import LocalWindow
from sstep_verify.oracle.balls.enclosure import UP

MOST_ROUNDS = 40
TARGET = 2.0**-120
"""Residual, relative to the right-hand side, at which refinement ends; each round gains up to 50 bits."""

ACCEPTED = 2.0**-60
"""Residual, relative to the right-hand side, above which the system is solved in balls instead."""


class RefinedBlocks:
    """Solves the block systems of one window, and notes how far each solution is from exact.

    Parameters
    ----------
    arithmetic : Balls
        Ball arithmetic of the window.
    window : LocalWindow
        The window.
    penalty : ball
        Regularisation (lambda).
    samples : int
        Number of samples (m).
    mutation : Mutation
        What is wrong with the systems' entries.
    right : RefinedBlocks, optional
        The same without the mutation, from whose matrices the wrong ones are then made.

    Attributes
    ----------
    residuals : list of float
        Upper bound on the Euclidean norm of each solution's residual. Since the exact system is
        ``>= m I``, a solution is within ``residual / sqrt(m)`` of the exact one in the M-norm.
    """

    def __init__(
        self,
        arithmetic: Balls,
        window: LocalWindow,
        penalty,
        samples: int,
        mutation: Mutation = NONE,
        right: RefinedBlocks | None = None,
    ):
        self._arithmetic, self._window = arithmetic, window
        self._system_of, self._right = (penalty, samples, mutation), right
        self._systems: dict[int, tuple] = {}
        self.residuals: list[float] = []

    def __call__(self, step: int, rhs: BallVector) -> BallVector:
        """Solution of the system of a step as exact points, a vector of length b."""
        matrix, factor = self._system(step)
        with self._arithmetic.working():
            right = rhs.column()
            solution = _refine(matrix, factor, right) if factor is not None else None
            if solution is None:
                rows = [self._arithmetic.matrix_row(matrix, i) for i in range(matrix.nrows())]
                solution = self._arithmetic.solve(rows, rhs).column().mid()
            residual = (right - matrix * solution).entries()
        norm = math.hypot(*(float(value.abs_upper()) for value in residual))
        self.residuals.append(norm * (1 + len(residual) * 2.0**-50) * UP)
        return BallVector(column=solution)

    def _system(self, step: int):
        """Ball matrix and float64 Cholesky factor (None if not positive definite) of a step."""
        if step not in self._systems:
            matrix = self._matrix(step)
            values = np.array([float(value) for value in matrix.entries()]).reshape(matrix.nrows(), -1)
            try:
                factor = scipy.linalg.cho_factor(values, check_finite=False)
            except np.linalg.LinAlgError:
                factor = None
            self._systems[step] = (matrix, factor)
        return self._systems[step]

    def _matrix(self, step: int):
        """Matrix of a step; of a mutation from the right one, which is much faster than entry by entry."""
        penalty, samples, mutation = self._system_of
        if self._right is None:
            return self._arithmetic.matrix(
                block_system(self._arithmetic, self._window, step, penalty, samples, mutation)
            )
        right = self._right._system(step)[0]
        size, number = right.nrows(), self._arithmetic.number
        with self._arithmetic.working():
            diagonal = [right[i, i] - samples for i in range(size)]
            off = right - _diagonal(right, [right[i, i] for i in range(size)])
            factor, shift = number(mutation.penalty), samples * number(mutation.samples)
            wrong = [entry / factor + shift for entry in diagonal]
            return off * (number(mutation.off_diagonal) / factor) + _diagonal(right, wrong)


def _diagonal(matrix, values: list):
    """A matrix of the same size with some values on its diagonal."""
    found = type(matrix)(matrix.nrows(), matrix.ncols())
    for i, value in enumerate(values):
        found[i, i] = value
    return found


def _refine(matrix, factor, right):
    """Iterative refinement with residuals in balls; None if it does not reach `ACCEPTED`."""
    kind = type(right)
    size = right.nrows()
    solution, residual = kind(size, 1), right
    scale = max((value.abs_upper() for value in right.entries()), key=float)
    if scale.is_zero():
        return solution
    smallest = math.inf
    for _ in range(MOST_ROUNDS):
        # Relative to the right-hand side, so that a diverging mutant does not overflow float64.
        values = np.array([float(value / scale) for value in residual.entries()])
        norm = math.hypot(*values)
        if norm <= TARGET or not norm < smallest / 2:
            break
        smallest = norm
        change = scipy.linalg.cho_solve(factor, values, check_finite=False)
        solution = (solution + kind(size, 1, change.tolist()) * scale).mid()
        residual = right - matrix * solution
    return solution if min(norm, smallest) <= ACCEPTED else None
