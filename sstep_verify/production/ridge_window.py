"""One window of s-step BDCD for K-RR: the s dependent block solves, after the panel is known.

Source: Algorithm 4, lines 10-15. The increments of the window correct the stale products: gathered
while few coordinates are touched. Where a window touches so many that gathering would cost more than
a whole row product, the product with the current a replaces stale product and correction together.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import compiled, compiled_borrowing
from sstep_verify.production.block_solve import solve_in_place
from sstep_verify.production.svm_window import stale_products

GATHER_FACTOR = 16
"""A gathered product costs about this many times a contiguous one (measured: 7 ns against 0.4 ns)."""

ROWS_AT_ONCE = 16
"""Rows whose products are taken before the entries of their block system are read from the same rows."""


@compiled
def row_products(rows, row_of, vector, products):
    """Products of the kernel rows `row_of`, (b,), of `rows`, (c, m), with a vector, (m,), into `products`.

    Neighbouring rows share one matrix-vector product: the panel holds rows in order of first draw, so most
    of a block lies side by side, and one product of many rows streams them two to three times faster from
    memory than row by row.
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
def equation(row, places, place, target, value, product, system, rhs, samples, penalty):
    """Write one equation of a block system: of the coordinate number `place` of a block.

    Its kernel row has the block's coordinates at `places`, (b,); `product` is that of the row with a, and
    `samples` their number (m). The rest is as in `ridge_updates`.
    """
    rhs[place] = target - samples * value - product / penalty
    for other in range(place, places.size):
        system[place, other] = row[places[other]] / penalty
    system[place, place] += samples


@compiled_borrowing
def ridge_equations(rows, row_of, block, first, last, targets, alpha, products, system, rhs, penalty):
    """Write equations first, ..., last - 1 of a step, with products of its whole rows and the current a.

    `row_of`, `block` and `products`, shape (b,), are those of this step; the rest is as in `ridge_updates`.
    """
    row_products(rows, row_of[first:last], alpha, products[first:last])
    for place in range(first, last):
        row, target, value = rows[row_of[place]], targets[block[place]], alpha[block[place]]
        equation(row, block, place, target, value, products[place], system, rhs, alpha.size, penalty)


@compiled
def ridge_moves(block, alpha, increments, log):
    """Add the solution of a step's system to a; log as in `ridge_updates`, of this step."""
    for place in range(block.size):
        alpha[block[place]] += increments[place]
        log[place] = alpha[block[place]]


@compiled_borrowing
def ridge_updates(
    rows, row_of, places, draws, targets, alpha, stale, delta, touched, system, rhs, penalty, frozen, fresh,
    log,
):  # fmt: skip
    """Make the block updates of one window from the stale products in `stale`.

    Parameters
    ----------
    rows : ndarray, shape (c, m) or (c, c)
        Kernel rows (Q_k transposed), of all samples or among the window's coordinates.
    row_of, places : ndarray of int64, shape (s * b,)
        Row of each drawn coordinate in `rows`, and its place in a row.
    draws : ndarray of int64, shape (s * b,)
        Drawn blocks (V_{sk+1}, ..., V_{sk+s}), one behind the other.
    targets, alpha : ndarray, shape (m,)
        Targets and dual vector (updated).
    stale : ndarray, shape (s * b,)
        Products of the drawn kernel rows with a at the window's start; overwritten if `fresh`.
    delta : ndarray, shape (m,)
        Increments of this window by place, all zero on entry and exit.
    touched : ndarray of int32, shape (2, m)
        Scratch: row 0 lists the places with an increment, row 1 flags them; flags are all zero on entry
        and exit.
    system, rhs : ndarray, shapes (b, b) and (b,)
        Scratch for the block system (G) and its right-hand side.
    penalty : float
        Regularisation (lambda).
    frozen : bool
        Keep a at its value of the window's start until all increments are known.
    fresh : bool
        Take each block's products with the current a instead, of whole rows; not with `frozen`.
    log : ndarray, shape (s * b,)
        Out: the new values of the drawn coordinates after each step.
    """
    width = rhs.size
    count = reach = 0  # places with an increment; one beyond the last of them
    for begin in range(0, draws.size, width):
        end = begin + width
        for first in range(0, width if fresh else 0, ROWS_AT_ONCE):
            ridge_equations(
                rows, row_of[begin:end], draws[begin:end], first, min(first + ROWS_AT_ONCE, width), targets,
                alpha, stale[begin:end], system, rhs, penalty,
            )  # fmt: skip
        for item in range(0 if fresh else width):
            draw = begin + item
            row, product = rows[row_of[draw]], stale[draw]
            # A product of so few as the first condition leaves out costs less than a call.
            if count >= GATHER_FACTOR and count * GATHER_FACTOR >= reach:
                product += np.dot(row[:reach], delta[:reach])
            else:
                for other in range(count):
                    product += row[touched[0, other]] * delta[touched[0, other]]
            target, value = targets[draws[draw]], alpha[draws[draw]]
            if frozen:
                value += delta[places[draw]]
            equation(row, places[begin:end], item, target, value, product, system, rhs, alpha.size, penalty)
        solve_in_place(system, rhs)
        for item in range(width):
            coordinate, place = draws[begin + item], places[begin + item]
            if touched[1, place] == 0:
                touched[1, place] = 1
                touched[0, count] = place
                count += 1
                reach = max(reach, place + 1)
            delta[place] += rhs[item]
            if frozen:
                log[begin + item] = alpha[coordinate] + delta[place]
            else:
                alpha[coordinate] += rhs[item]
                log[begin + item] = alpha[coordinate]
    for draw in range(draws.size if frozen else 0):
        if touched[1, places[draw]] == 1:
            touched[1, places[draw]] = 2
            alpha[draws[draw]] += delta[places[draw]]
    for item in range(count):
        delta[touched[0, item]] = 0.0
        touched[1, touched[0, item]] = 0


