"""A thread on every rank of a job, which ends the job when no rank makes progress any more.

Progress of a rank is a collective that it enters or leaves, or a step of its work that it reports. A rank
may wait long for another that works; so a rank without progress asks all others, and only when none of them
has made any for longer than allowed is the job ended, with a message that says where each rank stands.
A rank that does not even answer (it is stopped, or its loop holds the interpreter) is to blame.

Endless work and an endless loop look alike. What is allowed is therefore no constant: the limit, plus what
the work at hand was announced to take, and never less than `GROWTH` times the longest step seen since.

The three lowest ranks ask all others and judge, one after the other in case one of them is the rank that
hangs; the others ask only whether those three are there, so a large job is not flooded. Nothing is asked
while there is progress.
"""

from __future__ import annotations

import faulthandler
import sys
import threading
import time
from typing import IO, Any, NoReturn

from sstep_verify.ranks.failures import LaunchError, RankState, StallError, dissenters
from sstep_verify.ranks.heartbeat import (
    CURRENT,
    GRACE,
    Monitor,
    RankQueries,
    RankReport,
    end_job,
    first_exit_monitor,
    own_state,
)

TICK = 0.25
"""Seconds between two looks, at most; an eighth of a small limit."""

GROWTH = 3.0
"""Times the longest step so far that a step may take."""

AWAKE = 5.0
"""Most seconds that count between two looks: in a longer gap the process was suspended by its scheduler, or
the interpreter was held, which the other ranks see."""

JUDGES = 3
"""Lowest ranks, which judge."""

STAGGER = 1.5
"""Seconds that a judge leaves to the one before it."""

LONGEST = 1e6
"""Most seconds that a fault handler may wait: it refuses very large numbers."""

ALONE = 1.25
"""Factor on what is allowed to a rank that waits, where ranks cannot ask one another."""


class Unwatched:
    """The same door where nobody watches: on one process."""

    def expect(self, seconds: float) -> None:
        """Announce work."""

    def beat(self) -> None:
        """Report a step."""


