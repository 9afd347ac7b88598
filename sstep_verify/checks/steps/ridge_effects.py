"""Effect of each quantity of a K-RR step on the residual of its block system."""

from __future__ import annotations

import numpy as np

from sstep_verify.checks.steps.ridge_residual import norm
from sstep_verify.checks.steps.rows import ENTRIES
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
from sstep_verify.compiled import compiled_borrowing


@compiled_borrowing
def effects_of(rows, state, drawn, logged, scale, stale_of):
    """What each quantity adds to the residual, shape (quantities, b), in ``state.effects``."""
    effects, samples, block = state.effects, float(state.alpha.size), drawn.size
    for place in range(block):
        i = drawn[place]
        row = rows.table[rows.slot[i], ENTRIES]
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
        for place in range(block):
            effects[SAMPLES, place] = samples * state.increment[place]


@compiled_borrowing
def over(vector, bounds):
    """Largest entry over its bound; 0 for a 0, whatever its bound."""
    most = 0.0
    for value, bound in zip(vector, bounds):  # noqa: B905 compiled code knows no strict
        most = _more(most, value, bound)
    return most


@compiled_borrowing
def _more(most, value, bound):
    if value == 0.0:
        return most
    return max(most, abs(value) / bound if bound > 0.0 else np.inf)


@compiled_borrowing
def _without(state, quantity, change):
    """Largest entry over its bound of the residual and a multiple of a quantity's effect."""
    most = 0.0
    for place in range(state.left.size):
        value = state.residual[place] + change * state.effects[quantity, place]
        most = _more(most, value, state.left[place])
    return most


@compiled_borrowing
def note(tally, quantity, change, share, state, failed):
    """Note what an error in a quantity would have shown.

    Parameters
    ----------
    tally : Tally
        Counts.
    quantity : int
        Its number; ``state.effects`` has what a relative change of it adds to the residual, per unit, at
        the logged increment.
    change : float
        The relative change that leaving it out stands for.
    share : float
        What is left of the effect, in the 2-norm, at the increment that a solver without the quantity
        makes, at least; 0 where that solver leaves every entry of the effect as it is.
    state : RidgeState
        The residual and the bounds on its entries.
    failed : bool
        Whether the step is over its bound.
    """
    effect, left = state.effects[quantity], state.left
    size, remainder = over(effect, left), np.inf
    if failed:
        remainder = min(_without(state, quantity, -change), _without(state, quantity, change))
    # Some entry is over its bound by as much as the whole is over the bounds' norm.
    sure = size if share == 0.0 else share * norm(effect) / norm(left)
    note_effects(tally, quantity, change * sure, size, 1.0, remainder, failed)
