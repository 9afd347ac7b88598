"""Ends of a window as the mutable recurrence reaches them, with any mutation and with none."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sstep_reference.kernels import Columns

from sstep_verify.errors import OracleDisagreementError
from sstep_verify.oracle.balls.block_solve import refined
from sstep_verify.oracle.balls.enclosure import interval, upward
from sstep_verify.oracle.balls.exact_kernel import classical_run
from sstep_verify.problems import Problem
from sstep_verify.recurrence.mutation import NONE, Mutation
from sstep_verify.recurrence.steps import Solve, finisher_of, mutable_window
from sstep_verify.recurrence.window import LocalWindow
from sstep_verify.steps import RidgeSteps, SvmSteps


class Ends:
    """The dual vector at a window's end, on the window's coordinates, by mutation; each is made once.

    K-RR over a kernel of which no definiteness is known carries balls from block to block, so that wider
    ones need more bits. A block system that is not proven invertible is a `SingularSystemError`.

    Parameters
    ----------
    problem : Problem
        The problem.
    kernel : Columns
        Its exact kernel over `Balls`, or a solver's panel.
    window : LocalWindow
        The window.

    Attributes
    ----------
    unmutated : vector of length c
        The end of the right recurrence.
    log : list
        What that recurrence kept of its steps.
    """

    def __init__(self, problem: Problem, kernel: Columns, window: LocalWindow):
        self.problem, self.window = problem, window
        self.arithmetic: Any = kernel.arithmetic
        self.finisher = self._finisher()
        self.log: list = []
        self.unmutated = mutable_window(self.arithmetic, window, self.finisher, NONE, self.log)
        self._ends: dict[Mutation, Any] = {NONE: self.unmutated}

    def _finisher(self) -> Any:
        """The finisher of the window's steps."""
        return finisher_of(self.problem, self.arithmetic)

    def __call__(self, mutation: Mutation) -> Any:
        """The end with a mutation."""
        if mutation not in self._ends:
            self._ends[mutation] = mutable_window(self.arithmetic, self.window, self.finisher, mutation)
        return self._ends[mutation]


class SvmEnds(Ends):
    """Ends of a window of K-SVM, in balls."""

    def by_reference(self, kernel: Columns, alpha: Any) -> list:
        """The end by the classical reference (Algorithm 1), which the right recurrence must enclose.

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
        """New value of each coordinate's last step: on the box exactly where it is certainly clipped."""
        ends: list = [None] * len(self.window.coordinates)
        for (place,), step in zip(self.window.draws, self.log, strict=True):
            ends[place] = step.updated
        return ends


class RefinedEnds(Ends):
    """Ends of a window of K-RR as points of many digits, with a proven distance from the exact one.

    Balls are not carried from block to block, where their radii would grow by the wrapping effect: every
    block solution is a point with a residual in balls, and since an exact block step is a projection in
    the M-norm, the distances of the blocks simply add up.

    Attributes
    ----------
    off : float
        Upper bound on the distance of `unmutated` from the exact end, in the M-norm.
    """

    def __init__(self, problem: Problem, kernel: Columns, window: LocalWindow):
        super().__init__(problem, kernel, window)
        try:
            total = math.fsum(self.finisher.systems(window, NONE).residuals)
        except OverflowError:  # float64 does not hold it
            total = math.inf
        self.off = upward(total / math.sqrt(problem.samples))

    def _finisher(self) -> Solve:
        """The finisher of the window's steps, its block systems refined."""
        return refined(self.arithmetic, super()._finisher())


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
