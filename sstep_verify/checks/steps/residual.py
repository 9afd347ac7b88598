"""What the increment of a K-RR block step leaves of its right-hand side, and how much may be left."""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.step.residual import factored, solve_errors, solve_underflow
from sstep_verify.checks.steps.rows import ENTRIES, ERRORS, right_hand_side_error, tell_apart
from sstep_verify.compiled import compiled_borrowing
from sstep_verify.rounding.arithmetic import OUTWARD
from sstep_verify.rounding.block.factorisation import LU, solve_error, solve_numbers
from sstep_verify.rounding.sums import increment_error

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
def _worst_entry(block):
    """Place of the entry of a residual that is largest beside its bound, or of the first NaN."""
    worst, most = 0, -1.0
    for place in range(block.left.size):
        ratio = abs(block.residual[place]) / block.left[place]
        if ratio != ratio:
            return place
        if ratio > most:
            worst, most = place, ratio
    return worst


@compiled_borrowing
def judged_residual(rows, state, block, stretch, step, constants, progress):
    """Set the residual of one block step, and bounds on its entries, in `block`.

    An increment that is no number, or longer than any right one, leaves no residual.
    Returns bound and size of the entry that is largest beside its bound, or of the increment where there is
    no residual, the bound infinite where nothing is promised; and whether there is one.
    """
    drawn, logged, drift = stretch.draws[step], stretch.log[step], stretch.drift[step]
    largest = constants.sums.largest
    known = _right_hand_side(rows, state, block, drawn, constants, drift, progress, stretch.sampled)
    trace, given, doubt = _block_system(block, constants)
    for place in range(drawn.size):
        block.left[place] = np.inf
    if not (known and trace <= largest and constants.penalty * largest >= 1.0):
        return np.inf, 0.0, False
    count, spread = drawn.size, 0.0
    for place in range(count):
        i = drawn[place]
        spread = max(spread, state.bounded[i])
        block.increment[place] = logged[place] - state.alpha[i]
    backward = solve_error(constants.factors, trace, given, 0.0, count)
    change = given + backward
    underflow_error = solve_underflow(constants, trace, count)
    # What an increment may be at most, whatever was logged: G - dG is at least (modulus - change) I. Twice
    # that, and a, are more than its rounding and that of what is stored.
    most, right = np.inf, norm(block.right) + norm(block.error) + underflow_error + drift
    if change < constants.factors.modulus:
        most = 2.0 * (right / (constants.factors.modulus - change) + np.sqrt(count) * spread)
    length = norm(block.increment)
    if not solve_numbers(constants.factors, trace, given, count, right + min(most, length)) <= largest:
        return np.inf, 0.0, False
    if most < largest and not length <= most:
        return most, length, False
    shared = _left(state, block, drawn, logged, constants, (trace, backward, doubt))
    for place in range(count):
        block.left[place] = (block.left[place] + shared + underflow_error + drift) * OUTWARD
    worst = _worst_entry(block)
    return block.left[worst], abs(block.residual[worst]), True


@compiled_borrowing
def _right_hand_side(rows, state, block, drawn, constants, drift, progress, looked):
    """Set the right-hand side r, bounds on its error, and G; False where a number may overflow.

    Of a step that is `looked` at, the parts of the products are told apart while their rows are at hand.
    """
    scale, samples, sums = 1.0 / constants.penalty, constants.factors.modulus, constants.sums
    underflow_error = sums.underflow * (1.0 + 1.0 / constants.penalty)
    additions = progress.distinct if sums.summed else progress.steps * drawn.size
    corrections = (progress.most + additions, progress.most if sums.summed else 0)
    known = True
    for place in range(drawn.size):
        i = drawn[place]
        slot = rows.slot[i]
        product = np.dot(rows.table[slot, ENTRIES], state.alpha) * scale
        state.product[place] = product
        block.right[place] = state.linear[i] - samples * state.alpha[i] - product
        size, own_size = abs(state.linear[i]), samples * state.bounded[i]
        error, terms = right_hand_side_error(rows, slot, state, sums, progress, corrections, size, own_size)
        terms *= max(1.0, 2.0 * constants.penalty)
        block.error[place] = error + samples * state.increment_error[i]
        # The parts of the product, and a row of G, while the kernel row is at hand.
        if looked:
            tell_apart(rows, state, drawn, place, scale, progress)
        for other in range(drawn.size):
            j = drawn[other]
            entry = rows.table[slot, ENTRIES, j] * scale + (samples if other == place else 0.0)
            block.system[place, other] = entry
            block.sizes[place, other] = abs(entry) + rows.table[slot, ERRORS, j]
            block.given[place, other] = rows.given[slot, j, 0]
            block.judge_error[place, other] = rows.given[slot, j, 1] * scale
        # A solver may divide an entry by lambda before it multiplies, be it by 0.
        known = known and terms <= sums.largest and rows.largest[slot] <= sums.largest
        block.right_bound[place] = np.inf
        if known and constants.penalty * sums.largest >= 1.0:
            block.right_bound[place] = (block.error[place] + underflow_error + drift) * OUTWARD
    return known


@compiled_borrowing
def _block_system(block, constants):
    """What is known of G as a whole.

    Returns its trace at most, the Frobenius norm of the errors of the solver's entries, and how far the
    matrices that the two factor may be from G.
    """
    count = block.left.size
    trace = given = system = judge_error = 0.0
    for place in range(count):
        trace += block.sizes[place, place]
        for other in range(count):
            given += block.given[place, other] ** 2
            system += block.sizes[place, other] ** 2
            judge_error += block.judge_error[place, other] ** 2
    # Squares that underflow: each is off by half the smallest number at most.
    underflow_error = count * SQUARE_ROOT_OF_SMALLEST
    given = np.sqrt(given) + constants.system * np.sqrt(system) + underflow_error
    doubt = given + np.sqrt(judge_error) + constants.system * np.sqrt(system) + underflow_error
    return trace, given, 2.0 * doubt + constants.doubt * trace


@compiled_borrowing
def _left(state, block, drawn, logged, constants, of_system):
    """Set the residual and bounds on its entries, and return what all of these have in common beside."""
    count = drawn.size
    trace, backward, doubt = of_system
    for place in range(count):
        i, size = drawn[place], abs(block.increment[place])
        error = increment_error(constants.sums, state.drawn[i], state.moved[i], size, logged[place])
        block.rounding[place], block.reach[place] = error, size + error
    for place in range(count):
        applied = reached = error = 0.0
        for other in range(count):
            moved, largest = abs(block.increment[other]), block.sizes[place, other]
            applied += block.system[place, other] * block.increment[other]
            reached += abs(block.system[place, other]) * moved
            error += (block.given[place, other] + constants.system * largest) * block.reach[other]
            error += largest * block.rounding[other]
            if constants.judge > 0.0:
                error += (block.judge_error[place, other] + SMALLEST) * moved
        if not reached < constants.sums.largest:
            return np.inf
        block.applied[place], block.residual[place] = applied, block.right[place] - applied
        block.left[place] = block.error[place] + error + constants.judge * reached
    shared = np.inf
    if not backward < np.inf:
        return np.inf
    if (constants.factors.kind != LU or count == 1) and factored(block.system, block.factor):
        shared = solve_errors(constants, block.factor, block.reach, doubt, trace, block.left)
    return min(shared, backward) * norm(block.reach)
