"""What the increment of a K-RR block step leaves of its right-hand side, and how much may be left."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.bounds.step.residual import factored, solve_errors, solve_underflow
from sstep_verify.checks.steps.kept import OF_LATE
from sstep_verify.checks.steps.rows import ENTRIES, ERRORS, keep_row, right_hand_side_error, row_sums
from sstep_verify.compiled import inlined
from sstep_verify.rounding.arithmetic import ROUND_UP
from sstep_verify.rounding.block.factorisation import LU, solve_error, solve_numbers
from sstep_verify.rounding.sums import increment_error, unequal_error

SQUARE_ROOT_OF_SMALLEST = 2.0**-537
"""Root of the smallest float64 number."""


class Block(NamedTuple):
    """Scratch of one block step.

    Parameters
    ----------
    right, error : ndarray, shape (b,)
        Right-hand side, and bounds on its errors.
    rounding, reach : ndarray, shape (b,)
        e_t of the logged increment, and its size together with that.
    again : ndarray, shape (b,)
        The logged values less those of the block drawn before; 0 where there is none.
    applied_error : ndarray, shape (b,)
        Bounds on the errors of G times the increment.
    system, factor : ndarray, shape (b, b)
        The block system G, and its Cholesky factor.
    times, final : ndarray of int64, shape (b,)
        How often the block holds each coordinate, and the place of its last draw.
    apart : ndarray, shape (1,)
        Bound on the 2-norm of what the increments of equal coordinates differ by from their means.
    """

    right: np.ndarray
    error: np.ndarray
    rounding: np.ndarray
    reach: np.ndarray
    again: np.ndarray
    applied_error: np.ndarray
    system: np.ndarray
    factor: np.ndarray
    times: np.ndarray
    final: np.ndarray
    apart: np.ndarray


def block_of(block: int) -> Block:
    """Scratch for steps of b coordinates."""
    counts = np.ones(block, dtype=np.int64), np.arange(block), np.zeros(1)
    return Block._make((*np.zeros((6, block)), *np.zeros((2, block, block)), *counts))


@inlined
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


NEGLIGIBLE = 2.0**-10
"""Growth of a bound over what makes it grow of which no sharper bound is looked for."""


@inlined
def _smallest_eigenvalue(block, doubt, trace, modulus):
    """The smallest eigenvalue of G at least: m, or what the inverse of its factor says, where that is more.

    G = U'U but for `doubt`, and the square of the Frobenius norm of U^-1 is the trace of (U'U)^-1. Columns
    of U^-1 by substitution are off by ``gamma_b |U^-1||U|`` of themselves (Higham 2002, Theorem 8.5), of
    a norm that the root of ``b trace / m`` bounds.
    """
    count, total = block.system.shape[0], 0.0
    lost = 2.0**-52 * count**2 * np.sqrt(count * trace / modulus)
    if not lost <= 2.0**-7 or not factored(block.system, block.factor):
        return modulus
    for column in range(count):
        solved = block.system[column]  # No longer needed: the factor holds all of it.
        for row in range(column, -1, -1):
            rest = 1.0 if row == column else 0.0
            for place in range(row + 1, column + 1):
                rest -= block.factor[row, place] * solved[place]
            solved[row] = rest / block.factor[row, row]
            total += solved[row] ** 2
    return max(modulus, (1.0 - 2.0**-5) / total - doubt) if total > 0.0 else modulus


@inlined
def _worst_entry(residual, left):
    """Place of the entry of a residual that is largest relative to its bound, or of the first NaN."""
    worst, most = 0, -1.0
    for place in range(left.size):
        ratio = abs(residual[place]) / left[place]
        if ratio != ratio:
            return place
        if ratio > most:
            worst, most = place, ratio
    return worst


@inlined
def judged_residual(rows, state, block, segment, step, constants, progress, kept):
    """Set the residual of one block step, and bounds on its entries, in `kept`.

    An increment that is no number, or longer than any right one, leaves no residual.
    Returns bound and size of the entry that is largest relative to its bound, or of the increment where
    there is no residual, the bound infinite where nothing is promised; and whether there is one.
    """
    drawn, logged, drift = segment.draws[step], segment.log[step], segment.drift[step]
    largest, count = constants.sums.largest, drawn.size
    left, increment = kept.left[step], kept.increment[step]
    for place in range(count):
        left[place] = np.inf
    kept.growth[step] = np.inf
    spread, most_often = _increment(state, block, increment, drawn, logged, constants.sums)
    block.apart[0] = largest if most_often > 1 else 0.0
    system = _equations(rows, state, block, drawn, step, constants, progress, kept)
    known, within, trace, given, doubt = system
    if not (known and trace <= largest and constants.penalty * largest >= 1.0):
        return np.inf, 0.0, False
    backward = solve_error(constants.factors, trace, given, 0.0, count)
    change = given + backward
    underflow_error = solve_underflow(constants, trace, count)
    # What an increment may be at most, whatever was logged: G - dG is at least (modulus - change) I. Twice
    # that, and a, are more than its rounding and that of what is stored.
    most, right = np.inf, norm(block.right) + norm(block.error) + underflow_error + drift
    if change < constants.factors.modulus:
        most = 2.0 * (right / (constants.factors.modulus - change) + np.sqrt(count) * spread)
    length = norm(increment)
    if not solve_numbers(constants.factors, trace, given, count, right + min(most, length)) <= largest:
        return np.inf, 0.0, False
    if most < largest and not length <= most:
        return most, length, False
    unequal, shared = 0.0, np.inf
    if most_often > 1:
        if not change < constants.factors.modulus:
            return np.inf, 0.0, False
        wrong = norm(block.error) + underflow_error + drift + change * norm(block.reach)
        unequal = _unequal(state, block, drawn, constants, wrong, change, trace)
    if within and backward < np.inf:
        for place in range(count):
            left[place] = block.error[place] + block.applied_error[place]
        kind = constants.factors.kind
        if (kind < LU or (kind == LU and count == 1)) and factored(block.system, block.factor):
            shared = solve_errors(constants, block.factor, block.reach, doubt, trace, left)
        # All that the increment meets above, a unit of its length.
        rounded = constants.sums.u * (progress.steps + 8)
        meets = constants.solve + constants.system + constants.judge + rounded
        grown = min(shared, backward) + meets * trace + 2.0 * given
        if most_often > 1:
            apart = change / (constants.factors.modulus - change)
            grown += apart * (change + 2.0 * count * trace * rounded)
        least = constants.factors.modulus
        if not grown < NEGLIGIBLE * least:
            least = _smallest_eigenvalue(block, doubt, trace, least)
        kept.growth[step] = grown / (least - change) * ROUND_UP if change < least else np.inf
        shared = min(shared, backward) * norm(block.reach)
    for place in range(count):
        left[place] = (left[place] + shared + underflow_error + drift + unequal) * ROUND_UP
    for place in range(count):
        # What is left is the mean over the draws of a coordinate.
        left[block.final[place]] = max(left[block.final[place]], left[place])
    for place in range(count):
        left[place] = left[block.final[place]]
    residual = kept.residual[step]
    worst = _worst_entry(residual, left)
    return left[worst], abs(residual[worst]), True


@inlined
def _increment(state, block, increment, drawn, logged, sums):
    """Set the logged increment, its e_t and both sizes together, as shares of each draw.

    Returns what an entry of a is at most, and how often the block holds one of its coordinates at most.
    """
    spread, most, before = 0.0, 1, 1
    for place in range(drawn.size):
        i, times = drawn[place], 0
        for other in range(drawn.size):
            if drawn[other] == i:
                block.final[place] = other
                times += 1
            before = max(before, 2 if other != place and state.last[other] == state.last[place] else 1)
        block.times[place], most = times, max(most, times)
        spread = max(spread, state.bounded[i])
        change = logged[place] - state.alpha[i]
        increment[place], size = change / times, abs(change)
        error = increment_error(sums, state.drawn[i], state.moved[i], size, logged[place], times)
        block.rounding[place], block.reach[place] = error / times, (size + error) / times
    for place in range(drawn.size):
        j = state.last[block.final[place]]
        # A step on a block that holds a coordinate twice, taken again, moves a again.
        known = j >= 0 and before == 1
        block.again[place] = (logged[place] - state.alpha[j]) / block.times[place] if known else 0.0
    return spread, most


@inlined
def _unequal(state, block, drawn, constants, wrong, change, trace):
    """What is left of each right-hand side more where increments of equal coordinates are not equal.

    `wrong` bounds the norm of all that a solver's equations are off by if they are, `change` that of the
    error of its system, below m.
    """
    apart = wrong / (constants.factors.modulus - change) * ROUND_UP
    block.apart[0], stored = apart, 0.0
    for place in range(drawn.size):
        times = block.times[place]
        if times > 1:
            error = unequal_error(constants.sums, state.drawn[drawn[place]], times, apart)
            stored = max(stored, error / times)
    # No entry of G, and no norm of its error, exceeds its trace.
    return change * apart + 2.0 * drawn.size * trace * stored


@inlined
def _equations(rows, state, block, drawn, step, constants, progress, kept):
    """Set the right-hand side r, G, the residual that the increment leaves, and bounds on their errors.

    Returns whether no number of a right-hand side, and none of G times the increment, may overflow; the
    trace of G at most; the Frobenius norm of the errors of the solver's entries; and how far the matrices
    that the two factor may be from G.
    """
    scale, samples, sums = 1.0 / constants.penalty, constants.factors.modulus, constants.sums
    underflow_error = sums.underflow * (1.0 + 1.0 / constants.penalty)
    corrections = progress.most + progress.steps * drawn.size
    known = within = True
    trace = given = system = judge_error = 0.0
    for place in range(drawn.size):
        i = drawn[place]
        slot = rows.slot[i]
        of_row = row_sums(rows, None, i, state, progress)
        product, stale = of_row.product * scale, of_row.stale * scale
        block.right[place] = state.linear[i] - samples * state.alpha[i] - product
        size, own_size = abs(state.linear[i]), samples * state.bounded[i]
        error, terms = right_hand_side_error(
            rows, None, i, state, sums, of_row, progress, corrections, size, own_size
        )
        terms *= max(1.0, 2.0 * constants.penalty)
        block.error[place] = error + samples * state.increment_error[i]
        keep_row(kept, rows, None, state, drawn, step, place, scale, product, stale, progress)
        # A row of G, while the kernel row is at hand.
        reached, errors, sizes = _row(rows, slot, block, drawn, step, place, constants, kept)
        within = within and reached < sums.largest
        trace += kept.size[step, place]
        given += errors
        system += sizes
        judge_error += rows.judge_error[slot] ** 2
        # A solver may divide an entry by lambda before it multiplies, be it by 0.
        known = known and terms <= sums.largest and rows.largest[slot] <= sums.largest
    # Squares that underflow: each is off by half the smallest number at most.
    count = drawn.size
    underflow_error = count * SQUARE_ROOT_OF_SMALLEST
    given = np.sqrt(given) + constants.system * np.sqrt(system) + underflow_error
    doubt = given + np.sqrt(count * judge_error) + constants.system * np.sqrt(system) + underflow_error
    return known, within, trace, given, 2.0 * doubt + constants.doubt * trace


@inlined
def _row(rows, slot, block, drawn, step, place, constants, kept):
    """Set a row of G, and what the increment leaves of its right-hand side.

    Returns the size of G's product with the increment, and the sums of the squares of the errors of the
    row's entries and of their sizes.
    """
    increment, late = kept.increment[step], 0.0
    entries, bounds = rows.table[slot, ENTRIES], rows.table[slot, ERRORS]
    scale, samples = 1.0 / constants.penalty, constants.factors.modulus
    applied = reached = error = errors = sizes = 0.0
    for other in range(drawn.size):
        j = drawn[other]
        entry, off = entries[j] * scale + (samples if other == place else 0.0), bounds[j]
        block.system[place, other] = entry
        largest = abs(entry) + off
        if other == place:
            kept.size[step, place] = largest
        applied += entry * increment[other]
        late += entry * block.again[other]
        reached += abs(entry) * abs(increment[other])
        # What the entries are off by, the judge's as well, and what they and the increment are rounded by.
        error += off * block.reach[other]
        error += largest * (constants.system * block.reach[other] + block.rounding[other])
        errors += off**2
        sizes += largest**2
    kept.applied[step, place], kept.residual[step, place] = applied, block.right[place] - applied
    kept.table[step, place, OF_LATE] = late
    block.applied_error[place] = error + constants.judge * reached
    return reached, errors, sizes
