"""Local errors of two block steps, by the derivation of rounding/block/local.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import U32, gamma, is_bound, is_least, length, root

from sstep_verify.declaration import Declaration
from sstep_verify.quantities import RidgeSteps
from sstep_verify.rounding.block.local import RidgeLocalErrors
from sstep_verify.rounding.right_hand_side import CarriedTerms
from sstep_verify.rounding.rows import KernelEntries

KERNEL = [[Fraction(2), Fraction(-1), Fraction(1, 2)], [Fraction(-1), Fraction(4), Fraction(1)]]
"""Rows of two of three samples."""

DELTA, JUDGE = Fraction(1, 2**28), Fraction(1, 2**40)
LAMBDA, SAMPLES = Fraction(1, 2), 3
START, TARGETS = [Fraction(1), Fraction(0), Fraction(-2)], [Fraction(3), Fraction(-1), Fraction(0)]
FIRST, SECOND = [Fraction(1, 4), Fraction(-1, 2)], [Fraction(1, 8), Fraction(1, 16)]
CHANGE = Fraction(1, 2**24)
"""What errors made before change in the exact increment."""

CARRIED = CarriedTerms(np.array([8.0, 16.0]), np.array([2.0**-20, 2.0**-21]), 5, np.full((2, 2), 2.0))


def floats(rows) -> np.ndarray:
    return np.array(rows, dtype=np.float64)


def local(update: str = "in-place", carried: CarriedTerms | None = None, draws=None) -> RidgeLocalErrors:
    entries = KernelEntries(floats(KERNEL), np.full((2, 3), float(JUDGE)), np.full((2, 3), float(DELTA)))
    steps = RidgeSteps(np.array([[0, 1], [0, 1]] if draws is None else draws), floats([FIRST, SECOND]))
    return RidgeLocalErrors(
        entries, np.arange(2), floats(START), floats(TARGETS), steps, float(LAMBDA),
        Declaration("local", "float32", update, factorisation="cholesky", products="rows"), carried,
    )  # fmt: skip


def used(i: int, j: int) -> Fraction:
    """Size of an entry of K / lambda, exact or used."""
    return (abs(KERNEL[i][j]) + DELTA + JUDGE) / LAMBDA


def derived(before: list[list[Fraction]], start_terms, start_error, least, roundings: int, spread):
    """A step after others of these computed sizes: errors of right-hand side and system, and the rest.

    `start_terms` and `start_error` are of the first product, of each row; `least` is the size of a term of
    a correction at least, `spread` is of what was rounded.
    """
    moved = [sum((step[i] for step in before), Fraction()) for i in range(2)]
    residual = []
    for i in range(2):
        terms = start_terms[i] + abs(TARGETS[i]) + SAMPLES * (abs(START[i]) + moved[i])
        terms += sum(max(used(i, j), least) * moved[j] for j in range(2))
        off = start_error[i] + sum(DELTA / LAMBDA * moved[j] for j in range(2)) + spread[i]
        residual.append(off + gamma(roundings, U32) * terms)
    system = [[used(i, j) + SAMPLES * (i == j) for j in range(2)] for i in range(2)]
    entries = [[DELTA / LAMBDA + gamma(3, U32) * x for x in row] for row in system]
    given = length([DELTA / LAMBDA] * 4) + gamma(3, U32) * length(x for row in system for x in row)
    trace = system[0][0] + system[1][1] + root(2) * given
    solve = gamma(3 * 2 + 4, U32) / (1 - gamma(2 + 2, U32)) * trace
    return residual, entries, solve, given + solve


def of_step(residual, changed, increment, moved):
    """Length of the increment's error, its size, and what storing it rounds."""
    numerator = length(residual) + changed * (length(increment) + CHANGE)
    distance = numerator / (SAMPLES - changed)
    size = [abs(x) + CHANGE + distance for x in increment]
    return distance, size, [U32 * (abs(START[i]) + moved[i] + size[i]) for i in range(2)]


@pytest.mark.parametrize("update", ["in-place", "frozen"])
@pytest.mark.parametrize("carried", [None, CARRIED])
def test_two_steps_err_by_what_is_derived(update, carried):
    errors = local(update, carried)
    least = Fraction(0) if carried is None else 2 / LAMBDA
    if carried is None:
        first = [sum(used(i, j) * abs(START[j]) for j in range(3)) for i in range(2)]
        off = [sum(DELTA / LAMBDA * abs(START[j]) for j in range(3)) for i in range(2)]
        counts = [2 + 0 + 0 + 8, 2 + 2 + 1 + 8]  # p + j b + r + 8
    else:
        first = [Fraction(x) / LAMBDA for x in carried.size]
        off = [Fraction(x) / LAMBDA for x in carried.error]
        counts = [5 + 8, 5 + 1 * (2 + 3) + 8]
    before: list[list[Fraction]] = []
    stored = [Fraction(0), Fraction(0)]
    for increment, roundings in zip((FIRST, SECOND), counts, strict=True):
        spread = [Fraction(0), Fraction(0)]
        for i in range(2):
            of_a = sum(used(i, j) * stored[j] for j in range(2))
            # Corrections hold D where a moved by its rounded sum; maintained weights do not know of that sum.
            spread[i] += of_a * (update != "frozen")
            spread[i] += (of_a + SAMPLES * stored[i]) * (carried is not None)
        residual, entries, solve, changed = derived(before, first, off, least, roundings, spread)
        found = errors.advance(float(SAMPLES), float(CHANGE))
        assert found is not None
        moved = [sum((step[i] for step in before), Fraction()) for i in range(2)]
        distance, size, rounding = of_step(residual, changed, increment, moved)
        is_bound(found.residual, residual)
        is_bound(found.entries, entries)
        is_bound(found.solve, solve)
        is_bound(found.length, distance)
        is_bound(found.size, size)
        is_bound(found.rounding, rounding)
        before.append(size)
        stored = [x + y for x, y in zip(stored, rounding, strict=True)]
    moved = [abs(START[i]) + before[0][i] + before[1][i] for i in range(2)]
    frozen = [gamma(2 + 1, U32) * x if update == "frozen" else 0 for x in moved]
    is_bound(errors.accumulation_error(), frozen)


def test_a_coordinate_that_a_block_holds_twice_is_stored_with_both_increments():
    errors = local(draws=[[1, 1], [0, 1]])
    found = errors.advance(float(SAMPLES), float(CHANGE))
    assert found is not None
    both = Fraction(found.size[0]) + Fraction(found.size[1])
    is_bound(found.rounding, [U32 * both] * 2)
    assert found.most == 2


def test_what_other_errors_do_to_a_block():
    errors, block = local(), np.arange(2)
    is_bound(errors.system(block), [[used(i, j) + SAMPLES * (i == j) for j in range(2)] for i in range(2)])
    square = sum(used(i, j) * (i + 1) * (j + 1) for i in range(2) for j in range(2)) + SAMPLES * 5
    is_bound(errors.energy(block, np.array([1.0, 2.0])), root(square))
    spread = [used(i, 0) + 2 * used(i, 1) + SAMPLES * (i + 1) for i in range(2)]
    is_bound(errors.spread(block, np.array([1.0, 2.0])), length(spread))
    # Of G = (7, -2; -2, 11): half the smallest eigenvalue, 9 - sqrt(8), less the norm of the judge's errors.
    is_least(errors.modulus(block, 0.0), (9 - root(8)) / 2 - 2 * JUDGE / LAMBDA)
    assert errors.modulus(block, 5.0) == 5.0
