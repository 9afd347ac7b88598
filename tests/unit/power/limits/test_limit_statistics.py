"""Order statistics and shares against the binomial distribution, summed term by term."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binomtest

from studies.limits.rows import CONFIDENCE, CONTENT, share_interval, tolerance_limit, tolerance_rank


def confidence_of(rank: int, runs: int) -> float:
    """Probability that fewer than `rank` of some runs lie below the quantile of `CONTENT`."""
    return math.fsum(math.comb(runs, k) * CONTENT**k * (1 - CONTENT) ** (runs - k) for k in range(rank))


@pytest.mark.parametrize("runs", [1, 10, 58, 59, 60, 92, 93, 94, 200, 1000])
def test_the_rank_is_the_least_that_gives_the_confidence(runs):
    rank = tolerance_rank(runs)
    if rank is None:
        assert confidence_of(runs, runs) < CONFIDENCE
    else:
        assert confidence_of(rank, runs) >= CONFIDENCE > confidence_of(rank - 1, runs)


def test_of_59_runs_the_largest_is_the_limit_and_of_58_there_is_none():
    assert tolerance_rank(58) is None
    assert [tolerance_rank(runs) for runs in (59, 92, 93, 124)] == [59, 92, 92, 122]
    assert tolerance_rank(0) is None


def test_a_limit_is_the_value_of_its_rank_and_may_be_infinite():
    values = [float(place) for place in range(92, -1, -1)]
    assert tolerance_limit(values) == (92, 91.0)
    assert tolerance_limit([1.0] * 58 + [math.inf]) == (59, math.inf)
    assert tolerance_limit(values[:58]) == (None, None)


@pytest.mark.parametrize(("count", "of"), [(0, 30), (7, 30), (59, 61), (30, 30)])
def test_the_interval_of_a_share_is_that_of_clopper_and_pearson(count, of):
    known = binomtest(count, of).proportion_ci(0.95, method="exact")
    assert share_interval(count, of) == pytest.approx((known.low, known.high), rel=1e-12)
