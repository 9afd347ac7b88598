"""Loss descriptions: what descent needs to know of the dual of each loss.

A boxed loss (K-SVM) is descended coordinate by coordinate, each step ended by a soft threshold and a clip
(`BoxedLoss`); the other one (K-RR) has targets and no box, and is descended by blocks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sstep_verify.errors import WEIGHTED, InputError, positive, shown

LEAST_C, MOST_C = 2.0**-1023, 2.0**1021
"""Range of C in which 2C and 1/(2C) are normal numbers of float64."""


class Dual(NamedTuple):
    """The numbers of a boxed loss on given targets, in float64; see `BoxedLoss`.

    Parameters
    ----------
    shift, upper, lower, threshold : float
        Diagonal shift (omega), ends of the box, weight of the 1-norm.
    signs, linear : ndarray, shape (m,), or float
        Signs of the kernel's rows and columns, and the linear term; of all coordinates where a number.
    """

    shift: float
    upper: float
    lower: float = 0.0
    threshold: float = 0.0
    signs: np.ndarray | float = 1.0
    linear: np.ndarray | float = 1.0


@dataclass(frozen=True)
class BoxedLoss:
    """A loss whose dual is descended one coordinate a step: all that a step needs to know of it.

    With b_i = sigma_i a_i the dual is

        min 1/2 b'K b + shift/2 |a|^2 - p'a + threshold |a|_1  over  lower <= a_i <= upper,

    sigma the labels and p ones where the loss is of labels, sigma ones and p the targets where it is not.
    One step on coordinate i is then ``g = sigma_i K_i b - p_i + shift a_i``, ``eta = K_ii + shift`` and

        a_i <- clip(soft(a_i - g / eta, threshold / eta), lower, upper),
        soft(z, t) = max(z - t, 0) + min(z + t, 0).

    Of the two kinds of a K-SVM neither has a threshold, and the lower end is 0.

    Parameters
    ----------
    C : float
        Penalty, > 0.

    Attributes
    ----------
    task : str
        Name of the task, in messages.
    labelled : bool
        Whether targets are labels -1 and +1.
    base_task : str
        The shipped task whose quantities and mistakes its steps share; empty if that is `task`.
    """

    C: float = 1.0
    boxed: ClassVar[bool] = True
    labelled: ClassVar[bool] = True
    symbol: ClassVar[str] = "C"
    task: ClassVar[str]
    base_task: ClassVar[str] = ""

    def __post_init__(self):
        if np.size(self.C) > 1:
            raise InputError(
                f"K-{self.task.upper()}: C = {shown(self.C)}, but it must be one number: {WEIGHTED}"
            )
        object.__setattr__(self, "C", positive(f"K-{self.task.upper()}", "C", self.C))

    @property
    def parameter(self) -> float:
        """The one parameter, C."""
        return self.C

    @property
    def shift(self) -> float:
        """Diagonal shift (omega), >= 0."""
        return 0.0

    @property
    def lower(self) -> float:
        """Lower end of the box, <= 0."""
        return 0.0

    @property
    def upper(self) -> float:
        """Upper end of the box (nu), > 0; infinite where there is none."""
        return self.C

    @property
    def threshold(self) -> float:
        """Weight of the 1-norm (epsilon), >= 0."""
        return 0.0

    def exact_shift(self, arithmetic: Any) -> Any:
        """Diagonal shift in an arithmetic of `sstep_reference`; the float64 itself if not overridden."""
        return arithmetic.number(self.shift)


@dataclass(frozen=True)
class Hinge(BoxedLoss):
    """Describe the hinge loss of K-SVM-L1: ``min 1/2 a'Qa - 1'a`` over ``0 <= a <= C``.

    Parameters
    ----------
    C : float
        Penalty, > 0; the box is [0, C] and the diagonal shift is 0.

    Examples
    --------
    >>> from sstep_verify import Hinge
    >>> Hinge(C=10.0).upper
    10.0
    """

    task: ClassVar[str] = "svm-l1"
    power: ClassVar[int] = 1


@dataclass(frozen=True)
class SquaredHinge(BoxedLoss):
    """Describe the squared hinge loss of K-SVM-L2: ``min 1/2 a'(Q + I/(2C))a - 1'a`` over ``a >= 0``.

    Parameters
    ----------
    C : float
        Penalty, > 0; the box is [0, infinity) and the diagonal shift is 1/(2C).

    Examples
    --------
    >>> from sstep_verify import SquaredHinge
    >>> SquaredHinge(C=10.0).upper
    inf
    """

    task: ClassVar[str] = "svm-l2"
    power: ClassVar[int] = 2

    @property
    def upper(self) -> float:
        """There is none."""
        return math.inf

    def exact_shift(self, arithmetic: Any) -> Any:
        """``1/(2C)``."""
        with arithmetic.working():
            return arithmetic.number(1) / (2 * arithmetic.number(self.C))

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
    """Describe the squared loss of K-RR: ``(K/penalty + m I) a = y``.

    Parameters
    ----------
    penalty : float
        Regularisation (lambda), > 0.

    Examples
    --------
    >>> from sstep_verify import Ridge
    >>> Ridge(penalty=0.1)
    Ridge(penalty=0.1)
    """

    penalty: float = 1.0
    boxed: ClassVar[bool] = False
    labelled: ClassVar[bool] = False
    symbol: ClassVar[str] = "lambda"
    base_task: ClassVar[str] = ""
    task: ClassVar[str] = "krr"

    def __post_init__(self):
        object.__setattr__(self, "penalty", positive("K-RR", "lambda", self.penalty))

    @property
    def parameter(self) -> float:
        """The one parameter, lambda."""
        return self.penalty


Loss = BoxedLoss | Ridge

LOSSES: dict[str, type[Hinge] | type[SquaredHinge] | type[Ridge]] = {
    kind.task: kind for kind in (Hinge, SquaredHinge, Ridge)
}
"""Losses by the name of their task."""

TASKS = tuple(LOSSES)
"""Names of the tasks."""


MOST_CLASSES = 10
"""Distinct targets up to which they are taken for classes."""


def look_continuous(targets: np.ndarray) -> bool:
    """Whether targets, shape (m,), look like a regression: many, with fractions or mostly distinct."""
    values = np.unique(targets)
    return values.size > MOST_CLASSES and bool((values % 1).any() or 2 * values.size > targets.size)


def loss_from(task: str, parameter: float = 1.0) -> Loss:
    """Build a loss description from a task name, svm-l1, svm-l2 or krr, and its C or lambda.

    Raises
    ------
    InputError
        If the task is unknown or its parameter is not positive.
    """
    if task not in LOSSES:
        raise InputError(f"task {task!r} is unknown; known: {', '.join(LOSSES)}")
    return LOSSES[task](parameter)


def describe(loss: Loss) -> str:
    """One short phrase for tables and messages, such as ``svm-l2 C=1``."""
    return f"{loss.task} {loss.symbol}={loss.parameter:g}"
