"""A planted defect is seen where it shows most, which need not be where it is largest."""

from __future__ import annotations

import math

from sstep_verify.checks.shared.outcome import most_visible


def test_a_defect_shows_most_beside_the_bound_not_by_its_size():
    assert most_visible([(10.0, 9.0), (1.0, 0.1), (50.0, math.inf)], (0.0, 1.0)) == (1.0, 0.1)
    assert most_visible([(1.0, 0.1), (0.5, 0.0)], (0.0, 1.0)) == (0.5, 0.0)
    assert most_visible([], (math.inf, 0.0)) == (math.inf, 0.0)
