"""The reference over a problem, in any of its arithmetic objects: the kernel, and the classical method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import singledispatch
from typing import Any

from sstep_reference import Kernel, bdcd_krr, dcd_ksvm
from sstep_reference.arithmetic import Arithmetic
from sstep_reference.kernels import Columns

from sstep_verify.problems import Hinge, Loss, Problem, Ridge, SquaredHinge


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
