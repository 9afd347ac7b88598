"""Bounds that are raised where they are next to nothing: nowhere below what they were, and no subnormal numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sstep_verify.rounding.arithmetic import raise_smallest

sizes = st.floats(0.0, allow_nan=False) | st.builds(np.ldexp, st.floats(0.5, 1.0), st.integers(-1074, 1023))


@given(arrays(np.float64, (2, 5), elements=sizes))
def test_what_is_raised_is_a_bound_and_next_to_nothing_of_its_row(given_bounds):
    raised = given_bounds.copy()
    raise_smallest(raised)
    assert np.all(raised >= given_bounds)
    assert np.array_equal(raised == 0.0, given_bounds == 0.0)
    assert np.array_equal(np.isinf(raised), np.isinf(given_bounds))
    for before, after in zip(given_bounds, raised, strict=True):
        finite = before[np.isfinite(before)]
        changed = after[after != before]
        assert np.all(changed <= 2.0**-252 * finite.max(initial=0.0))


def test_bounds_of_far_points_are_no_subnormal_numbers():
    bounds = np.array([[1.0, 2.0**-1074, 0.0, 2.0**-600]])
    raise_smallest(bounds)
    assert bounds.tolist() == [[1.0, 2.0**-252, 0.0, 2.0**-252]]
