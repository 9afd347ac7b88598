"""What is tried by day: a part of the values of a test, never none of them."""

from __future__ import annotations

from itertools import product

import pytest
from daily import IN, by_day
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.text(max_size=20), min_size=1, unique=True))
def test_every_test_tries_a_value_by_day_whatever_the_order(values):
    tried = by_day(values)
    assert tried
    assert tried <= set(values)
    assert by_day(values[::-1]) == by_day(tried) == tried


@pytest.mark.parametrize("lengths", [(60, 70), (5, 6, 7), (3, 3, 3, 3, 3)])
def test_of_crossed_values_each_is_tried_with_some_others(lengths):
    values = {f"t[{'-'.join(map(str, one))}]": one for one in product(*map(range, lengths))}
    tried = [values[one] for one in by_day(values)]
    # Three standard deviations of as many that are drawn each by itself.
    assert len(tried) == pytest.approx(len(values) / IN, abs=3 * (len(values) / IN) ** 0.5)
    for place, length in enumerate(lengths):
        assert {one[place] for one in tried} == set(range(length))
