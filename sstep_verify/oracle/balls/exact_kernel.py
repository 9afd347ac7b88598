"""The reference over a problem, in any arithmetic: its kernel or a solver's panel, the classical method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import singledispatch
from typing import Any, cast

import numpy as np
from sstep_reference import Kernel, bdcd_krr, dcd_ksvm
from sstep_reference.arithmetic import Arithmetic
from sstep_reference.kernels import Columns

from sstep_verify.oracle.balls.enclosure import distances
from sstep_verify.oracle.balls.objectives import ridge_residual
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


def step_error(
    problem: Problem, kernel: Kernel, before: np.ndarray, after: np.ndarray, draws: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Enclose what is wrong about one stored step, coordinate by coordinate; 0 of an exact one.

    K-SVM: the distance of the new value from that of the classical reference (Algorithm 1). K-RR: what the
    increment leaves of its right-hand side, ``|y - m a - K a / lambda|`` at the a after the step.

    Parameters
    ----------
    problem : Problem
        The problem.
    kernel : Kernel
        Its exact kernel over `Balls`.
    before, after : ndarray, shape (m,)
        Stored vectors, finite (a).
    draws : ndarray of int, shape (b,)
        Coordinates of the step.

    Returns
    -------
    lower, upper : ndarray, shape (b,)
        Ends of float64 intervals.
    """
    arithmetic, drawn = cast(Any, kernel.arithmetic), draws.tolist()
    vector = arithmetic.vector(after)
    if problem.is_svm:
        exact = classical_run(problem, kernel, arithmetic.vector(before), [drawn])
        return distances(arithmetic, [vector[i] for i in drawn], [exact[i] for i in drawn])
    columns, targets = kernel.columns(drawn), arithmetic.vector(problem.targets[draws])
    with arithmetic.working():
        images = [arithmetic.dot(column, vector) for column in columns]
        values = [vector[i] for i in drawn]
        penalty = arithmetic.number(problem.ridge.penalty)
        left = ridge_residual(penalty, problem.samples, targets, values, images)
    return distances(arithmetic, left, arithmetic.zeros(len(left)))


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
def _(loss: Any, kernel, targets, initial, blocks, trace):
    drawn: Any = [i for (i,) in blocks]
    return dcd_ksvm(
        kernel.arithmetic, kernel, targets, initial, drawn, loss=loss.task, C=loss.C, trace=trace
    )


@classical_steps.register
def _(loss: Ridge, kernel, targets, initial, blocks, trace):
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
