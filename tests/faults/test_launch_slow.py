"""A slow call on ranks is no hang: it ends well, or nothing is said of it; without progress it hangs still."""

from __future__ import annotations

import time

import launch_faults as faults
import pytest

from sstep_verify.errors import NotMadeError
from sstep_verify.ranks import HangError, SlowError, run

pytestmark = pytest.mark.pool_only

LIMIT = 1.0


@pytest.mark.nightly
def test_progress_lets_a_call_take_longer_than_its_limit():
    run(2, faults.rounds)
    begin = time.monotonic()
    assert run(2, faults.slow_rounds, 6, 0.4 * LIMIT, limit=LIMIT) == [6, 6]
    assert time.monotonic() - begin > 2 * LIMIT


@pytest.mark.nightly
def test_a_starved_call_is_no_hang():
    """A quarter of a processor is left to each rank, and none makes progress for longer than the limit."""
    run(2, faults.rounds)
    assert min(run(2, faults.starved, 0.6 * LIMIT, limit=LIMIT)) > LIMIT


@pytest.mark.nightly
def test_a_call_that_makes_progress_for_ever_is_not_judged():
    right = run(2, faults.rounds)
    limit = 0.25
    begin = time.monotonic()
    with pytest.raises(SlowError) as caught:
        run(2, faults.slow_rounds, 10**6, 0.01, limit=limit)
    assert 10 * limit <= time.monotonic() - begin < 10 * limit + 10
    assert isinstance(caught.value, NotMadeError)
    assert caught.value.ranks == ()
    assert all(state.entered > 1 for state in caught.value.states)
    assert run(2, faults.rounds) == right


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("function", "given"),
    [
        pytest.param(faults.slow_rounds, (1, 1e6), id="asleep"),
        pytest.param(faults.rounds, ("loop", 1), id="loop"),
        pytest.param(faults.rounds, ("skipped", 1), id="skipped"),
    ],
)
def test_no_progress_is_a_hang_in_bounded_time(function, given):
    right = run(3, faults.rounds)
    begin = time.monotonic()
    with pytest.raises(HangError) as caught:
        run(3, function, *given, limit=LIMIT)
    assert time.monotonic() - begin < 10 * LIMIT + 10
    assert not isinstance(caught.value, NotMadeError)
    assert caught.value.ranks == (1,)
    assert all(state.stack for state in caught.value.states if not state.finished)
    assert run(3, faults.rounds) == right
