"""The recurrence of K-SVM in numbers that carry their error: a value, and error symbols with coefficients.

One compiled routine makes the steps of a window; the derivation is in bounds/window/svm.py. Callers differ
in whose steps they are, and in when errors are put back to nothing because the run's own numbers are known
again. Steps are exact ones, which an oracle found up to an error of its own, or the judge's, which are made
here in float64 and err as a solver's do (bounds/screen.py). The run's own numbers are known after each
window, or never (bounds/window/svm.py).

Symbols are the local errors; the error of coordinate i, or what solver and judge differ by on it, is
``coefficients[i] @ symbols``, at most `radius`. Sums are raised by OUTWARD as elsewhere, and by what their
products may lose where these underflow.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.window.svm_state import (
    AMPLIFICATION,
    EVENTS,
    FROM_A,
    GRADIENT,
    HIGH,
    LOW,
    MADE,
    SUPPORT,
    UNDECIDED,
    USED,
    WEIGHT,
    Sums,
    U,
    pivot_of,
)
from sstep_verify.compiled import compiled, compiled_borrowing
from sstep_verify.rounding.arithmetic import OUTWARD
from sstep_verify.rounding.finisher import finish, finish_flat, shifts, soft
from sstep_verify.rounding.sums import ADDED, FROZEN, gamma_of


@compiled
def carry(rows, solver, exact, alpha, draws, state):
    """Carry the errors through one window and what is stored at its end; False if nothing can be promised.

    Parameters
    ----------
    rows, solver, state
        See there; the state is changed.
    exact : ndarray, shape (5, s) or (5, 0)
        Exact steps: value before, increment, lower and upper end of an enclosure of the unclipped new
        value, bound on the error of that; none where the judge makes the steps.
    alpha : ndarray, shape (m,)
        a at the window's start, or bounds on its sizes.
    draws : ndarray of int, shape (s,)
        Places among the coordinates.
    """
    state.counts[SUPPORT], state.counts[MADE], state.totals[WEIGHT] = 0, 0, 0.0
    for j in range(alpha.size):
        state.now[j] = rows.labels[j] * alpha[j]
        state.reach[j] = abs(alpha[j]) * solver.emphasis.stale if solver.source == FROM_A else 0.0
        state.counts[SUPPORT] += state.reach[j] != 0.0
        state.totals[WEIGHT] += rows.heights[j] * state.reach[j]
    for i in range(state.sample.size):
        state.start[i] = abs(alpha[state.sample[i]])
        state.moved[i], state.rounded[i], state.drawn[i] = 0.0, 0.0, 0
    for step in range(draws.size):
        i = draws[step]
        row, j, sums = state.row[i], state.sample[i], _sums(rows, solver, state, draws[step])
        pivot = pivot_of(solver, rows.values[row, j], rows.judge_error[row, j], rows.solver_error[row, j])
        if not max(sums.terms, state.totals[WEIGHT], pivot.upper) <= solver.limit:
            return False
        if exact.shape[1] == 0:
            point = _judge_step(rows, solver, state, i, sums, pivot)
        else:
            point = exact[0, step], exact[1, step], exact[2, step], exact[3, step], exact[4, step]
        local = _local_error(rows, solver, state, i, sums, pivot, point)
        clipped = _clipped(rows, solver, state, i, pivot, point, local)
        if not _settle(rows, solver, state, i, point, clipped):
            return False
    _store(solver, state)
    return True


@compiled_borrowing
def _sums(rows, solver, state, i):
    """Sums of a step. A carried gradient holds the constant, and the shift's product with a."""
    row, underflow = state.row[i], (state.reach.size + 16) * solver.float64_subnormal
    product = judge_terms = judge_error = error = spread = inexact = 0.0
    # An entry that may be infinite spoils the sum where a is 0 as well.
    terms = 0.0 if rows.terms[row, 0] < np.inf else np.inf
    for j in range(state.reach.size):
        a = state.reach[j]
        if a != 0.0:
            product += rows.values[row, j] * state.now[j]
            judge_terms += abs(rows.values[row, j]) * a
            judge_error += rows.judge_error[row, j] * a
            terms += rows.terms[row, j] * a
            error += rows.solver_error[row, j] * a
    judge_terms += judge_error + error
    for other in range(state.radius.size):
        j, radius = state.sample[other], state.radius[other]
        entry_error = rows.judge_error[row, j]
        size = (abs(rows.values[row, j]) + entry_error + rows.solver_error[row, j]) * OUTWARD
        spread += size * radius if other != i else 0.0
        inexact += entry_error * radius
        error += size * state.rounded[other]
    whole, shift = solver.source == GRADIENT, solver.shift * (1.0 + solver.u)
    moved = state.moved[i] * solver.emphasis.corrections
    error += state.carried_error[i] + shift * state.rounded[i]
    error += (state.start[i] + state.moved[i]) * (solver.smallest_subnormal if shift > 0.0 else 0.0)
    linear = abs(rows.linear[state.sample[i]])
    constant = shift * moved + solver.box.threshold + (0.0 if whole else linear + shift * state.start[i])
    return Sums(
        product, (judge_terms + constant) * OUTWARD + underflow, judge_error * OUTWARD + underflow,
        (terms + state.carried_size[i] + constant) * OUTWARD + underflow, error * OUTWARD + underflow,
        spread * OUTWARD, inexact,
    )  # fmt: skip


