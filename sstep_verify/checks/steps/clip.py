"""Judges every step of logged K-SVM windows in float64, by a recurrence of the judge's own.

No correction terms are formed: a is known before every step, so each gradient is a product of a kernel row
with that a. What the s-step recurrence calls stale product, correction and so on is told apart afterwards,
to say whether an error in it would have been seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.bounds.step.clip import stored_bound, unclipped_bound
from sstep_verify.checks.steps.rows import ENTRIES, ERRORS, right_hand_side_error, row_sums, tell_apart
from sstep_verify.checks.steps.tally import (
    BOUNDARY,
    CLIP_HIGH,
    CLIP_LOW,
    CURVATURE,
    FREE,
    KERNEL,
    LABELS,
    LOWER,
    OMEGA,
    OVERLAP,
    SAME,
    STALE,
    STREAM,
    TAIL,
    UPPER,
    count_step,
    label_effect,
    note_effects,
    note_reproduced,
)
from sstep_verify.compiled import compiled_borrowing
from sstep_verify.diagnosis.factors import BOTH, ROW, explain, explain_end, step_at_end
from sstep_verify.rounding.box import Box, finish, finish_flat, soft
from sstep_verify.rounding.sums import FROZEN
from sstep_verify.verdict import SEEN

UNEXPLAINED = False
"""In the place of whether a step is over its bound, where the quantity is not to explain it."""


class Ended(NamedTuple):
    """Where a step ended, and what tells it from one with an error in a quantity.

    Parameters
    ----------
    new, clipped : float
        The judge's unclipped and new value.
    box : Box
        Ends of the box.
    knot : float
        Threshold over the curvature.
    bound : float
        On the error of the unclipped value, no less than that of the stored one.
    logged : float
        The solver's new value.
    """

    new: float
    clipped: float
    box: Box
    knot: float
    bound: float
    logged: float


@compiled_borrowing
def judge_clipped_step(rows, state, block, stretch, step, constants, progress, tail, tally):
    """Judge one step: its gradient, its unclipped and clipped value, and what these could have shown.

    `step` is its place in the stretch, `constants` are those of the bounds, `progress` is what its window
    did before, and `tail` whether that is the run's last, short one; the rest is as for `judge_steps`.
    """
    sums, shift, box = constants.sums, constants.shift, constants.box
    i, logged = stretch.draws[step, 0], stretch.log[step, 0]
    slot = rows.slot[i]
    row, repeats, moved, value = rows.table[slot, ENTRIES], state.drawn[i], state.moved[i], state.alpha[i]
    of_row = row_sums(rows, slot, state)
    product = state.product[0] = state.signs[i] * of_row.product
    state.stale[0] = state.signs[i] * of_row.stale
    linear = state.linear[i]
    slope = product - linear + shift * value
    curvature, off = row[i] + shift, rows.table[slot, ERRORS, i]
    # The shift may meet each earlier increment by itself (rounding/sums.py); `repeats` counts this one.
    corrections = progress.steps + (max(repeats - 2, 0) if shift > 0.0 else 0)
    error, size = right_hand_side_error(
        rows, slot, state, sums, of_row, progress, corrections, abs(linear) + box.threshold, shift * moved
    )
    # Neither a sum of its terms nor omega overflows, and no term is 0 times a number that did.
    known = size <= sums.largest and shift <= sums.largest
    if shift > 0.0:
        # The shift, which may be subnormal, meets the increments that the solver made.
        error += constants.underflow_error * moved + shift * state.increment_error[i]
    error += sums.underflow + stretch.drift[step]
    error = error if known else np.inf
    if curvature > 0.0:
        new, knot = value - slope / curvature, box.threshold / curvature
        unclipped = unclipped_bound(constants, error, curvature, off, value, new, knot)
        bound = stored_bound(constants, unclipped, repeats, moved, value, new, knot)
    else:
        # A zero row without a shift: the linear term decides at which end the step ends, K-SVM the upper.
        new, knot, unclipped, bound = finish_flat(box, linear), 0.0, np.inf, np.inf
        decided = known and abs(linear) != box.threshold
        if decided and row[i] + off + shift == 0.0 and abs(new) < np.inf:
            bound = stored_bound(constants, 0.0, repeats, moved, value, new, knot)
    clipped, free = finish(box, new, knot), soft(new, knot)
    end = FREE if box.lower < free < box.upper else CLIP_LOW if free <= box.lower else CLIP_HIGH
    tally.at_end[0] = step_at_end(box, logged, bound)
    failed = count_step(tally, step, abs(logged - clipped), bound, end)
    tally.planned[0] += 1
    block.left[0] = bound
    if unclipped < np.inf:
        tally.looked[0] += 1
        tell_apart(rows, state, stretch.draws[step], 0, 1.0, progress)
        # A wrong quantity moves the unclipped value, which is known up to its own bound only.
        ended = Ended(new, clipped, box, knot, max(unclipped, bound), logged)
        _look(tally, state, constants, row, i, curvature, ended, failed)
        _look_at_box(tally, state, constants, bound, i, ended, repeats, failed)
        if state.last[0] >= 0 and state.last[0] != i:
            # A coordinate stepped on twice in a row stays as it is: the log would hold its value. So does
            # that of values that are all clipped to a wrong end, of draws that were all followed.
            change = abs(state.alpha[state.last[0]] - clipped)
            note_effects(tally, STREAM, change, 0.0, ended.bound, 1.0, UNEXPLAINED)
        if tail:
            change = abs(clipped - value)
            note_effects(tally, TAIL, change, change, ended.bound, 1.0, UNEXPLAINED)


@compiled_borrowing
def _look(tally, state, constants, row, i, curvature, ended, failed):
    """Note what an error in each quantity of the gradient, or in the curvature, would have shown."""
    effects, unit = state.effects, 1.0 / curvature
    # What the curvature divides: the gradient, with the threshold on the side of the new value.
    quotient = state.alpha[i] - (ended.new - (ended.knot if ended.new > 0.0 else -ended.knot))
    effects[OMEGA, 0], product = constants.shift * state.alpha[i], state.product[0]
    for quantity in (STALE, KERNEL, SAME, OMEGA, BOUNDARY):
        _note(tally, quantity, effects[quantity, 0] * unit, 1.0, ended, failed)
    _note(tally, CURVATURE, quotient, 0.5, ended, failed)
    label = label_effect(product, effects[SAME, 0])
    _note(tally, LABELS, label * unit, 2.0, ended, UNEXPLAINED)
    if failed:
        # A wrong solver may flip the label of its own increments as well.
        flipped = finish(ended.box, ended.new + 2.0 * product * unit, ended.knot)
        change, remainder = abs(flipped - ended.clipped), abs(ended.logged - flipped)
        note_reproduced(tally, LABELS, change, ended.bound, remainder)
        for quantity in (STALE, KERNEL, SAME, OMEGA):
            _explain(tally, quantity, effects[quantity, 0] * unit, ended)
        _explain(tally, CURVATURE, quotient, ended)
        _explain(tally, BOTH, (product - effects[STALE, 0]) * unit, ended)
        # Of a row that is off by a factor the product is, and the curvature but for omega: the step that
        # was made solves ``(1 + delta) (K_ii theta + product) + omega theta = ...``, linear in delta.
        made = (ended.logged - state.alpha[i]) * row[i] + product
        _explain(tally, ROW, -made * unit, ended)


@compiled_borrowing
def _look_at_box(tally, state, constants, bound, i, ended, repeats, failed):
    """Note what a lost end of the box, or a frozen value for the current one, would have shown."""
    new, clipped, box, knot, visible, logged = ended
    u, free = constants.sums.u, soft(new, knot)
    if constants.sums.form == FROZEN and repeats > 1:
        # No effect where the step is free.
        before = state.alpha[i] - state.first[i]
        first_kept = finish(box, new - before, knot) + before
        note_effects(
            tally, OVERLAP, abs(first_kept - clipped), 0.0, visible, abs(logged - first_kept), failed
        )
    if free > box.upper:
        # The end itself is known to the last bit, or to the bound of what is stored there.
        sharp = box.upper * (visible / max(bound, u * box.upper))
        note_effects(tally, UPPER, free - box.upper, sharp, visible, abs(logged - free), failed)
    if free < box.lower:
        beyond = box.lower - free
        sharp = beyond * (visible / max(bound, u * beyond))
        note_effects(tally, LOWER, beyond, sharp, visible, abs(logged - free), failed)


@compiled_borrowing
def _note(tally, quantity, change, size, ended, failed):
    """Note what an error in a quantity would have shown.

    A relative change of it adds `change` to the unclipped value, per unit; leaving it out stands for one of
    `size`. `failed` says whether the step is over its bound, and the quantity may explain it.
    """
    new, clipped, box, knot, bound, logged = ended
    if not failed and max(size, 1.0) * abs(change) <= min(SEEN, tally.relative[quantity]) * bound:
        return  # neither seen nor better than what was seen already
    other = finish(box, new + size * change, knot)
    free = soft(new, knot)
    relative = abs(change) if box.lower < free < box.upper and (free != 0.0 or knot == 0.0) else 0.0
    note_effects(tally, quantity, abs(other - clipped), relative, bound, abs(logged - other), failed)


@compiled_borrowing
def _explain(tally, quantity, change, ended):
    """Note what a factor on a quantity would have to be to explain a wrong step; see `_note`."""
    new, _, box, knot, bound, logged = ended
    if logged <= box.lower:
        explain_end(tally, quantity, new + knot - box.lower - bound, -change)
    elif logged >= box.upper:
        explain_end(tally, quantity, box.upper + knot - new - bound, change)
    elif logged == 0.0:
        explain(tally, quantity, -new, change, bound + knot)
    else:
        explain(tally, quantity, logged + (knot if logged > 0.0 else -knot) - new, change, bound)
