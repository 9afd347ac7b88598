"""A solver with a dose of an error: one quantity of its steps is off, by a relative amount."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from sstep_reference.arithmetic import Float
from sstep_reference.kernels import Columns

from sstep_verify import quantities
from sstep_verify.adapters.recording import record, start_vector
from sstep_verify.declaration import Declaration, Precision
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.problems import Problem
from sstep_verify.recurrence.driver import MutantWindow, drawn_early, run_mutant
from sstep_verify.recurrence.mutation import NONE, Mutation, left_out, off_by
from sstep_verify.recurrence.steps import Step, finisher_of
from sstep_verify.solver import Observer, RunRequest
from sstep_verify.trajectory import Trajectory


def is_switch(quantity: str) -> bool:
    """Whether a quantity is there or not, so that it has no small error."""
    return off_by(quantity, Fraction(0)) is None


def dose_of(name: str, relative: float, precision: str) -> tuple[Mutation, float]:
    """The mutation of a dose in a quantity, and the dose that it is once its factor is rounded.

    Next to 1 a factor knows no errors below the precision's roundoff. A switch is left out, whatever
    relative error is asked for, which is a dose of 1.
    """
    if is_switch(name):
        return left_out(name), 1.0
    number = Float(precision).number
    if name == quantities.LOWER:  # its factor is the error itself
        held = Fraction(float(number(Fraction(relative))))
    else:
        held = Fraction(float(number(1 + Fraction(relative)))) - 1
    mutation = off_by(name, held) if held else None
    return mutation or NONE, float(held)


class DosedSolver:
    """The one mutable recurrence over floating point numbers, as a solver of level L2.

    Parameters
    ----------
    problem : Problem
        The one problem that it solves; its kernel columns are kept.
    precision : {"float32", "float64"}
        Type of every number.
    """

    def __init__(self, problem: Problem, precision: Precision):
        self._arithmetic, self._mutation = Float(precision), NONE
        self._kernel: Columns = exact_kernel(problem, self._arithmetic)
        self._kernel.matrix()
        self._targets: Any = self._arithmetic.vector(problem.targets)
        self.declaration = Declaration(
            name="dosed recurrence",
            precision=precision,
            update="frozen",
            products="rows",
            increments="summed",
            rbf="difference",
            power="multiplication",
            factorisation="ldl",
            log=True,
        )

    def with_dose(self, mutation: Mutation) -> DosedSolver:
        """The same solver with another mutation, and the kernel columns of this one."""
        other = copy(self)
        other._mutation = mutation
        return other

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Make the run; `observe` is called at every recorded iteration and may end it."""
        begin, end = request.start, request.start + request.iterations
        drawn, mutation = drawn_early(request.stream.blocks(begin, end).tolist(), self._mutation)
        logged: list[list[Any]] = []

        finisher = finisher_of(request.problem, self._arithmetic)

        def advance(alpha: np.ndarray, begin: int, end: int) -> np.ndarray:
            state: Any = self._arithmetic.vector(alpha)
            blocks = drawn[begin:end]
            given = self._kernel, self._targets, finisher, alpha, blocks, request.s, mutation
            with np.errstate(over="ignore"):
                for one in run_mutant(*given):
                    state = one.alpha
                    logged.extend(_values(self._arithmetic, one, mutation, blocks[one.begin : one.end]))
            return state

        made = record(request, start_vector(request, self.declaration.precision), advance, observe)
        return replace(made, log=np.array(logged, dtype=np.float64)) if request.log else made


def _values(
    arithmetic: Float, made: MutantWindow, mutation: Mutation, blocks: Sequence[Sequence[int]]
) -> list[list[Any]]:
    """What each step left in its coordinates: of the last step of each what the window ends with."""
    window = made.window
    if window is None:
        return [[made.alpha[i] for i in block] for block in blocks]
    stored = arithmetic.number(mutation.write_back)
    gained = arithmetic.zeros(len(window.coordinates))
    values = []
    last: dict[int, tuple[int, int]] = {}
    for row, (block, step) in enumerate(zip(window.draws, made.steps, strict=True)):
        increments = [step.increment] if isinstance(step, Step) else step
        for column, (place, increment) in enumerate(zip(block, increments, strict=True)):
            gained[place] = gained[place] + increment
            last[place] = row, column
        values.append([window.start[place] + stored * gained[place] for place in block])
    for place, (row, column) in last.items():
        values[row][column] = made.reached[place]
    return values
