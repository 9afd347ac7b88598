"""The recurrence of K-SVM in numbers that carry their error: a value, and error symbols with coefficients.

One compiled routine makes the steps of a window; the derivation is in bounds/window/svm.py. Callers differ
in whose steps they are, and in when errors are put back to nothing because the run's own numbers are known
again: after each window, or never. Steps are exact ones, which an oracle found up to an error of its own,
or the judge's, which are made here in float64 and err as a solver's do (bounds/screen.py).

Sums are raised by ROUND_UP as elsewhere, and by what their products may lose where these underflow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.compiled import compiled, inlined
from sstep_verify.rounding.arithmetic import ROUND_UP, unit_roundoff
from sstep_verify.rounding.box import finish, finish_flat, shifts, soft
from sstep_verify.rounding.sums import ADDED, FROZEN, gamma_of

U = unit_roundoff("float64")

SUPPORT, MADE, USED, UNDECIDED, EVENTS = 0, 1, 2, 3, 4
"""Counts of a state: nonzero entries of a window's first a that gradients are made from, steps of it that
may have moved; symbols in use, undecided clips, events of the judge's steps."""

LOW, HIGH = 1, 2
"""Events of the judge's steps: clipped at 0, clipped at C."""

WEIGHT, AMPLIFICATION = 0, 1
"""Totals of a state: what no entry of A'v exceeds, largest coefficient of a symbol so far."""


class Formed(NamedTuple):
    """What a step on coordinate i forms before it divides and clips, and how far that may be off.

    Two programs make the step: the judge, in float64, and the solver. Where the steps are compared with
    exact ones, these replace the judge's, and its fields serve the screen alone. Both programs form the
    gradient, a sum of products, and divide it by the curvature ``eta = K_ii + omega``. For example, of
    ``K_i = (2, 1)``, ``y alpha = (0.5, 1)`` and i = 0 the product is 2, and the sizes of its terms add
    up to 2 as well; an error of at most 1e-16 of the other coordinate (its `radius`) makes a spread of
    1e-16.

    Parameters
    ----------
    product : float
        The judge's product, ``sum_l K_il y_l alpha_l``.
    judge_terms, terms : float
        Sums of the absolute values of the terms of the judge's, and of the solver's, gradient. A rounding
        of such a sum is at most u times that.
    judge_error, error : float
        How far the gradients are off because of their entries and what they are made from; roundings of the
        sums come later (`_local_error`).
    spread : float
        What errors of the other coordinates change in the product, ``sum_{l != i} |K_il| radius_l``.
    inexact : float
        How far that is off, since the judge's entries are: ``sum_l (error of K_il) radius_l``.
    curvature : float
        The judge's curvature.
    off : float
        How far it is from the exact one.
    entry_error, solver_error : float
        How far the judge's, and the solver's, entry K_ii is from the exact one.
    size : float
        Sum of the absolute values of the curvature's terms; 0 where a step has none.
    lower, upper : float
        The exact curvature and the solver's lie between these.
    """

    product: float
    judge_terms: float
    judge_error: float
    terms: float
    error: float
    spread: float
    inexact: float
    curvature: float
    off: float
    entry_error: float
    solver_error: float
    size: float
    lower: float
    upper: float


@compiled
def carry(rows, solver, exact, alpha, sizes, draws, state):
    """Carry the errors through one window and what is stored at its end; False if nothing can be promised.

    `exact`, shape (5, s), are exact steps: value before, increment, lower and upper end of an enclosure of
    the unclipped new value, bound on the error of that; (5, 0) where the judge makes the steps, from
    `alpha`, (m,), a at the window's start. Bounds on the sizes that the solver's gradients were made from
    are `sizes`, (m,); `draws`, (s,), are places among the coordinates. The state is changed.

    Each step goes through `_formed`, `_local_error`, `_clipped` and `_settle`. `point` is one column of
    `exact`, or what `_judge_step` returns in its place. `clipped` is the triple that `_clipped` returns.
    """
    state.counts[SUPPORT], state.counts[MADE], state.totals[WEIGHT] = 0, 0, 0.0
    for j in range(alpha.size):
        state.now[j] = rows.labels[j] * alpha[j]
        state.reach[j] = abs(sizes[j]) * solver.stale if solver.from_a else 0.0
        state.counts[SUPPORT] += state.reach[j] != 0.0
        state.totals[WEIGHT] += rows.heights[j] * state.reach[j]
    for i in range(state.sample.size):
        state.start[i] = abs(sizes[state.sample[i]])
        state.moved[i], state.rounded[i], state.drawn[i] = 0.0, 0.0, 0
    for step in range(draws.size):
        i = draws[step]
        formed = _formed(rows, solver, state, i)
        if not max(formed.terms, state.totals[WEIGHT], formed.upper) <= solver.limit:
            return False
        if exact.shape[1] == 0:
            point = _judge_step(rows, solver, state, i, formed)
        else:
            point = exact[0, step], exact[1, step], exact[2, step], exact[3, step], exact[4, step]
        local = _local_error(rows, solver, state, i, formed, point)
        clipped = _clipped(rows, solver, state, i, formed, point, local)
        if not _settle(rows, solver, state, i, point, clipped):
            return False
    for i in range(state.radius.size):
        # Where a was frozen it is stored now: one more local error of each coordinate drawn.
        if solver.form == FROZEN and state.drawn[i] > 0:
            rounding = gamma_of(1, solver.u) * (state.start[i] + state.moved[i] + state.radius[i])
            _add(solver, state, i, (rounding + _accumulation_error(solver, state, i)) * ROUND_UP)
    return True


