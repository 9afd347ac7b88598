"""What the increment of a K-RR block step leaves of its right-hand side, and how much may be left."""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.step.slack import ridge_slack
from sstep_verify.bounds.step.solve import LU, factored, solve_error, solve_errors, solve_numbers
from sstep_verify.checks.steps.rows import ENTRIES, ERRORS, rounded_terms, row_terms
from sstep_verify.compiled import compiled_borrowing
from sstep_verify.numerics.rounding import OUTWARD

SMALLEST = 2.0**-1074
"""Smallest float64 number."""

SQUARE_ROOT_OF_SMALLEST = 2.0**-537
"""Root of the smallest float64 number."""


@compiled_borrowing
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


@compiled_borrowing
def worst_entry(state):
    """Place of the entry of a residual that is largest beside its bound, or of the first NaN."""
    worst, most = 0, -1.0
    for place in range(state.left.size):
        ratio = abs(state.residual[place]) / state.left[place]
        if ratio != ratio:
            return place
        if ratio > most:
            worst, most = place, ratio
    return worst


@compiled_borrowing
def judged_residual(rows, state, drawn, logged, inputs, constants, drift, count):
    """Set the residual of one block step, and bounds on its entries: ``state.residual``, ``state.left``.

    An increment that is no number, or longer than any right one, leaves no residual: its length is told.

    Parameters
    ----------
    rows, state, inputs, constants
        As in `judge_ridge_steps`.
    drawn, logged : ndarray, shape (b,)
        Coordinates of the block and their logged values.
    drift : float
        What a state carried beside a adds to the residual's error, in the 2-norm.
    count : tuple of (int, int, int, int, int)
        Nonzero entries of a at the window's start, additions that the corrections take, those of them
        within one coordinate's increments, nonzero entries of a before the step, coordinates that the
        window drew before.

    Returns
    -------
    bound, distance : float
        Where there is no residual: bound on the length of the increment, infinite where nothing is
        promised, and that length.
    solved : bool
        Whether there is one.
    """
    for place in range(drawn.size):
        state.unsure[place] = state.left[place] = np.inf
    if not _right_hand_side(rows, state, drawn, inputs, constants, drift, count):
        return np.inf, 0.0, False
    trace, given, doubt = _block_system(state, constants)
    if not (trace <= constants.largest and inputs.least * constants.largest >= 1.0):
        return np.inf, 0.0, False
    block, spread = drawn.size, 0.0
    for place in range(block):
        i = drawn[place]
        spread = max(spread, state.bounded[i])
        state.increment[place] = logged[place] - state.alpha[i]
    change = given + solve_error(constants, trace, given, block)
    lost = constants.underflow * (1.0 + 1.0 / inputs.least + constants.growth * trace) * block
    # What an increment may be at most, whatever was logged: G - dG is at least (modulus - change) I. Twice
    # that, and a, are more than its rounding and that of what is stored.
    most, right = np.inf, norm(state.residual) + norm(state.error) + lost + drift
    if change < constants.modulus:
        most = 2.0 * (right / (constants.modulus - change) + np.sqrt(block) * spread)
    length = norm(state.increment)
    if not solve_numbers(constants, trace, given, block, right + min(most, length)) <= constants.largest:
        return np.inf, 0.0, False
    if most < constants.largest and not length <= most:
        return most, length, False
    shared = _left(state, drawn, logged, constants, (trace, given, doubt))
    for place in range(block):
        state.left[place] = (state.left[place] + shared + lost + drift) * OUTWARD
    return np.inf, 0.0, True


