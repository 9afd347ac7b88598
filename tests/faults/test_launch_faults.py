"""Faults of one rank: each ends with the right verdict in seconds, and Hypothesis shrinks it."""

from __future__ import annotations

import os
import signal
import time

import diverging_stream
import launch_faults as faults
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from sstep_verify.ranks import HangError, MismatchError, RankError, RankLostError, run

pytestmark = pytest.mark.pool_only

LIMIT = 1.0
each_size = pytest.mark.parametrize("ranks", [pytest.param(2, marks=pytest.mark.nightly), 3])
"""Two ranks are asked for by name where they are stated otherwise than three."""
"""Two, of which none is a majority, and three; four in the tests of diverging streams."""


def outcome(ranks: int, fault: str, guilty: int, where: int = 1):
    """The error that a fault ends with; the pool is made ready, so that its limit counts the fault only."""
    right = run(ranks, faults.rounds)
    assert right == [float(ranks**3)] * ranks
    with pytest.raises((HangError, MismatchError, RankError, RankLostError)) as caught:
        run(ranks, faults.rounds, fault, guilty, where, limit=LIMIT)
    assert run(ranks, faults.rounds) == right, "the pool must serve again after a fault"
    return caught.value


@each_size
@pytest.mark.parametrize(
    "where", [0, pytest.param(1, marks=pytest.mark.nightly), 3], ids=["before", "between", "after"]
)
def test_an_error_of_one_rank(ranks, where):
    found = outcome(ranks, "raise", ranks - 1, where)
    assert type(found) is RankError
    assert (found.ranks, found.kind) == ((ranks - 1,), "ValueError")
    others = [] if where == 3 else list(range(ranks - 1))
    assert [(state.rank, state.inside) for state in found.stuck] == [(rank, "allreduce") for rank in others]
    assert 'raise ValueError("planted")' in str(found)


@each_size
@pytest.mark.parametrize(
    "fault",
    [one if one == "segfault" else pytest.param(one, marks=pytest.mark.nightly) for one in faults.DEADLY],
)
def test_a_rank_that_dies(ranks, fault):
    found = outcome(ranks, fault, 1)
    assert type(found) is RankLostError
    assert found.ranks == (1,), str(found)
    assert ("in _segfault" in str(found)) is (fault == "segfault")


@each_size
@pytest.mark.parametrize("where", [pytest.param(1, marks=pytest.mark.nightly), 3], ids=["between", "after"])
def test_a_rank_that_aborts(ranks, where):
    found = outcome(ranks, "abort", ranks - 1, where)
    assert type(found) is RankLostError
    assert found.ranks == (ranks - 1,), str(found)
    assert "MPI_Abort" in str(found) or "MPI_ABORT" in str(found)


@pytest.mark.nightly
@each_size
@pytest.mark.parametrize("fault", faults.ENDLESS)
def test_a_rank_without_end(ranks, fault):
    found = outcome(ranks, fault, 1)
    assert type(found) is HangError
    assert found.ranks == (1,)
    if fault != "stopped":  # a stopped process shows no stack
        assert "_loop" in next(state.stack for state in found.states if state.rank == 1)


@pytest.mark.nightly
@each_size
def test_a_call_that_a_rank_does_not_take(ranks):
    """More than a socket holds: its sending waits for a rank that is stopped."""
    pids = run(ranks, faults.process_of)
    os.kill(pids[1], signal.SIGSTOP)
    begin = time.monotonic()
    with pytest.raises(HangError) as caught:
        run(ranks, faults.size_of, bytes(1 << 23), limit=LIMIT)
    assert time.monotonic() - begin < LIMIT + 10
    assert caught.value.ranks == (1,)
    assert run(ranks, faults.size_of, bytes(1 << 23)) == [1 << 23] * ranks


