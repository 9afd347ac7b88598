"""Judges every step of logged K-SVM windows in float64, by a recurrence of the judge's own.

No correction terms are formed: a is known before every step, so each gradient is a product of a kernel row
with that a. What the s-step recurrence calls stale product, correction and so on is told apart afterwards,
to say whether an error in it would have been seen.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.step.slack import svm_slack
from sstep_verify.bounds.step.svm import svm_step_bound, svm_stored_bound
from sstep_verify.bounds.step.svm_constants import FROZEN
from sstep_verify.checks.steps.factors import BOTH, ROW, explain, explain_end
from sstep_verify.checks.steps.rows import ENTRIES, nonzero, rounded_terms, row_terms
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
    REPEATED,
    SAME,
    STALE,
    STREAM,
    TAIL,
    TAIL_STEP,
    THRICE,
    UPPER,
    event,
    note_effects,
)
from sstep_verify.compiled import compiled_borrowing
from sstep_verify.numerics.rounding import OUTWARD


@compiled_borrowing
def judge_svm_steps(rows, state, stretch, box, constants, drift, tally):
    """Judge the steps of some whole windows, one after the other.

    Parameters
    ----------
    rows : Rows
        Kernel rows of the coordinates drawn, their errors, and where each coordinate's row is.
    state : SvmState
        The run's own a, advanced by the log, and the judge's scratch.
    stretch : Stretch
        Coordinates drawn, logged values, steps per window, and where in the run they lie.
    box : tuple of (float, float)
        Diagonal shift (omega) and upper end of the box (nu).
    constants : SvmStepConstants
        Of the bounds.
    drift : ndarray, shape (steps,)
        What a state carried beside a adds to each gradient's error.
    tally : Tally
        Out: distances, bounds, and what was seen.
    """
    labels, alpha, signed = state.labels, state.alpha, state.signed
    shift, upper = box
    draws, log, width = stretch.draws, stretch.log, stretch.width
    held = nonzero(alpha)
    for begin in range(0, draws.size, width):
        end = min(begin + width, draws.size)
        tail = stretch.closing and end - begin < width
        for place in range(begin, end):
            i = draws[place]
            if state.drawn[i] == 0:
                state.first[i] = alpha[i]
            state.drawn[i] += 1
        for place in range(begin, end):
            state.drawn[draws[place]] = 0
        moves, support, distinct = False, held, 0
        for place in range(begin, end):
            i = draws[place]
            row = rows.table[rows.slot[i], ENTRIES]
            value, diagonal = alpha[i], row[i]
            state.drawn[i] += 1
            repeats = state.drawn[i]
            moved = state.moved[i]  # |a'_i| and the increments of the coordinate so far
            product = labels[i] * np.dot(row, signed)
            slope = product - 1.0 + shift * value
            curvature = diagonal + shift
            count = (support, place - begin, 0, held)
            total, error = row_terms(rows, rows.slot[i], state, distinct)
            total += 1.0 + shift * moved
            # Neither a sum of its terms nor omega overflows.
            known = (
                total + error <= constants.largest and shift + constants.shift_error <= constants.largest
            )
            terms = (total, 1.0, shift * moved)
            error += rounded_terms(rows, rows.slot[i], state, constants.roundings, count, terms)
            error += constants.underflow + constants.shift_error * moved + drift[place]
            tally.gradient[place, 0] = slope
            error = error if known else np.inf
            tally.gradient_bound[place, 0] = error * OUTWARD
            if curvature > 0.0:
                new = value - slope / curvature
                unclipped = svm_step_bound(constants, error, curvature, rows.diagonal[i], value, new)
                bound = svm_stored_bound(constants, unclipped, repeats, moved, value, new, upper)
            else:
                # A zero row of an L1 problem: the gradient is -1 and the step ends at the upper end.
                new, unclipped, bound = upper, np.inf, np.inf
                if diagonal + rows.diagonal[i] + shift == 0.0:
                    bound = svm_stored_bound(constants, 0.0, repeats, moved, value, new, upper)
            free = 0.0 < new < upper
            clipped = min(max(new, 0.0), upper)
            distance = abs(log[place] - clipped)
            tally.distance[place] = distance
            tally.bound[place] = bound
            iteration = tally.now[0] = stretch.first + place
            event(tally, FREE if free else CLIP_LOW if new <= 0.0 else CLIP_HIGH, iteration)
            if repeats > 1:
                event(tally, REPEATED, iteration)
            if repeats > 2:
                event(tally, THRICE, iteration)
            if tail:
                event(tally, TAIL_STEP, iteration)
            failed = bound < np.inf and not distance <= bound
            if failed:
                tally.failed[0] += 1
            tally.planned[0] += 1
            if unclipped < np.inf:
                tally.looked[0] += 1
                # A wrong quantity moves the unclipped value, which is known up to its own bound only.
                visible = max(unclipped, bound)
                unit = 1.0 / curvature
                stale = labels[i] * np.dot(row, state.start) if moves else product
                own = diagonal * (value - state.first[i])
                box_of = (new, clipped, upper, visible, log[place], failed)
                _note(tally, STALE, stale * unit, 1.0, free, box_of)
                _note(tally, CURVATURE, value - new, 0.5, free, box_of)
                _note(tally, LABELS, product * unit, 2.0, free, box_of)
                if width > 1:
                    _note(tally, KERNEL, (product - stale - own) * unit, 1.0, free, box_of)
                    _note(tally, SAME, own * unit, 1.0, free, box_of)
                if shift > 0.0:
                    _note(tally, OMEGA, shift * value * unit, 1.0, free, box_of)
                if failed:
                    _explain(tally, STALE, stale * unit, box_of)
                    _explain(tally, CURVATURE, value - new, box_of)
                    _explain(tally, KERNEL, (product - stale - own) * unit, box_of)
                    _explain(tally, SAME, own * unit, box_of)
                    _explain(tally, BOTH, (product - stale) * unit, box_of)
                    _explain(tally, OMEGA, shift * value * unit, box_of)
                    # Of a row that is off by a factor the product is, and the curvature but for omega.
                    _explain(tally, ROW, (product - (value - new) * diagonal) * unit, box_of)
                if constants.form == FROZEN and width > 1 and repeats > 1:
                    # The frozen value in the place of the current one: no effect where the step is free.
                    before = value - state.first[i]
                    lost = min(max(new - before, 0.0), upper) + before
                    note_effects(
                        tally, OVERLAP, abs(lost - clipped), 0.0, visible, abs(log[place] - lost), failed
                    )
                if new > upper:
                    # The end itself is known to the last bit, or to the bound of what is stored there.
                    sharp = upper * (visible / max(bound, constants.u * upper))
                    note_effects(tally, UPPER, new - upper, sharp, visible, abs(log[place] - new), failed)
                if new < 0.0:
                    sharp = -new * (visible / max(bound, -constants.u * new))
                    note_effects(tally, LOWER, -new, sharp, visible, abs(log[place] - new), failed)
                if place == begin and state.last[0] >= 0 and state.last[0] != i:
                    lost = labels[i] * labels[state.last[0]] * row[state.last[0]] * state.step[0]
                    _note(tally, BOUNDARY, lost * unit, 1.0, free, box_of)
                if state.last[0] >= 0 and state.last[0] != i:
                    # A coordinate stepped on twice in a row stays as it is: the log would hold its value.
                    again = alpha[state.last[0]]
                    note_effects(
                        tally, STREAM, abs(again - clipped), 0.0, visible, abs(log[place] - again), failed
                    )
                if tail:
                    note_effects(
                        tally, TAIL, abs(clipped - value), abs(clipped - value), visible, 1.0, False
                    )
            increment = log[place] - value
            size = abs(increment)
            moves = moves or size > 0.0
            state.step[0], state.last[0] = increment, i
            held += int(log[place] != 0.0) - int(value != 0.0)
            if repeats == 1:
                state.listed[distinct] = i
                distinct += 1
            alpha[i] = log[place]
            signed[i] = labels[i] * log[place]
            slack = svm_slack(constants, repeats, moved, size, log[place])
            state.moved[i] = moved + size
            state.slack[i] += slack
            state.bounded[i] += size + slack
        for place in range(begin, end):
            i = draws[place]
            state.drawn[i] = 0
            state.slack[i] = 0.0
            state.bounded[i] = state.moved[i] = abs(alpha[i])
            state.start[i] = signed[i]


@compiled_borrowing
def _note(tally, quantity, change, size, free, box_of):
    """Note what an error in a quantity would have shown.

    Parameters
    ----------
    tally : Tally
        Counts.
    quantity : int
        Its number.
    change : float
        What a relative change of it adds to the unclipped value, per unit.
    size : float
        The relative change that leaving it out stands for.
    free : bool
        Whether the step is away from both ends of the box.
    box_of : tuple
        Unclipped and clipped value, upper end, bound of the unclipped value, logged value, whether the
        step is over its bound.
    """
    new, clipped, upper, bound, logged, failed = box_of
    if not failed and max(size, 1.0) * abs(change) <= tally.most[quantity] * bound:
        return  # neither seen nor better than what was seen already
    other = min(max(new + size * change, 0.0), upper)
    note_effects(
        tally,
        quantity,
        abs(other - clipped),
        abs(change) if free else 0.0,
        bound,
        abs(logged - other),
        failed,
    )


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