@compiled_borrowing
def _judge_step(rows, solver, state, i, sums, pivot):
    """The judge's step, as exact ones are given. Where the curvature drowns in its error, any value of the
    box will do.
    """
    j = state.sample[i]
    label, value, box, error = rows.labels[j], rows.labels[j] * state.now[j], solver.box, 0.0
    unclipped, knot = finish_flat(box, rows.linear[j]), 0.0
    if pivot.lower > 0.0:
        gradient = label * sums.product - rows.linear[j] + solver.shift * value
        unclipped, knot = value - gradient / pivot.curvature, box.threshold / pivot.curvature
        quotient, new = abs(value) + abs(unclipped) + knot, abs(unclipped) + knot
        roundings = state.counts[SUPPORT] + state.counts[MADE] + 6
        off = gamma_of(roundings, U) * sums.judge_terms + sums.judge_error + solver.judge_underflow
        off += quotient * (pivot.entry_error + gamma_of(3, U) * pivot.size)
        error = _quotient_error(solver, U, off / pivot.lower, quotient, new)
    updated, free = finish(box, unclipped, knot), soft(unclipped, knot)
    state.counts[EVENTS] |= LOW if free < box.lower else (HIGH if free > box.upper else 0)
    state.now[j] = label * updated
    return value, updated - value, unclipped, unclipped, error


@compiled_borrowing
def _quotient_error(solver, u, error, quotient, new):
    """Error of a value less a quotient that is off by `error` before it is rounded; `new` is its size.

    The difference's result is at most ``new + error``. With an upper end of the box an infinite quotient is
    clipped as the exact one is.
    """
    if solver.box.upper - solver.box.lower == np.inf and not quotient + error <= solver.limit:
        return np.inf
    roundings = 2 if solver.box.threshold == 0.0 else 4
    return (
        error + gamma_of(roundings, u) * (quotient + new + 2.0 * error)
    ) * OUTWARD + 32 * solver.float64_subnormal


@compiled_borrowing
def _local_error(rows, solver, state, i, sums, pivot, point):
    """Error of the unclipped new value made in this step; infinite where the curvature may be 0."""
    if not pivot.lower > 0.0:
        return np.inf
    u, made, used, count = solver.u, state.counts[MADE], state.counts[USED], state.radius.size
    spread = sums.spread / pivot.lower * OUTWARD
    # The solver errs from the exact step at its own iterate, which is within the other's error and spread.
    value, _, lower, upper, error = point
    knot = solver.box.threshold / pivot.curvature
    new = max(abs(lower), abs(upper)) + error + spread + knot
    quotient = abs(value) + new + state.radius[i]
    roundings = min(state.counts[SUPPORT], solver.tree) + solver.others + made + 6
    # The shift may multiply each earlier increment of i by itself, of which one addition is in the 6.
    if solver.source != FROM_A:
        roundings += made + state.drawn[i]
    elif solver.shift > 0.0:
        roundings += max(state.drawn[i] - 1, 0)
    off = gamma_of(roundings, u) * sums.terms + sums.error + rows.underflow[state.row[i]]
    off += quotient * (pivot.solver_error + gamma_of(3, u) * pivot.size)
    local = error + _quotient_error(solver, u, off / pivot.lower, quotient, new) + solver.smallest_subnormal
    # The signed row is itself rounded, and its entries and the curvature are off. Sums over c coordinates
    # and over the symbols in use; quotient, sign, product and sum are the 4.
    local += (sums.inexact + pivot.judge_error * (spread + knot)) / pivot.lower + gamma_of(4, U) * knot
    local += gamma_of(count + used + 4, max(u, U)) * spread
    # A coefficient that underflows is off by c smallest numbers, times the symbol's size.
    size = 0.0
    for symbol in range(used):
        size += state.symbols[symbol]
    return local * OUTWARD + (3 * count + used + 48 + (count + 2) * size) * solver.float64_subnormal


