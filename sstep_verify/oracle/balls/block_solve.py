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
        What is wrong with the systems.

    Attributes
    ----------
    residuals : list of float
        Upper bound on the Euclidean norm of each solution's residual. Since the exact system is
        ``>= m I``, a solution is within ``residual / sqrt(m)`` of the exact one in the M-norm.
    """

    def __init__(
        self, arithmetic: Balls, window: LocalWindow, penalty, samples: int, mutation: Mutation = NONE
    ):
        self._arithmetic, self._window = arithmetic, window
        self._system_of = (penalty, samples, mutation)
        self._systems: dict[int, tuple] = {}
        self.residuals: list[float] = []

    def __call__(self, step: int, rhs: BallVector) -> BallVector:
        """Solution of the system of a step as exact points, a vector of length b."""
        rows, matrix, factor = self._system(step)
        with self._arithmetic.working():
            right = rhs.column()
            solution = _refine(matrix, factor, right) if factor is not None else None
            if solution is None:
                solution = self._arithmetic.solve(rows, rhs).column().mid()
            residual = (right - matrix * solution).entries()
        norm = math.hypot(*(float(value.abs_upper()) for value in residual))
        self.residuals.append(norm * (1 + len(residual) * 2.0**-50) * UP)
        return BallVector(column=solution)

    def _system(self, step: int):
        """Rows, ball matrix and float64 Cholesky factor (None if not positive definite) of a step."""
        if step not in self._systems:
            rows = block_system(self._arithmetic, self._window, step, *self._system_of)
            matrix = self._arithmetic.matrix(rows)
            values = np.array([float(value) for value in matrix.entries()]).reshape(len(rows), -1)
            try:
                factor = scipy.linalg.cho_factor(values, check_finite=False)
            except np.linalg.LinAlgError:
                factor = None
            self._systems[step] = (rows, matrix, factor)
        return self._systems[step]


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