@compiled_borrowing
def _right_hand_side(rows, state, drawn, inputs, constants, drift, count):
    """Set the right-hand side r, bounds on its error, and G; False where a number may overflow."""
    scale, samples = 1.0 / inputs.penalty, constants.modulus
    lost_each = constants.underflow * (1.0 + 1.0 / inputs.least)
    support, corrections, repeats, held, distinct = count
    counted = (support, corrections, repeats, held)
    for place in range(drawn.size):
        i = drawn[place]
        slot = rows.slot[i]
        product = np.dot(rows.table[slot, ENTRIES], state.alpha) * scale
        state.product[place] = product
        state.residual[place] = state.right[place] = state.targets[i] - samples * state.alpha[i] - product
        size = abs(state.targets[i]) + inputs.targets[i]
        total, error = row_terms(rows, slot, state, distinct)
        own = samples * state.bounded[i]
        total += own + size
        terms = (total + error + inputs.targets[i]) * max(1.0, 2.0 * inputs.penalty)
        error += rounded_terms(rows, slot, state, constants.roundings, counted, (total, own, size))
        state.error[place] = error + samples * state.slack[i] + inputs.targets[i]
        _row_of_system(rows, slot, state, drawn, place, scale, samples)
        # A solver may divide an entry by lambda before it multiplies, be it by 0.
        if not (terms <= constants.largest and rows.largest[slot] <= constants.largest):
            return False
        if inputs.least * constants.largest >= 1.0:
            state.unsure[place] = (state.error[place] + lost_each + drift) * OUTWARD
    return True


@compiled_borrowing
def _row_of_system(rows, slot, state, drawn, place, scale, samples):
    """Set a row of the judge's G, and bounds on its entries, while the kernel row is at hand."""
    for other in range(drawn.size):
        j = drawn[other]
        entry = rows.table[slot, ENTRIES, j] * scale + (samples if other == place else 0.0)
        state.system[place, other] = entry
        state.sizes[place, other] = abs(entry) + rows.table[slot, ERRORS, j]
        state.given[place, other] = rows.system[slot, j]
        state.own[place, other] = rows.own[slot, j] * scale


@compiled_borrowing
def _block_system(state, constants):
    """What is known of G as a whole.

    Returns its trace at most, the Frobenius norm of the errors of the solver's entries, and how far the
    matrices that the two factor may be from G.
    """
    block = state.left.size
    trace = given = system = own = 0.0
    for place in range(block):
        diagonal = state.sizes[place, place]
        trace += diagonal
        state.diagonal[0] = max(state.diagonal[0], diagonal) if place else diagonal
        for other in range(block):
            given += state.given[place, other] ** 2
            system += state.sizes[place, other] ** 2
            own += state.own[place, other] ** 2
    # Squares that underflow: each is off by half the smallest number at most.
    tiny = block * SQUARE_ROOT_OF_SMALLEST
    given = np.sqrt(given) + constants.system * np.sqrt(system) + tiny
    doubt = (
        2.0 * (given + np.sqrt(own) + constants.system * np.sqrt(system) + tiny) + constants.doubt * trace
    )
    return trace, given, doubt


@compiled_borrowing
def _left(state, drawn, logged, constants, held):
    """Set the residual and bounds on its entries, and return what all of these have in common beside."""
    block = drawn.size
    trace, given, doubt = held
    for place in range(block):
        i, size = drawn[place], abs(state.increment[place])
        state.rounding[place] = ridge_slack(constants, state.drawn[i], state.moved[i], size, logged[place])
        state.reach[place] = size + state.rounding[place]
    for place in range(block):
        applied = reached = error = 0.0
        for other in range(block):
            moved, largest = abs(state.increment[other]), state.sizes[place, other]
            applied += state.system[place, other] * state.increment[other]
            reached += abs(state.system[place, other]) * moved
            error += (state.given[place, other] + constants.system * largest) * state.reach[other]
            error += largest * state.rounding[other]
            if constants.judge > 0.0:
                error += (state.own[place, other] + SMALLEST) * moved
        if not reached < constants.largest:
            return np.inf
        state.applied[place] = applied
        state.residual[place] -= applied
        state.left[place] = state.error[place] + error + constants.judge * reached
    shared = np.inf
    change = solve_error(constants, trace, given, block)
    if not change < np.inf:
        return np.inf
    if (constants.factorisation != LU or block == 1) and factored(state.system, state.factor):
        shared = solve_errors(constants, state.factor, state.reach, doubt, trace, state.left)
    return min(shared, change) * norm(state.reach)
