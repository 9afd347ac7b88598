"""Calls on the ranks of the job we are in: rank 0 leads, the others follow.

The followers sleep between looks for a task, so that they leave the cores to the leader. A call that does
not end is beyond repair in place: every rank says where it stands, and the whole job is aborted.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import os
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import IO, Any, NoReturn

from sstep_verify.errors import InputError
from sstep_verify.ranks import task
from sstep_verify.ranks.environment import SLOW, start_limit, world
from sstep_verify.ranks.failures import HangError, RankState
from sstep_verify.ranks.heartbeat import (
    CURRENT,
    GRACE,
    end_job,
    first_exit_monitor,
    own_state,
    start_monitored,
)

NAP = 0.001
"""Seconds between two looks of an idle rank."""

EAGER = 0.002
"""Seconds during which a rank that waits for an answer does not sleep."""

PATIENCE = 10.0
"""Seconds that the other ranks get to end by themselves once one has raised."""

TRANSFER = 120.0
"""Seconds that the message of a call may take once it has begun to arrive."""

ABORT_CODE = 70
"""Exit code of a job that the watchdog ended."""

CALL, ANSWER, STATE = 1, 2, 3
"""Tags of messages: a call to make, its answer, where a rank stands."""


class Job:
    """One rank of the job, seen from inside; `join` makes it.

    Last words go to `voice`: standard error as it was before anything captured it.
    """

    def __init__(self, voice: IO[str]):
        self.comm, self.voice = world(), voice
        self.rooms: dict[int, task.Rooms] = {}
        self.fresh: set[int] = set()
        self.monitor = first_exit_monitor(self.comm, voice)
        self._states: dict[int, RankState] = {}
        self._complaint = ""

    def lead(self, ranks: int, name: str, call: bytes, limit: float) -> list[Any]:
        """Make a call on the first `ranks` ranks; on rank 0."""
        comm = self.comm
        message = (ranks, ranks in self.fresh, name, call, limit)
        self.fresh.discard(ranks)
        with self._watch(ranks, name, limit):
            # A large message goes only as it is received, which a rank that is stopped never does.
            with _in_message():
                _await([comm.isend(message, rank, CALL) for rank in range(1, ranks)])
            answers = {0: task.read_answer(0, self._part(*message))}
            self._states[0] = answers[0].state
            self._complaint = str(task.failure_of(name, answers, []) or "")
            self._gather(answers, ranks, name)
        failure = task.failure_of(name, answers, [])
        if failure:
            self.fresh.add(ranks)
            raise failure
        return [answers[rank].value for rank in range(ranks)]

    def _gather(self, answers: dict[int, task.Answer], ranks: int, name: str) -> None:
        """Wait for the others' answers; not long, once one has failed."""
        from mpi4py import MPI

        comm, status, begin = self.comm, MPI.Status(), time.monotonic()
        end = begin + PATIENCE if answers[0].failure else float("inf")
        while len(answers) < ranks:
            if not comm.iprobe(MPI.ANY_SOURCE, ANSWER, status):
                if time.monotonic() > end:
                    missing = [RankState(rank) for rank in range(ranks) if rank not in answers]
                    self.end(str(task.failure_of(name, answers, missing)))
                _nap(begin)
                continue
            rank = status.source
            answers[rank] = task.read_answer(rank, comm.recv(source=rank, tag=ANSWER))
            self._states[rank] = answers[rank].state
            if answers[rank].failure:
                end = min(end, time.monotonic() + PATIENCE)

    def follow(self) -> None:
        """Serve the leader's calls until it dismisses the ranks; on ranks > 0."""
        comm = self.comm
        while True:
            while not comm.iprobe(0, CALL):
                time.sleep(NAP)
            with self._watch(comm.size, "the message of a call", TRANSFER), _in_message():
                message = comm.recv(source=0, tag=CALL)
            if message is None:
                return
            ranks, _, name, _, limit = message
            with self._watch(ranks, name, limit):
                self._answer(name, self._part(*message))

    def _answer(self, name: str, answer: bytes) -> None:
        """Hand the answer to the leader; if this rank failed, the leader may wait for it elsewhere."""
        rank = self.comm.rank
        read = task.read_answer(rank, answer)
        self._states[rank] = read.state
        self._complaint = str(task.failure_of(name, {rank: read}, []) or "")
        request, begin = self.comm.issend(answer, 0, ANSWER), time.monotonic()
        while not request.test()[0]:
            if read.failure and time.monotonic() > begin + PATIENCE:
                leader = RankState(0, "some collective", stack="unknown")
                text = task.failure_of(name, {rank: read}, [leader])
                late = f"rank 0 still waits for rank {rank} after {PATIENCE:g} s"
                self.end(f"{text}\nthe job ends here: {late}")
            _nap(begin)

    def _part(self, ranks: int, fresh: bool, name: str, call: bytes, limit: float) -> bytes:
        """Make a call here, on a communicator of the ranks that take part."""
        if ranks not in self.rooms:
            group = self.comm.group.Incl(range(ranks))
            self.rooms[ranks] = task.Rooms(lambda: self.comm.Create_group(group))
        return task.execute(self.rooms[ranks].enter(fresh), call)

    @contextlib.contextmanager
    def _watch(self, ranks: int, name: str, limit: float) -> Iterator[None]:
        """End the job if the block takes longer than `limit` seconds."""
        self._states, self._complaint = {}, ""
        watchdog = threading.Timer(limit, self._last_words, (ranks, name, limit))
        watchdog.daemon = True
        watchdog.start()
        # A loop that holds the interpreter stops that thread, but not this one, which is not Python.
        faulthandler.dump_traceback_later(limit + 3 * GRACE, exit=True, file=self.voice)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
            watchdog.cancel()

    def _last_words(self, ranks: int, name: str, limit: float) -> None:
        """Say where the ranks stand and end the job; in the watchdog's thread."""
        from mpi4py import MPI

        comm = self.comm
        state = self._states.get(comm.rank) or own_state(comm.rank)
        end = time.monotonic() + GRACE
        if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
            time.sleep(GRACE * comm.rank / comm.size)  # one after the other
            self.end(f"{name}: no end within {limit:g} s; {state.describe()}\n{state.stack}")
        if self._complaint:
            print(f"\n{self._complaint}", file=self.voice, flush=True)
        if comm.rank > 0:
            comm.isend(state, 0, STATE)
            time.sleep(2 * GRACE)
            self.end(str(HangError(name, limit, [RankState(0), state])))
        states = {0: state, **{rank: found for rank, found in self._states.items() if rank}}
        while len(states) < ranks and time.monotonic() < end:
            if comm.iprobe(MPI.ANY_SOURCE, STATE):
                found = comm.recv(source=MPI.ANY_SOURCE, tag=STATE)
                states.setdefault(found.rank, found)
            time.sleep(NAP)
        self.end(str(HangError(name, limit, [states.get(rank, RankState(rank)) for rank in range(ranks)])))

    def end(self, text: str) -> NoReturn:
        """Say why and abort the whole job."""
        self.monitor.dismiss()
        end_job(self.comm, text, ABORT_CODE, self.voice)

    def dismiss(self) -> None:
        """Let the followers go home; on rank 0."""
        for rank in range(1, self.comm.size):
            self.comm.send(None, rank, CALL)


