"""Effect of each quantity of a K-RR step on the residual of its block system."""

from __future__ import annotations

import numpy as np

from sstep_verify.checks.steps.tally import (
    BOUNDARY,
    CURVATURE,
    KERNEL,
    OFF_DIAGONAL,
    OVERLAP,
    PENALTY,
    SAME,
    SAMPLES,
    STALE,
    STREAM,
    note_effects,
)
from sstep_verify.compiled import compiled


@compiled
def norm(vector):
    """2-norm that neither overflows nor underflows where the largest entry does not."""
    largest = 0.0
    for value in vector:
        if not abs(value) <= largest:
            largest = abs(value)
        if largest != largest:
            return largest
    if not 0.0 < largest < np.inf:
        return largest
    total = 0.0
    for value in vector:
        total += (value / largest) ** 2
    return np.sqrt(total) * largest


@compiled
def effects_of(rows, state, drawn, logged, scale, stale_of):
    """What each quantity adds to the residual, shape (quantities, b), in ``state.effects``."""
    effects, samples, block = state.effects, float(state.alpha.size), drawn.size
    for place in range(block):
        i = drawn[place]
        row = rows.kernel[rows.slot[i]]
        applied, increment = state.applied[place], state.increment[place]
        own = row[i] * scale * increment
        product = state.product[place]
        stale = product
        if stale_of:
            stale = np.dot(row, state.start) * scale
        moved = state.alpha[i] - state.first[i]
        same = row[i] * scale * moved
        effects[STALE, place] = stale
        effects[CURVATURE, place] = applied
        effects[KERNEL, place] = product - stale - same
        effects[SAME, place] = same
        effects[OVERLAP, place] = samples * moved
        effects[SAMPLES, place] = samples * state.alpha[i]
        effects[PENALTY, place] = product + applied - samples * increment
        effects[OFF_DIAGONAL, place] = applied - own - samples * increment
        boundary = late = 0.0
        if state.last[0] >= 0:
            for other in range(block):
                j = state.last[other]
                if j != i:
                    boundary += row[j] * scale * state.step[other]
                # The block before, taken again, stays as it is: the log would hold its values.
                entry = row[drawn[other]] * scale + (samples if other == place else 0.0)
                late += entry * (logged[other] - state.alpha[j])
        effects[BOUNDARY, place] = boundary
        effects[STREAM, place] = late
    if samples * norm(state.increment) < norm(effects[SAMPLES]):
        # m stands in the right-hand side and on the diagonal: told is where an error shows least.
        effects[SAMPLES, :] = samples * state.increment


@compiled
def note(tally, quantity, effect, change, share, residual, bound, failed):
    """Note what an error in a quantity would have shown.

    Parameters
    ----------
    tally : Tally
        Counts.
    quantity : int
        Its number.
    effect : ndarray, shape (b,)
        What a relative change of it adds to the residual, per unit, at the logged increment.
    change : float
        The relative change that leaving it out stands for.
    share : float
        What is left of the effect at the increment that a solver without the quantity makes, at least.
    residual : ndarray, shape (b,)
        The residual.
    bound : float
        Bound on it.
    failed : bool
        Whether the step is over its bound.
    """
    size, remainder = norm(effect), np.inf
    if failed:
        remainder = min(norm(residual - change * effect), norm(residual + change * effect))
    note_effects(tally, quantity, change * share * size, size, bound, remainder, failed)