@compiled_borrowing
def _clipped(rows, solver, state, i, pivot, point, local):
    """Clip the new value: new symbol, size of the combination beside it, whether it is 0 for certain."""
    box, off, counts = solver.box, solver.end_error, state.counts
    width, knot = box.upper - box.lower, box.threshold / pivot.curvature
    if pivot.size == 0.0:
        linear = rows.linear[state.sample[i]]
        decided = abs(linear) != box.threshold and abs(finish_flat(box, linear)) < np.inf
        return (off if decided else width + off), 0.0, False
    if not local < np.inf:
        counts[UNDECIDED] += 1
        return width + off, 0.0, False
    size, largest = _combine(rows, state, i, pivot.curvature)
    _, _, below, above, _ = point
    apart = (size + local) * OUTWARD
    low, high = below - apart, above + apart
    if shifts(box, low, high, knot, off):
        state.totals[AMPLIFICATION] = max(state.totals[AMPLIFICATION], largest)
        return local, size, False
    first, last = finish(box, low, knot), finish(box, high, knot)
    if first == last == 0.0:
        return 0.0, 0.0, True
    if first >= box.upper or last <= box.lower:
        return off, 0.0, False
    # Both new values lie in their boxes, so they differ by no more than the wider one's width.
    counts[UNDECIDED] += 1
    return min(apart, width) + off, 0.0, False


@compiled_borrowing
def _combine(rows, state, i, curvature):
    """Make the combination that the others hand on to coordinate i: its size, its largest coefficient."""
    used, size, largest = state.counts[USED], 0.0, 0.0
    for symbol in range(used):
        state.coefficients[i, symbol] = 0.0
    for other in range(state.radius.size):
        if other != i and state.radius[other] != 0.0:
            weight = rows.values[state.row[i], state.sample[other]] / -curvature
            for symbol in range(used):
                state.coefficients[i, symbol] += weight * state.coefficients[other, symbol]
    for symbol in range(used):
        part = abs(state.coefficients[i, symbol])
        size += part * state.symbols[symbol]
        largest = max(largest, part)
    return size, largest


@compiled_borrowing
def _settle(rows, solver, state, i, point, clipped):
    """Give coordinate i its new error and note the increment; False where nothing can be promised."""
    value, increment, _, _, _ = point
    share, size, at_zero = clipped
    before, fresh = state.radius[i], share
    if solver.form == FROZEN:
        fresh += solver.accumulations * _accumulation_error(
            solver, state.drawn[i], state.start[i] + state.moved[i]
        )
    change = abs(increment) + before + 2 * (fresh + size)
    if solver.form == FROZEN:
        fresh += solver.u * change * OUTWARD
    elif solver.form == ADDED and not at_zero:
        rounding = gamma_of(2, solver.u) * (abs(value) + before + 2 * change) * OUTWARD
        fresh += rounding
        state.rounded[i] += rounding
    if size == 0.0:
        for symbol in range(state.counts[USED]):
            state.coefficients[i, symbol] = 0.0
    state.radius[i] = size
    _add(solver, state, i, fresh)
    moved = (abs(increment) + before + state.radius[i]) * OUTWARD
    state.moved[i] += moved
    state.reach[state.sample[i]] += moved * solver.emphasis.corrections
    state.totals[WEIGHT] += rows.heights[state.sample[i]] * moved * OUTWARD
    state.drawn[i] += 1
    state.counts[MADE] += moved > 0.0
    return fresh < np.inf


@compiled_borrowing
def _accumulation_error(solver, draws, size):
    """Error of ``a + sum of increments``, which a frozen value is, of some size together."""
    return gamma_of(draws + 2, solver.u) * size * OUTWARD * solver.emphasis.accumulation


@compiled_borrowing
def _add(solver, state, i, fresh):
    """Make a new symbol part of the error of coordinate i."""
    used = state.counts[USED]
    if fresh > 0.0:
        # What is lost where the radius, a sum of so many products, underflows.
        state.symbols[used] = fresh + (used + 16) * solver.float64_subnormal
        state.coefficients[i, used] = 1.0
        state.radius[i] += state.symbols[used]
        state.counts[USED] += 1
    state.radius[i] *= OUTWARD


@compiled_borrowing
def _store(solver, state):
    """Store a at the window's end where it was frozen: one more local error of each coordinate drawn."""
    for i in range(state.radius.size):
        if solver.form == FROZEN and state.drawn[i] > 0:
            held = state.start[i] + state.moved[i]
            rounding = gamma_of(1, solver.u) * (held + state.radius[i])
            _add(solver, state, i, (rounding + _accumulation_error(solver, state.drawn[i], held)) * OUTWARD)
