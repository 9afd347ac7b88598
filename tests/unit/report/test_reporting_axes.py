"""Axes and points of the figures: zeros, gaps, ticks, markers."""

from __future__ import annotations

import math

import pytest
from drawn import read
from hypothesis import example, given
from hypothesis import strategies as st
from test_reporting_documents import case, document, verdict

from sstep_verify.report.case import GAP, Series
from sstep_verify.report.chart import APART, Scale, decades, power_of_ten
from sstep_verify.report.convergence import figure, is_wide, linear_ticks, marked
from sstep_verify.report.panels import panels_of
from sstep_verify.report.ratios import ratios


def test_log_axis_spans_whole_decades_of_the_known_values():
    assert decades([3e-9, None, math.nan, 0.5]) == Scale(-9, 0)


def test_zeros_and_negative_values_get_their_own_labelled_place_below():
    axis = decades([0.0, -1e-17, 2e-5, 1.0])
    assert axis == Scale(-6, 0, 1e-6)
    assert axis.place(0.0) == axis.place(-1.0) == 1e-6
    assert axis.place(2e-5) == 2e-5
    assert axis.ticks()[0] == (1e-6, "≤ 0")


@pytest.mark.parametrize("values", [[], [None, None], [0.0], [1.0], [5e-324], [1.7e308]])
def test_log_axis_always_has_an_extent_and_ticks(values):
    axis = decades(values)
    assert axis.low < axis.high
    assert axis.ticks()


def test_a_value_that_has_no_place_is_undefined():
    assert math.isnan(decades([1.0]).place(0.0))


def test_there_are_few_ticks_however_wide_the_axis():
    assert len(Scale(-300, 10).ticks(7)) <= 8


def test_tick_labels_are_plain_text():
    assert [power_of_ten(k) for k in (-12, 0, 3)] == ["10⁻¹²", "1", "10³"]


@given(st.floats(1e-3, 1e12))
def test_linear_ticks_are_few_round_and_within_the_axis(last):
    ticks = linear_ticks(last)
    assert 3 <= len(ticks) <= 7
    assert ticks[0] == 0
    assert ticks[-1] <= last * (1 + 1e-8)
    assert f"{ticks[1]:e}".rstrip("0")[0] in "125"


def test_wide_ranges_are_logarithmic_and_iteration_zero_does_not_count():
    assert is_wide([0, 1, 1001])
    assert not is_wide([0, 1, 1000])
    assert not is_wide([0])


@given(
    st.lists(st.integers(1, 10**7), min_size=1, max_size=400, unique=True).map(sorted),
    st.booleans(),
    st.floats(0, 1, exclude_max=True),
)
def test_markers_are_few_and_the_last_point_has_one(x, log, phase):
    kept = marked(x, log, (x[0], x[-1] + 1), phase)
    assert kept == sorted(set(kept))
    assert len(kept) <= 15
    assert kept[-1] == len(x) - 1


ROUNDED = 0.11
"""Of a place in a figure, by its one decimal, at either end of a distance."""

VALUES = st.lists(st.one_of(st.just(0.0), st.floats(-320, 307).map(lambda power: 10.0**power)), max_size=5)


def apart(svg):
    at = [y for words, _, y, anchor in read(svg).texts if anchor == "end" and not words.startswith("FAIL")]
    return min(abs(one - other) for k, one in enumerate(at) for other in at[:k]) >= APART - ROUNDED


@given(VALUES, st.booleans())
@example([1e16], True)
@example([1e-200, 0.5], True)
@example([1e-16, 0.0], False)
@example([1e-320, 1e307], True)
def test_no_two_labels_next_to_the_picture_of_ratios_touch(values, beyond):
    found = [*values, *([None] if beyond else [1.0])]
    windows = [
        {"begin": k, "end": k + 1, "ratio": ratio, "status": "FAIL" if ratio is None else "PASS"}
        for k, ratio in enumerate(found)
    ]
    status = "FAIL" if beyond else "PASS"
    made = document([case("a", status)], [verdict("a", status, evidence={"windows": windows})], int(beyond))
    drawn, _ = ratios(made)
    assert apart(drawn.svg)
    assert (">∞</text>" in drawn.svg) == beyond


@given(VALUES)
@example([1e-17, 0.0, 1.0])
def test_no_two_labels_next_to_a_curve_touch(values):
    curve = (*values, 1.0, 1e-3)
    series = Series(GAP, 1, tuple(range(len(curve))), curve)
    (panel,) = panels_of(document([case("a", series=(series,), lines=())], []))
    assert apart(figure(panel).svg)
