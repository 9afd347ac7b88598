"""Solutions of block systems to many digits: float64 Cholesky, refined against residuals in balls."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import lapack
from sstep_reference.arithmetic import Balls
from sstep_reference.arithmetic.balls import BallVector

from sstep_verify.oracle.balls.exact_kernel import magnitude_interval, upward
from sstep_verify.recurrence.mutation import NONE, LocalWindow, Mutation
from sstep_verify.recurrence.steps import Solve, system_part

MOST_ROUNDS = 40
TARGET = 5 / 8
"""Share of the arithmetic's bits to which a residual is made small, relative to the right-hand side.

Each round of refinement gains up to 50 bits; more bits are of use only if the target follows them.
"""

LEAST_TARGET = 2.0**-1000
"""A residual smaller than this is not told from 0 in float64."""

ACCEPTED = 2.0**-60
"""Residual, relative to the right-hand side, above which the system is solved in balls instead."""

SMALL_BLOCK = 12
"""Coordinates of a block up to which balls solve its system at once, as fast as refinement does or faster.

Measured at 192 bits, in microseconds: of 8 coordinates 16 against 36, and 37 for the factor; of 16 already
84 against 59.
"""


def refined(arithmetic: Any, finisher: Solve) -> Solve:
    """The finisher with `RefinedBlocks` for the systems of each window.

    Mutants that leave the systems as they are share them, until another window is begun. Of the others the
    latest are kept alone: each factor that is tried has systems of its own.
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
            right = solvers.get(NONE)
            solvers.clear()
            if right is not None:
                solvers[NONE] = right
            solvers[system] = RefinedBlocks(arithmetic, window, finisher, system, right)
        return solvers[system]

    return replace(finisher, systems=systems)


class RefinedBlocks:
    """Solves the block systems of one window, and says how far solutions are from exact.

    Their entries have a mutation; `right` is the same without it, from whose matrices the wrong ones are
    then made. These are kept for one step: those of all steps of a long window take 100 MB.
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
        self._systems: dict[int, Any] = {}
        self._factors: dict[int, Any] = {}
        self._floats_of: dict[int, tuple[np.ndarray, Any]] = {}
        self._solved: dict[int, tuple[Any, Any]] = {}

    def __call__(self, step: int, rhs: BallVector) -> BallVector:
        """Solution of the system of a step as exact points, a vector of length b."""
        right = rhs.column()
        with self._arithmetic.working():
            matrix = self._system(step)
            solution = self._solution(step, matrix, right)
        self._solved[step] = right, solution
        return BallVector(column=solution)

    def residuals(self) -> list[float]:
        """Upper bounds on the Euclidean norms of the residuals of all steps, as they were solved last.

        The systems have no mutation. As the exact one is ``>= m I``, a solution is within
        ``residual / sqrt(m)`` of the exact one in the norm of that system, which is the M-norm where the
        coordinates of the block are distinct.
        """
        found = []
        for step, (right, solution) in self._solved.items():
            with self._arithmetic.working():
                residual = (right - self._system(step) * solution).entries()
            largest = max((magnitude_interval(value)[1] for value in residual), default=0.0)
            # Entries no larger than the largest, and their root: no square that may underflow.
            found.append(upward(math.sqrt(len(residual)) * largest))
        return found

    def _solution(self, step: int, matrix, right):
        """Points near the solution; SingularSystemError where neither way finds any."""
        if matrix.nrows() <= SMALL_BLOCK:
            with contextlib.suppress(ZeroDivisionError):
                return matrix.solve(right).mid()
        solution, factor = None, self._factor(step)
        if factor is not None:
            target = max(math.ldexp(1.0, -int(TARGET * self._arithmetic.bits)), LEAST_TARGET)
            solution = _refine(matrix, factor, right, target)
        if solution is None:
            rows = [self._arithmetic.matrix_row(matrix, i) for i in range(matrix.nrows())]
            solution = self._arithmetic.solve(rows, BallVector(column=right)).column().mid()
        return solution

    def _factor(self, step: int):
        """Float64 Cholesky factor of the system of a step, and its scale; None if that is not definite."""
        if step not in self._factors:
            values, largest = self._kept_floats(step) if self._right is None else self._floats(step)
            # LAPACK itself: for a few coordinates SciPy's functions around it take most of the time.
            factor, failed = lapack.dpotrf(values, clean=False)
            self._factors[step] = None if failed else (factor, largest)
        return self._factors[step]

    def _floats(self, step: int) -> tuple[np.ndarray, Any]:
        """The system of a step in float64 over its largest entry, and that.

        So neither the matrix nor a change leaves the range of float64. The largest entry lies on the
        diagonal of a definite matrix, and no other has a factor. A factor need not be near, but for speed:
        of a mutation all but the diagonal is scaled in float64.
        """
        matrix, (_, _, mutation) = self._system(step), self._system_of
        diagonal = [matrix[i, i] for i in range(matrix.nrows())]
        largest = max((value.abs_upper() for value in diagonal), key=float)
        if self._right is None or mutation.once:
            values = np.array(list(map(float, (matrix / largest).entries())))
            return values.reshape(matrix.nrows(), -1), largest
        values, scale = self._right._kept_floats(step)
        factor = self._arithmetic.number(mutation.off_diagonal) / self._arithmetic.number(mutation.penalty)
        values = values * float(factor * scale / largest)
        np.fill_diagonal(values, [float(value / largest) for value in diagonal])
        return values, largest

    def _kept_floats(self, step: int) -> tuple[np.ndarray, Any]:
        """The same of the right system, kept for its mutations."""
        if step not in self._floats_of:
            self._floats_of[step] = self._floats(step)
        return self._floats_of[step]

    def _system(self, step: int):
        """Ball matrix of a step; of a mutation from the right one, whose entries are scaled together."""
        if step in self._systems:
            return self._systems[step]
        if self._right is not None:
            self._systems.clear()
            self._factors.clear()
        _, samples, mutation = self._system_of
        whole = None if mutation.once else self._right  # Its blocks are other ones where it solves once.
        matrix = self._unmutated(step) if whole is None else whole._system(step)
        if mutation != replace(NONE, once=mutation.once):
            number, right = self._arithmetic.number, matrix
            factor = number(mutation.penalty)
            shift = samples * number(mutation.samples) * number(mutation.diagonal)
            matrix = right * (number(mutation.off_diagonal) / factor)
            for i in range(right.nrows()):
                matrix[i, i] = (right[i, i] - samples) / factor + shift
        self._systems[step] = matrix
        return matrix

    def _unmutated(self, step: int):
        """``G = K_BB / penalty + m I`` of a step."""
        penalty, samples, _ = self._system_of
        block, gram = self._window.draws[step], self._window.gram
        entries = [row[0, j] for row in (gram[i].row() for i in block) for j in block]
        kind = type(gram[block[0]].row())
        matrix = kind(len(block), len(block), entries) / penalty
        for i in range(len(block)):
            matrix[i, i] = matrix[i, i] + samples
        return matrix


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
        values = np.array(list(map(float, (residual / scale).entries())))
        norm = math.hypot(*values)
        if norm <= target or not norm < least_residual / 2:
            break
        least_residual = norm
        change, _ = lapack.dpotrs(float_factor, values)
        solution = (solution + kind(size, 1, change.tolist()) * (scale / largest)).mid()
        residual = right - matrix * solution
    return solution if min(norm, least_residual) <= ACCEPTED else None
