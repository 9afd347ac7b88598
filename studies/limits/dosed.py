"""A solver with a dose of an error: one quantity of its steps is off, by a relative amount."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from sstep_reference.arithmetic import Float
from sstep_reference.inputs import svm_constants
from sstep_reference.kernels import Columns

from sstep_verify import quantities
from sstep_verify.declaration import Declaration, Precision
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.problems import Problem
from sstep_verify.recurrence.mutation import NONE, Mutation, left_out, off_by
from sstep_verify.recurrence.recurrence_ridge import mutable_ridge_window
from sstep_verify.recurrence.recurrence_svm import Step, mutable_svm_window
from sstep_verify.recurrence.window import LocalWindow, drawn_early, local_window
from sstep_verify.solver import Observer, RunRequest
from sstep_verify.solvers.adapters.recording import record, start_vector
from sstep_verify.trajectory import Trajectory


def dose_of(name: str, relative: float, precision: str) -> tuple[Mutation, float]:
    """The mutation of a dose, and the dose that it is once its factor is rounded.

    Parameters
    ----------
    name : str
        Quantity of a step.
    relative : float
        Relative error asked for; a switch is left out, whatever the size, which is a dose of 1.
    precision : str
        Type that the factor is rounded to: next to 1 it knows no errors below its roundoff.
    """
    if off_by(name, Fraction(0)) is None:
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
    mutation : Mutation
        What is off; nothing by default.
    log : bool
        Whether it declares to write a step log.
    """

    def __init__(
        self, problem: Problem, precision: Precision, mutation: Mutation = NONE, *, log: bool = True
    ):
        self._arithmetic = Float(precision)
        self._mutation = mutation
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
            log=log,
        )

    def with_dose(self, mutation: Mutation) -> DosedSolver:
        """The same solver with another mutation, and the kernel columns of this one."""
        other = object.__new__(DosedSolver)
        other.__dict__.update(self.__dict__)
        other._mutation = mutation
        return other

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Make the run; `observe` is called at every recorded iteration and may end it."""
        begin, end = request.start, request.start + request.iterations
        drawn, mutation = drawn_early(request.stream.blocks(begin, end).tolist(), self._mutation)
        logged: list[list[Any]] = []

        def advance(alpha: np.ndarray, begin: int, end: int) -> np.ndarray:
            state: Any = self._arithmetic.vector(alpha)
            for first in range(begin, end, request.s):
                blocks = drawn[first : min(first + request.s, end)]
                if mutation.lose_tail and len(blocks) < request.s:
                    logged.extend([state[i] for i in block] for block in blocks)
                    break
                logged.extend(self._window(request.problem, state, blocks, mutation))
            return state

        made = record(request, start_vector(request, self.declaration.precision), advance, observe)
        return replace(made, log=np.array(logged, dtype=np.float64)) if request.log else made

    def _window(
        self, problem: Problem, state: Any, blocks: list[list[int]], mutation: Mutation
    ) -> list[list[Any]]:
        """Make the steps of one window, in `state`; the values that each of them left."""
        arithmetic = self._arithmetic
        window = local_window(arithmetic, self._kernel, self._targets, state, blocks, signed=problem.is_svm)
        increments: list[Any] = []
        with np.errstate(over="ignore"):
            if problem.is_svm:
                upper, omega = svm_constants(arithmetic, problem.loss.task, problem.hinge.C)
                steps: list[Step] = []
                end = mutable_svm_window(arithmetic, window, omega, upper, mutation, steps)
                increments = [[step.increment] for step in steps]
            else:
                penalty = arithmetic.number(problem.ridge.penalty)
                end = mutable_ridge_window(
                    arithmetic, window, penalty, problem.samples, mutation, steps=increments
                )
        for place, coordinate in enumerate(window.coordinates):
            state[coordinate] = end[place]
        return _values(arithmetic, window, increments, mutation, end)


def _values(
    arithmetic: Float, window: LocalWindow, increments: list[Any], mutation: Mutation, end: Any
) -> list[list[Any]]:
    """What each step left in its coordinates: of the last step of each what the window ends with."""
    stored = arithmetic.number(mutation.write_back)
    gained = arithmetic.zeros(len(window.coordinates))
    values = []
    for block, step in zip(window.draws, increments, strict=True):
        for place, increment in zip(block, step, strict=True):
            gained[place] = gained[place] + increment
        values.append([window.start[place] + stored * gained[place] for place in block])
    last: dict[int, tuple[int, int]] = {}
    for row, block in enumerate(window.draws):
        last |= {place: (row, column) for column, place in enumerate(block)}
    for place, (row, column) in last.items():
        values[row][column] = end[place]
    return values
