"""Loss descriptions: what descent needs to know of the dual of each loss.

A boxed loss (K-SVM) has labels, a box [0, upper] and a diagonal shift, and is descended coordinate by
coordinate; the other one (K-RR) has targets and no box, and is descended by blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from sstep_verify.errors import InputError
from sstep_verify.problems.parameters import positive

LEAST_C, MOST_C = 2.0**-1023, 2.0**1021
"""Range of C in which 2C and 1/(2C) are normal numbers of float64."""


@dataclass(frozen=True)
class _OfMargin:
    """What both losses of a K-SVM have: a penalty C and a box."""

    C: float = 1.0
    boxed: ClassVar[bool] = True
    symbol: ClassVar[str] = "C"
    task: ClassVar[str]

    def __post_init__(self):
        object.__setattr__(self, "C", positive(f"K-{self.task.upper()}", "C", self.C))

    @property
    def parameter(self) -> float:
        """The one parameter, C."""
        return self.C


@dataclass(frozen=True)
class Hinge(_OfMargin):
    """Hinge loss of K-SVM-L1: ``min 1/2 a'Qa - 1'a`` over ``0 <= a <= C``.

    Parameters
    ----------
    C : float
        Penalty, > 0; the box is [0, C] and the diagonal shift is 0.
    """

    task: ClassVar[str] = "svm-l1"
    power: ClassVar[int] = 1
    shift: ClassVar[float] = 0.0
    """Diagonal shift (omega)."""

    @property
    def upper(self) -> float:
        """Upper end of the box (nu)."""
        return self.C


@dataclass(frozen=True)
class SquaredHinge(_OfMargin):
    """Squared hinge loss of K-SVM-L2: ``min 1/2 a'(Q + I/(2C))a - 1'a`` over ``a >= 0``.

    Parameters
    ----------
    C : float
        Penalty, > 0; the box is [0, infinity) and the diagonal shift is 1/(2C).
    """

    task: ClassVar[str] = "svm-l2"
    power: ClassVar[int] = 2
    upper: ClassVar[float] = math.inf
    """Upper end of the box (nu)."""

    @property
    def shift(self) -> float:
        """Diagonal shift (omega), rounded to float64; the oracle uses 1/(2C) exactly.

        Raises
        ------
        InputError
            If 2C or 1/(2C) is no normal number of float64: then no solver in float64 can have it.
        """
        if not LEAST_C <= self.C <= MOST_C:
            raise InputError(
                f"K-SVM-L2: C = {self.C!r}, but in float64 it must lie in {LEAST_C:.2g}..{MOST_C:.2g}, "
                "where 2C and 1/(2C) are normal numbers; scale the data (linear: by f, with C by 1/f^2)"
            )
        return 1.0 / (2.0 * self.C)


@dataclass(frozen=True)
class Ridge:
    """Squared loss of K-RR: ``(K/penalty + m I) a = y``.

    Parameters
    ----------
    penalty : float
        Regularisation (lambda), > 0.
    """

    penalty: float = 1.0
    boxed: ClassVar[bool] = False
    symbol: ClassVar[str] = "lambda"
    task: ClassVar[str] = "krr"

    def __post_init__(self):
        object.__setattr__(self, "penalty", positive("K-RR", "lambda", self.penalty))

    @property
    def parameter(self) -> float:
        """The one parameter, lambda."""
        return self.penalty


Loss = Hinge | SquaredHinge | Ridge

LOSSES: dict[str, type[Hinge] | type[SquaredHinge] | type[Ridge]] = {
    kind.task: kind for kind in (Hinge, SquaredHinge, Ridge)
}
"""Losses by the name of their task."""

TASKS = tuple(LOSSES)
"""Names of the tasks."""


def loss_from(task: str, *, C: float = 1.0, penalty: float = 1.0) -> Loss:
    """Build a loss description from a task name: svm-l1, svm-l2 or krr.

    Raises
    ------
    InputError
        If the task is unknown or its parameter is not positive.
    """
    if task not in LOSSES:
        raise InputError(f"task {task!r} is unknown; known: {', '.join(LOSSES)}")
    kind = LOSSES[task]
    return Ridge(penalty) if kind is Ridge else kind(C)


def describe(loss: Loss) -> str:
    """One short phrase for tables and messages, such as ``svm-l2 C=1``."""
    return f"{loss.task} {loss.symbol}={loss.parameter:g}"
