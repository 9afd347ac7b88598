"""Part of the ranks in the tests of injected delays."""

from __future__ import annotations

import time

import numpy as np
from mpi4py import MPI

from sstep_verify.ranks.interposer import forget_interposed_counts, interposed_counts, set_delay

BLOCKING = (
    "Allreduce", "Reduce_scatter", "Reduce_scatter_block", "Reduce", "Bcast", "Allgather", "Allgatherv",
    "Gather", "Alltoall", "Scan", "Barrier",
)  # fmt: skip


def _arguments(comm, name):
    """Buffers for a collective, of one number for each rank where it takes several."""
    one, all_ = np.ones(1), np.ones(comm.size)
    shares = [1] * comm.size
    return {
        "Reduce_scatter": (all_, one, shares), "Reduce_scatter_block": (all_, one), "Bcast": (one,),
        "Allgather": (one, all_), "Allgatherv": (one, [all_, shares]),
        "Gather": (one, all_ if comm.rank == 0 else None), "Alltoall": (all_, all_.copy()), "Barrier": (),
        "Reduce": (one, np.empty(1) if comm.rank == 0 else None),
    }.get(name, (one, np.empty(1)))  # fmt: skip


def blocking(comm, microseconds, per_byte):
    """Seconds of each collective with a delay."""
    taken = {}
    for name in BLOCKING:
        arguments = _arguments(comm, name)
        comm.Barrier()
        set_delay(microseconds, per_byte)
        begin = time.monotonic()
        getattr(comm, name)(*arguments)
        taken[name] = time.monotonic() - begin
        set_delay(0.0)
    return taken


def several(comm, calls, words):
    """Seconds of so many allreduces, as the environment delays them, and how many were counted."""
    buffer = np.ones(words)
    forget_interposed_counts()
    begin = time.monotonic()
    for _ in range(calls):
        comm.Allreduce(MPI.IN_PLACE, buffer)
    return time.monotonic() - begin, interposed_counts()["allreduce"].calls


def non_blocking(comm, microseconds):
    """Seconds to start one, whether it is said to have ended at once, and seconds until it has, by form."""
    taken = {}
    waits = {
        "Wait": lambda request: request.Wait(), "Waitall": lambda request: MPI.Request.Waitall([request]),
        "Waitany": lambda request: MPI.Request.Waitany([request]),
        "Waitsome": lambda request: MPI.Request.Waitsome([request]),
        "Test": lambda request: _until(request.Test),
        "Testall": lambda request: _until(lambda: MPI.Request.Testall([request])),
        "Testany": lambda request: _until(lambda: MPI.Request.Testany([request])[1]),
        "Testsome": lambda request: _until(lambda: MPI.Request.Testsome([request])),
    }  # fmt: skip
    for name, wait in waits.items():
        comm.Barrier()
        set_delay(microseconds)
        begin = time.monotonic()
        received = np.zeros(1)
        request = comm.Iallreduce(np.ones(1), received)
        wait(request)
        taken[name] = time.monotonic() - begin
        set_delay(0.0)
        assert received[0] == comm.size
    return taken


def _until(ended):
    while not ended():
        pass


def many_under_way(comm, microseconds, count):
    """Seconds until so many non-blocking collectives, all started before any is waited for, have ended."""
    set_delay(microseconds)
    begin = time.monotonic()
    sums = [np.zeros(1) for _ in range(count)]
    MPI.Request.Waitall([comm.Iallreduce(np.ones(1), received) for received in sums])
    taken = time.monotonic() - begin
    set_delay(0.0)
    return taken, sum(float(received[0]) for received in sums)
