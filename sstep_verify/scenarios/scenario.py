"""Scenario: the few numbers and names a Problem and its IndexStream are made from.

Prescribed exactly: sizes, labels' counts, which rows repeat or are zero, stored entries per column, every
power of two. Prescribed up to rounding: the singular values of the data, off by at most
``sigma_1 (d_U (1 + d_V) + d_V) + gamma_{r+1} || |U| diag(sigma) |V|' ||_F`` with d = ``||Q'Q - I||_F`` the
computed factor's distance from orthonormal columns (Weyl; Higham 2002, Lemma 3.1), plus u32 ||A||_F if the
data are rounded to float32. Not prescribed: the spectrum of data that are made sparse, offset, scaled row
by row, or have repeated, zero or constant parts.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from sstep_verify.problems.kernels import describe as describe_kernel
from sstep_verify.problems.kernels import parameters_of
from sstep_verify.problems.losses import Loss, loss_from
from sstep_verify.problems.losses import describe as describe_loss
from sstep_verify.problems.problem import Problem
from sstep_verify.problems.streams import IndexStream
from sstep_verify.scenarios import ids
from sstep_verify.scenarios.data import data_of, mixed_start, targets_of
from sstep_verify.scenarios.descent import near_converged
from sstep_verify.scenarios.fields import REALS, SCALES, TASKS, Fields, check

__all__ = ["SCALES", "TASKS", "Scenario"]


@dataclass(frozen=True)
class Scenario(Fields):
    """One problem with its index stream, in numbers that can be read, printed and shrunk.

    Raises
    ------
    InputError
        If a value is out of range, or two fields contradict each other.
    """

    def __post_init__(self):
        check(self)
        for field in REALS:
            object.__setattr__(self, field, float(getattr(self, field)))
        if self.precision == "float32":
            described: Any = self.kernel
            reals = {key: x for key, x in parameters_of(described).items() if isinstance(x, float)}
            held = {key: float(np.float32(x)) for key, x in reals.items()}
            object.__setattr__(self, "kernel", replace(described, **held))
            object.__setattr__(self, "parameter", float(np.float32(self.parameter)))
        loss_from(self.task, C=self.parameter, penalty=self.parameter)

    def problem(self) -> Problem:
        """Make the Problem; its name is the scenario's id."""
        loss: Loss = loss_from(self.task, C=self.parameter, penalty=self.parameter)
        return Problem(self.id, data_of(self), targets_of(self), self.kernel, loss)

    def stream(self) -> IndexStream:
        """Make the IndexStream of H blocks."""
        return IndexStream(self.order, self.samples, self.block, self.iterations, self.seed)

    def initial(self) -> np.ndarray | None:
        """Start vector (a0), shape (m,), or None for zeros."""
        if self.start == "mixed":
            return mixed_start(self)
        return near_converged(self.problem(), self.precision) if self.start == "near" else None

    @property
    def id(self) -> str:
        """Stable text that `from_id` rebuilds the scenario from, such as ``krr,linear,m=4,n=2,...``."""
        return ids.to_text(self)

    @classmethod
    def from_id(cls, text: str) -> Scenario:
        """Rebuild a scenario from its id.

        Raises
        ------
        InputError
            If the text is no id of a scenario.
        """
        return cls(**ids.to_fields(text))

    def describe(self) -> str:
        """One line for tables and messages: problem and sizes, then whatever is out of the ordinary."""
        loss = describe_loss(loss_from(self.task, C=self.parameter, penalty=self.parameter))
        unusual = [
            f"{field.name.replace('_', ' ')} {getattr(self, field.name)}"
            for field in fields(self)
            if field.name not in _ALWAYS_SHOWN and getattr(self, field.name) != field.default
        ]
        return (
            f"{loss}, {describe_kernel(self.kernel)}, {self.samples} x {self.features} data of condition "
            f"{self.condition:g} ({self.spectrum}), b={self.block}, s={self.s}, H={self.iterations}, "
            f"P={self.ranks}, seed {self.seed}{'; ' if unusual else ''}{', '.join(unusual)}"
        )

    @property
    def overlaps(self) -> bool:
        """True if some window draws a coordinate twice."""
        stream = self.stream()
        for begin in range(0, self.iterations, self.s):
            draws = stream.blocks(begin, min(begin + self.s, self.iterations))
            if np.unique(draws).size < draws.size:
                return True
        return False


_ALWAYS_SHOWN = {
    *("task", "kernel", "samples", "features", "block", "s", "iterations", "ranks", "seed"),
    *("parameter", "spectrum", "condition"),
}
