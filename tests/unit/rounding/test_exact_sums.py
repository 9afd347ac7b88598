"""Errors of a step's sums and increments, by the derivation of rounding/sums.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import TINY, TINY32, U32, U, gamma, is_bound

from sstep_verify.declaration import Declaration
from sstep_verify.rounding.sums import (
    ADDED,
    FROZEN,
    IN_PLACE,
    SOLVED,
    Factored,
    SumConstants,
    accumulation_error,
    increment_error,
    sorted_sum_error,
    sum_constants,
    sum_error,
    unequal_error,
)


def sums(form: int = IN_PLACE, *, judge: bool = True) -> SumConstants:
    """Of a solver in float32: nine samples of three features, five entries of a, and four draws."""
    return sum_constants(
        Declaration("any", precision="float32"), 9, 5, 4, (6, 7, 5), 11.0, Factored(3, 2.5, 1.5), form,
        additions=4, judge=judge,
    )  # fmt: skip


def test_constants_of_a_sum():
    found, alone = sums(), sums(judge=False)
    is_bound(found.longest, gamma(5 + 4 + 6 + 3, U32) + gamma(9 + 7, U))
    is_bound(alone.longest, gamma(5 + 4 + 6 + 3, U32))
    assert (found.others, found.judge_others, found.each) == (6 + 3, 7, 5 + 3)
    assert (Fraction(found.u), Fraction(found.judge_u), alone.judge_u) == (U32, U, 0.0)
    is_bound(found.underflow, 11 * (TINY32 + TINY))
    assert found.largest == 2.0**126


def test_a_sum_rounds_once_for_each_other_term():
    # p = 2 products with a, three corrections, and c = 6 with n = 3 features; the judge's own product of six.
    is_bound(sum_error(sums(), 2, 3, 6), gamma(2 + 3 + 6 + 3, U32) + gamma(6 + 7, U))


def test_sorted_sizes_count_with_their_depths():
    # Ten additions next to eight other roundings: the two largest terms go through all, the next through one less.
    found = sorted_sum_error(sums(), 4, 5, np.array([0.0, 3.0, 1.0, 0.5]))
    is_bound(found, U32 / (1 - 18 * U32) * (18 * 3 + 18 * 1 + 17 * Fraction(1, 2)))


def accumulated(draws: int, size: Fraction) -> Fraction:
    """``A = gamma_{r+1} S`` with ``S = size + 2 r A``."""
    factor = gamma(draws + 1, U32)
    return factor * size / (1 - 2 * draws * factor)


@pytest.mark.parametrize("draws", [1, 2, 50])
def test_a_frozen_value_is_a_sum_of_its_increments(draws):
    frozen = sums(FROZEN)
    is_bound(accumulation_error(frozen, draws, 3.0), accumulated(draws, Fraction(3)))
    assert accumulation_error(frozen, 0, 3.0) == accumulation_error(sums(), draws, 3.0) == 0.0
    of_both = accumulated(draws, Fraction(3)) + (accumulated(draws - 1, Fraction(2)) if draws > 1 else 0)
    is_bound(increment_error(frozen, draws, 2.0, 1.0, 7.0), of_both)


def test_the_increment_that_was_used_and_the_logged_one():
    # An increment of size 3 that ends at -5.
    is_bound(increment_error(sums(), 1, 2.0, 3.0, -5.0), 3 * U32)
    is_bound(increment_error(sums(ADDED), 1, 2.0, 3.0, -5.0), (3 + 5) * U32)
    is_bound(increment_error(sums(SOLVED), 1, 2.0, 3.0, -5.0), 5 * U32)
    # Drawn four times by its block: e = u (c |stored| + (c - 1)(|d| + e)).
    is_bound(increment_error(sums(SOLVED), 1, 2.0, 3.0, -5.0, 4), (4 * 5 + 3 * 3) * U32 / (1 - 3 * U32))


def test_increments_of_one_step_that_are_apart():
    is_bound(unequal_error(sums(SOLVED), 1, 4, 0.5), 4 * 3 * Fraction(1, 2) * U32)
    is_bound(unequal_error(sums(FROZEN), 2, 4, 0.5), 2 * accumulated(2, Fraction(2)))


def test_entries_of_the_weights_that_may_overflow():
    # 3/2 (2 * 3 + 4 * 5) = 39.
    factored, alpha, log = Factored(3, 2.5, 1.5), np.array([1.0, -2.0]), np.array([[-5.0]])
    assert [factored.may_overflow(alpha, log, largest) for largest in (39.0, 38.99)] == [False, True]


def test_steps_before_which_no_entry_of_the_weights_may_overflow():
    # 3/2 (2 * 3 + 4 * 5) = 39 after the first step, 3/2 * 2 * 3 = 9 before it.
    factored, alpha = Factored(3, 2.5, 1.5), np.array([1.0, -2.0])
    for value in (5.0, np.nan, np.inf, 1e308):
        log = np.array([[-5.0], [value], [0.0]])
        found = [factored.steps_within(alpha, log, largest) for largest in (8.9, 9.0, 39.0, 1e300)]
        assert found == [0, 1, 2, 3 if value == 5.0 else 2]
    assert factored.steps_within(alpha, np.array([[-5.0], [np.nan]]), 39.0) == 2, "the last step itself"
    assert Factored().steps_within(alpha, log, 1.0) == 3
