"""Loss descriptions: what DCD needs to know of the dual of each loss (box, shift, exponent)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, assert_never

from sstep_verify.errors import InputError


def _positive(owner: str, name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise InputError(f"{owner}: {name} = {value!r}, but it must be finite and > 0")


@dataclass(frozen=True)
class Hinge:
    """Hinge loss of K-SVM-L1: ``min 1/2 a'Qa - 1'a`` over ``0 <= a <= C``.

    Parameters
    ----------
    C : float
        Penalty, > 0; the box is [0, C] and the diagonal shift is 0.
    """

    C: float = 1.0
    task: ClassVar[str] = "svm-l1"
    power: ClassVar[int] = 1

    def __post_init__(self):
        _positive("K-SVM-L1", "C", self.C)

    @property
    def upper(self) -> float:
        """Upper end of the box (nu)."""
        return self.C

    @property
    def shift(self) -> float:
        """Diagonal shift (omega)."""
        return 0.0


@dataclass(frozen=True)
class SquaredHinge:
    """Squared hinge loss of K-SVM-L2: ``min 1/2 a'(Q + I/(2C))a - 1'a`` over ``a >= 0``.

    Parameters
    ----------
    C : float
        Penalty, > 0; the box is [0, infinity) and the diagonal shift is 1/(2C).
    """

    C: float = 1.0
    task: ClassVar[str] = "svm-l2"
    power: ClassVar[int] = 2

    def __post_init__(self):
        _positive("K-SVM-L2", "C", self.C)

    @property
    def upper(self) -> float:
        """Upper end of the box (nu)."""
        return math.inf

    @property
    def shift(self) -> float:
        """Diagonal shift (omega), rounded to float64; the oracle uses 1/(2C) exactly."""
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
    task: ClassVar[str] = "krr"

    def __post_init__(self):
        _positive("K-RR", "lambda", self.penalty)


Loss = Hinge | SquaredHinge | Ridge


def loss_from(task: str, *, C: float = 1.0, penalty: float = 1.0) -> Loss:
    """Build a loss description from a task name: svm-l1, svm-l2 or krr.

    Raises
    ------
    InputError
        If the task is unknown or its parameter is not positive.
    """
    if task == "svm-l1":
        return Hinge(C)
    if task == "svm-l2":
        return SquaredHinge(C)
    if task == "krr":
        return Ridge(penalty)
    raise InputError(f"task {task!r} is unknown; known: svm-l1, svm-l2, krr")


def describe(loss: Loss) -> str:
    """One short phrase for tables and messages, such as ``svm-l2 C=1``."""
    match loss:
        case Ridge():
            return f"krr lambda={loss.penalty:g}"
        case Hinge() | SquaredHinge():
            return f"{loss.task} C={loss.C:g}"
        case _:
            assert_never(loss)