@compiled
def takes_fresh_products(draws, samples, frozen):
    """Whether a window of so many draws takes products with the current a, and corrects no stale ones."""
    return not frozen and draws * GATHER_FACTOR >= samples


@compiled_borrowing
def ridge_window(
    rows, stale, whole, columns, positions, draws, log, products, change, targets, alpha, taken, delta,
    touched, system, rhs, penalty, frozen,
):  # fmt: skip
    """One window from the kernel rows of its distinct coordinates.

    Parameters
    ----------
    rows : ndarray, shape (c, m) or (c, c)
        The rows, of all samples or among the coordinates.
    stale : ndarray, shape (c,), or None
        Their products with a; None to take them here, from whole rows.
    whole : bool
        Whether the rows are of all samples.
    columns, positions : ndarray of int64, shapes (c,) and (s * b,)
        The coordinates, and the place of each draw's among them.
    products, change : ndarray, shape (>= c,)
        Scratch; `change` out: the changes of a at `columns`, unless `whole`.
    taken : ndarray, shape (>= s * b,)
        Scratch: the products of each draw.
    draws, log, targets, alpha, delta, touched, system, rhs, penalty, frozen
        As in `ridge_updates`.
    """
    fresh = whole and takes_fresh_products(draws.size, alpha.size, frozen)
    if stale is None:
        if not fresh:
            stale_products(rows, alpha, products)
            for draw in range(draws.size):
                taken[draw] = products[positions[draw]]
    else:
        for draw in range(draws.size):
            taken[draw] = stale[positions[draw]]
    carried = 0 if whole else columns.size
    for place in range(carried):
        change[place] = alpha[columns[place]]
    places = draws if whole else positions
    ridge_updates(
        rows, positions, places, draws, targets, alpha, taken, delta, touched, system, rhs, penalty, frozen,
        fresh, log,
    )  # fmt: skip
    for place in range(carried):
        change[place] = alpha[columns[place]] - change[place]


@compiled
def ridge_kept_windows(
    rows, slot_of, blocks, width, new, slots, targets, alpha, taken, delta, touched, system, rhs, penalty,
    frozen,
):  # fmt: skip
    """Many windows from kept rows: that of coordinate i is ``rows[slot_of[i]]``; `slots` (s b,) is scratch.

    `blocks`, shape (H, b), are cut into windows of `width`; `new` has a value for each coordinate drawn.
    """
    draws, log, most = blocks.reshape(blocks.size), new.reshape(blocks.size), width * rhs.size
    for begin in range(0, draws.size, most):
        window = draws[begin : begin + most]
        fresh = takes_fresh_products(window.size, alpha.size, frozen)
        for draw in range(window.size):
            slots[draw] = slot_of[window[draw]]
            if not fresh:
                taken[draw] = np.dot(rows[slots[draw]], alpha)
        ridge_updates(
            rows, slots, window, window, targets, alpha, taken, delta, touched, system, rhs, penalty,
            frozen, fresh, log[begin : begin + most],
        )  # fmt: skip
