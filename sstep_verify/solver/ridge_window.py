"""One window of s-step BDCD for K-RR: the s dependent block solves, after the panel is known.

Source: Algorithm 4, lines 10-15. The increments of the window correct the stale products: gathered
while few coordinates are touched. Where a window touches so many that gathering would cost more than
a whole row product, the product with the current alpha replaces stale product and correction together.

Blocks are short as a rule: LAPACK's call costs more than their Cholesky factorisation and substitution.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from sstep_verify.compiled import compiled, inlined
from sstep_verify.solver.svm_window import stale_products


def solve_long(system, vector):
    """Solve a system of many equations as `solve_in_place` does, by LAPACK's Cholesky factorisation.

    NaN where the system is not positive definite in float64.
    """
    _, solution, failed = lapack.dposv(system.T, vector, lower=1, overwrite_a=1, overwrite_b=1)
    vector[:] = np.nan if failed else solution


@inlined
def solve_in_place(system, vector):
    """Solve an SPD system by Cholesky factorisation; both arguments are overwritten.

    `system`, (b, b): sPD matrix, of which the upper triangle is read; overwritten by its factor; `vector`,
    (b,): right-hand side in, solution out. Right-looking by rows, so that the inner loop runs along memory
    and needs no reassociation to be vectorised; four pivots at a time, which divides the traffic of the
    update by four.
    """
    order = vector.size
    for first in range(0, order, 4):
        last = min(first + 4, order)
        for pivot in range(first, last):
            scale = 1.0 / np.sqrt(system[pivot, pivot])
            for column in range(pivot, order):
                system[pivot, column] *= scale
            for row in range(pivot + 1, last):
                factor = system[pivot, row]
                for column in range(row, order):
                    system[row, column] -= factor * system[pivot, column]
        for row in range(last, order):
            one, two = system[first, row], system[first + 1, row]
            three, four = system[first + 2, row], system[first + 3, row]
            for column in range(row, order):
                system[row, column] -= (
                    one * system[first, column]
                    + two * system[first + 1, column]
                    + three * system[first + 2, column]
                    + four * system[first + 3, column]
                )
    for pivot in range(order):
        vector[pivot] /= system[pivot, pivot]
        for column in range(pivot + 1, order):
            vector[column] -= system[pivot, column] * vector[pivot]
    for pivot in range(order - 1, -1, -1):
        total = vector[pivot]
        for column in range(pivot + 1, order):
            total -= system[pivot, column] * vector[column]
        vector[pivot] = total / system[pivot, pivot]


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


@inlined
def equation(row, places, place, target, value, product, system, rhs, samples, penalty):
    """Write one equation of a block system: of the coordinate number `place` of a block.

    Its kernel row has the block's coordinates at `places`, (b,); `product` is that of the row with alpha,
    and `samples` their number (m). The rest is as in `ridge_updates`.
    """
    rhs[place] = target - samples * value - product / penalty
    for other in range(place, places.size):
        system[place, other] = row[places[other]] / penalty
    system[place, place] += samples


@inlined
def ridge_equations(rows, row_of, block, targets, alpha, products, system, rhs, penalty):
    """Write the equations of a step, with products of its whole rows and the current alpha.

    `row_of`, `block` and `products`, shape (b,), are those of this step; the rest is as in `ridge_updates`.
    """
    for first in range(0, block.size, ROWS_AT_ONCE):
        last = min(first + ROWS_AT_ONCE, block.size)
        row_products(rows, row_of[first:last], alpha, products[first:last])
        for place in range(first, last):
            row, target, value = rows[row_of[place]], targets[block[place]], alpha[block[place]]
            equation(row, block, place, target, value, products[place], system, rhs, alpha.size, penalty)


@inlined
def ridge_updates(
    rows, row_of, places, draws, targets, alpha, stale, delta, touched, system, rhs, penalty, frozen, fresh,
    log,
):  # fmt: skip
    """Make the block updates of one window from the stale products in `stale`.

    `rows`, (c, m) or (c, c): kernel rows (Q_k transposed), of all samples or among the window's
    coordinates; `row_of`, `places`, int64, (s * b,): row of each drawn coordinate in `rows`, and its place
    in a row; `draws`, int64, (s * b,): drawn blocks (V_{sk+1}, ..., V_{sk+s}), one behind the other;
    `targets`, `alpha`, (m,): targets and dual vector (updated); `stale`, (s * b,): products of the drawn
    kernel rows with alpha at the window's start; overwritten if `fresh`; `delta`, (m,): increments of this
    window by place, all zero on entry and exit; `touched`, int32, (2, m): scratch: row 0 lists the places
    with an increment, row 1 flags them; flags are all zero on entry and exit; `system`, `rhs`, (b, b) and
    (b,): scratch for the block system (G) and its right-hand side; `penalty`: regularisation (lambda);
    `frozen`: keep alpha at its value of the window's start until all increments are known; `fresh`: take
    each block's products with the current alpha instead, of whole rows; not with `frozen`; `log`, (s * b,):
    out: the new values of the drawn coordinates after each step.
    """
    width = rhs.size
    count = reach = 0  # places with an increment; one beyond the last of them
    for begin in range(0, draws.size, width):
        end = begin + width
        if fresh:
            ridge_equations(
                rows, row_of[begin:end], draws[begin:end], targets, alpha, stale[begin:end], system, rhs,
                penalty,
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
    """Whether a window of so many draws takes products with the current alpha instead of stale ones."""
    return not frozen and draws * GATHER_FACTOR >= samples


@inlined
def ridge_window(
    rows, stale, whole, columns, positions, draws, log, change, targets, alpha, taken, delta, touched,
    system, rhs, penalty, frozen,
):  # fmt: skip
    """One window from the kernel rows of its distinct coordinates.

    `rows`, (c, m) or (c, c): the rows, of all samples or among the coordinates; `stale`, (c,), or None:
    their products with alpha; None to take them here, from whole rows; `whole`: whether the rows are of all
    samples; `columns`, `positions`, int64, (c,) and (s * b,): the coordinates, and the place of each draw's
    among them; `change`, (>= c,): scratch; out: the changes of alpha at `columns`, unless `whole`; `taken`,
    (>= s * b,): scratch: the products of each draw; `draws`, `log`, `targets`, `alpha`, `delta`,
    `touched`, `system`, `rhs`, `penalty`, `frozen`: as in `ridge_updates`.
    """
    fresh = whole and takes_fresh_products(draws.size, alpha.size, frozen)
    if stale is None:
        if not fresh:
            stale_products(rows, alpha, change)
            for draw in range(draws.size):
                taken[draw] = change[positions[draw]]
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
