"""Kept kernel rows: what is kept depends on the stream alone, and is what the formulas of the counts say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstep_verify.checks.recorded.message_count import expected_counts
from sstep_verify.checks.shared.case import Case
from sstep_verify.declaration import Declaration, Exchange
from sstep_verify.errors import InputError
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, Ridge
from sstep_verify.solver.windows import ColumnCache
from sstep_verify.trajectory import Trajectory


@st.composite
def setups(draw):
    """Samples, block, s, iterations, rows kept, seed of the stream."""
    samples = draw(st.integers(2, 12))
    block = draw(st.integers(1, min(3, samples)))
    s = draw(st.integers(1, 6))
    window = min(s * block, samples)
    return (
        samples, block, s, draw(st.integers(1, 60)), draw(st.integers(window, samples)),
        draw(st.integers(0, 99)),
    )  # fmt: skip


def played(cache: ColumnCache, stream: IndexStream, s: int) -> tuple[int, int]:
    """Rows formed, and windows that asked for any; rows hold their coordinate, and are never mixed up."""
    formed = asking = 0
    for begin in range(0, stream.length, s):
        draws = stream.blocks(begin, min(begin + s, stream.length))
        complete = cache.hits(draws, s)
        assert complete == int(all(cache.slot_of[coordinate] >= 0 for coordinate in draws.ravel()))
        missing, slots = cache.admit(draws)
        assert (missing.size == 0) is bool(complete)
        cache.rows[slots] = missing[:, None]
        formed, asking = formed + missing.size, asking + bool(missing.size)
        for coordinate in draws.ravel():
            assert (cache.rows[cache.slot_of[coordinate]] == coordinate).all()
        kept = cache.slot_of[cache.slot_of >= 0]
        assert np.unique(kept).size == kept.size
    return formed, asking


@given(setups())
def test_the_policy_is_the_one_that_is_counted(setup):
    samples, block, s, iterations, capacity, seed = setup
    loss, targets = (
        (Hinge(1.0), np.resize([1.0, -1.0], samples)) if block == 1 else (Ridge(1.0), np.ones(samples))
    )
    problem = Problem("cached", np.ones((samples, 1)), targets, LinearKernel(), loss)
    stream = IndexStream("uniform", samples, block, iterations, seed=seed)
    declaration = Declaration("cached", exchange=Exchange("column-cache", words=capacity * samples))
    case = Case("cached", problem, stream, (s,), iterations, declaration)
    run = Trajectory(s, 0, np.array([0, iterations]), np.zeros((2, samples)))
    window = min(s * block, samples)
    formed, asking = played(ColumnCache(samples, capacity, window), stream, s)
    (expected,) = expected_counts(case, s, run)
    assert (expected["panel columns"], expected["collectives"]) == (formed, asking)


@given(setups())
def test_leading_windows_without_a_miss_are_counted(setup):
    samples, block, s, iterations, capacity, seed = setup
    cache = ColumnCache(samples, capacity, min(s * block, samples))
    stream = IndexStream("uniform", samples, block, iterations, seed=seed)
    cache.admit(stream.blocks(0, min(s, iterations)))
    draws = stream.blocks(0, iterations)
    windows = [draws[begin : begin + s] for begin in range(0, iterations, s)]
    complete = [bool((cache.slot_of[window] >= 0).all()) for window in windows]
    assert cache.hits(draws, s) == (complete.index(False) if False in complete else len(complete))


def test_the_row_kept_longest_goes_first():
    cache = ColumnCache(6, 3, 2)
    for window in ([0, 1], [2], [0, 3]):
        missing, _ = cache.admit(np.array([window]).T)
        assert missing.tolist() == [
            coordinate for coordinate in window if coordinate != 0 or window == [0, 1]
        ]
    # Row 0 was the oldest, but the window needs it: row 1 went.
    assert np.flatnonzero(cache.slot_of >= 0).tolist() == [0, 2, 3]


def test_a_window_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="a cache of 3 kernel rows cannot hold the 4"):
        ColumnCache(10, 3, 4)