@pytest.mark.nightly
@each_size
def test_an_answer_that_a_rank_gives_by_half(ranks):
    run(ranks, faults.process_of)
    begin = time.monotonic()
    with pytest.raises(HangError) as caught:
        run(ranks, faults.half_answered, 1, limit=LIMIT)
    assert time.monotonic() - begin < LIMIT + 10
    assert caught.value.ranks == (1,)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("ranks", "fault"),
    [
        (3, "reordered"),
        (3, "other length"),
        (3, "skipped"),
        (3, "extra"),
        (2, "skipped"),
        (2, "reordered"),
        (2, "extra"),
        (2, "other length"),
    ],
)
def test_other_collectives_on_one_rank(ranks, fault):
    """Of two ranks that differ none can be told to be the wrong one."""
    found = outcome(ranks, fault, 1)
    assert type(found) in (HangError, MismatchError)
    assert found.ranks == ((0, 1) if ranks == 2 else (1,))


@pytest.mark.nightly
@pytest.mark.parametrize("ranks", [2, 3])
def test_a_wrong_value_on_one_rank_is_shrunk(ranks):
    seen = smallest(ranks, "wrong value", AssertionError, up_to=10**6)
    assert seen == 1001


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("raise", RankError),
        ("loop", HangError),
        ("skipped", HangError),
        ("killed", RankLostError),
    ],
)
def test_a_fault_that_takes_ranks_with_it_is_shrunk(fault, error):
    assert smallest(2, fault, error, up_to=4, allowed=2) == 3


def smallest(ranks: int, fault: str, error: type[Exception], up_to: int, allowed: int = 1000) -> int:
    """The value at which Hypothesis ends that looks for one with the fault."""
    seen: list[int] = []
    run(ranks, faults.rounds)

    @settings(phases=[Phase.generate, Phase.shrink])
    @given(value=st.integers(0, up_to))
    def all_agree(value):
        seen.append(value)
        answers = run(ranks, faults.wrong_above, value, allowed, fault, ranks - 1, limit=LIMIT)
        assert answers == answers[:1] * ranks

    with pytest.raises(error):
        all_agree()
    return seen[-1]


@pytest.mark.parametrize("ranks", [3, pytest.param(4, marks=pytest.mark.nightly)])
def test_a_stream_that_diverges_on_one_rank_sends_other_lengths(ranks):
    run(ranks, diverging_stream.follow_stream, -1, 4)
    with pytest.raises((MismatchError, HangError)) as caught:
        run(ranks, diverging_stream.follow_stream, 1, 4, limit=LIMIT)
    assert caught.value.ranks == (1,)


@pytest.mark.nightly
@pytest.mark.parametrize("ranks", [2, 4])
def test_a_stream_that_diverges_on_one_rank_is_seen_at_equal_lengths(ranks):
    run(ranks, diverging_stream.follow_stream, -1, 1)
    with pytest.raises(RankError, match="the ranks hold different dual vectors") as caught:
        run(ranks, diverging_stream.follow_stream, ranks - 1, 1, limit=LIMIT)
    assert caught.value.kind == "IncoherenceError"
    assert caught.value.ranks == tuple(range(ranks)), "all ranks raise in the same window"
    assert ("none is that of most" if ranks == 2 else "rank 3: ") in str(caught.value)


def test_a_rank_lost_between_calls_is_reported():
    os.kill(run(2, faults.process_of)[1], signal.SIGKILL)
    with pytest.raises(RankLostError) as caught:
        run(2, faults.rounds)
    assert caught.value.ranks
    assert run(2, faults.rounds) == [8.0, 8.0]


class LateError(BaseException):
    """As a limit of time of a test raises from outside."""


@pytest.mark.parametrize(
    "raised",
    [
        LateError(),
        *(pytest.param(one, marks=pytest.mark.nightly) for one in (KeyboardInterrupt(), SystemExit(3))),
    ],
)
def test_a_call_that_is_ended_from_outside_leaves_no_answer_to_the_next(raised):
    def end(*_):
        raise raised

    right = run(2, faults.rounds)
    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(type(raised)) as caught:
            run(2, faults.rounds, "loop", 1, 1, limit=60.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert caught.value is raised
    assert run(2, faults.rounds) == right