_job: Job | None = None


def join(voice: IO[str]) -> bool:
    """See `sstep_verify.ranks.join`."""
    global _job
    if _job is not None:
        return _job.comm.rank == 0
    with start_monitored(start_limit(), SLOW, voice):
        job = _job = Job(voice)
    atexit.register(job.comm.Barrier)  # runs last: nobody ends before the monitors are dismissed
    atexit.register(job.monitor.dismiss)
    if job.comm.rank == 0:
        atexit.register(job.dismiss)
        return True
    # What the MPI library says before an abort must not stay in a capture file.
    os.dup2(job.voice.fileno(), 2)
    try:
        job.follow()
    except BaseException:
        job.end(f"rank {job.comm.rank} can follow no longer:\n{traceback.format_exc()}")
    return False


def call(ranks: int, function: Callable, arguments: tuple, limit: float) -> list[Any]:
    """Call a function on the first `ranks` ranks of the job; see `sstep_verify.ranks.run`."""
    if _job is None:
        raise InputError(
            "run() under mpiexec needs followers: call sstep_verify.ranks.join() on every rank first "
            "(the pytest plugin sstep_verify.pytest_plugin does it)"
        )
    if _job.comm.rank != 0:
        raise InputError(f"rank {_job.comm.rank} called run(); only rank 0 leads, the others follow")
    if ranks > _job.comm.size:
        raise InputError(
            f"{ranks} ranks are asked for, but the job has {_job.comm.size}: mpiexec -n {ranks} ..."
        )
    name = task.check_function(function)
    return _job.lead(ranks, name, task.pack_call(function, arguments), limit)


@contextlib.contextmanager
def _in_message() -> Iterator[None]:
    """Note, for whoever asks where this rank stands, that it waits for another."""
    CURRENT.reset()
    CURRENT.enter("message of a call")
    yield
    CURRENT.leave()


def _await(requests: list[Any]) -> None:
    """Wait for the end of messages, and let other threads run meanwhile."""
    begin = time.monotonic()
    while not all(request.test()[0] for request in requests):
        _nap(begin)


def _nap(begin: float) -> None:
    """Wait a little: hardly at first, then long enough to leave the core to others."""
    time.sleep(0.0 if time.monotonic() < begin + EAGER else NAP)
