"""One window of s-step BDCD for K-RR: the s dependent block solves, after the panel is known.

Source: Algorithm 4, lines 10-15. The increments of the window correct the stale products: gathered
while few coordinates are touched. Where a window touches so many that gathering would cost more than
a whole row product, the product with the current a replaces stale product and correction together.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import compiled, compiled_borrowing
from sstep_verify.solvers.production.block_solve import solve_in_place

GATHER_FACTOR = 16
"""A gathered product costs about this many times a contiguous one (measured: 7 ns against 0.4 ns)."""

ROWS_AT_ONCE = 16
"""Rows whose products are taken before the entries of their block system are read from the same rows."""


@compiled
def row_products(rows, row_of, vector, products):
    """Products of some rows with a vector; neighbouring rows share one matrix-vector product.

    Parameters
    ----------
    rows : ndarray, shape (c, m)
        Kernel rows.
    row_of : ndarray of int64, shape (b,)
        Rows wanted.
    vector : ndarray, shape (m,)
        The other factor.
    products : ndarray, shape (b,)
        Out: the products.

    Notes
    -----
    The panel holds rows in order of first draw, so most of a block lies side by side: one product of
    many rows streams them two to three times faster from memory than row by row.
    """
    begin = 0
    while begin < row_of.size:
        end = begin + 1
        while end < row_of.size and row_of[end] == row_of[end - 1] + 1:
            end += 1
        first = row_of[begin]
        if end == begin + 1:
            products[begin] = np.dot(rows[first], vector)
        else:
            np.dot(rows[first : first + end - begin], vector, products[begin:end])
        begin = end


@compiled_borrowing
def equation(row, block, place, targets, value, product, system, rhs, samples, penalty):
    """Write one equation of a block system: of the coordinate at `place` of `block`, shape (b,).

    Parameters
    ----------
    row : ndarray, shape (m,)
        Its kernel row.
    value, product : float
        Its value, and the product of its row with a.
    block, targets, system, rhs, samples, penalty
        As in `ridge_updates`, `block` of this step alone.
    """
    width = block.size
    rhs[place] = targets[block[place]] - samples * value - product / penalty
    for other in range(place, width):
        system[place, other] = row[block[other]] / penalty
    system[place, place] += samples


@compiled_borrowing
def ridge_equations(
    rows, row_of, block, first, last, targets, alpha, products, system, rhs, samples, penalty
):
    """Write equations first, ..., last - 1 of a step, with products of its rows and the current a.

    `row_of`, `block` and `products`, shape (b,), are those of this step; the rest is as in `ridge_updates`.
    """
    row_products(rows, row_of[first:last], alpha, products[first:last])
    for place in range(first, last):
        row = rows[row_of[place]]
        equation(
            row, block, place, targets, alpha[block[place]], products[place], system, rhs, samples, penalty
        )


@compiled
def ridge_moves(block, alpha, increments, log):
    """Add the solution of a step's system to a; log as in `ridge_updates`, of this step."""
    for place in range(block.size):
        alpha[block[place]] += increments[place]
        log[place] = alpha[block[place]]


@compiled_borrowing
def ridge_updates(
    rows, row_of, blocks, targets, alpha, stale, delta, touched, system, rhs, samples, penalty, frozen,
    fresh, log,
):  # fmt: skip
    """Make the block updates of one window from the stale products in `stale`.

    Parameters
    ----------
    rows : ndarray, shape (c, m)
        Kernel rows (Q_k transposed).
    row_of : ndarray of int64, shape (s, b)
        Row of each drawn coordinate in `rows`.
    blocks : ndarray of int64, shape (s, b)
        Drawn blocks (V_{sk+1}, ..., V_{sk+s}).
    targets, alpha : ndarray, shape (m,)
        Targets and dual vector (updated).
    stale : ndarray, shape (s, b)
        Products of the drawn kernel rows with a at the window's start; overwritten if `fresh`.
    delta : ndarray, shape (m,)
        Increments of this window by coordinate, all zero on entry and exit.
    touched : ndarray of int32, shape (2, m)
        Scratch: row 0 lists the coordinates with an increment, row 1 flags them; flags are all zero
        on entry and exit.
    system, rhs : ndarray, shapes (b, b) and (b,)
        Scratch for the block system (G) and its right-hand side.
    samples : int
        Number of samples of the problem (m); the vectors may hold a part of them.
    penalty : float
        Regularisation (lambda).
    frozen : bool
        Keep a at its value of the window's start until all increments are known.
    fresh : bool
        Take each block's products with the current a instead; not with `frozen`.
    log : ndarray, shape (s, b)
        Out: the new values of the drawn coordinates after each step.
    """
    width = blocks.shape[1]
    count = reach = 0  # coordinates with an increment; one beyond the last of them
    for step in range(blocks.shape[0]):
        for first in range(0, width if fresh else 0, ROWS_AT_ONCE):
            ridge_equations(
                rows, row_of[step], blocks[step], first, min(first + ROWS_AT_ONCE, width), targets, alpha,
                stale[step], system, rhs, samples, penalty,
            )  # fmt: skip
        for place in range(0 if fresh else width):
            coordinate = blocks[step, place]
            row = rows[row_of[step, place]]
            product = stale[step, place]
            # A product of so few as the first condition leaves out costs less than a call.
            if count >= GATHER_FACTOR and count * GATHER_FACTOR >= reach:
                product += np.dot(row[:reach], delta[:reach])
            else:
                for item in range(count):
                    product += row[touched[0, item]] * delta[touched[0, item]]
            value = alpha[coordinate]
            if frozen:
                value += delta[coordinate]
            equation(row, blocks[step], place, targets, value, product, system, rhs, samples, penalty)
        solve_in_place(system, rhs)
        for place in range(width):
            coordinate = blocks[step, place]
            if touched[1, coordinate] == 0:
                touched[1, coordinate] = 1
                touched[0, count] = coordinate
                count += 1
                reach = max(reach, coordinate + 1)
            delta[coordinate] += rhs[place]
            if frozen:
                log[step, place] = alpha[coordinate] + delta[coordinate]
            else:
                alpha[coordinate] += rhs[place]
                log[step, place] = alpha[coordinate]
    for item in range(count):
        coordinate = touched[0, item]
        if frozen:
            alpha[coordinate] += delta[coordinate]
        delta[coordinate] = 0.0
        touched[1, coordinate] = 0


