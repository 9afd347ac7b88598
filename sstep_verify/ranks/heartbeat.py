"""Signs of life of the ranks of a job: what they say of themselves, and monitors next to them.

The place of this process among its collectives is kept by the communicator and read by a watchdog, in
memory that another process may share, so that it outlives a crash. Watchdogs ask one another from thread to
thread on a communicator of their own, so nothing is shared but the network. Monitors are processes next to
the ranks that name a rank which the ranks themselves cannot.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import math
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any, NoReturn

from sstep_verify.ranks import monitor_programs
from sstep_verify.ranks.environment import promised_local_size, promised_rank, promised_size, rank_variable
from sstep_verify.ranks.failures import RankState

QUESTION, ANSWER, FAREWELL = 1, 2, 3
"""Tags of messages: where do you stand; its answer; the job is about to be ended on purpose."""


@dataclass(frozen=True)
class RankReport:
    """A rank's answer about itself.

    What its main thread does, the seconds since it made progress, and those that it would allow.
    """

    state: RankState
    silence: float
    allowed: float


class RankQueries:
    """Questions and answers of one rank, on a communicator that only its watchdog's thread uses."""

    def __init__(self, comm: Any):
        from mpi4py import MPI

        self._comm, self._complaint = comm, MPI.Exception
        self._heard: dict[int, tuple[float, RankReport]] = {}
        self._asked: set[int] = set()
        self._sent: list[Any] = []
        self.farewell = False

    def ask(self, ranks: Iterable[int]) -> None:
        """Ask ranks that owe no answer already."""
        for rank in {*ranks} - self._asked - {self._comm.rank}:
            self._asked.add(rank)
            self._send(None, rank, QUESTION)

    def bid_farewell(self) -> None:
        """Tell all ranks that the end which follows is intended."""
        for rank in range(self._comm.size):
            if rank != self._comm.rank:
                self._send(None, rank, FAREWELL)

    def serve(self, own: Callable[[], RankReport], now: float) -> None:
        """Answer what was asked and note what was answered until `now` (s, by the watchdog's clock)."""
        from mpi4py import MPI

        status = MPI.Status()
        # A library may complain of a rank that is gone, which is heard of by its silence.
        with contextlib.suppress(self._complaint):
            while self._comm.iprobe(MPI.ANY_SOURCE, MPI.ANY_TAG, status):
                rank, tag = status.source, status.tag
                said = self._comm.recv(source=rank, tag=tag)
                if tag == QUESTION:
                    self._send(own(), rank, ANSWER)
                elif tag == ANSWER:
                    self._asked.discard(rank)
                    self._heard[rank] = now, said
                else:
                    self.farewell = True
            # What is under way must be kept; a stopped rank may never take it.
            self._sent = [request for request in self._sent if not request.Test()]

    def forget(self) -> None:
        """Drop what was heard, since this rank has made progress."""
        self._heard.clear()

    def heard_since(self, begin: float) -> dict[int, RankReport]:
        """The last answer of each rank that has answered since `begin`."""
        return {rank: said for rank, (when, said) in self._heard.items() if when >= begin}

    def progress(self, rank: int) -> float:
        """When a rank last made progress, as far as it has answered; minus infinity if it has not."""
        if rank not in self._heard:
            return float("-inf")
        when, said = self._heard[rank]
        return when - said.silence

    def _send(self, message: Any, rank: int, tag: int) -> None:
        with contextlib.suppress(self._complaint):
            self._sent.append(self._comm.isend(message, rank, tag))


NAMES = (
    "",
    "allreduce",
    "reduce_scatter",
    "allgather",
    "alltoallv",
    "barrier",
    "broadcast",
    "message of a call",
)
"""The collectives by number; hashes of text differ from process to process, those of numbers do not."""

CODES = {name: code for code, name in enumerate(NAMES)}

KEPT = 64
"""Digests kept, one for each of the last collectives."""

WORDS = 2 + KEPT
"""8-byte words of one process: collective under way, collectives entered, digests."""


class Progress:
    """Which collective is being waited in, and which were entered before.

    Parameters
    ----------
    words : memoryview, optional
        `WORDS` signed 8-byte words to keep it in; memory of its own if absent.
    """

    def __init__(self, words: memoryview | None = None):
        self._words = memoryview(bytearray(8 * WORDS)).cast("q") if words is None else words

    @property
    def inside(self) -> str:
        """Collective that the process waits in; empty if it is in none."""
        return NAMES[self._words[0]]

    @property
    def entered(self) -> int:
        """Collectives entered since the call began."""
        return self._words[1]

    @property
    def place(self) -> tuple[int, int]:
        """A number for the collective that the process waits in, and how many it has entered."""
        return self._words[0], self._words[1]

    @property
    def history(self) -> tuple[int, ...]:
        """Digest after each of the last `KEPT` collectives, the newest last.

        Equal on two ranks where they had entered the same kinds with the same lengths in the same order.
        """
        entered = self._words[1]
        return tuple(
            self._words[2 + count % KEPT] for count in range(max(entered - KEPT, 0) + 1, entered + 1)
        )

    def share(self, words: memoryview) -> None:
        """Keep it in `words` from now on."""
        self._words = words
        self.reset()

    def reset(self) -> None:
        """Begin a new call."""
        self._words[0] = self._words[1] = self._words[2] = 0

    def enter(self, name: str, length: int = 0) -> None:
        """Note that this process enters collective `name` of `length` words, the same on all ranks."""
        words, code = self._words, CODES[name]
        before = words[1]
        words[2 + (before + 1) % KEPT] = hash((words[2 + before % KEPT], code, length))
        words[1] = before + 1
        words[0] = code

    def leave(self) -> None:
        """Note that this process is out of it."""
        self._words[0] = 0


