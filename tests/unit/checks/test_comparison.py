"""The rule that makes a status of an enclosure and a bound, and what a comparison could have shown."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstep_verify.checks.shared.comparison import (
    Comparison,
    decisive,
    promising,
    ratios,
    unbounded,
    unknown,
    worst_entry,
    wrong,
)
from sstep_verify.checks.window.choose import Window
from sstep_verify.verdict import Status


@pytest.mark.parametrize(
    ("lower", "upper", "bound", "status"),
    [
        (0.0, 1.0, 1.0, Status.PASS),
        (0.0, 0.0, 0.0, Status.PASS),
        (1.5, 2.0, 1.0, Status.FAIL),
        (math.inf, math.inf, 1.0, Status.FAIL),
        (math.inf, math.inf, 0.0, Status.FAIL),
        (0.5, 2.0, 1.0, Status.INCONCLUSIVE),
        (0.0, math.inf, 1.0, Status.INCONCLUSIVE),
        (0.0, math.inf, math.inf, Status.INCONCLUSIVE),
        (0.0, math.nan, 1.0, Status.INCONCLUSIVE),
        (0.0, 3.0, math.inf, Status.VACUOUS),
        (math.inf, math.inf, math.inf, Status.VACUOUS),
    ],
)
def test_the_status_follows_from_the_enclosure_and_the_bound(lower, upper, bound, status):
    assert Comparison(lower, upper, bound).status is status


def test_the_three_outcomes_without_a_comparison():
    assert wrong().status is Status.FAIL
    assert wrong().ratio == math.inf
    assert unknown().status is Status.INCONCLUSIVE
    assert unknown().ratio == 0.0
    assert unbounded().status is Status.VACUOUS
    assert unbounded(math.inf).status is Status.VACUOUS


def test_the_worst_status_decides_then_the_largest_ratio():
    passed, failed = Comparison(0.0, 0.9, 1.0), Comparison(1.1, 1.2, 1.0)
    assert decisive([failed, passed, unbounded()]) is failed
    assert decisive([passed, Comparison(0.0, 0.1, 1.0)]) is passed
    wide = Comparison(0.0, 9.0, 1.0)
    assert decisive([failed, wide]) is failed  # though the upper end of the other is farther beyond
    assert decisive(promising([passed, unbounded()])) is passed
    assert decisive(promising([passed, unknown()])).status is Status.INCONCLUSIVE
    assert decisive(promising([unbounded()])).status is Status.VACUOUS


SIZES = st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, math.inf])
ROWS = st.tuples(SIZES, SIZES, SIZES).map(lambda row: (*sorted(row[:2]), row[2]))


@given(st.lists(ROWS, min_size=1, max_size=8))
def test_the_worst_entry_of_arrays_is_the_one_that_decides(rows):
    entries = [Comparison(*row) for row in rows]
    *ends, bound = np.array(rows).T
    place, worst = worst_entry(np.array(ends), bound)
    assert worst == entries[place] == decisive(entries)
    assert place == entries.index(worst)


def test_nothing_shows_in_a_comparison_that_decided_nothing():
    effects = {"overlap": 3.0, "omega": 2.0}
    assert Comparison(0.0, 0.5, 1.0, dropped=effects).shows("overlap")
    assert not Comparison(0.0, 0.5, 1.0, dropped=effects).shows("omega")  # twice the bound is not beyond it
    assert not Comparison(0.0, 5.0, 1.0, dropped=effects).shows("overlap")


def test_ratios_of_values_that_must_be_exact_and_of_infinite_bounds():
    found = ratios(np.array([0.0, 1.0, 1.0, 2.0]), np.array([0.0, 0.0, math.inf, 4.0]))
    assert found.tolist() == [0.0, math.inf, 0.0, 0.5]


def test_a_finding_of_no_window_in_particular_is_at_the_start():
    assert Comparison(0.0, 0.0, 1.0).window == Window(0, 0)
