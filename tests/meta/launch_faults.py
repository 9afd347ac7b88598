"""Mistakes of one rank, planted among three rounds of collectives; called on every rank."""

from __future__ import annotations

import ctypes
import os
import re
import signal
import time
from multiprocessing.connection import Connection

import numpy as np

from sstep_verify.solver.communicator import MpiCommunicator

WORDS = 4


def _loop() -> None:
    while True:
        pass


def _loop_with_the_lock() -> None:
    """Backtracking for ages, within one call that does not let go of the interpreter."""
    re.match(r"(a+)+$", "a" * 64 + "b")


def _segfault() -> None:
    ctypes.string_at(0)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def _leave() -> None:
    os._exit(0)


def _raise() -> None:
    raise ValueError("planted")


ENDLESS = {"loop": _loop, "loop with the lock": _loop_with_the_lock, "stopped": _stop}
DEADLY = {"segfault": _segfault, "killed": _kill, "left": _leave}
ROUND = {
    "skipped": [],
    "extra": ["allreduce", "allreduce", "reduce_scatter"],
    "reordered": ["reduce_scatter", "allreduce"],
    "other length": ["shorter", "reduce_scatter"],
}
USUAL = ["allreduce", "reduce_scatter"]


def rounds(comm, fault: str = "", guilty: int = -1, where: int = 1) -> float:
    """Three rounds of two collectives; in round `where` rank `guilty` does something else, or dies."""
    communicator = MpiCommunicator(comm)
    mistaken = comm.rank == guilty and fault != ""
    total = np.ones(WORDS)
    for number in range(4):
        here = mistaken and number == where
        if here and fault == "abort":
            comm.Abort(7)
        elif here and fault not in ROUND and fault != "wrong value":
            {**ENDLESS, **DEADLY, "raise": _raise}[fault]()
        if number == 3:
            break  # a fault after all collectives
        for name in ROUND[fault] if here and fault in ROUND else USUAL:
            _enter(communicator, name, total)
    return float(total[0]) + (mistaken and fault == "wrong value")


def _enter(communicator: MpiCommunicator, name: str, total: np.ndarray) -> None:
    if name == "reduce_scatter":
        counts = np.full(communicator.size, WORDS)
        communicator.reduce_scatter(np.ones(WORDS * communicator.size), np.empty(WORDS), counts)
    else:
        communicator.allreduce(total if name == "allreduce" else np.ones(WORDS // 2))


def wrong_above(comm, value: int, allowed: int, fault: str, guilty: int) -> float:
    """The fault, only for values that are large enough: Hypothesis must find the smallest one."""
    return rounds(comm, fault if value > allowed else "", guilty)


def process_of(comm) -> int:
    """Process number of this rank."""
    return os.getpid()


def size_of(comm, data: bytes) -> int:
    """Bytes that reached this rank."""
    return len(data)


def half_answered(comm, guilty: int) -> bytes:
    """An answer of which one rank sends the first half, and is stopped then."""

    def half(self, buffer, write=os.write):
        write(self._handle, buffer[: len(buffer) // 2])
        _stop()

    if comm.rank == guilty:
        Connection._send = half
    return b"answer"


def slow_rounds(comm, naps: int, seconds: float) -> int:
    """Rank 1 sleeps before each of so many collectives, so that the call is slow, and makes progress."""
    communicator = MpiCommunicator(comm)
    for _ in range(naps):
        time.sleep(seconds * (comm.rank == 1))
        communicator.allreduce(np.ones(WORDS))
    return naps


def starved(comm, seconds: float) -> float:
    """Work for so many seconds of a processor that all ranks and as many rivals share; those of the clock."""
    usual, own = os.sched_getaffinity(0), os.getpid()
    os.sched_setaffinity(0, {min(usual)})
    rival = os.fork()
    if not rival:
        while os.getppid() == own:
            pass
        os._exit(0)
    begin, clock = time.process_time(), time.monotonic()
    try:
        while time.process_time() - begin < seconds:
            pass
        return time.monotonic() - clock
    finally:
        os.kill(rival, signal.SIGKILL)
        os.waitpid(rival, 0)
        os.sched_setaffinity(0, usual)
