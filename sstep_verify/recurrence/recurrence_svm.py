"""The mutable s-step DCD recurrence for K-SVM, in the paper's form with a frozen over the window.

Source: Algorithm 2, lines 15-24. With no mutation it equals the reference exactly (shown in rational
arithmetic); every correction term has a factor, so that a defect is data and not another program.
"""

from __future__ import annotations

from sstep_verify.recurrence.mutation import NONE, Mutation
from sstep_verify.recurrence.window import LocalWindow, Step


def mutable_svm_window(
    arithmetic,
    window: LocalWindow,
    omega,
    upper,
    mutation: Mutation = NONE,
    steps: list[Step] | None = None,
):
    """Make the steps of one window.

    Parameters
    ----------
    arithmetic
        Arithmetic object of `sstep_reference`.
    window : LocalWindow
        The window on its c distinct coordinates.
    omega : scalar
        Diagonal shift.
    upper : scalar or None
        Upper end of the box (nu); None is infinity.
    mutation : Mutation
        Factors and switches.
    steps : list, optional
        Gets one `Step` per step.

    Returns
    -------
    vector of length c
        The dual vector at the window's end, on the window's coordinates.
    """
    with arithmetic.working():
        number = arithmetic.number
        kernel, own_kernel = number(mutation.kernel), number(mutation.kernel_overlap)
        overlap, eta = number(mutation.overlap), number(mutation.curvature)
        signs, products = number(mutation.labels), number(mutation.stale)
        shift, shift_moved = omega * number(mutation.omega_stale), omega * number(mutation.omega_overlap)
        end = None if upper is None or mutation.upper is None else upper * number(mutation.upper)
        zero, leak, count = number(0), number(mutation.leak), len(window.coordinates)
        increments = arithmetic.zeros(count)
        made: list[list] = []
        last, increment = arithmetic.zeros(count), zero
        for (i,) in window.draws[1:] if mutation.early else window.draws:
            label, row = window.targets[i], window.gram[i]
            seen = mutation.seen(increments, made, len(window.draws), lambda: arithmetic.zeros(count))
            signed = arithmetic.vector([y * a for y, a in zip(window.targets, seen, strict=True)])
            own = row[i] * seen[i]
            others = label * arithmetic.dot(row, signed) - own
            value = window.start[i] + overlap * increments[i]
            gradient = signs * (products * (label * window.stale[i]) + kernel * others) - 1
            gradient = gradient + own_kernel * own + shift * window.start[i] + shift_moved * increments[i]
            curvature = row[i] + omega
            if arithmetic.is_zero(curvature):
                # Without an upper end there would be no minimiser: the right one stands in.
                unclipped = updated = upper if end is None else end
            else:
                unclipped = value - gradient / (eta * curvature)
                updated = arithmetic.clip(unclipped, zero, end)
                if mutation.leak:
                    updated = updated + leak * (unclipped - arithmetic.clip(unclipped, zero, None))
            increment = updated - value
            if steps is not None:
                steps.append(Step(value, unclipped, increment))
            increments[i] = increments[i] + increment
            made.append([(i, increment)])
            last[i] = increment
        return window.end_of(
            arithmetic, mutation, last if mutation.assign_once else increments, [increment]
        )
