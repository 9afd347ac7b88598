"""Judges every block step of logged K-RR windows in float64 by the residual that its increment leaves."""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.step.slack import ridge_slack
from sstep_verify.checks.steps.factors import BOTH, explain
from sstep_verify.checks.steps.ridge_effects import effects_of, note
from sstep_verify.checks.steps.ridge_residual import judged_residual, worst_entry
from sstep_verify.checks.steps.rows import nonzero
from sstep_verify.checks.steps.tally import (
    BOUNDARY,
    CURVATURE,
    FREE,
    KERNEL,
    OFF_DIAGONAL,
    OVERLAP,
    PENALTY,
    REPEATED,
    SAME,
    SAMPLES,
    STALE,
    STREAM,
    TAIL,
    TAIL_STEP,
    THRICE,
    event,
)
from sstep_verify.compiled import compiled_borrowing


@compiled_borrowing
def judge_ridge_steps(rows, state, stretch, inputs, constants, drift, tally):
    """Judge the block steps of some whole windows, one after the other.

    Parameters
    ----------
    rows : Rows
        Kernel rows of the coordinates drawn, their errors, and where each coordinate's row is.
    state : RidgeState
        The run's own a, advanced by the log, and the judge's scratch.
    stretch : Stretch
        Blocks drawn, logged values (steps, b), steps per window, and where in the run they lie.
    inputs : RidgeInputs
        lambda and what rounding the input does.
    constants : RidgeStepConstants
        Of the bounds.
    drift : ndarray, shape (steps,)
        What a state carried beside a adds to each residual's error, in the 2-norm.
    tally : Tally
        Out: distances, bounds, and what was seen.
    """
    alpha, scale = state.alpha, 1.0 / inputs.penalty
    blocks, log, width = stretch.draws, stretch.log, stretch.width
    steps, block = blocks.shape
    held = nonzero(alpha)
    for begin in range(0, steps, width):
        end, support, distinct, most = min(begin + width, steps), held, 0, 0
        tail = stretch.closing and end - begin < width
        for step in range(begin, end):
            repeats = 0
            for place in range(block):
                i = blocks[step, place]
                if state.drawn[i] == 0:
                    state.first[i] = alpha[i]
                state.drawn[i] += 1
                repeats = max(repeats, state.drawn[i])
            iteration = tally.now[0] = stretch.first + step
            event(tally, FREE, iteration)
            if repeats > 1:
                event(tally, REPEATED, iteration)
            if repeats > 2:
                event(tally, THRICE, iteration)
            if tail:
                event(tally, TAIL_STEP, iteration)
            stale_of = end - begin > 1
            corrections = most + (distinct if constants.summed else (step - begin) * block)
            count = (support, corrections, most if constants.summed else 0, held, distinct)
            bound, distance, solved = judged_residual(
                rows, state, blocks[step], log[step], inputs, constants, drift[step], count
            )
            if solved:
                worst = worst_entry(state)
                bound, distance = state.left[worst], abs(state.residual[worst])
            tally.distance[step], tally.bound[step] = distance, bound
            for place in range(block):
                tally.gradient[step, place] = state.right[place]
                tally.gradient_bound[step, place] = state.unsure[place]
            failed = bound < np.inf and not distance <= bound
            if failed:
                tally.failed[0] += 1
            if failed or stretch.sampled[step]:
                tally.planned[0] += 1
            if bound < np.inf and solved and (failed or stretch.sampled[step]):
                tally.looked[0] += 1
                effects_of(rows, state, blocks[step], log[step], scale, stale_of)
                for which, change in ((STALE, 1.0), (SAMPLES, 1.0), (PENALTY, 0.5)):
                    note(tally, which, change, 0.0 if which == STALE else 1.0, state, failed)
                # Of twice the system a solver gets half the increment.
                note(tally, CURVATURE, 0.5, 0.0, state, failed)
                if block > 1:
                    # The increment without them is at least this share of the right one.
                    note(tally, OFF_DIAGONAL, 1.0, constants.modulus / state.diagonal[0], state, failed)
                if stale_of:
                    note(tally, KERNEL, 1.0, 0.0, state, failed)
                    note(tally, SAME, 1.0, 0.0, state, failed)
                    if constants.frozen:
                        note(tally, OVERLAP, 1.0, 0.0, state, failed)
                if state.last[0] >= 0:
                    if step == begin:
                        note(tally, BOUNDARY, 1.0, 0.0, state, failed)
                    note(tally, STREAM, 1.0, 0.0, state, failed)
                if failed:
                    _explain(tally, state, constants.frozen)
                if tail:
                    for place in range(block):
                        state.effects[TAIL, place] = state.effects[CURVATURE, place]
                    note(tally, TAIL, 1.0, 0.0, state, failed)
            for place in range(block):
                i = blocks[step, place]
                increment = log[step, place] - alpha[i]
                size = abs(increment)
                slack = ridge_slack(constants, state.drawn[i], state.moved[i], size, log[step, place])
                held += int(log[step, place] != 0.0) - int(alpha[i] != 0.0)
                if state.drawn[i] == 1:
                    state.listed[distinct] = i
                    distinct += 1
                most = max(most, state.drawn[i])
                alpha[i] = log[step, place]
                state.moved[i] += size
                state.slack[i] += slack
                state.bounded[i] += size + slack
                state.last[place], state.step[place] = i, increment
        for step in range(begin, end):
            for place in range(block):
                i = blocks[step, place]
                state.drawn[i] = 0
                state.slack[i] = 0.0
                state.bounded[i] = state.moved[i] = abs(alpha[i])
                state.start[i] = alpha[i]


@compiled_borrowing
def _explain(tally, state, frozen):
    """Note what a factor on a quantity would have to be to explain the residual of a wrong step."""
    effects = state.effects
    for place in range(state.residual.size):
        left, bound = state.residual[place], state.left[place]
        for which in (STALE, CURVATURE, PENALTY, OFF_DIAGONAL, KERNEL, SAME):
            explain(tally, which, left, effects[which, place], bound)
        if frozen:
            explain(tally, OVERLAP, left, effects[OVERLAP, place], bound)
        explain(tally, BOTH, left, effects[KERNEL, place] + effects[SAME, place], bound)
