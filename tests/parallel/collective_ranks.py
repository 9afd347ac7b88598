"""Part of the ranks in the tests of `run`; every function is called on each of them."""

from __future__ import annotations

import numpy as np

from sstep_verify.ranks import run
from sstep_verify.ranks.interposer import forget_interposed_counts, interposed_counts
from sstep_verify.solver.communicator import MpiCommunicator
from sstep_verify.solver.packet import CountingCommunicator


def place(comm):
    return comm.rank, comm.size


def with_arguments(comm, first, second):
    return first, second, comm.rank


def summed(comm, numbers):
    """Every rank holds a share of the numbers; all get their sum."""
    buffer = np.array([sum(numbers[comm.rank :: comm.size]), 1.0])
    MpiCommunicator(comm).allreduce(buffer)
    return buffer.tolist()


def scattered(comm, counts):
    """Rank p contributes (p+1) times 0, 1, 2, ... and gets its part of the sum."""
    send = (comm.rank + 1.0) * np.arange(sum(counts))
    receive = np.empty(counts[comm.rank])
    MpiCommunicator(comm).reduce_scatter(send, receive, np.array(counts))
    return receive.tolist()


def gathered(comm):
    communicator = MpiCommunicator(comm)
    communicator.barrier()
    return communicator.allgather({"rank": comm.rank})


def raise_above(comm, guilty, value, allowed):
    """One rank objects to a value, after its last collective."""
    communicator = MpiCommunicator(comm)
    communicator.allreduce(np.zeros(3))
    if comm.rank == guilty and value > allowed:
        raise ValueError(f"{value} > {allowed}")
    return value


def unsendable(comm):
    return lambda: comm.rank


def run_again(comm):
    return run(1, place)


def leave_a_message(comm):
    """A message that nobody receives, and an error on all ranks."""
    if comm.rank == 0:
        comm.send("stray", 1)
    raise ValueError("left early")


def any_message(comm):
    comm.Barrier()
    return comm.iprobe()


def counted(comm, sequence, length):
    """Counts of the counting communicator, and of the interposer, for a known sequence of calls."""
    communicator = CountingCommunicator(MpiCommunicator(comm))
    share = np.full(comm.size, length)
    forget_interposed_counts()
    for name in sequence:
        if name == "allreduce":
            communicator.allreduce(np.ones(length))
        else:
            communicator.reduce_scatter(np.ones(length * comm.size), np.empty(length), share)
    reductions = interposed_counts()
    communicator.barrier()
    communicator.allgather(comm.rank)
    return communicator.collectives, communicator.words, reductions, interposed_counts()


def uncounted(comm):
    return interposed_counts()
