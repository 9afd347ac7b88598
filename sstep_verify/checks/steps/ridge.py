"""Judges every block step of logged K-RR windows in float64 by the residual that its increment leaves."""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.step.ridge import solve_error
from sstep_verify.bounds.step.slack import ridge_slack
from sstep_verify.checks.steps.ridge_effects import effects_of, norm, note
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
from sstep_verify.compiled import compiled
from sstep_verify.numerics.rounding import OUTWARD

SQUARE_ROOT_OF_SMALLEST = 2.0**-537
"""Root of the smallest float64 number."""


@compiled
def judge_ridge_steps(rows, state, stretch, inputs, constants, drift, tally):
    """Judge the block steps of some whole windows, one after the other.

    Parameters
    ----------
    rows : RidgeRows
        Kernel rows of the coordinates drawn, their weights, and where each coordinate's row is.
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
    for begin in range(0, steps, width):
        end = min(begin + width, steps)
        tail = stretch.closing and end - begin < width
        for step in range(begin, end):
            repeats = 0
            for place in range(block):
                i = blocks[step, place]
                if state.drawn[i] == 0:
                    state.first[i] = alpha[i]
                state.drawn[i] += 1
                repeats = max(repeats, state.drawn[i])
            iteration = stretch.first + step
            event(tally, FREE, iteration)
            if repeats > 1:
                event(tally, REPEATED, iteration)
            if repeats > 2:
                event(tally, THRICE, iteration)
            if tail:
                event(tally, TAIL_STEP, iteration)
            stale_of = end - begin > 1
            bound, distance, solved = _residual(
                rows, state, blocks[step], log[step], inputs, constants, drift[step]
            )
            tally.distance[step], tally.bound[step] = distance, bound
            for place in range(block):
                tally.gradient[step, place] = state.right[place]
                tally.gradient_bound[step, place] = state.unsure[place]
            failed = bound < np.inf and not distance <= bound
            if failed:
                tally.failed[0] += 1
            if failed or stretch.sampled[step]:
                tally.planned[0] += 1
            if bound < np.inf:
                effects = state.effects
                if solved and (failed or stretch.sampled[step]):
                    tally.looked[0] += 1
                    effects_of(rows, state, blocks[step], log[step], scale, stale_of)
                    for which, change in ((STALE, 1.0), (SAMPLES, 1.0), (PENALTY, 0.5)):
                        note(tally, which, effects[which], change, 1.0, state.residual, bound, failed)
                    # Of twice the system a solver gets half the increment.
                    note(tally, CURVATURE, effects[CURVATURE], 1.0, 0.5, state.residual, bound, failed)
                    if block > 1:
                        # The increment without them is at least this share of the right one.
                        share = constants.modulus / state.diagonal[0]
                        note(
                            tally,
                            OFF_DIAGONAL,
                            effects[OFF_DIAGONAL],
                            1.0,
                            share,
                            state.residual,
                            bound,
                            failed,
                        )
                    if stale_of:
                        note(tally, KERNEL, effects[KERNEL], 1.0, 1.0, state.residual, bound, failed)
                        note(tally, SAME, effects[SAME], 1.0, 1.0, state.residual, bound, failed)
                        if constants.frozen:
                            note(tally, OVERLAP, effects[OVERLAP], 1.0, 1.0, state.residual, bound, failed)
                    if state.last[0] >= 0:
                        if step == begin:
                            note(
                                tally, BOUNDARY, effects[BOUNDARY], 1.0, 1.0, state.residual, bound, failed
                            )
                        note(tally, STREAM, effects[STREAM], 1.0, 1.0, state.residual, bound, failed)
                    if tail:
                        note(tally, TAIL, effects[CURVATURE], 1.0, 1.0, state.residual, bound, failed)
            for place in range(block):
                i = blocks[step, place]
                increment = log[step, place] - alpha[i]
                size = abs(increment)
                slack = ridge_slack(constants, state.drawn[i], state.moved[i], size, log[step, place])
                alpha[i] = log[step, place]
                state.moved[i] += size
                state.bounded[i] += size + slack * (1.0 + constants.residual) / constants.residual
                state.last[place], state.step[place] = i, increment
        for step in range(begin, end):
            for place in range(block):
                i = blocks[step, place]
                state.drawn[i] = 0
                state.bounded[i] = state.moved[i] = abs(alpha[i])
                state.start[i] = alpha[i]


@compiled
def _residual(rows, state, drawn, logged, inputs, constants, drift):
    """Bound on the residual of one block step, its 2-norm, and whether it is one.

    The residual stands in ``state.residual``. An increment that is no number, or larger than any right
    one, is told by its length, and the bound on that; then the last is False.
    """
    alpha, block, scale, samples = state.alpha, drawn.size, 1.0 / inputs.penalty, constants.modulus
    trace = given = system = spread = 0.0
    lost_each = constants.underflow * (1.0 + 1.0 / inputs.least)
    for place in range(block):
        state.unsure[place] = np.inf
    for place in range(block):
        i = drawn[place]
        slot = rows.slot[i]
        row = rows.kernel[slot]
        product = np.dot(row, alpha) * scale
        state.product[place] = product
        state.residual[place] = state.targets[i] - samples * alpha[i] - product
        size = abs(state.targets[i]) + inputs.targets[i] + samples * state.bounded[i]
        error = np.dot(rows.weight[slot], state.bounded) + constants.residual * size
        state.error[place] = error + inputs.targets[i]
        spread = max(spread, state.bounded[i])
        terms = state.error[place] / constants.residual * max(1.0, 2.0 * inputs.penalty)
        # A solver may divide an entry by lambda before it multiplies, be it by 0.
        formed = np.max(rows.weight[slot]) / constants.residual
        if not (terms <= constants.largest and formed <= constants.largest):
            return np.inf, 0.0, False
        state.right[place] = state.residual[place]
        if inputs.least * constants.largest >= 1.0:
            state.unsure[place] = (state.error[place] + lost_each + drift) * OUTWARD
        for other in range(block):
            j = drawn[other]
            entry = row[j] * scale + (samples if other == place else 0.0)
            held, largest = rows.system[slot, j], abs(entry) + rows.weight[slot, j]
            if other == place:
                trace += largest
                state.diagonal[0] = max(state.diagonal[0], largest) if place else largest
            given += held * held
            system += largest * largest
        state.increment[place] = logged[place] - alpha[i]
    if not (trace <= constants.largest and inputs.least * constants.largest >= 1.0):
        return np.inf, 0.0, False
    # Squares that underflow: each is off by half the smallest number at most.
    given = np.sqrt(given) + constants.system * np.sqrt(system) + block * SQUARE_ROOT_OF_SMALLEST
    change = given + solve_error(constants, trace, given, block)
    lost = constants.underflow * (1.0 + 1.0 / inputs.least + trace) * block
    # What an increment may be at most, whatever was logged: G - dG is at least (modulus - change) I. Twice
    # that, and a, are more than its rounding and that of what is stored.
    most = np.inf
    if change < constants.modulus:
        most = (norm(state.residual) + norm(state.error) + lost + drift) / (constants.modulus - change)
        most = 2.0 * (most + np.sqrt(block) * spread)
    length = norm(state.increment)
    if most < constants.largest and not length <= most:
        return most, length, False
    bound, distance = _left_by(rows, state, drawn, logged, scale, constants, change, lost)
    return bound + drift, distance, True


@compiled
def _left_by(rows, state, drawn, logged, scale, constants, change, lost):
    """Bound on what the increment leaves of the right-hand side in ``state.residual``, and its 2-norm."""
    block, samples = drawn.size, constants.modulus
    for place in range(block):
        i, size = drawn[place], abs(state.increment[place])
        state.rounding[place] = ridge_slack(constants, state.drawn[i], state.moved[i], size, logged[place])
    for place in range(block):
        slot = rows.slot[drawn[place]]
        row = rows.kernel[slot]
        applied = reached = error = land = 0.0
        for other in range(block):
            j, moved = drawn[other], abs(state.increment[other])
            entry = row[j] * scale + (samples if other == place else 0.0)
            applied += entry * state.increment[other]
            reached += abs(entry) * moved
            error += rows.weight[slot, j] * moved
            land += (abs(entry) + rows.weight[slot, j]) * state.rounding[other]
        if not reached < constants.largest:
            return np.inf, 0.0
        state.applied[place] = applied
        state.residual[place] -= applied
        state.error[place] += error + constants.judge * reached
        state.spread[place] = land
    bound = norm(state.error) + change * (norm(state.increment) + norm(state.rounding))
    return (bound + norm(state.spread) + lost) * OUTWARD, norm(state.residual)