@inlined
def _accumulation_error(solver, state, i):
    """Error of ``a + sum of increments``, which a frozen value is."""
    size = state.start[i] + state.moved[i]
    return gamma_of(state.drawn[i] + 2, solver.u) * size * ROUND_UP * solver.accumulation


@inlined
def _formed(rows, solver, state, i):
    """What a step forms.

    The curvature is a sum of two, one a quotient, the solver's within gamma_3; a quotient that is subnormal
    is off by the smallest number.
    """
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
        size = (abs(rows.values[row, j]) + entry_error + rows.solver_error[row, j]) * ROUND_UP
        spread += size * radius if other != i else 0.0
        inexact += entry_error * radius
        error += size * state.rounded[other]
    j, shift = state.sample[i], solver.shift * (1.0 + solver.u)
    error += state.carried_error[i] + shift * state.rounded[i]
    error += (state.start[i] + state.moved[i]) * (solver.smallest_subnormal if shift > 0.0 else 0.0)
    linear = abs(rows.linear[j]) + shift * state.start[i]
    constant = shift * (state.moved[i] * solver.corrections) + solver.box.threshold + linear
    entry, entry_error, given = rows.values[row, j], rows.judge_error[row, j], rows.solver_error[row, j]
    curvature = entry + solver.shift
    if solver.shift > 0.0:
        entry_error, given = entry_error + solver.float64_subnormal, given + solver.smallest_subnormal
    size = (abs(entry) + entry_error + given) * ROUND_UP + solver.shift
    off = entry_error + gamma_of(2, max(solver.u, U)) * abs(curvature)
    apart = off + given + gamma_of(3, solver.u) * curvature
    return Formed(
        product, (judge_terms + constant) * ROUND_UP + underflow, judge_error * ROUND_UP + underflow,
        (terms + state.carried_size[i] + constant) * ROUND_UP + underflow, error * ROUND_UP + underflow,
        spread * ROUND_UP, inexact, curvature, off, entry_error, given, size, curvature - apart,
        curvature + apart,
    )  # fmt: skip


@inlined
def _judge_step(rows, solver, state, i, formed):
    """The judge's step, as exact ones are given; any value of the box where the curvature may be 0.

    Returned is a column of `exact` (`carry`): value before, increment, the unclipped new value as both ends
    of its enclosure, and the error of that.
    """
    j = state.sample[i]
    label, value, box, error = rows.labels[j], rows.labels[j] * state.now[j], solver.box, 0.0
    unclipped, knot = finish_flat(box, rows.linear[j]), 0.0
    if formed.lower > 0.0:
        gradient = label * formed.product - rows.linear[j] + solver.shift * value
        unclipped, knot = value - gradient / formed.curvature, box.threshold / formed.curvature
        quotient, new = abs(value) + abs(unclipped) + knot, abs(unclipped) + knot
        roundings = state.counts[SUPPORT] + state.counts[MADE] + 6
        off = gamma_of(roundings, U) * formed.judge_terms + formed.judge_error + solver.judge_underflow
        error = _unclipped_error(solver, formed, U, off, formed.entry_error, quotient, new)
    updated, free = finish(box, unclipped, knot), soft(unclipped, knot)
    state.counts[EVENTS] |= LOW if free < box.lower else (HIGH if free > box.upper else 0)
    state.now[j] = label * updated
    return value, updated - value, unclipped, unclipped, error


@inlined
def _unclipped_error(solver, formed, u, gradient_error, entry_error, quotient, new):
    """Error of a value less a quotient, of sizes `new` and `quotient`; of the entry in the curvature given.

    The difference's result is at most ``new + error``. With an upper end of the box an infinite quotient is
    clipped as the exact one is.
    """
    error = (gradient_error + quotient * (entry_error + gamma_of(3, u) * formed.size)) / formed.lower
    if solver.box.upper - solver.box.lower == np.inf and not quotient + error <= solver.limit:
        return np.inf
    roundings = 2 if solver.box.threshold == 0.0 else 4
    error += gamma_of(roundings, u) * (quotient + new + 2.0 * error)
    return error * ROUND_UP + 32 * solver.float64_subnormal


