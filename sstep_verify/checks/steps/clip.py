"""Judges every step of logged K-SVM windows in float64, by a recurrence of the judge's own.

No correction terms are formed: a is known before every step, so each gradient is a product of a kernel row
with that a. What the s-step recurrence calls stale product, correction and so on is told apart afterwards,
to say whether an error in it would have been seen.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.step.clip import stored_bound, unclipped_bound
from sstep_verify.bounds.step.sums import FROZEN
from sstep_verify.checks.steps.rows import ENTRIES, right_hand_side_error, tell_apart
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
    note_effects,
)
from sstep_verify.compiled import compiled_borrowing
from sstep_verify.diagnosis.factors import BOTH, ROW, explain, explain_end
from sstep_verify.numerics.rounding import OUTWARD


@compiled_borrowing
def judge_clipped_step(rows, state, stretch, step, constants, progress, tail, tally, formed):
    """Judge one step: its gradient, its unclipped and clipped value, and what these could have shown.

    Parameters
    ----------
    rows, state, stretch, tally, formed
        As in `windows.judge_steps`.
    step : int
        Its place in the stretch.
    constants : ClipConstants
        Of the bounds.
    progress : Progress
        What its window did before.
    tail : bool
        Whether that is the run's last, short one.
    """
    sums, shift, upper = constants.sums, constants.shift, constants.upper
    i, logged = stretch.draws[step, 0], stretch.log[step, 0]
    slot = rows.slot[i]
    row, repeats, moved, value = rows.table[slot, ENTRIES], state.drawn[i], state.moved[i], state.alpha[i]
    product = state.product[0] = state.signs[i] * np.dot(row, state.signed)
    slope = product - 1.0 + shift * value
    curvature = row[i] + shift
    corrections = (progress.steps, 0)
    error, size = right_hand_side_error(rows, slot, state, sums, progress, corrections, 1.0, shift * moved)
    # Neither a sum of its terms nor omega overflows.
    known = size <= sums.largest and shift + constants.shift_error <= sums.largest
    error += sums.underflow + constants.shift_error * moved + stretch.drift[step]
    error = error if known else np.inf
    if curvature > 0.0:
        new = value - slope / curvature
        unclipped = unclipped_bound(constants, error, curvature, rows.diagonal[i], value, new)
        bound = stored_bound(constants, unclipped, repeats, moved, value, new)
    else:
        # A zero row of an L1 problem: the gradient is -1 and the step ends at the upper end.
        new, unclipped, bound = upper, np.inf, np.inf
        if row[i] + rows.diagonal[i] + shift == 0.0:
            bound = stored_bound(constants, 0.0, repeats, moved, value, new)
    clipped = min(max(new, 0.0), upper)
    end = FREE if 0.0 < new < upper else CLIP_LOW if new <= 0.0 else CLIP_HIGH
    failed = count_step(tally, step, abs(logged - clipped), bound, end)
    tally.planned[0] += 1
    looked = unclipped < np.inf
    if not (looked or formed.value.size):
        return
    tell_apart(rows, state, stretch.draws[step], 1.0, progress)
    if formed.value.size:
        formed.gradient[step, 0], formed.gradient_bound[step, 0] = slope, error * OUTWARD
        formed.curvature[step, 0, 0], formed.curvature_error[step, 0, 0] = curvature, rows.diagonal[i]
    if looked:
        tally.looked[0] += 1
        # A wrong quantity moves the unclipped value, which is known up to its own bound only.
        box_of = (new, clipped, upper, max(unclipped, bound), logged, failed)
        _look(tally, state, constants, row, i, curvature, box_of, progress.steps == 0)
        _look_at_box(tally, state, constants, bound, i, box_of, repeats)
        if state.last[0] >= 0 and state.last[0] != i:
            # A coordinate stepped on twice in a row stays as it is: the log would hold its value.
            again = state.alpha[state.last[0]]
            change, remainder = abs(again - clipped), abs(logged - again)
            note_effects(tally, STREAM, change, 0.0, box_of[3], remainder, failed)
        if tail:
            change = abs(clipped - value)
            note_effects(tally, TAIL, change, change, box_of[3], 1.0, False)


@compiled_borrowing
def _look(tally, state, constants, row, i, curvature, box_of, first):
    """Note what an error in each quantity of the gradient, or in the curvature, would have shown."""
    effects, failed, unit = state.effects, box_of[5], 1.0 / curvature
    quotient = state.alpha[i] - box_of[0]
    effects[OMEGA, 0], product = constants.shift * state.alpha[i], state.product[0]
    for quantity in (STALE, KERNEL, SAME, OMEGA):
        _note(tally, quantity, effects[quantity, 0] * unit, 1.0, box_of)
    if first:
        _note(tally, BOUNDARY, effects[BOUNDARY, 0] * unit, 1.0, box_of)
    _note(tally, CURVATURE, quotient, 0.5, box_of)
    _note(tally, LABELS, product * unit, 2.0, box_of)
    if failed:
        for quantity in (STALE, KERNEL, SAME, OMEGA):
            _explain(tally, quantity, effects[quantity, 0] * unit, box_of)
        _explain(tally, CURVATURE, quotient, box_of)
        _explain(tally, BOTH, (product - effects[STALE, 0]) * unit, box_of)
        # Of a row that is off by a factor the product is, and the curvature but for omega.
        _explain(tally, ROW, (product - quotient * row[i]) * unit, box_of)


@compiled_borrowing
def _look_at_box(tally, state, constants, bound, i, box_of, repeats):
    """Note what a lost end of the box, or a frozen value for the current one, would have shown."""
    new, clipped, upper, visible, logged, failed = box_of
    u = constants.sums.u
    if constants.sums.form == FROZEN and repeats > 1:
        # No effect where the step is free.
        before = state.alpha[i] - state.first[i]
        lost = min(max(new - before, 0.0), upper) + before
        note_effects(tally, OVERLAP, abs(lost - clipped), 0.0, visible, abs(logged - lost), failed)
    if new > upper:
        # The end itself is known to the last bit, or to the bound of what is stored there.
        sharp = upper * (visible / max(bound, u * upper))
        note_effects(tally, UPPER, new - upper, sharp, visible, abs(logged - new), failed)
    if new < 0.0:
        sharp = -new * (visible / max(bound, -u * new))
        note_effects(tally, LOWER, -new, sharp, visible, abs(logged - new), failed)


@compiled_borrowing
def _note(tally, quantity, change, size, box_of):
    """Note what an error in a quantity would have shown.

    A relative change of it adds `change` to the unclipped value, per unit; leaving it out stands for one of
    `size`. `box_of` are unclipped and clipped value, upper end, bound of the unclipped value, logged value,
    and whether the step is over its bound.
    """
    new, clipped, upper, bound, logged, failed = box_of
    if not failed and max(size, 1.0) * abs(change) <= tally.most[quantity] * bound:
        return  # neither seen nor better than what was seen already
    other = min(max(new + size * change, 0.0), upper)
    relative = abs(change) if 0.0 < new < upper else 0.0
    note_effects(tally, quantity, abs(other - clipped), relative, bound, abs(logged - other), failed)


@compiled_borrowing
def _explain(tally, quantity, change, box_of):
    """Note what a factor on a quantity would have to be to explain a wrong step; see `_note`."""
    new, _, upper, bound, logged, _ = box_of
    if logged <= 0.0:
        explain_end(tally, quantity, new - bound, -change)
    elif logged >= upper:
        explain_end(tally, quantity, upper - new - bound, change)
    else:
        explain(tally, quantity, logged - new, change, bound)
