"""Constants of rounding error analysis, by their definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import TINY, TINY32, U32, U, is_bound
from exact_bounds import gamma as exact_gamma

from sstep_verify.rounding.arithmetic import (
    MOST_TERMS,
    ROUND_UP,
    counted,
    flushed_to_zero,
    gamma,
    largest_normal,
    magnitudes,
    norm_lower,
    norm_upper,
    raise_smallest,
    rounded_up,
    smallest_subnormal,
    unit_roundoff,
)


def test_the_numbers_of_each_type():
    assert [Fraction(unit_roundoff(name)) for name in ("float64", "float32")] == [U, U32]
    assert [Fraction(smallest_subnormal(name)) for name in ("float64", "float32")] == [TINY, TINY32]
    assert [largest_normal(name) for name in ("float64", "float32")] == [2.0**1022, 2.0**126]
    with flushed_to_zero():
        assert [smallest_subnormal(name) for name in ("float64", "float32")] == [2.0**-822, 2.0**-102]


@pytest.mark.parametrize("roundings", [1, 7, 1000, 2**20])
def test_gamma_of_so_many_roundings(roundings):
    for u in (U, U32):
        assert abs(Fraction(gamma(roundings, float(u))) / exact_gamma(roundings, u) - 1) < 8 * U


def test_too_many_terms_are_rounded_so_often_that_nothing_is_promised():
    assert counted(7, 3, MOST_TERMS - 1) == 7
    assert gamma(counted(7, 3, MOST_TERMS), float(U)) == np.inf


def test_what_is_raised_is_raised_by_what_nested_sums_may_lose():
    # Eight sums of 2^20 terms lose gamma_{2^23}, which is just above 2^-30.
    assert exact_gamma(8 * MOST_TERMS, U) < Fraction(ROUND_UP) - 1 == Fraction(1, 2**29)
    assert Fraction(rounded_up(3.0)) == 3 * Fraction(ROUND_UP)
    assert Fraction(rounded_up(0.0, 7)) == 7 * TINY
    assert Fraction(rounded_up(0.0)) == 16 * TINY


def test_norms_from_both_sides():
    for vector in ([3.0, -4.0], [[3.0], [4.0]]):
        assert 5 < Fraction(norm_upper(np.array(vector))) <= 5 * Fraction(ROUND_UP) * (1 + 4 * U)
        assert 5 * (1 - 4 * U) / Fraction(ROUND_UP) <= Fraction(norm_lower(np.array(vector))) < 5


def test_sizes_of_a_longer_type_are_the_next_float64():
    vector = np.array([1, -3], dtype=np.longdouble) * (1 + np.longdouble(2) ** -60)
    assert magnitudes(vector).tolist() == [1 + 2.0**-52, 3 + 2.0**-51]
    is_bound(magnitudes(np.array([-0.75])), [Fraction(3, 4)])


def test_small_bounds_are_raised_to_a_part_of_the_largest_of_their_row():
    bounds = np.array([[8.0, 2.0**-1000, 0.0], [np.inf, 2.0**-900, 2.0**-600]])
    raise_smallest(bounds)
    assert bounds.tolist() == [[8.0, 2.0**-249, 0.0], [np.inf, 2.0**-852, 2.0**-600]]
