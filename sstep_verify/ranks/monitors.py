"""Processes beside the ranks that name a rank which the ranks themselves cannot: their set-up and end."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import IO, Any, NoReturn

from sstep_verify.ranks import monitor_programs
from sstep_verify.ranks.environment import promised_local_size, promised_rank, promised_size, rank_variable

SETTLED = 8.0
"""Seconds that ranks may take at least to come together: they load programs from a disk they share."""

GRACE = 1.0
"""Seconds in which the ranks say where they stand, and in which the launcher acts on an abort."""


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
    """Start the monitor of each machine, beside one of its ranks; a collective call of the job."""
    from mpi4py import MPI

    machine = comm.Split_type(MPI.COMM_TYPE_SHARED)
    processes = machine.gather(f"{comm.rank}:{os.getpid()}:{_sign_of_life()}")
    machine.Free()
    return Monitor(monitor_programs.FIRST_EXIT, processes, voice)


@functools.cache
def _sign_of_life() -> int:
    """Open a pipe that closes as the first of what closes when this process ends; its reading end.

    Its writing end gets the lowest number that is free: call this before MPI, and so the launcher's
    connection, begins.
    """
    lowest, writing = os.pipe()
    reading = os.dup(lowest)
    os.dup2(writing, lowest, inheritable=False)
    os.close(writing)
    return reading


@contextlib.contextmanager
def start_monitored(limit: float, advice: str, voice: IO[str] | None = None) -> Iterator[None]:
    """End the job if the block, in which MPI begins, takes too long; see `monitor_programs`.

    A rank that waits for others in ``MPI_Init`` runs no Python, and one that is stopped or gone cannot
    speak: a process beside each rank does, to `voice` or to standard error. Allowed are `limit` seconds,
    though never less than `SETTLED`, and 0 for any number of them; `advice` is what to do where the ranks
    were merely slow.
    """
    if not 0 < limit < math.inf or promised_size() == 1:
        yield
        return
    _sign_of_life()
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
