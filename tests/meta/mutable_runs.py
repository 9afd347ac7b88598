"""The mutable recurrence over a whole index stream, window by window."""

from __future__ import annotations

from collections.abc import Sequence

from sstep_reference.inputs import svm_constants

from sstep_verify.recurrence.mutation import NONE, Mutation
from sstep_verify.recurrence.recurrence_ridge import mutable_ridge_window
from sstep_verify.recurrence.recurrence_svm import mutable_svm_window
from sstep_verify.recurrence.window import drawn_early, local_window


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
    alpha = arithmetic.vector(initial)
    upper, omega = svm_constants(arithmetic, loss, C)
    indices, mutation = drawn_early(list(indices), mutation)
    for begin in range(0, len(indices), s):
        blocks = [[int(i)] for i in indices[begin : begin + s]]
        if mutation.lose_tail and len(blocks) < s:
            break
        window = local_window(arithmetic, kernel, labels, alpha, blocks, signed=True)
        end = mutable_svm_window(arithmetic, window, omega, upper, mutation)
        for place, coordinate in enumerate(window.coordinates):
            alpha[coordinate] = end[place]
    return alpha


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
    alpha = arithmetic.vector(initial)
    penalty = arithmetic.number(penalty)
    blocks, mutation = drawn_early(list(blocks), mutation)
    for begin in range(0, len(blocks), s):
        drawn = [[int(i) for i in block] for block in blocks[begin : begin + s]]
        if mutation.lose_tail and len(drawn) < s:
            break
        window = local_window(arithmetic, kernel, targets, alpha, drawn, signed=False)
        end = mutable_ridge_window(arithmetic, window, penalty, len(alpha), mutation)
        for place, coordinate in enumerate(window.coordinates):
            alpha[coordinate] = end[place]
    return alpha