@inlined
def _local_error(rows, solver, state, i, formed, point):
    """Error of the unclipped new value made in this step; infinite where 1 over the curvature may be."""
    if not formed.lower * solver.limit >= 1.0:
        return np.inf
    u, made, used, count = solver.u, state.counts[MADE], state.counts[USED], state.radius.size
    spread = formed.spread / formed.lower * ROUND_UP
    # The solver errs from the exact step at its own iterate, which is within the other's error and spread.
    value, _, lower, upper, error = point
    knot = solver.box.threshold / formed.curvature
    new = max(abs(lower), abs(upper)) + error + spread + knot
    quotient = abs(value) + new + state.radius[i]
    # k of bounds/window/svm.py: q = `made`, p = `SUPPORT`, r by the draws of i. With maintained weights
    # there is no p, q counts twice and every draw of i once.
    roundings = solver.others + made + 6
    # The shift may multiply each earlier increment of i by itself, of which one addition is in the 6.
    if not solver.from_a:
        roundings += made + state.drawn[i]
    else:
        roundings += state.counts[SUPPORT]
        roundings += max(state.drawn[i] - 1, 0) if solver.shift > 0.0 else 0
    off = gamma_of(roundings, u) * formed.terms + formed.error + rows.underflow[state.row[i]]
    unclipped_error = _unclipped_error(solver, formed, u, off, formed.solver_error, quotient, new)
    local = error + unclipped_error + solver.smallest_subnormal
    # The signed row is itself rounded, and its entries and the curvature are off. Sums over c coordinates
    # and over the symbols in use; quotient, sign, product and sum are the 4.
    local += (formed.inexact + formed.off * (spread + knot)) / formed.lower + gamma_of(4, U) * knot
    local += gamma_of(count + used + 4, max(u, U)) * spread
    # A coefficient that underflows is off by c smallest numbers, times the symbol's size.
    size = 0.0
    for symbol in range(used):
        size += state.symbols[symbol]
    return local * ROUND_UP + (3 * count + used + 48 + (count + 2) * size) * solver.float64_subnormal


@inlined
def _clipped(rows, solver, state, i, formed, point, local):
    """Clip the new value.

    Returns the size of the new symbol, the size of the combination next to it, and whether the value is 0
    for certain. The combination is written into the row of i of `state.coefficients`.
    """
    box, off, counts = solver.box, solver.end_error, state.counts
    width, knot = box.upper - box.lower, box.threshold / formed.curvature
    if formed.size == 0.0:
        linear = rows.linear[state.sample[i]]
        decided = abs(linear) != box.threshold and abs(finish_flat(box, linear)) < np.inf
        return (off if decided else width + off), 0.0, False
    if not formed.lower * solver.limit >= 1.0:
        return np.inf, 0.0, False  # 0 times an infinite reciprocal is no number
    if not local < np.inf:
        counts[UNDECIDED] += 1
        return width + off, 0.0, False
    # The combination that the others hand on to coordinate i.
    used, size, largest = counts[USED], 0.0, 0.0
    for symbol in range(used):
        state.coefficients[i, symbol] = 0.0
    for other in range(state.radius.size):
        if other != i and state.radius[other] != 0.0:
            weight = rows.values[state.row[i], state.sample[other]] / -formed.curvature
            for symbol in range(used):
                state.coefficients[i, symbol] += weight * state.coefficients[other, symbol]
    for symbol in range(used):
        part = abs(state.coefficients[i, symbol])
        size += part * state.symbols[symbol]
        largest = max(largest, part)
    apart = (size + local) * ROUND_UP
    low, high = point[2] - apart, point[3] + apart
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


@inlined
def _settle(rows, solver, state, i, point, clipped):
    """Give coordinate i its new error and note the increment; False where nothing can be promised."""
    value, increment, _, _, _ = point
    share, size, at_zero = clipped
    before, fresh = state.radius[i], share
    if solver.form == FROZEN:
        fresh += solver.accumulations * _accumulation_error(solver, state, i)
    change = abs(increment) + before + 2 * (fresh + size)
    if solver.form == FROZEN:
        fresh += solver.u * change * ROUND_UP
    elif solver.form == ADDED and not at_zero:
        rounding = gamma_of(2, solver.u) * (abs(value) + before + 2 * change) * ROUND_UP
        fresh += rounding
        state.rounded[i] += rounding
    if size == 0.0:
        for symbol in range(state.counts[USED]):
            state.coefficients[i, symbol] = 0.0
    state.radius[i] = size
    _add(solver, state, i, fresh)
    moved = (abs(increment) + before + state.radius[i]) * ROUND_UP
    state.moved[i] += moved
    state.reach[state.sample[i]] += moved * solver.corrections
    state.totals[WEIGHT] += rows.heights[state.sample[i]] * moved * ROUND_UP
    state.drawn[i] += 1
    state.counts[MADE] += moved > 0.0
    return fresh < np.inf


@inlined
def _add(solver, state, i, fresh):
    """Make a new symbol part of the error of coordinate i."""
    used = state.counts[USED]
    if fresh > 0.0:
        # What is lost where the radius, a sum of so many products, underflows.
        state.symbols[used] = fresh + (used + 16) * solver.float64_subnormal
        state.coefficients[i, used] = 1.0
        state.radius[i] += state.symbols[used]
        state.counts[USED] += 1
    state.radius[i] *= ROUND_UP
