"""Ranks that are blamed, and what the errors say."""

from __future__ import annotations

import pytest

from sstep_verify.ranks.failures import (
    HangError,
    MismatchError,
    RankError,
    RankLostError,
    RankState,
    StallError,
    dissenters,
    guilty,
)
from sstep_verify.ranks.heartbeat import KEPT, Progress


def state(rank: int, *collectives: tuple[str, int], waits: bool = True, stack: str = "stack") -> RankState:
    """A rank that has entered these collectives, and waits in the last one or has ended its part."""
    progress = Progress()
    for name, length in collectives:
        progress.enter(name, length)
    finished = not waits
    inside = progress.inside if waits else ""
    return RankState(rank, inside, progress.entered, stack, finished, progress.history)


def looping(rank: int, *collectives: tuple[str, int]) -> RankState:
    inside = state(rank, *collectives)
    return RankState(rank, "", inside.entered, "stack", False, inside.history)


SUM, SCATTER, SHORT = ("allreduce", 5), ("reduce_scatter", 5), ("allreduce", 3)

CASES = {
    "loop": ([state(0, SUM, SUM), looping(1, SUM), state(2, SUM, SUM)], (1,)),
    "loop after all others ended": ([state(0, SUM, waits=False), looping(1, SUM)], (1,)),
    "most loop": ([looping(0, SUM), looping(1, SUM), state(2, SUM, SUM)], (0, 1)),
    "stopped": ([state(0, SUM), RankState(1), state(2, SUM)], (1,)),
    "skipped": ([state(0, SUM, SUM), state(1, SUM, SUM), state(2, SUM, waits=False)], (2,)),
    "extra": ([state(0, SUM, waits=False), state(1, SUM, SUM), state(2, SUM, waits=False)], (1,)),
    "reordered": ([state(0, SUM, SCATTER), state(1, SUM, SCATTER), state(2, SUM, SUM)], (2,)),
    "other length": ([state(0, SUM, SHORT), state(1, SUM, SUM), state(2, SUM, SUM)], (0,)),
    "first difference": ([state(0, SHORT, SUM, SUM), state(1, SUM, SUM), state(2, SUM)], (0,)),
    "two ranks differ": ([state(0, SUM, SUM), state(1, SUM, waits=False)], (0, 1)),
    "two against two": ([state(rank, SUM if rank < 2 else SCATTER) for rank in range(4)], (0, 1, 2, 3)),
    "minority beside two": ([state(rank, (SUM, SUM, SHORT, SCATTER)[rank]) for rank in range(4)], (2, 3)),
    "no difference": ([state(0, SUM), state(1, SUM)], (0, 1)),
}


@pytest.mark.parametrize(("states", "blamed"), CASES.values(), ids=CASES.keys())
def test_guilty(states, blamed):
    assert guilty(states) == blamed


def test_ranks_that_agree_have_no_dissenters():
    assert dissenters([state(0, SUM, SCATTER, waits=False), state(1, SUM, SCATTER, waits=False)]) == ()


@pytest.mark.parametrize("common", [0, KEPT - 1, KEPT, 3 * KEPT])
def test_a_difference_is_found_after_any_number_of_collectives(common):
    before = [SUM] * common
    states = [state(rank, *before, SHORT if rank == 1 else SUM, SUM, waits=False) for rank in range(3)]
    assert dissenters(states) == (1,)


def test_history_keeps_the_last_digests_newest_last():
    progress = Progress()
    assert progress.history == ()
    digests = []
    for length in range(KEPT + 3):
        progress.enter("allreduce", length)
        digests.append(progress.history[-1])
    assert progress.history == tuple(digests[-KEPT:])
    progress.leave()
    assert (progress.inside, progress.entered) == ("", KEPT + 3)
    progress.reset()
    progress.enter("allreduce", 0)
    assert progress.history == (digests[0],)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (RankState(3, finished=True, entered=2), "rank 3 had ended its part (entered 2)"),
        (RankState(3), "rank 3 did not answer (it is stopped or gone)"),
        (RankState(3, "barrier", 4, "stack"), "rank 3 waits in barrier (entered 4)"),
        (RankState(3, "", 4, "stack"), "rank 3 is in no counted collective (entered 4)"),
    ],
)
def test_describe(told, expected):
    assert told.describe() == expected


def test_messages_name_ranks_places_and_traces():
    raised = RankError(
        "module.work", {2: ("ValueError", "bad", "trace 2"), 1: ("KeyError", "k", "trace 1")}
    )
    assert (raised.ranks, raised.kind) == ((1, 2), "KeyError")
    assert str(raised) == "module.work: rank 1, 2 raised KeyError: k\ntraceback of rank 1:\ntrace 1"
    lost = RankLostError("module.work", [1], "said\n")
    assert str(lost) == "module.work: lost rank 1 (killed, crashed or aborted)\nsaid"
    hang = HangError("module.work", 2.5, [state(0, SUM), looping(1)])
    assert hang.ranks == (1,)
    assert str(hang).startswith(
        "module.work: no end within 2.5 s; suspect: rank 1\n  rank 0 waits in allreduce"
    )
    assert "stack of rank 1:\nstack" in str(hang)
    mismatch = MismatchError("module.work", [state(rank, SHORT if rank else SUM) for rank in range(2)])
    assert mismatch.ranks == (0, 1)
    assert "suspect: rank 0, 1" in str(mismatch)


def deep(rank: int, calls: int) -> RankState:
    stack = "".join(f'  File "file{number}", line {number}, in call{number}\n' for number in range(calls))
    return RankState(rank, "", 1, stack)


def test_a_stall_names_the_guilty_rank_of_many_and_shows_its_innermost_calls():
    error = StallError(41.0, 40.0, [*(state(rank, SUM) for rank in range(300)), deep(300, 30)])
    assert error.ranks == (300,)
    first, *lines = str(error).splitlines()
    assert first == "no rank has made progress for 41 s; suspect: rank 300"
    assert "  rank 300 is in no counted collective (entered 1)" in lines
    assert "  and 293 ranks more" in lines
    assert '  File "file20", line 20, in call20' in lines
    assert '  File "file29", line 29, in call29' in lines
    assert "call19" not in str(error)
    assert "file3" in str(StallError(41.0, 40.0, [deep(0, 4)]))


def test_a_stall_without_a_majority_says_so():
    told = str(StallError(41.0, 40.0, [state(0, SUM, SUM), state(1, SUM, waits=False)]))
    assert "suspect: rank 0, 1 (all wait, and no majority" in told
    stopped = str(StallError(41.0, 40.0, [state(0, SUM), RankState(1)]))
    assert "suspect: rank 1\n" in stopped
    assert "stack of rank 0" in stopped, "the best there is"
