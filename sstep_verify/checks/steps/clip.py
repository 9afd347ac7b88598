"""Judges every step of logged K-SVM windows in float64, by a recurrence of the judge's own.

`judge_steps` (checks/steps/loop.py) calls it for each step; bounds/step/clip.py bounds the distance.

No correction terms are formed: alpha is known before every step, so each gradient is a product of a kernel
row with that alpha.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.step.clip import stored_bound, unclipped_bound
from sstep_verify.checks.steps.kept import NEW, OF_LATE, UNCLIPPED
from sstep_verify.checks.steps.rows import keep_row, own_entry, right_hand_side_error, row_sums
from sstep_verify.checks.steps.step_statistics import (
    CLIP_HIGH,
    CLIP_LOW,
    FIRST_TRANSITION,
    FREE,
    FREE_STATE,
    LOW_STATE,
    STATES,
    event,
    state_in,
)
from sstep_verify.compiled import inlined
from sstep_verify.rounding.box import finish, finish_flat, soft


@inlined
def judge_clipped_step(rows, weights, state, segment, step, constants, progress, kept, tally):
    """Judge one step: its gradient, its unclipped and its clipped value.

    `step` is its place in the segment, `constants` are those of the bounds, and `progress` is what its
    window did before; the rest is as for `judge_steps`.
    """
    sums, shift, box = constants.sums, constants.shift, constants.box
    drawn = segment.draws[step]
    i, logged = drawn[0], segment.log[step, 0]
    repeats, moved, value = state.drawn[i], state.moved[i], state.alpha[i]
    of_row, (own, off) = row_sums(rows, weights, i, state, progress), own_entry(rows, weights, i)
    product, stale = state.signs[i] * of_row.product, state.signs[i] * of_row.stale
    linear = state.linear[i]
    slope = product - linear + shift * value
    curvature = own + shift
    # The shift may meet each earlier increment by itself (rounding/sums.py); `repeats` counts this one.
    corrections = progress.steps + (max(repeats - 2, 0) if shift > 0.0 else 0)
    error, size = right_hand_side_error(
        rows, weights, i, state, sums, of_row, progress, corrections, abs(linear) + box.threshold,
        shift * moved,
    )  # fmt: skip
    # Neither a sum of its terms nor omega overflows, and no term is 0 times a number that did.
    known = size <= sums.largest and shift <= sums.largest and segment.drift[step] < np.inf
    if shift > 0.0:
        # The shift, which may be subnormal, meets the increments that the solver made.
        error += constants.underflow_error * moved + shift * state.increment_error[i]
    error += sums.underflow + segment.drift[step]
    error = error if known else np.inf
    if curvature > 0.0:
        new, knot = value - slope / curvature, box.threshold / curvature
        unclipped = unclipped_bound(constants, error, curvature, off, value, new, knot)
        bound = stored_bound(constants, unclipped, repeats, moved, value, new, knot)
    else:
        # A zero row without a shift: the linear term decides at which end the step ends, K-SVM the upper.
        new, knot, unclipped, bound = finish_flat(box, linear), 0.0, np.inf, np.inf
        decided = known and abs(linear) != box.threshold
        if decided and own + off + shift == 0.0 and abs(new) < np.inf:
            bound = stored_bound(constants, 0.0, repeats, moved, value, new, knot)
    clipped, free = finish(box, new, knot), soft(new, knot)
    after = state_in(box, free)
    end = FREE if after == FREE_STATE else CLIP_LOW if after == LOW_STATE else CLIP_HIGH
    tally.distance[step], tally.bound[step] = abs(logged - clipped), bound
    event(tally, end, segment.first + step)
    event(tally, FIRST_TRANSITION + len(STATES) * state_in(box, value) + after, segment.first + step)
    keep_row(kept, rows, weights, state, drawn, step, 0, 1.0, product, stale, progress)
    j = state.last[0]
    entry = kept.table[step, 0]
    entry[OF_LATE] = state.alpha[j] if j >= 0 and j != i else np.nan
    entry[NEW], entry[UNCLIPPED] = new, unclipped
