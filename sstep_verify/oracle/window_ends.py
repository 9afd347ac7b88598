"""A window as its solver began it, its ends by the mutable recurrence, and its end by the reference.

The recurrence is in recurrence/steps.py. `classical_run` (oracle/balls/exact_kernel.py) calls the
reference: reference/sstep_reference/dcd_ksvm.py and reference/sstep_reference/bdcd_krr.py.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from sstep_reference.arithmetic import Balls  # the package in reference/
from sstep_reference.kernels import Columns

from sstep_verify.errors import OracleDisagreementError
from sstep_verify.oracle.balls.block_solve import refined
from sstep_verify.oracle.balls.exact_kernel import PanelColumns, classical_run, interval, upward
from sstep_verify.problems import Problem
from sstep_verify.quantities import RidgeSteps, SvmSteps
from sstep_verify.recurrence.mutation import (
    NONE,
    Before,
    LocalWindow,
    Mutation,
    local_window,
)
from sstep_verify.recurrence.steps import STORE, finisher_of, mutable_window, stored_otherwise
from sstep_verify.rounding.block.repeats import growth, most_often


def begun_window(
    problem: Problem,
    kernel: Columns,
    alpha: Any,
    draws: np.ndarray,
    weights: np.ndarray | None = None,
    before: Before | None = None,
) -> LocalWindow:
    """Restrict a window, blocks drawn of shape (s, b), to its coordinates, from alpha at its start (m).

    The kernel is the exact one over `Balls`, or a panel of other rows. `weights`, shape (n,), are those at
    the start, taken exactly, of a solver that maintains them: the stale products are then ``<x_i, w>``.
    `before` holds the solver's a at the start of the window before, and the blocks drawn in it.
    """
    arithmetic: Any = kernel.arithmetic
    targets = arithmetic.vector(problem.targets)
    window: LocalWindow = local_window(
        arithmetic, kernel, targets, alpha, draws.tolist(), signed=problem.loss.labelled
    )
    if before is not None:
        earlier = arithmetic.vector(before[0]), before[1]
        window = window.after(arithmetic, kernel, targets, alpha, earlier)
    if weights is None:
        return window
    with arithmetic.working():
        given, data = arithmetic.vector(weights), problem.dense[window.coordinates]
        return replace(window, stale=[arithmetic.dot(arithmetic.vector(x), given) for x in data])


class Ends:
    """The dual vector at a window's end, on the window's coordinates, by mutation; each is made once.

    A K-SVM's ends are balls. A K-RR over a kernel of which no definiteness is known carries balls from
    block to block, so that wider ones need more bits. A block system that is not proven invertible is a
    `SingularSystemError`.

    K-RR over its exact kernel in balls: radii would grow by the wrapping effect, so ends are points of many
    digits. Each block solution is a point that leaves a residual, known in balls. An exact block step is a
    projection in the M-norm, so the distances that the blocks leave add up (`off`). Where a block holds a
    coordinate several times they do so with the factors of rounding/block/repeats.py.

    Attributes
    ----------
    unmutated : vector of length c
        The end of the right recurrence.
    log : list
        What that recurrence kept of its steps.
    off : float
        Of points (`refined`): upper bound on the distance of `unmutated` from the exact end, in the M-norm.
    """

    def __init__(self, problem: Problem, kernel: Columns, window: LocalWindow):
        self.problem, self.window = problem, window
        self.arithmetic: Any = kernel.arithmetic
        finisher: Any = finisher_of(problem, self.arithmetic)
        definite = not (problem.is_svm or isinstance(kernel, PanelColumns))
        self.refined = definite and isinstance(self.arithmetic, Balls)
        self._finisher: Any = refined(self.arithmetic, finisher) if self.refined else finisher
        self.log: list = []
        self.unmutated = mutable_window(self.arithmetic, window, self._finisher, NONE, self.log)
        self._ends: dict[Mutation, Any] = {NONE: self.unmutated}
        self.off = self._off() if self.refined else 0.0

    def _off(self) -> float:
        residuals, most = self._finisher.systems(self.window, NONE).residuals(), self._most
        if max(most, default=1) > 1:
            total = 0.0
            for residual, times in zip(residuals, most, strict=True):
                total = upward(growth(times) * total + math.sqrt(times) * residual)
        else:
            try:
                total = math.fsum(residuals)
            except OverflowError:  # float64 does not hold it
                total = math.inf
        return upward(total / math.sqrt(self.problem.samples))

    @property
    def _most(self) -> list[int]:
        return most_often(np.array(self.window.draws, dtype=np.int64)).tolist()

    def __call__(self, mutation: Mutation) -> Any:
        """The end with a mutation."""
        if mutation not in self._ends:
            if mutation.changes.keys() <= STORE:
                end = stored_otherwise(self.arithmetic, self.window, self._increments, mutation)
            else:
                end = mutable_window(self.arithmetic, self.window, self._finisher, mutation)
            self._ends[mutation] = end
        return self._ends[mutation]

    @property
    def _increments(self) -> list:
        """The increments of each step of the right recurrence."""
        return [[step.increment] for step in self.log] if self.problem.is_svm else self.log

    def tried(self, mutation: Mutation) -> tuple[Any, SvmSteps | RidgeSteps]:
        """The end with a mutation, and its steps; neither is kept."""
        log: list = []
        end = mutable_window(self.arithmetic, self.window, self._finisher, mutation, log)
        return end, float_steps(self.problem, self.window.draws, log)

    def by_reference(self, kernel: Columns, alpha: Any) -> list:
        """The end by the classical reference, whose balls must overlap those of the right recurrence.

        Raises
        ------
        OracleDisagreementError
            If the two contradict each other.
        """
        coordinates = self.window.coordinates
        drawn = [[coordinates[place] for place in block] for block in self.window.draws]
        run = classical_run(self.problem, kernel, alpha, drawn)
        for coordinate, other in zip(coordinates, self.unmutated, strict=True):
            if not run[coordinate].overlaps(other):
                raise OracleDisagreementError(
                    f"{self.problem.label}: coordinate {coordinate} ends a window at {run[coordinate]} by "
                    f"the classical reference but at {other} by the s-step recurrence"
                )
        return [run[coordinate] for coordinate in coordinates]

    def clipped(self) -> list:
        """K-SVM: new values of the coordinates' last steps, on the box exactly where certainly clipped."""
        ends: list = [None] * len(self.window.coordinates)
        for (place,), step in zip(self.window.draws, self.log, strict=True):
            ends[place] = step.updated
        return ends


def float_steps(problem: Problem, draws: list[list[int]], log: list) -> SvmSteps | RidgeSteps:
    """The steps that a recurrence kept, rounded to float64; draws are places, s x b."""
    blocks = np.array(draws, dtype=np.int64)
    if not problem.is_svm:
        return RidgeSteps(blocks, np.array([[float(value) for value in step] for step in log]))
    bounds = np.array([interval(step.unclipped) for step in log]).reshape(-1, 2)
    return SvmSteps(
        draws=blocks.ravel(),
        value=np.array([float(step.value) for step in log]),
        increment=np.array([float(step.increment) for step in log]),
        lower=bounds[:, 0],
        upper=bounds[:, 1],
    )
