"""The mutable recurrence over a whole index stream, its end alone."""

from __future__ import annotations

from collections.abc import Sequence

from sstep_reference.inputs import svm_constants

from sstep_verify.recurrence.mutants import run_mutant
from sstep_verify.recurrence.mutation import NONE, Mutation
from sstep_verify.recurrence.steps import Clip, Solve


def mutable_sstep_dcd(
    arithmetic,
    kernel,
    labels,
    initial,
    indices: Sequence[int],
    s: int,
    *,
    loss: str,
    C,
    mutation: Mutation = NONE,
):
    """Run the mutable recurrence over a whole index stream.

    Parameters
    ----------
    arithmetic, kernel
        Arithmetic and kernel objects of `sstep_reference`.
    labels, initial : vectors of length m
        Labels and start vector; not modified.
    indices : sequence of H int
        Drawn coordinates.
    s : int
        Iterations per window.
    loss : {"svm-l1", "svm-l2"}
        Which loss.
    C : number
        Penalty.
    mutation : Mutation
        Factors and switches.

    Returns
    -------
    vector of length m
    """
    upper, omega = svm_constants(arithmetic, loss, C)
    return _end(kernel, labels, Clip(omega, upper), initial, [[i] for i in indices], s, mutation)


def mutable_sstep_bdcd(
    arithmetic, kernel, targets, initial, blocks: Sequence, s: int, *, penalty, mutation: Mutation = NONE
):
    """Run the mutable recurrence over a whole index stream.

    Parameters
    ----------
    arithmetic, kernel
        Arithmetic and kernel objects of `sstep_reference`.
    targets, initial : vectors of length m
        Targets and start vector; not modified.
    blocks : sequence of H sequences of b int
        Drawn blocks.
    s : int
        Iterations per window.
    penalty : number
        Regularisation (lambda).
    mutation : Mutation
        Factors and switches.

    Returns
    -------
    vector of length m
    """
    finisher = Solve(arithmetic.number(penalty), kernel.samples)
    return _end(kernel, targets, finisher, initial, blocks, s, mutation)


def _end(kernel, targets, finisher, initial, blocks, s: int, mutation: Mutation):
    alpha = kernel.arithmetic.vector(initial)
    for window in run_mutant(kernel, targets, finisher, initial, blocks, s, mutation):
        alpha = window.alpha
    return alpha
