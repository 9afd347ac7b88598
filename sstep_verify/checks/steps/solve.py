"""Judges every block step of logged K-RR windows in float64 by the residual that its increment leaves."""

from __future__ import annotations

import numpy as np

from sstep_verify.checks.steps.residual import judged_residual, norm, worst_entry
from sstep_verify.checks.steps.rows import ENTRIES, ERRORS, tell_apart
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
from sstep_verify.compiled import compiled, compiled_borrowing
from sstep_verify.diagnosis.factors import BOTH, DIAGONAL, explain
from sstep_verify.rounding.sums import FROZEN


@compiled_borrowing
def judge_solved_step(rows, state, block, stretch, step, constants, progress, tail, tally, formed):
    """Judge one step, by the entry of its residual that is largest beside its bound.

    Parameters
    ----------
    rows, state, stretch, tally, formed
        As in `windows.judge_steps`.
    block : Block
        Scratch.
    step : int
        Its place in the stretch.
    constants : SolveConstants
        Of the bounds.
    progress : Progress
        What its window did before.
    tail : bool
        Whether that is the run's last, short one.
    """
    drawn, logged = stretch.draws[step], stretch.log[step]
    bound, distance, solved = judged_residual(
        rows, state, block, drawn, logged, constants, stretch.drift[step], progress
    )
    if solved:
        worst = worst_entry(block)
        bound, distance = block.left[worst], abs(block.residual[worst])
    failed = count_step(tally, step, distance, bound, FREE)
    looked, scale = bound < np.inf and solved and (failed or stretch.sampled), 1.0 / constants.penalty
    if failed or stretch.sampled:
        tally.planned[0] += 1
    if looked or formed.value.size:
        tell_apart(rows, state, drawn, scale, progress)
    if formed.value.size:
        _write_down(formed, rows, block, drawn, step)
    if looked:
        tally.looked[0] += 1
        _effects(rows, state, block, drawn, logged, scale)
        _look(tally, state, block, constants, progress.steps == 0, tail, failed)


@compiled
def _write_down(formed, rows, block, drawn, step):
    """What a step formed, for what a run says that it used."""
    for place in range(drawn.size):
        i = drawn[place]
        formed.gradient[step, place] = block.right[place]
        formed.gradient_bound[step, place] = block.right_bound[place]
        for other in range(drawn.size):
            formed.curvature[step, place, other] = block.system[place, other]
            formed.curvature_error[step, place, other] = rows.table[rows.slot[i], ERRORS, drawn[other]]


@compiled_borrowing
def _effects(rows, state, block, drawn, logged, scale):
    """What each quantity adds to the residual, in ``state.effects``, beside the product's parts."""
    effects, samples = state.effects, float(state.alpha.size)
    for place in range(drawn.size):
        i = drawn[place]
        row = rows.table[rows.slot[i], ENTRIES]
        applied, increment, product = block.applied[place], block.increment[place], state.product[place]
        judge_own = row[i] * scale * increment
        effects[CURVATURE, place] = applied
        effects[OVERLAP, place] = samples * (state.alpha[i] - state.first[i])
        effects[SAMPLES, place] = samples * state.alpha[i]
        effects[PENALTY, place] = product + applied - samples * increment
        effects[OFF_DIAGONAL, place] = applied - judge_own - samples * increment
        effects[TAIL, place] = applied
        late = 0.0
        if state.last[0] >= 0:
            for other in range(drawn.size):
                j = state.last[other]
                # The block before, taken again, stays as it is: the log would hold its values.
                entry = row[drawn[other]] * scale + (samples if other == place else 0.0)
                late += entry * (logged[other] - state.alpha[j])
        effects[STREAM, place] = late
    if samples * norm(block.increment) < norm(effects[SAMPLES]):
        # m stands in the right-hand side and on the diagonal: told is where an error shows least.
        for place in range(drawn.size):
            effects[SAMPLES, place] = samples * block.increment[place]


@compiled_borrowing
def _look(tally, state, block, constants, first, tail, failed):
    """Note what an error in each quantity would have shown, and which factors explain a wrong step."""
    frozen = constants.sums.form == FROZEN
    _note(tally, STALE, 1.0, 0.0, state, block, failed)
    _note(tally, SAMPLES, 1.0, 1.0, state, block, failed)
    _note(tally, PENALTY, 0.5, 1.0, state, block, failed)
    # Of twice the system a solver gets half the increment.
    _note(tally, CURVATURE, 0.5, 0.0, state, block, failed)
    if block.left.size > 1:
        largest = 0.0
        for place in range(block.left.size):
            largest = max(largest, block.sizes[place, place])
        # The increment without them is at least this share of the right one.
        _note(tally, OFF_DIAGONAL, 1.0, constants.modulus / largest, state, block, failed)
    _note(tally, KERNEL, 1.0, 0.0, state, block, failed)
    _note(tally, SAME, 1.0, 0.0, state, block, failed)
    if frozen:
        _note(tally, OVERLAP, 1.0, 0.0, state, block, failed)
    if state.last[0] >= 0:
        if first:
            _note(tally, BOUNDARY, 1.0, 0.0, state, block, failed)
        _note(tally, STREAM, 1.0, 0.0, state, block, failed)
    if tail:
        _note(tally, TAIL, 1.0, 0.0, state, block, failed)
    if failed:
        _explain(tally, state.effects, block, float(state.alpha.size), frozen)


@compiled_borrowing
def _note(tally, quantity, change, share, state, block, failed):
    """Note what an error in a quantity would have shown.

    Leaving it out stands for a relative change of it by `change`, each unit of which adds its effect to the
    residual at the logged increment. `share` is what is left of that, in the 2-norm, at the increment
    that a solver without the quantity makes, at least; 0 where that solver leaves every entry as it is.
    """
    effect, left = state.effects[quantity], block.left
    size, remainder = 0.0, np.inf
    for value, bound in zip(effect, left):  # noqa: B905 compiled code knows no strict
        size = _larger(size, value, bound)
    if failed:
        remainder = min(_without(block, effect, -change), _without(block, effect, change))
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
def _explain(tally, effects, block, samples, frozen):
    """Note what a factor on a quantity would have to be to explain the residual of a wrong step."""
    for place in range(block.left.size):
        left, bound = block.residual[place], block.left[place]
        for which in (STALE, CURVATURE, PENALTY, OFF_DIAGONAL, KERNEL, SAME):
            explain(tally, which, left, effects[which, place], bound)
        if frozen:
            explain(tally, OVERLAP, left, effects[OVERLAP, place], bound)
        explain(tally, BOTH, left, effects[KERNEL, place] + effects[SAME, place], bound)
        explain(tally, DIAGONAL, left, samples * block.increment[place], bound)
