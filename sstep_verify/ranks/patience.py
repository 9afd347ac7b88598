"""When a call on the ranks of a pool hangs: the one place where that is decided.

Seconds of the clock alone are no evidence: on a busy machine a rank may wait long for a processor. What
counts are the seconds that a rank has lived. They are those of the clock while all its threads sleep, or it
is stopped; else those of a processor that it got. Progress is a collective that a rank enters or leaves, as
`sstep_verify.solver.communicator.MpiCommunicator` notes them, and a rank that ends its part.

A call hangs once no rank has made progress for `limit` seconds of the clock, and each that has not ended
has lived enough since then. Outside of collectives `limit` seconds are enough. Within one a rank only looks
whether the others have come, and an MPI library gives the processor away where none has: there `TURNS`
turns on a processor are enough, or `MOMENT` times `limit` seconds. So an endless loop that enters no
collective hangs, as do a rank that sleeps, and ranks that all wait.

A call that is under way after `TIMES` times `limit` seconds of the clock is not judged (`SlowError`): its
ranks made progress, or had too little of the processors.

What cannot be told: whether a rank that works for `limit` seconds of a processor between two collectives
would have ended; who stopped a rank that is stopped; and whether a run that makes progress would ever end.
Collectives that go past `MpiCommunicator` are no progress.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Sequence

from sstep_verify.ranks.monitor_programs import content, state_and_parent

TIMES = 10.0
"""Times its limit that a call may take by the clock."""

MOMENT = 0.1
"""Part of the limit that a rank must live in a collective that it does not leave."""

TURNS = 100
"""Turns on a processor that do instead."""

TICK = 0.25
"""Seconds between two looks, at most; an eighth of a small limit."""

LONGEST = 2.0
"""Most seconds that count between two looks: in a longer gap whoever looks was itself kept from it."""

WORKING = frozenset("RD")
"""States of a thread that runs, waits for a processor, or waits for a disk."""


class Life:
    """Seconds that a process has lived, as the module says; `clock`, `works` and `used` are for tests."""

    def __init__(
        self,
        pid: int,
        clock: Callable[[], float] | None = None,
        works: Callable[[int], bool] | None = None,
        used: Callable[[int], float] | None = None,
    ):
        self._pid, self._clock = pid, clock or time.monotonic
        self._works, self._used = works or some_thread_works, used or processor_seconds
        self._when, self._before = self._clock(), self._used(pid)

    def more(self, longest: float = LONGEST) -> float:
        """Seconds since this was last asked, or since the beginning, of which at most `longest` count."""
        when, self._when = self._when, self._clock()
        before, self._before = self._before, self._used(self._pid)
        gap = min(self._when - when, longest)
        return min(gap, self._before - before) if self._works(self._pid) else gap


class Patience:
    """Follows the ranks of one call.

    `pids` are their processes; `places` tells where all ranks stand: of each the collective that it is in,
    0 for none, and how many it has entered.
    """

    def __init__(self, pids: Sequence[int], places: Callable[[], Sequence[tuple[int, int]]], limit: float):
        self._pids, self._places, self._limit = pids, places, limit
        self._begin = self._looked = time.monotonic()
        self._lives: list[Life] = []
        self._seen: object = None
        self._quiet = 0.0
        self._silence: dict[int, float] = {}
        self._turns: dict[int, int] = {}

    @property
    def pause(self) -> float:
        """Seconds until the next look."""
        return min(TICK, self._limit / 8)

    @property
    def is_over(self) -> bool:
        """Whether the call may take no longer, whatever its ranks do."""
        return time.monotonic() - self._begin >= TIMES * self._limit

    def hangs(self, waiting: Collection[int]) -> bool:
        """Look whether the ranks have made progress, and whether the call hangs; `waiting` have not ended.

        Where the last look was less than a pause ago it looks no closer, and says no.
        """
        gap = time.monotonic() - self._looked
        if gap < self.pause:
            return False
        self._looked += gap
        places, seen = self._places(), self._seen
        self._seen = places, tuple(sorted(waiting))
        self._lives = self._lives or [Life(pid) for pid in self._pids]
        grown = {rank: self._lives[rank].more() for rank in waiting}
        if self._seen != seen:
            self._quiet, self._silence = 0.0, dict.fromkeys(waiting, 0.0)
            self._turns = {rank: turns_on_a_processor(self._pids[rank]) for rank in waiting}
            return False
        self._quiet += min(gap, LONGEST)
        self._silence = {rank: self._silence[rank] + grown[rank] for rank in waiting}
        return self._quiet >= self._limit and all(
            self._has_had_enough(rank, within=places[rank][0] != 0) for rank in waiting
        )

    def _has_had_enough(self, rank: int, within: bool) -> bool:
        if not within:
            return self._silence[rank] >= self._limit
        turns = turns_on_a_processor(self._pids[rank]) - self._turns[rank]
        return turns >= TURNS or self._silence[rank] >= MOMENT * self._limit


def some_thread_works(pid: int) -> bool:
    """Whether a thread of a process runs, or waits for a processor or a disk."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return False
    return any(state_and_parent(f"{pid}/task/{thread}")[0] in WORKING for thread in threads)


def processor_seconds(pid: int) -> float:
    """Seconds of a processor that a process has had; 0 if it is gone."""
    words = content(pid, "stat").decode(errors="replace").rpartition(")")[2].split()
    return sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")


def turns_on_a_processor(pid: int) -> int:
    """How often the main thread of a process has left a processor; 0 if it is gone."""
    lines = content(pid, "status").splitlines()
    return sum(int(line.split()[1]) for line in lines if b"ctxt_switches" in line)
