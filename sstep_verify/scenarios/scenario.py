"""Scenario: a Problem and its IndexStream, made from a few numbers."""

from __future__ import annotations

import numpy as np

from sstep_verify.problems.losses import Loss, loss_from
from sstep_verify.problems.problem import Problem
from sstep_verify.problems.streams import IndexStream
from sstep_verify.scenarios.data import data_of, mixed_start, targets_of
from sstep_verify.scenarios.descent import near_converged
from sstep_verify.scenarios.numbers import Numbers


class Scenario(Numbers):
    """`Numbers`, and the problem, the index stream and the start vector that they describe."""

    def problem(self) -> Problem:
        """Make the Problem; its name is the scenario's id."""
        loss: Loss = loss_from(self.task, self.parameter)
        return Problem(self.id, data_of(self), targets_of(self), self.kernel, loss)

    def stream(self) -> IndexStream:
        """Make the IndexStream of H blocks."""
        return IndexStream(self.order, self.samples, self.block, self.iterations, self.seed)

    def initial(self) -> np.ndarray | None:
        """Start vector (a0), shape (m,), or None for zeros."""
        if self.start == "mixed":
            return mixed_start(self)
        return near_converged(self.problem(), self.precision) if self.start == "near" else None
