"""Solutions of block systems to many digits: float64 Cholesky, refined against residuals in balls."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import lapack
from sstep_reference.arithmetic import Balls
from sstep_reference.arithmetic.balls import BallVector

from sstep_verify.oracle.balls.exact_kernel import magnitude_interval, upward
from sstep_verify.recurrence.mutation import NONE, LocalWindow, Mutation
from sstep_verify.recurrence.steps import Solve, block_system, system_part

MOST_ROUNDS = 40
TARGET = 5 / 8
"""Share of the arithmetic's bits to which a residual is made small, relative to the right-hand side.

Each round of refinement gains up to 50 bits; more bits are of use only if the target follows them.
"""

LEAST_TARGET = 2.0**-1000
"""A residual smaller than this is not told from 0 in float64."""

ACCEPTED = 2.0**-60
"""Residual, relative to the right-hand side, above which the system is solved in balls instead."""


def refined(arithmetic: Any, finisher: Solve) -> Solve:
    """The finisher with `RefinedBlocks` for the systems of each window.

    Mutants that leave the systems as they are share them, until another window is begun.
    """
    gram: Any = None
    solvers: dict[Mutation, RefinedBlocks] = {}

    def systems(window: LocalWindow, mutation: Mutation) -> RefinedBlocks:
        nonlocal gram
        if window.gram is not gram:
            gram = window.gram
            solvers.clear()
        system = system_part(mutation)
        if system not in solvers:
            solvers[system] = RefinedBlocks(arithmetic, window, finisher, system, solvers.get(NONE))
        return solvers[system]

    return replace(finisher, systems=systems)


class RefinedBlocks:
    """Solves the block systems of one window, and notes how far each solution is from exact.

    Their entries have a mutation; `right` is the same without it, from whose matrices the wrong ones are
    then made.

    Attributes
    ----------
    residuals : list of float
        Upper bound on the Euclidean norm of each solution's residual. Since the exact system is
        ``>= m I``, a solution is within ``residual / sqrt(m)`` of the exact one in the norm of that system,
        which is the M-norm where the coordinates of the block are distinct.
    """

    def __init__(
        self,
        arithmetic: Balls,
        window: LocalWindow,
        finisher: Solve,
        mutation: Mutation,
        right: RefinedBlocks | None,
    ):
        self._arithmetic, self._window = arithmetic, window
        self._system_of, self._right = (finisher.penalty, finisher.samples, mutation), right
        self._systems: dict[int, tuple] = {}
        self.residuals: list[float] = []

    def __call__(self, step: int, rhs: BallVector) -> BallVector:
        """Solution of the system of a step as exact points, a vector of length b."""
        matrix, factor = self._system(step)
        with self._arithmetic.working():
            right = rhs.column()
            target = max(math.ldexp(1.0, -int(TARGET * self._arithmetic.bits)), LEAST_TARGET)
            solution = _refine(matrix, factor, right, target) if factor is not None else None
            if solution is None:
                rows = [self._arithmetic.matrix_row(matrix, i) for i in range(matrix.nrows())]
                solution = self._arithmetic.solve(rows, rhs).column().mid()
            residual = (right - matrix * solution).entries()
        largest = max((magnitude_interval(value)[1] for value in residual), default=0.0)
        # Entries no larger than the largest, and their root: no square that may underflow.
        self.residuals.append(upward(math.sqrt(len(residual)) * largest))
        return BallVector(column=solution)

    def _system(self, step: int):
        """Ball matrix and float64 Cholesky factor (None if not positive definite) of a step."""
        if step not in self._systems:
            matrix = self._matrix(step)
            # Over its largest entry, so that neither the matrix nor a change leaves the range of float64.
            with self._arithmetic.working():
                largest = _largest(matrix)
                values = np.array([float(value / largest) for value in matrix.entries()])
            # LAPACK itself: for a few coordinates SciPy's functions around it take most of the time.
            factor, failed = lapack.dpotrf(values.reshape(matrix.nrows(), -1), clean=False)
            self._systems[step] = (matrix, None if failed else (factor, largest))
        return self._systems[step]

    def _matrix(self, step: int):
        """Matrix of a step; of a mutation from the right one, which is much faster than entry by entry."""
        penalty, samples, mutation = self._system_of
        if self._right is None or mutation.once:  # Its blocks are other ones.
            return self._arithmetic.matrix(
                block_system(self._arithmetic, self._window, step, penalty, samples, mutation)
            )
        right = self._right._system(step)[0]
        size, number = right.nrows(), self._arithmetic.number
        with self._arithmetic.working():
            diagonal = [right[i, i] - samples for i in range(size)]
            off = right - _diagonal(right, [right[i, i] for i in range(size)])
            factor = number(mutation.penalty)
            shift = samples * number(mutation.samples) * number(mutation.diagonal)
            wrong = [entry / factor + shift for entry in diagonal]
            return off * (number(mutation.off_diagonal) / factor) + _diagonal(right, wrong)


def _diagonal(matrix, values: list):
    """A matrix of the same size with some values on its diagonal."""
    diagonal = type(matrix)(matrix.nrows(), matrix.ncols())
    for i, value in enumerate(values):
        diagonal[i, i] = value
    return diagonal


def _largest(matrix):
    """Largest absolute value of a matrix's entries."""
    return max((value.abs_upper() for value in matrix.entries()), key=float)


def _refine(matrix, factor, right, target: float):
    """Iterative refinement with residuals in balls; None if it does not reach `ACCEPTED`."""
    kind, (float_factor, largest) = type(right), factor
    size = right.nrows()
    solution, residual = kind(size, 1), right
    scale = _largest(right)
    if scale.is_zero():
        return solution
    least_residual = math.inf
    for _ in range(MOST_ROUNDS):
        # Relative to the right-hand side, so that a diverging mutant does not overflow float64.
        values = np.array([float(value / scale) for value in residual.entries()])
        norm = math.hypot(*values)
        if norm <= target or not norm < least_residual / 2:
            break
        least_residual = norm
        change, _ = lapack.dpotrs(float_factor, values)
        solution = (solution + kind(size, 1, change.tolist()) * (scale / largest)).mid()
        residual = right - matrix * solution
    return solution if min(norm, least_residual) <= ACCEPTED else None
