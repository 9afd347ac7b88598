"""Solutions of block systems to many digits: float64 Cholesky, refined against residuals in balls."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from sstep_reference.arithmetic import Balls

from sstep_verify.defects.recurrence_ridge import block_system
from sstep_verify.defects.window import LocalWindow
from sstep_verify.oracle.enclosure import UP

MOST_ROUNDS = 40
TARGET = 2.0**-120
"""Residual, relative to the right-hand side, at which refinement ends; each round gains up to 50 bits."""


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

    Attributes
    ----------
    residuals : list of float
        Upper bound on the Euclidean norm of each solution's residual. Since the exact system is
        ``>= m I``, a solution is within ``residual / sqrt(m)`` of the exact one in the M-norm.
    """

    def __init__(self, arithmetic: Balls, window: LocalWindow, penalty, samples: int):
        self._arithmetic, self._window = arithmetic, window
        self._penalty, self._samples = penalty, samples
        self._systems: dict[int, tuple] = {}
        self.residuals: list[float] = []

    def __call__(self, step: int, rhs):
        """Solution of the system of a step as exact points, a vector of length b."""
        rows, factor = self._system(step)
        arithmetic = self._arithmetic
        size = len(rhs)
        if factor is None:
            return self._note(rows, arithmetic.solve(rows, rhs), rhs)
        solution = arithmetic.zeros(size)
        first = previous = np.inf
        for _ in range(MOST_ROUNDS):
            residual = self._residual(rows, solution, rhs)
            values = np.array([float(value.mid()) for value in residual])
            norm = float(np.linalg.norm(values))
            first = norm if first == np.inf else first
            if norm <= first * TARGET or norm >= previous / 2:
                break
            previous = norm
            change = scipy.linalg.cho_solve(factor, values, check_finite=False)
            with arithmetic.working():
                solution = arithmetic.vector(
                    [(one + float(other)).mid() for one, other in zip(solution, change, strict=True)]
                )
        if norm > first * 2.0**-60:
            solution = arithmetic.solve(rows, rhs)
        return self._note(rows, solution, rhs)

    def _system(self, step: int):
        if step not in self._systems:
            rows = block_system(self._arithmetic, self._window, step, self._penalty, self._samples)
            matrix = np.array([[float(value) for value in row] for row in rows])
            try:
                factor = scipy.linalg.cho_factor(matrix, check_finite=False)
            except np.linalg.LinAlgError:
                factor = None
            self._systems[step] = (rows, factor)
        return self._systems[step]

    def _residual(self, rows, solution, rhs) -> list:
        arithmetic = self._arithmetic
        with arithmetic.working():
            return [value - arithmetic.dot(row, solution) for row, value in zip(rows, rhs, strict=True)]

    def _note(self, rows, solution, rhs):
        """Take the midpoints as the solution and keep the norm of its residual."""
        arithmetic = self._arithmetic
        points = arithmetic.vector([value.mid() for value in solution])
        residual = self._residual(rows, points, rhs)
        norm = np.linalg.norm([float(value.abs_upper()) for value in residual])
        self.residuals.append(float(norm) * (1 + len(residual) * 2.0**-50) * UP)
        return points
