"""Judges every block step of logged K-RR windows in float64 by the residual that its increment leaves."""

from __future__ import annotations

import numpy as np

from sstep_verify.checks.steps.residual import judged_residual, norm
from sstep_verify.checks.steps.rows import ENTRIES, tell_apart
from sstep_verify.checks.steps.tally import (
    BOUNDARY,
    CURVATURE,
    FREE,
    KERNEL,
    OFF_DIAGONAL,
    OVERLAP,
    PENALTY,
    SAME,
    SAMPLES,
    STALE,
    STREAM,
    TAIL,
    count_step,
    note_effects,
)
from sstep_verify.compiled import compiled_borrowing
from sstep_verify.diagnosis.factors import BOTH, DIAGONAL, explain
from sstep_verify.rounding.sums import FROZEN

QUANTITIES = (
    STALE, SAMPLES, PENALTY, CURVATURE, OFF_DIAGONAL, KERNEL, SAME, OVERLAP, BOUNDARY, STREAM, TAIL,
)  # fmt: skip
"""Quantities of a step."""


@compiled_borrowing
def judge_solved_step(rows, state, block, stretch, step, constants, progress, tail, tally):
    """Judge one step, by the entry of its residual that is largest beside its bound.

    `step` is its place in the stretch, `constants` are those of the bounds, `progress` is what its window
    did before, and `tail` whether that is the run's last, short one; the rest is as for `judge_steps`.
    """
    drawn = stretch.draws[step]
    bound, distance, solved = judged_residual(rows, state, block, stretch, step, constants, progress)
    failed = count_step(tally, step, distance, bound, FREE)
    if not (failed or stretch.sampled):
        return
    tally.planned[0] += 1
    if bound < np.inf and solved:
        tally.looked[0] += 1
        for place in range(0 if stretch.sampled else drawn.size):
            tell_apart(rows, state, drawn, place, 1.0 / constants.penalty, progress)
        _effects(rows, state, block, drawn, stretch.log[step], constants, tail)
        for quantity in QUANTITIES:
            # A log that leads to its run is of draws that were followed.
            _note(tally, quantity, state, block, constants, failed and quantity != STREAM)
        if failed:
            _explain(tally, state.effects, block, constants.factors.modulus)


@compiled_borrowing
def _effects(rows, state, block, drawn, logged, constants, tail):
    """What each quantity adds to the residual, in ``state.effects``, beside the product's parts.

    That is 0 where it does not act.
    """
    effects, samples, scale = state.effects, constants.factors.modulus, 1.0 / constants.penalty
    for place in range(drawn.size):
        i = drawn[place]
        row = rows.table[rows.slot[i], ENTRIES]
        applied, increment, product = block.applied[place], block.increment[place], state.product[place]
        others = applied - row[i] * scale * increment - samples * increment
        frozen = samples * (state.alpha[i] - state.first[i])
        effects[CURVATURE, place] = applied
        effects[OVERLAP, place] = frozen if constants.sums.form == FROZEN else 0.0
        effects[SAMPLES, place] = samples * state.alpha[i]
        effects[PENALTY, place] = product + applied - samples * increment
        effects[OFF_DIAGONAL, place] = others if drawn.size > 1 else 0.0
        effects[TAIL, place] = applied if tail else 0.0
        late = 0.0
        if state.last[0] >= 0:
            for other in range(drawn.size):
                j = state.last[other]
                # The block before, taken again, stays as it is: the log would hold its values.
                late += block.system[place, other] * (logged[other] - state.alpha[j])
        effects[STREAM, place] = late
    if samples * norm(block.increment) < norm(effects[SAMPLES]):
        # m stands in the right-hand side and on the diagonal: told is where an error shows least.
        for place in range(drawn.size):
            effects[SAMPLES, place] = samples * block.increment[place]


@compiled_borrowing
def _note(tally, quantity, state, block, constants, failed):
    """Note what an error in a quantity would have shown.

    A relative change of it adds its effect to the residual at the logged increment, per unit. Leaving it
    out stands for a change by 1; of twice the system, or of K / lambda, a solver gets half the increment.
    """
    effect, left = state.effects[quantity], block.left
    size, remainder, share = 0.0, np.inf, 0.0
    change = 0.5 if quantity in (PENALTY, CURVATURE) else 1.0
    for value, bound in zip(effect, left):  # noqa: B905 compiled code knows no strict
        size = _larger(size, value, bound)
    if failed:
        remainder = min(_without(block, effect, -change), _without(block, effect, change))
    # What is left of the effect, in the 2-norm, at the increment that a solver without the quantity makes,
    # at least; 0 where that solver leaves every entry as it is.
    if quantity in (SAMPLES, PENALTY):
        share = 1.0
    elif quantity == OFF_DIAGONAL:
        largest = 0.0
        for place in range(left.size):
            largest = max(largest, block.size[place])
        # The increment without them is at least this share of the right one.
        share = constants.factors.modulus / largest
    # Some entry is over its bound by as much as the whole is over the bounds' norm.
    sure = size if share == 0.0 else share * norm(effect) / norm(left)
    note_effects(tally, quantity, change * sure, size, 1.0, remainder, failed)


@compiled_borrowing
def _larger(most, value, bound):
    """The larger of a ratio and that of an entry and its bound; that of a 0 is 0, whatever its bound."""
    if value == 0.0:
        return most
    return max(most, abs(value) / bound if bound > 0.0 else np.inf)


@compiled_borrowing
def _without(block, effect, change):
    """Largest entry over its bound of the residual and a multiple of a quantity's effect."""
    most = 0.0
    for place in range(effect.size):
        value = block.residual[place] + change * effect[place]
        most = _larger(most, value, block.left[place])
    return most


@compiled_borrowing
def _explain(tally, effects, block, samples):
    """Note what a factor on a quantity would have to be to explain the residual of a wrong step."""
    for place in range(block.left.size):
        left, bound = block.residual[place], block.left[place]
        for quantity in (STALE, CURVATURE, PENALTY, OFF_DIAGONAL, KERNEL, SAME, OVERLAP):
            explain(tally, quantity, left, effects[quantity, place], bound)
        explain(tally, BOTH, left, effects[KERNEL, place] + effects[SAME, place], bound)
        explain(tally, DIAGONAL, left, samples * block.increment[place], bound)