@compiled
def takes_fresh_products(draws, samples, frozen):
    """Whether a window of so many draws takes products with the current a, and corrects no stale ones."""
    return not frozen and draws * GATHER_FACTOR >= samples


@compiled
def ridge_stale_window(
    rows, places, draws, targets, alpha, reduced, stale, delta, touched, system, rhs, penalty, frozen,
    fresh, new,
):  # fmt: skip
    """One window from its rows, shape (c, m), and their products with a, `reduced`, shape (>= c,).

    `places`, shape (s * b,), maps draws to rows; draws and new, shape (s * b,), are the blocks and log of
    `ridge_updates`, as is the rest. Shapes are made here: in Python they would take longer than a step.
    """
    shape = (draws.size // rhs.size, rhs.size)
    positions, blocks, log = places.reshape(shape), draws.reshape(shape), new.reshape(shape)
    if not fresh:
        for step in range(blocks.shape[0]):
            for place in range(blocks.shape[1]):
                stale[step, place] = reduced[positions[step, place]]
    ridge_updates(
        rows, positions, blocks, targets, alpha, stale, delta, touched, system, rhs, alpha.size, penalty,
        frozen, fresh, log,
    )  # fmt: skip


@compiled
def ridge_panel_window(
    panel, places, draws, targets, alpha, reduced, stale, delta, touched, system, rhs, penalty, frozen, new
):  # fmt: skip
    """One window from its panel: stale products by one matrix-vector product, then the updates.

    `reduced` is scratch of at least c values; the rest is as in `ridge_stale_window`.
    """
    fresh = takes_fresh_products(draws.size, alpha.size, frozen)
    if not fresh:
        if panel.shape[0] == 1:
            reduced[0] = np.dot(panel[0], alpha)
        else:
            np.dot(panel, alpha, reduced[: panel.shape[0]])
    ridge_stale_window(
        panel, places, draws, targets, alpha, reduced, stale, delta, touched, system, rhs, penalty, frozen,
        fresh, new,
    )  # fmt: skip


@compiled
def ridge_kept_windows(
    rows, slot_of, blocks, width, targets, alpha, slots, stale, delta, touched, system, rhs, penalty,
    frozen, log,
):  # fmt: skip
    """Many windows from kept rows: that of coordinate i is ``rows[slot_of[i]]``; `slots` (s, b) is scratch.

    `blocks` are cut into windows of `width`; `log` has a value for each coordinate drawn.
    """
    for begin in range(0, blocks.shape[0], width):
        window = blocks[begin : begin + width]
        fresh = takes_fresh_products(window.size, alpha.size, frozen)
        for step in range(window.shape[0]):
            for place in range(window.shape[1]):
                slots[step, place] = slot_of[window[step, place]]
                if not fresh:
                    stale[step, place] = np.dot(rows[slots[step, place]], alpha)
        ridge_updates(
            rows, slots, window, targets, alpha, stale, delta, touched, system, rhs, alpha.size, penalty,
            frozen, fresh, log[begin : begin + width],
        )  # fmt: skip


@compiled_borrowing
def ridge_small_window(
    gram, reduced, columns, places, new, targets, alpha, local, stale, delta, touched, system, rhs, penalty,
    frozen,
):  # fmt: skip
    """One window from the kernel entries among its distinct coordinates.

    Parameters
    ----------
    gram : ndarray, shape (c, c)
        Kernel entries among the window's distinct coordinates.
    reduced : ndarray, shape (c,)
        Products of their kernel rows with a.
    columns : ndarray of int64, shape (c,)
        The coordinates.
    places : ndarray of int64, shape (s * b,)
        Place of each draw's coordinate among them.
    new : ndarray, shape (s * b,)
        Their log.
    targets, alpha : ndarray, shape (m,)
        Targets and dual vector (updated).
    local : ndarray, shape (3, >= c)
        Scratch; out: row 2 holds the changes of a at `columns`.
    stale, delta, touched, system, rhs, penalty, frozen
        As in `ridge_updates`, `delta` of >= c values.
    """
    count, shape = columns.size, (places.size // rhs.size, rhs.size)
    positions, log = places.reshape(shape), new.reshape(shape)
    for place in range(count):
        local[0, place] = targets[columns[place]]
        local[1, place] = alpha[columns[place]]
    for step in range(positions.shape[0]):
        for place in range(positions.shape[1]):
            stale[step, place] = reduced[positions[step, place]]
    ridge_updates(
        gram, positions, positions, local[0, :count], local[1, :count], stale, delta, touched, system, rhs,
        alpha.size, penalty, frozen, False, log,
    )  # fmt: skip
    for place in range(count):
        local[2, place] = local[1, place] - alpha[columns[place]]
        alpha[columns[place]] = local[1, place]