CURRENT = Progress()
"""Progress of this process."""


def own_state(rank: int, finished: bool = False) -> RankState:
    """The present place of this process: its main thread's stack and collective."""
    stack = ""
    if not finished:
        frame = sys._current_frames().get(threading.main_thread().ident or 0)
        stack = "".join(traceback.format_stack(frame)) if frame else "no frame\n"
    return RankState(rank, CURRENT.inside, CURRENT.entered, stack, finished, CURRENT.history)


def observed(communicator: Any) -> Any:
    """Another handle of an mpi4py communicator, whose `progress` hears of every collective.

    See `sstep_verify.solver.communicator.MpiCommunicator`.
    """
    from mpi4py import MPI

    return type("ObservedComm", (MPI.Intracomm,), {"progress": CURRENT})(communicator)


SETTLED = 8.0
"""Seconds that ranks may take at least to come together: they load programs from a disk they share."""

GRACE = 1.0
"""Seconds in which the ranks say where they stand, and in which the launcher acts on an abort."""


HIGH = 200
"""Number of a file above that of the launcher's connection, which is among the first that a rank opens."""


class Monitor:
    """One of the `monitor_programs` under way, if this rank is given what to tell it."""

    def __init__(self, program: str, arguments: list[str] | None, voice: IO[str]):
        self._process = None if arguments is None else subprocess.Popen(
            [sys.executable, "-I", "-S", monitor_programs.__file__, program, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=voice, start_new_session=True,
        )  # fmt: skip

    def dismiss(self) -> None:
        """End it: what it waits for has happened, or the end that follows is intended."""
        process, self._process = self._process, None
        if process and process.stdin:
            with contextlib.suppress(BrokenPipeError), process.stdin as door:
                door.write(b".")
            process.wait()


def first_exit_monitor(comm: Any, voice: IO[str]) -> Monitor:
    """Start the monitor of each machine, next to one of its ranks; a collective call of the job."""
    from mpi4py import MPI

    machine = comm.Split_type(MPI.COMM_TYPE_SHARED)
    processes = machine.gather(":".join(map(str, (comm.rank, os.getpid(), *signs_of_life()))))
    machine.Free()
    return Monitor(monitor_programs.FIRST_EXIT, processes, voice)


@functools.cache
def signs_of_life() -> tuple[int, int]:
    """Reading ends of pipes, one of which closes as the first of what closes when this process ends.

    One has its writing end at the lowest number that is free, one at a high number: call this before MPI,
    and so the launcher's connection, begins.
    """
    lowest, writing = os.pipe()
    reading = os.dup(lowest)
    os.dup2(writing, lowest, inheritable=False)
    os.close(writing)
    other, writing = os.pipe()
    with contextlib.suppress(OSError):  # where so many files are not allowed it stays where it is
        fcntl.fcntl(writing, fcntl.F_DUPFD_CLOEXEC, HIGH)
        os.close(writing)
    return reading, other


@contextlib.contextmanager
def start_monitored(limit: float, advice: str, voice: IO[str] | None = None) -> Iterator[None]:
    """End the job if the block, in which MPI begins, takes too long; see `monitor_programs`.

    A rank that waits for others in ``MPI_Init`` runs no Python, and one that is stopped or gone cannot
    speak: a process next to each rank does, to `voice` or to standard error. Allowed are `limit` seconds,
    though never less than `SETTLED`, and 0 for any number of them; `advice` is what to do where the ranks
    were merely slow.
    """
    if not 0 < limit < math.inf or promised_size() == 1:
        yield
        return
    signs_of_life()
    place = [promised_rank(), promised_size(), promised_local_size(), rank_variable()]
    told = [str(max(limit, SETTLED)), *map(str, place), advice]
    monitor = Monitor(monitor_programs.START, told, voice or sys.stderr)
    try:
        yield
    finally:
        monitor.dismiss()


def end_job(comm: Any, text: str, code: int, voice: IO[str]) -> NoReturn:
    """Say why, once the monitors know that the end is intended, and end the whole job by MPI.

    Without a communicator that this thread may use, this rank ends, and the launcher ends the others.
    """
    print(f"\n{text}", file=voice, flush=True)
    time.sleep(monitor_programs.DELIVERY)
    if comm is not None:
        comm.Abort(code)
        time.sleep(GRACE)  # MPICH returns from it before the launcher acts
    os._exit(code)
