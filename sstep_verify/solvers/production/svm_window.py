"""One window of s-step DCD for K-SVM: the s dependent updates, after the panel is known.

Source: Algorithm 2, lines 13-23. The increments correct the gradient; a itself is updated in place,
so that a clipped coordinate sits on the box exactly (``frozen`` keeps the paper's form, in which a
stays at its value of the window's start and the increments are summed).
"""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import compiled, compiled_borrowing


@compiled_borrowing
def svm_updates(rows, row_of, draws, labels, alpha, weighted, gradient, delta, shift, upper, frozen, log):
    """Make the updates of one window from the stale products in `gradient`.

    Parameters
    ----------
    rows : ndarray, shape (c, m)
        Kernel rows (U_k transposed).
    row_of : ndarray of int64, shape (s,)
        Row of each drawn coordinate in `rows`.
    draws : ndarray of int64, shape (s,)
        Drawn coordinates (i_{sk+1}, ..., i_{sk+s}).
    labels, alpha, weighted : ndarray, shape (m,)
        Labels, dual vector (updated), and their product (updated).
    gradient : ndarray, shape (>= s,)
        In: stale products ``<row, weighted>``; scratch afterwards.
    delta : ndarray, shape (m,)
        Increments of this window by coordinate, all zero on entry and exit; used if `frozen`.
    shift, upper : float
        Diagonal shift (omega) and upper end of the box (nu).
    frozen : bool
        Keep a at its value of the window's start until all increments are known.
    log : ndarray, shape (s,)
        Out: the new value of the drawn coordinate after each step.
    """
    steps = draws.size
    for place in range(steps):
        gradient[place] = labels[draws[place]] * gradient[place] - 1.0
    for place in range(steps):
        coordinate = draws[place]
        row = rows[row_of[place]]
        value = alpha[coordinate]
        if frozen:
            value += delta[coordinate]
        slope = gradient[place] + shift * value
        curvature = row[coordinate] + shift
        updated = upper if curvature == 0.0 else min(max(value - slope / curvature, 0.0), upper)
        increment = updated - value
        log[place] = updated
        if increment == 0.0:
            continue
        if frozen:
            delta[coordinate] += increment
            log[place] = alpha[coordinate] + delta[coordinate]
        else:
            alpha[coordinate] = updated
            weighted[coordinate] = labels[coordinate] * updated
        signed = labels[coordinate] * increment
        for later in range(place + 1, steps):
            gradient[later] += labels[draws[later]] * row[draws[later]] * signed
    if frozen:
        for place in range(steps):
            coordinate = draws[place]
            alpha[coordinate] += delta[coordinate]
            weighted[coordinate] = labels[coordinate] * alpha[coordinate]
            delta[coordinate] = 0.0


@compiled
def svm_stale_window(
    rows, positions, draws, labels, alpha, weighted, stale, gradient, delta, shift, upper, frozen, log
):
    """One window from its rows, shape (c, m), and their products with `weighted`, `stale`, shape (>= c,).

    `positions` maps draws to rows; the rest is as in `svm_updates`.
    """
    for place in range(draws.size):
        gradient[place] = stale[positions[place]]
    svm_updates(rows, positions, draws, labels, alpha, weighted, gradient, delta, shift, upper, frozen, log)


@compiled
def svm_panel_window(
    panel, positions, draws, labels, alpha, weighted, stale, gradient, delta, shift, upper, frozen, log
):
    """One window from its panel: stale products by one matrix-vector product, then the updates.

    `stale` is scratch of at least c values; the rest is as in `svm_stale_window`.
    """
    if panel.shape[0] == 1:
        stale[0] = np.dot(panel[0], weighted)
    else:
        np.dot(panel, weighted, stale[: panel.shape[0]])
    svm_stale_window(
        panel, positions, draws, labels, alpha, weighted, stale, gradient, delta, shift, upper, frozen, log
    )


@compiled
def svm_kept_windows(
    rows, slot_of, draws, width, labels, alpha, weighted, slots, gradient, delta, shift, upper, frozen, log
):
    """Many windows from kept rows: that of coordinate i is ``rows[slot_of[i]]``; `slots` is scratch.

    `draws` are cut into windows of `width`; `log` has a value for each.
    """
    for begin in range(0, draws.size, width):
        window = draws[begin : begin + width]
        for place in range(window.size):
            slots[place] = slot_of[window[place]]
            gradient[place] = np.dot(rows[slots[place]], weighted)
        svm_updates(
            rows, slots, window, labels, alpha, weighted, gradient, delta, shift, upper, frozen,
            log[begin : begin + width],
        )  # fmt: skip


@compiled_borrowing
def svm_small_window(
    gram, stale, columns, positions, log, labels, alpha, weighted, local, gradient, delta, shift, upper,
    frozen,
):  # fmt: skip
    """One window from the kernel entries among its distinct coordinates.

    Parameters
    ----------
    gram : ndarray, shape (c, c)
        Kernel entries among the window's distinct coordinates.
    stale : ndarray, shape (c,)
        Products of their kernel rows with `weighted`.
    columns : ndarray of int64, shape (c,)
        The coordinates.
    positions : ndarray of int64, shape (s,)
        Place of each draw's coordinate among them.
    log : ndarray, shape (s,)
        Out: the new value of the drawn coordinate after each step.
    labels, alpha, weighted : ndarray, shape (m,)
        Labels, dual vector (updated), and their product (updated).
    local : ndarray, shape (4, >= c)
        Scratch; out: row 3 holds the changes of `weighted` at `columns`.
    gradient, delta, shift, upper, frozen
        As in `svm_updates`, `delta` of >= c values.
    """
    count = columns.size
    for place in range(count):
        coordinate = columns[place]
        local[0, place] = labels[coordinate]
        local[1, place] = alpha[coordinate]
        local[2, place] = weighted[coordinate]
    for place in range(positions.size):
        gradient[place] = stale[positions[place]]
    svm_updates(
        gram, positions, positions, local[0, :count], local[1, :count], local[2, :count], gradient, delta,
        shift, upper, frozen, log,
    )  # fmt: skip
    for place in range(count):
        coordinate = columns[place]
        local[3, place] = local[2, place] - weighted[coordinate]
        alpha[coordinate] = local[1, place]
        weighted[coordinate] = local[2, place]
