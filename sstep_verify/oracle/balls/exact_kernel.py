"""The reference over a problem, in any arithmetic: its kernel or a solver's panel, the classical method.

The classical steps themselves are in reference/sstep_reference/dcd_ksvm.py (Algorithm 1) and
reference/sstep_reference/bdcd_krr.py (Algorithm 3).

What it finds in balls is stated as float64 intervals, every end of which is rounded outwards.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import singledispatch
from typing import Any, cast

import numpy as np
from sstep_reference import Kernel, bdcd_krr, dcd_ksvm  # the package in reference/
from sstep_reference.arithmetic import Arithmetic
from sstep_reference.kernels import Columns

from sstep_verify.problems import Hinge, Loss, Problem, Ridge, SquaredHinge
from sstep_verify.trajectory import Panel


def exact_kernel(problem: Problem, arithmetic: Arithmetic) -> Kernel:
    """The kernel of a problem in an arithmetic, its float64 data and parameters taken exactly."""
    data: Any = problem.dense
    # The fields of a description are the parameters of the reference's kernel of that name.
    return Kernel(arithmetic, data, problem.kernel.name, **asdict(problem.kernel))


def classical_run(
    problem: Problem,
    kernel: Columns,
    initial: Any,
    blocks: Sequence[Sequence[int]],
    trace: list[Any] | None = None,
) -> Any:
    """The dual vector after H blocks by Algorithm 1 or 3, in the kernel's arithmetic.

    From a start of m numbers; a trace gets the vector after every block.
    """
    return classical_steps(problem.loss, kernel, problem.targets.tolist(), initial, blocks, trace)


class Followed:
    """Stored vectors of m numbers in an arithmetic: entries that the one before had are not made again."""

    def __init__(self, arithmetic: Arithmetic):
        self._arithmetic = cast(Any, arithmetic)
        self._stored: np.ndarray = np.empty(0)
        self._numbers: Any = None

    def at(self, stored: np.ndarray) -> Any:
        """A vector of its own with the numbers of a stored one, shape (m,), all finite."""
        if self._numbers is None:
            self._numbers = self._arithmetic.vector(stored)
        else:
            other = np.flatnonzero(stored != self._stored)
            for i, value in zip(other.tolist(), stored[other].tolist(), strict=True):
                self._numbers[i] = self._arithmetic.number(value)
        self._stored = stored.copy()
        return self._numbers.copy()


def step_error(
    problem: Problem,
    kernel: Kernel,
    before: np.ndarray,
    after: np.ndarray,
    draws: np.ndarray,
    followed: Followed,
) -> tuple[np.ndarray, np.ndarray]:
    """Enclose what is wrong about one stored step, coordinate by coordinate; 0 of an exact one.

    K-SVM: the distance of the new value from that of the classical reference (Algorithm 1). K-RR: what the
    increment leaves of its right-hand side, ``|y - m a - K a / lambda|`` at the a after the step; of a
    coordinate that the block holds c times m meets the c-th part of the increment only. Over the exact
    kernel in `Balls`; stored vectors (a), shape (m,), are finite, and b coordinates drawn. `followed` makes
    their numbers. Returns the ends of float64 intervals, shape (b,) each.
    """
    arithmetic, drawn = cast(Any, kernel.arithmetic), draws.tolist()
    vector = followed.at(after)
    if problem.is_svm:
        start = vector.copy()
        for i in drawn:
            start[i] = arithmetic.number(float(before[i]))
        exact = classical_run(problem, kernel, start, [drawn])
        return distances(arithmetic, [vector[i] for i in drawn], [exact[i] for i in drawn])
    columns, targets = kernel.columns(drawn), arithmetic.vector(problem.targets[draws])
    with arithmetic.working():
        images = [arithmetic.dot(column, vector) for column in columns]
        values = [vector[i] for i in drawn]
        penalty = arithmetic.number(problem.ridge.penalty)
        left = ridge_residual(penalty, problem.samples, targets, values, images)
        if len(set(drawn)) < len(drawn):
            earlier, counts = arithmetic.vector(before), Counter(drawn)
            left = [
                one + (problem.samples * (counts[i] - 1)) * (vector[i] - earlier[i]) / counts[i]
                for one, i in zip(left, drawn, strict=True)
            ]
    return distances(arithmetic, left, arithmetic.zeros(len(left)))


def ridge_residual(
    penalty: Any, samples: int, targets: Iterable[Any], point: Iterable[Any], images: Iterable[Any]
) -> list:
    """``y - K a / lambda - m a`` on some coordinates, from their targets, values and products with K."""
    triples = zip(targets, point, images, strict=True)
    return [target - image / penalty - samples * value for target, value, image in triples]


@singledispatch
def classical_steps(
    loss: Loss, kernel: Columns, targets: Any, initial: Any, blocks: Any, trace: list[Any] | None
) -> Any:
    """Classical steps of a loss, written apart from the recurrence, which must enclose where they end.

    The oracle's table of losses: ``classical_steps.register`` adds one.

    Parameters
    ----------
    loss : Loss
        The loss, its parameters float64 numbers that are taken exactly.
    kernel : Columns
        The kernel; its arithmetic is that of the steps.
    targets, initial : sequences of m numbers
        Labels or targets, and the start, which is not modified.
    blocks : sequence of H sequences of b int
        Coordinates drawn; b = 1 for a boxed loss.
    trace : list or None
        Gets the vector after every block.

    Returns
    -------
    vector of length m
    """
    raise TypeError(f"no classical step is known for {loss}: add one to classical_steps")


@classical_steps.register(Hinge)
@classical_steps.register(SquaredHinge)
def _svm_steps(loss: Any, kernel, targets, initial, blocks, trace):
    drawn: Any = [i for (i,) in blocks]
    return dcd_ksvm(
        kernel.arithmetic, kernel, targets, initial, drawn, loss=loss.task, C=loss.C, trace=trace
    )


@classical_steps.register
def _ridge_steps(loss: Ridge, kernel, targets, initial, blocks, trace):
    return bdcd_krr(kernel.arithmetic, kernel, targets, initial, blocks, penalty=loss.penalty, trace=trace)


class PanelColumns(Columns):
    """Serves row i of a panel where a kernel serves its column i.

    Steps on coordinate i of the reference and of the mutable recurrence read column i alone, so a panel
    that is not symmetric is replayed by its rows.

    Parameters
    ----------
    arithmetic : Arithmetic
        Number system; float32, float64 and longdouble entries are taken exactly.
    panel : Panel
        The rows, shape (c, m), all finite.
    """

    def __init__(self, arithmetic: Arithmetic, panel: Panel):
        super().__init__(arithmetic, panel.entries.shape[1])
        self._panel = panel
        self._row = {int(column): row for row, column in enumerate(panel.columns)}

    def values(self, i: int, count: int) -> Sequence[Any]:
        """First `count` entries of row i of the panel.

        Raises
        ------
        KeyError
            If the panel has no row i.
        """
        number = self.arithmetic.number
        return [number(entry) for entry in self._panel.entries[self._row[i], :count].tolist()]


DOWN, UP = 1.0 - 2.0**-52, 1.0 + 2.0**-52
"""Factors that undo the rounding of a normal number."""


def magnitude_interval(ball) -> tuple[float, float]:
    """Float64 interval that contains the absolute value of a ball; (0, 0) only for an exact zero.

    An end that float64 does not hold is moved to the next number outwards, be it a subnormal one.
    """
    lower, upper = ball.abs_lower(), ball.abs_upper()
    low, high = float(lower), _finite(float(upper))
    if not lower >= low:
        low = max(0.0, math.nextafter(low, -math.inf))
    return low, high if upper <= high else math.nextafter(high, math.inf)


def distances(arithmetic: Arithmetic, x, y) -> tuple[np.ndarray, np.ndarray]:
    """Float64 intervals of the absolute differences, lower and upper ends, shape (c,) each."""
    with arithmetic.working():
        ends = [magnitude_interval(a - b) for a, b in zip(x, y, strict=True)]
    low, high = np.array(ends).reshape(-1, 2).T
    return low, high


def upward(value: float) -> float:
    """Upper bound on a non-negative expression of few operations whose parts are bounds; 0 stays 0.

    Its roundings are covered by 2**-44, or by the neighbouring number where it underflows.
    """
    return math.nextafter(value * (1.0 + 2.0**-44), math.inf) if value > 0.0 else value


def root_interval(ball) -> tuple[float, float]:
    """Float64 interval that contains the root of a ball's part that is not negative.

    The root is taken before it is rounded to float64, where the square may underflow.
    """
    low, high = ball.lower(), ball.upper()
    lowest = magnitude_interval(low.sqrt())[0] if low > 0 else 0.0
    return lowest, magnitude_interval(high.sqrt())[1] if high > 0 else 0.0


def interval(ball) -> tuple[float, float]:
    """Float64 interval that contains a ball."""
    low, high = float(ball.lower()), float(ball.upper())
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)


def _finite(value: float) -> float:
    return value if value == value else math.inf