class Watchdog(Unwatched):
    """Watches this rank, together with those of the other ranks; making one is a collective call.

    At least `limit` seconds without progress are allowed, 0 for any number of them; `option` is how the
    user sets that, for messages. A job that is ended has the exit code `code`, and its last words go to
    `voice`, or to standard error.
    """

    def __init__(self, comm: Any, limit: float, option: str, code: int, voice: IO[str] | None = None):
        from mpi4py import MPI

        self._comm, self._limit, self._option, self._code = comm, limit, option, code
        self._voice = voice or sys.stderr
        post = comm.Dup()
        # A thread may only send where the library lets several threads in.
        self._queries = RankQueries(post) if MPI.Query_thread() >= MPI.THREAD_MULTIPLE else None
        self._expected = self._longest = 0.0
        self._beats = 0
        self._place: tuple[int, str, int] = (-1, "", 0)
        self._clock, self._since, self._looked = 0.0, 0.0, time.monotonic()
        self._finished = False
        self._survey: threading.Event | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._monitor: Monitor | None = None
        self._thread.start()
        self._monitor = first_exit_monitor(comm, self._voice)

    def expect(self, seconds: float) -> None:
        """Announce work whose longest step may take `seconds` more than the limit."""
        self._expected, self._longest = seconds, 0.0
        self.beat()

    def beat(self) -> None:
        """Report a step of work that ended."""
        self._beats += 1

    def finish(self) -> None:
        """Note that the part of this rank is done: from now on it only waits for the others."""
        self._finished = True
        self.beat()

    def dismiss_monitor(self) -> None:
        """The end that follows is intended."""
        if self._monitor:
            self._monitor.dismiss()

    def stop(self) -> None:
        """Watch no longer."""
        self._stop.set()
        self._thread.join()
        faulthandler.cancel_dump_traceback_later()

    def end_intended(self) -> None:
        """Tell the monitors of all machines that the job is about to be aborted on purpose."""
        self._stop.set()
        self._thread.join()
        self._say_farewell()

    def mismatch(self) -> str:
        """Who entered other collectives than most, as far as can be found out at once; else nothing."""
        if self._queries is None:
            return ""
        self._survey = threading.Event()
        self._survey.wait(GRACE)
        time.sleep(2 * self._pause)  # for the answers
        found = self._queries.heard_since(self._since)
        own = own_state(self._comm.rank, finished=True)
        states = [own, *(said.state for rank, said in found.items() if rank != own.rank)]
        suspects = dissenters(sorted(states, key=lambda state: state.rank))
        if not suspects:
            return ""
        return (
            "the ranks may not have entered the same collectives with the same lengths; "
            f"suspect: rank {', '.join(map(str, suspects))}"
        )

    @property
    def _pause(self) -> float:
        return min(TICK, self._limit / 8) if self._limit else TICK

    @property
    def _allowed(self) -> float:
        if not self._limit:
            return float("inf")
        return max(self._limit + self._expected, GROWTH * self._longest)

    def _watch(self) -> None:
        """Look at this rank until told to stop; in the watchdog's thread."""
        while True:
            if self._limit:
                # A loop that holds the interpreter stops this thread, but not that one: it is not Python.
                faulthandler.dump_traceback_later(min(self._allowed, LONGEST), file=self._voice)
            if self._stop.wait(self._pause):
                return
            self._look()
            if self._queries is None:
                self._judge_alone()
            else:
                self._confer(self._queries)

    def _look(self) -> None:
        """See whether this rank has made progress."""
        now = time.monotonic()
        self._clock += min(now - self._looked, AWAKE)
        self._looked = now
        place = CURRENT.entered, CURRENT.inside, self._beats
        if place != self._place:
            self._longest = max(self._longest, self._clock - self._since)
            self._place, self._since = place, self._clock
            if self._queries:
                self._queries.forget()

    def _report(self) -> RankReport:
        state = own_state(self._comm.rank, self._finished)
        return RankReport(state, self._clock - self._since, self._allowed)

    def _confer(self, queries: RankQueries) -> None:
        """Answer others; ask them and judge if this rank has made no progress for long."""
        queries.serve(self._report, self._clock)
        if queries.farewell:
            self.dismiss_monitor()
        if self._survey:
            queries.ask(range(self._comm.size))
            self._survey.set()
        allowed, rank = self._allowed, self._comm.rank
        if self._clock - self._since < allowed / 2:
            return
        asked = range(self._comm.size if rank < JUDGES else JUDGES)
        queries.ask(asked)
        heard = queries.heard_since(self._since)
        if rank >= JUDGES and queries.heard_since(self._clock - allowed).keys() & {*asked}:
            return  # a judge is there
        allowed = max([allowed, *(said.allowed for said in heard.values())])
        last = max([self._since, *(queries.progress(other) for other in asked)])
        if self._clock - last > allowed + STAGGER * min(rank, JUDGES):
            fresh = queries.heard_since(self._clock - max(1.0, 4 * self._pause))
            states = [fresh[other].state if other in fresh else RankState(other) for other in asked]
            own = self._report().state
            states = [own, *(state for state in states if state.rank != rank)]
            self._end(StallError(self._clock - last, allowed, sorted(states, key=lambda state: state.rank)))

    def _judge_alone(self) -> None:
        """Judge by this rank alone; one that waits gives those that do not the time to say so first."""
        silence, state = self._clock - self._since, self._report().state
        if silence <= self._allowed * (ALONE if state.inside or state.finished else 1.0):
            return
        told = f"{state.describe()}, and has made no progress for {silence:.3g} s"
        if state.inside or state.finished:
            told += "; another rank loops or is stopped, or not all ranks entered the same collectives"
        self._end(LaunchError(f"{told}\n{state.stack}allowed were {self._allowed:.3g} s"))

    def _end(self, error: LaunchError) -> NoReturn:
        """Say why and abort the whole job."""
        advice = (
            f": {self._option} {self._limit:g}, with what the input and the slowest step so far add; if "
            f"the run was merely slow, pass a larger {self._option} (0: no limit)"
        )
        # What stands on the screen first is what happened; an abort is then no news.
        self._say_farewell()
        end_job(self._comm if self._queries else None, f"hang: {error}{advice}", self._code, self._voice)

    def _say_farewell(self) -> None:
        """The monitors of all machines need not name the rank that the launcher kills first."""
        self.dismiss_monitor()
        if self._queries:
            self._queries.bid_farewell()
