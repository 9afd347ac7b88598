"""When a run of a program hangs: the one place where that is decided.

As for ranks of a pool, seconds of the clock alone are no evidence (`sstep_verify.ranks.patience`). What
counts are the seconds that a program has lived: those of its process that has lived least. A process lives
as the clock goes while it sleeps, else as long as it gets a processor. A new one has lived as long as the
program until then. A program never lives faster than the clock, so that what a process has waited for a
processor is not forgotten when that process ends.

A program hangs once it has lived as long as its limit. One that is under way after `TIMES` times as many
seconds of the clock is not judged: it had too little of the processors.

What cannot be told: whether a program that loops or sleeps would have ended later, and who stopped one that
is stopped. Processes on other machines are not looked at, nor orphans in a session of their own. Where
there is no /proc the clock decides.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import NamedTuple

from sstep_verify.ranks.patience import LONGEST, TIMES, Life, processor_seconds, some_thread_works

TICK, SHORTEST = 1.0, 0.01
"""Seconds between two looks, at most and at least; between them an eighth of the limit."""

BIRTH = 19
"""Place of the ticks since boot at which a process began, among the words behind its name in its stat."""


class Process(NamedTuple):
    """What the kernel says of a process: state, such as "Z", and seconds since boot at which it began."""

    state: str
    parent: int
    group: int
    session: int
    birth: float


def processes() -> dict[int, Process]:
    """All processes of this machine, by their numbers; none where there is no /proc."""
    found, ticks = {}, os.sysconf("SC_CLK_TCK")
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            words = place.read_text("ascii", "replace").rpartition(")")[2].split()
            parent, group, session = map(int, words[1:4])
            found[int(place.parent.name)] = Process(
                words[0], parent, group, session, int(words[BIRTH]) / ticks
            )
    return found


def tree(root: int) -> dict[int, Process]:
    """A process and all below it, those that became orphans in its session included."""
    everybody = processes()
    found = {
        pid: one
        for pid, one in everybody.items()
        if pid == root or (one.session == root and one.state != "Z")
    }
    new = set(found)
    while new:
        new = {pid for pid, one in everybody.items() if one.parent in new and pid not in found}
        found |= {pid: everybody[pid] for pid in new}
    return found


class Patience:
    """Follows a program, whose first process leads a session, and which may live `limit` seconds.

    Attribute `hung`: what the last look said.
    """

    def __init__(self, root: int, limit: float):
        self._root, self._limit = root, limit
        self._begin = self._looked = time.monotonic()
        self._processes: dict[int, tuple[Life, float]] = {root: (Life(root), 0.0)}
        self._lived, self.hung = 0.0, False

    @property
    def pause(self) -> float:
        """Seconds until the next look."""
        return max(min(TICK, self._limit / 8, self._limit - self._lived), SHORTEST)

    @property
    def is_over(self) -> bool:
        """Whether the program may take no longer, whatever it had of the processors."""
        return time.monotonic() - self._begin >= TIMES * self._limit

    def hangs(self) -> bool:
        """Look what the processes of the program have lived, and whether it hangs."""
        now = time.monotonic()
        gap, self._looked = min(now - self._looked, LONGEST), now
        lives = {}
        for pid, one in tree(self._root).items():
            if pid in self._processes:
                life, lived = self._processes[pid]
                lives[pid] = life, lived + life.more()
            else:
                age = min(max(time.clock_gettime(time.CLOCK_BOOTTIME) - one.birth, 0.0), gap)
                had = min(age, processor_seconds(pid)) if some_thread_works(pid) else age
                lives[pid] = Life(pid), self._lived + gap - age + had
        self._processes = lives
        least = min((lived for _, lived in lives.values()), default=self._lived + gap)
        self._lived = min(self._lived + gap, least)
        self.hung = self._lived >= self._limit
        return self.hung
