"""Judges every block step of logged K-RR windows in float64 by the residual that its increment leaves."""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.rounding import OUTWARD
from sstep_verify.bounds.step_ridge import solve_error
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
    saw,
)
from sstep_verify.compiled import compiled

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
            if bound < np.inf:
                failed = not distance <= bound
                if failed:
                    tally.failed[0] += 1
                effects = state.effects
                if solved and (failed or stretch.sampled[step]):
                    tally.looked[0] += 1
                    _effects(rows, state, blocks[step], log[step], scale, stale_of)
                    for which, dose in ((STALE, 1.0), (SAMPLES, 1.0), (PENALTY, 0.5)):
                        _saw(tally, which, effects[which], dose, 1.0, state.residual, bound, failed)
                    # Of twice the system a solver gets half the increment.
                    _saw(tally, CURVATURE, effects[CURVATURE], 1.0, 0.5, state.residual, bound, failed)
                    if block > 1:
                        # The increment without them is at least this share of the right one.
                        share = constants.modulus / state.diagonal[0]
                        _saw(
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
                        _saw(tally, KERNEL, effects[KERNEL], 1.0, 1.0, state.residual, bound, failed)
                        _saw(tally, SAME, effects[SAME], 1.0, 1.0, state.residual, bound, failed)
                        if constants.frozen:
                            _saw(tally, OVERLAP, effects[OVERLAP], 1.0, 1.0, state.residual, bound, failed)
                    if state.last[0] >= 0:
                        if step == begin:
                            _saw(
                                tally, BOUNDARY, effects[BOUNDARY], 1.0, 1.0, state.residual, bound, failed
                            )
                        _saw(tally, STREAM, effects[STREAM], 1.0, 1.0, state.residual, bound, failed)
                    if tail:
                        _saw(tally, TAIL, effects[CURVATURE], 1.0, 1.0, state.residual, bound, failed)
            for place in range(block):
                i = blocks[step, place]
                increment = log[step, place] - alpha[i]
                size = abs(increment)
                slack = constants.u * abs(log[step, place])
                if constants.frozen:
                    slack = 2.0 * _landing(constants, state.drawn[i], state.moved[i] + size)
                alpha[i] = log[step, place]
                state.moved[i] += size
                state.reach[i] += size + slack * (1.0 + constants.residual) / constants.residual
                state.last[place], state.step[place] = i, increment
        for step in range(begin, end):
            for place in range(block):
                i = blocks[step, place]
                state.drawn[i] = 0
                state.reach[i] = state.moved[i] = abs(alpha[i])
                state.start[i] = alpha[i]


@compiled
def _landing(constants, draws, size):
    """How far sums of a frozen coordinate's increments may be from exact ones."""
    k = (draws + 2) * constants.u
    return k / (1.0 - k) * size * OUTWARD


@compiled
def _residual(rows, state, drawn, logged, inputs, constants, drift):
    """Bound on the residual of one block step, its 2-norm, and whether it is one.

    The residual stands in ``state.residual``. An increment that is no number, or larger than any right
    one, is told by its length, and the bound on that; then the last is False.
    """
    alpha, block, scale, samples = state.alpha, drawn.size, 1.0 / inputs.penalty, constants.modulus
    trace = given = system = spread = 0.0
    for place in range(block):
        i = drawn[place]
        slot = rows.slot[i]
        row = rows.kernel[slot]
        product = np.dot(row, alpha) * scale
        state.product[place] = product
        state.residual[place] = state.targets[i] - samples * alpha[i] - product
        size = abs(state.targets[i]) + inputs.targets[i] + samples * state.reach[i]
        error = np.dot(rows.weight[slot], state.reach) + constants.residual * size
        state.error[place] = error + inputs.targets[i]
        spread = max(spread, state.reach[i])
        terms = state.error[place] / constants.residual * max(1.0, 2.0 * inputs.penalty)
        if not terms <= constants.largest:
            return np.inf, 0.0, False
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
        most = (_norm(state.residual) + _norm(state.error) + lost + drift) / (constants.modulus - change)
        most = 2.0 * (most + np.sqrt(block) * spread)
    length = _norm(state.increment)
    if most < constants.largest and not length <= most:
        return most, length, False
    bound, distance = _left_by(rows, state, drawn, logged, scale, constants, change, lost)
    return bound + drift, distance, True


@compiled
def _left_by(rows, state, drawn, logged, scale, constants, change, lost):
    """Bound on what the increment leaves of the right-hand side in ``state.residual``, and its 2-norm."""
    block, samples = drawn.size, constants.modulus
    for place in range(block):
        rounding = constants.u * abs(logged[place])
        if constants.frozen:
            i = drawn[place]
            size = state.moved[i] + abs(state.increment[place])
            rounding = 2.0 * _landing(constants, state.drawn[i], size)
        state.rounding[place] = rounding
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
    bound = _norm(state.error) + change * (_norm(state.increment) + _norm(state.rounding))
    return (bound + _norm(state.spread) + lost) * OUTWARD, _norm(state.residual)


@compiled
def _norm(vector):
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
def _effects(rows, state, drawn, logged, scale, stale_of):
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
    if samples * _norm(state.increment) < _norm(effects[SAMPLES]):
        # m stands in the right-hand side and on the diagonal: told is where an error shows least.
        effects[SAMPLES, :] = samples * state.increment


@compiled
def _saw(tally, quantity, effect, dose, share, residual, bound, failed):
    """Note what an error in a quantity would have shown.

    Parameters
    ----------
    tally : Tally
        Counts.
    quantity : int
        Its number.
    effect : ndarray, shape (b,)
        What a relative change of it adds to the residual, per unit, at the logged increment.
    dose : float
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
    size, remainder = _norm(effect), np.inf
    if failed:
        remainder = min(_norm(residual - dose * effect), _norm(residual + dose * effect))
    saw(tally, quantity, dose * share * size, size, bound, remainder, failed)
