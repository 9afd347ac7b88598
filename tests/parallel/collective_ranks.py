"""Part of the ranks in the tests of `run`; every function is called on each of them."""

from __future__ import annotations

import numpy as np

from sstep_verify.ranks import run
from sstep_verify.ranks.interposer import forget_interposed_counts, interposed_counts
from sstep_verify.solver.communicator import MpiCommunicator
from sstep_verify.solver.packet import CountingCommunicator
from sstep_verify.trajectory import Traffic


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


def handed(comm) -> dict[str, tuple[dict[str, Traffic], tuple[str, int, int, int]]]:
    """What the interposer counted of one operation each, and its kind, calls, elements and bytes, by name."""
    from mpi4py import MPI

    size, right, left = comm.size, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    whole = np.ones(6)
    triples = MPI.DOUBLE.Create_contiguous(3).Commit()
    strided = MPI.INT.Create_vector(2, 1, 4).Commit()
    mixed = MPI.Datatype.Create_struct([2, 5], [0, 16], [MPI.DOUBLE, MPI.BYTE]).Commit()
    nested = triples.Create_contiguous(2).Commit()
    window = MPI.Win.Create(np.zeros(8), 8, comm=comm)
    neighbours = comm.Create_cart([size], periods=[True])
    text = np.zeros(21, dtype=np.uint8)

    def persistent():
        request = comm.Send_init(whole, right, 7)
        for _ in range(3):
            request.Start()
            comm.Recv(np.empty(6), left, 7)
            request.Wait()
        request.Free()

    def persistent_sum():
        request = comm.Allreduce_init(MPI.IN_PLACE, whole)
        for _ in range(2):
            MPI.Prequest.Startall([request])
            request.Wait()
        request.Free()

    def non_blocking():
        requests = [
            comm.Isend([whole, triples], right, 1),
            comm.Issend(whole.astype(np.float32), right, 2),
            comm.Irecv(np.empty(6), left, 1),
            comm.Irecv(np.empty(6, dtype=np.float32), left, 2),
        ]
        MPI.Request.Waitall(requests)

    def one_sided():
        window.Fence()
        window.Put(whole[:3], right)
        window.Fence()
        window.Accumulate(whole[:2], right)
        window.Fence()
        got = np.empty(4)
        window.Get(got, right)
        window.Fence()

    wide = np.ones(4, dtype=np.complex128)
    tries = {
        "numbers of 4 bytes": (lambda: comm.Allreduce(MPI.IN_PLACE, np.ones(5, dtype=np.float32)), "allreduce", 1, 5, 20),
        "bytes": (lambda: comm.Bcast([text, MPI.BYTE], 0), "broadcast", 1, 21, 21),
        "both parts of complex numbers": (lambda: comm.Allreduce(MPI.IN_PLACE, wide), "allreduce", 1, 8, 64),
        "whole numbers": (lambda: comm.Allreduce(MPI.IN_PLACE, np.ones(3, dtype=np.int16)), "allreduce", 1, 3, 6),
        "made datatype": (lambda: comm.Bcast([whole, 2, triples], 0), "broadcast", 1, 6, 48),
        "made of a made one": (lambda: comm.Bcast([whole, 1, nested], 0), "broadcast", 1, 6, 48),
        "with gaps": (lambda: comm.Bcast([np.zeros(5, dtype=np.int32), 1, strided], 0), "broadcast", 1, 2, 8),
        "numbers and bytes": (lambda: comm.Bcast([text, 1, mixed], 0), "broadcast", 1, 7, 21),
        "not blocking": (lambda: comm.Iallreduce(MPI.IN_PLACE, whole).Wait(), "allreduce", 1, 6, 48),
        "equal parts": (lambda: comm.Reduce_scatter_block(np.ones(2 * size), np.empty(2)), "reduce_scatter", 1, 2 * size, 16 * size),
        "barrier": (comm.Barrier, "barrier", 1, 0, 0),
        "reduce": (lambda: comm.Reduce(whole, np.empty(6), root=0), "other", 1, 6, 48),
        "gathered in place": (lambda: comm.Allgather(MPI.IN_PLACE, np.ones(2 * size)), "other", 1, 2, 16),
        "to all": (lambda: comm.Alltoall(np.ones(3 * size), np.empty(3 * size)), "other", 1, 3 * size, 24 * size),
        "among neighbours": (lambda: neighbours.Neighbor_alltoall(np.ones(4), np.empty(4)), "other", 1, 4, 32),
        "from the root": (lambda: comm.Scatter(np.ones(size), np.empty(1), 0), "other", 1, size * (comm.rank == 0), 8 * size * (comm.rank == 0)),
        "both ways": (lambda: comm.Sendrecv(whole, right, 0, np.empty(6), left, 0), "point_to_point", 1, 6, 48),
        "in a place": (lambda: comm.Sendrecv_replace(np.ones(6), right, 0, left, 0), "point_to_point", 1, 6, 48),
        "to nobody": (lambda: comm.Send(whole, MPI.PROC_NULL), "point_to_point", 0, 0, 0),
        "not waited for": (non_blocking, "point_to_point", 2, 12, 72),
        "started thrice": (persistent, "point_to_point", 3, 18, 144),
        "a sum started twice": (persistent_sum, "allreduce", 2, 12, 96),
        "one-sided": (one_sided, "point_to_point", 3, 9, 72),
    }  # fmt: skip
    found = {}
    for name, (make, *wanted) in tries.items():
        comm.Barrier()
        forget_interposed_counts()
        make()
        found[name] = (interposed_counts(), tuple(wanted))
    window.Free()
    return found
