"""One window of s-step DCD for K-SVM: the s dependent updates, after the panel is known.

Source: Algorithm 2, lines 13-23. The increments correct the gradient; alpha itself is updated in place,
so that a clipped coordinate sits on the box exactly (``frozen`` keeps the paper's form, in which alpha
stays at its value of the window's start and the increments are summed).
"""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import compiled, inlined


@inlined
def svm_updates(
    rows, row_of, places, draws, labels, alpha, weighted, gradient, signs, delta, shift, upper, frozen, log
):
    """Make the updates of one window from the stale products in `gradient`.

    `rows`, (c, m) or (c, c): kernel rows (U_k transposed), of all samples or among the window's
    coordinates; `row_of`, `places`, int64, (s,): row of each drawn coordinate in `rows`, and its place in a
    row; `draws`, int64, (s,): drawn coordinates (i_{sk+1}, ..., i_{sk+s}); `labels`, `alpha`, `weighted`,
    (m,): labels, dual vector (updated), and their product (updated); `gradient`, (>= s,): in: stale
    products ``<row, weighted>``; scratch afterwards; `signs`, (>= s,): scratch: the labels of the draws;
    `delta`, (m,): increments of this window by coordinate, all zero on entry and exit; used if `frozen`;
    `shift`, `upper`: diagonal shift (omega) and upper end of the box (nu); `frozen`: keep alpha at its
    value of the window's start until all increments are known; `log`, (s,): out: the new value of the drawn
    coordinate after each step.
    """
    steps = draws.size
    for place in range(steps):
        signs[place] = labels[draws[place]]
        gradient[place] = signs[place] * gradient[place] - 1.0
    for place in range(steps):
        coordinate = draws[place]
        row = rows[row_of[place]]
        value = alpha[coordinate]
        if frozen:
            value += delta[coordinate]
        slope = gradient[place] + shift * value
        curvature = row[places[place]] + shift
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
            gradient[later] += signs[later] * row[places[later]] * signed
    if frozen:
        for place in range(steps):
            coordinate = draws[place]
            alpha[coordinate] += delta[coordinate]
            weighted[coordinate] = labels[coordinate] * alpha[coordinate]
            delta[coordinate] = 0.0


@compiled
def stale_products(rows, vector, products):
    """Products of whole kernel rows, shape (c, m), with a vector, into the first of `products`."""
    if rows.shape[0] == 1:
        products[0] = np.dot(rows[0], vector)
    else:
        np.dot(rows, vector, products[: rows.shape[0]])


@inlined
def svm_window(
    rows, stale, whole, columns, positions, draws, log, change, labels, alpha, weighted, gradient, signs,
    delta, shift, upper, frozen,
):  # fmt: skip
    """One window from the kernel rows of its distinct coordinates.

    `rows`, (c, m) or (c, c): the rows, of all samples or among the coordinates; `stale`, (c,), or None:
    their products with `weighted`; None to take them here, from whole rows; `whole`: whether the rows are
    of all samples; `columns`, `positions`, int64, (c,) and (s,): the coordinates, and the place of each
    draw's among them; `change`, (>= c,): scratch; out: the changes of `weighted` at `columns`, unless
    `whole`; `draws`, `log`, `labels`, `alpha`, `weighted`, `gradient`, `signs`, `delta`,
    `shift`, `upper`, `frozen`: as in `svm_updates`.
    """
    if stale is None:
        stale_products(rows, weighted, change)
        for place in range(draws.size):
            gradient[place] = change[positions[place]]
    else:
        for place in range(draws.size):
            gradient[place] = stale[positions[place]]
    carried = 0 if whole else columns.size
    for place in range(carried):
        change[place] = weighted[columns[place]]
    places = draws if whole else positions
    svm_updates(
        rows, positions, places, draws, labels, alpha, weighted, gradient, signs, delta, shift, upper,
        frozen, log,
    )  # fmt: skip
    for place in range(carried):
        change[place] = weighted[columns[place]] - change[place]


@compiled
def svm_kept_windows(
    rows, slot_of, blocks, width, new, slots, labels, alpha, weighted, gradient, signs, delta, shift, upper,
    frozen,
):  # fmt: skip
    """Many windows from kept rows: that of coordinate i is ``rows[slot_of[i]]``; `slots` (s,) is scratch.

    `blocks`, shape (H, 1), are cut into windows of `width`; `new` has a value for each coordinate drawn.
    """
    draws, log = blocks.reshape(blocks.size), new.reshape(blocks.size)
    for begin in range(0, draws.size, width):
        window = draws[begin : begin + width]
        for place in range(window.size):
            slots[place] = slot_of[window[place]]
            gradient[place] = np.dot(rows[slots[place]], weighted)
        svm_updates(
            rows, slots, window, window, labels, alpha, weighted, gradient, signs, delta, shift, upper,
            frozen, log[begin : begin + width],
        )  # fmt: skip
