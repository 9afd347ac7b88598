"""The narrow door to communication: every word that leaves a rank passes through here."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from sstep_verify import provenance


class Communicator:
    """Communication that the production solver needs: here of one process, which has all ranks' sums.

    Attributes
    ----------
    rank, size : int
        This process and the number of processes (P).
    """

    rank = 0
    size = 1

    @property
    def kinds(self) -> tuple[str, ...]:
        """What decides the bits of each rank's arithmetic, see `kind_of_rank`; first asked by all."""
        return (kind_of_rank(),)

    def allreduce(self, buffer: np.ndarray) -> None:
        """Sum a contiguous float64 array over all ranks, in place; one collective."""

    def reduce_scatter(self, send: np.ndarray, receive: np.ndarray, counts: np.ndarray) -> None:
        """Sum over all ranks; rank p gets the ``counts[p]`` words that begin after those of ranks < p.

        One rank alone may receive where it sends from.
        """
        if receive is not send:
            receive[:] = send

    def allgather(self, value: Any) -> list[Any]:
        """One object of every rank, by rank; for set-up and records, never within a window."""
        return [value]

    def first(self, value: Any) -> Any:
        """Rank 0's object, on every rank; for set-up and records, never within a window."""
        return value

    def alltoallv(self, send: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Hand ``counts[p]`` items of a one-dimensional array, those for lower ranks first, to rank p.

        Returns what was sent here, that of lower ranks first; for set-up, never within a window.
        """
        return send

    def broadcast(self, buffer: np.ndarray) -> None:
        """Give all ranks the numbers of rank 0, in place; where their bits may differ lawfully."""

    def barrier(self) -> None:
        """Wait until all ranks are here; for timers that separate waiting from transfer."""


class SelfCommunicator(Communicator):
    """One process, at whose collectives nobody looks."""


class Unobserved:
    """Where a process notes the collectives that it enters and leaves, where nobody watches it."""

    def enter(self, name: str, length: int = 0) -> None:
        """Note that it enters a collective of so many words."""

    def leave(self) -> None:
        """Note that it is out of it."""


class MpiCommunicator(Communicator):
    """An mpi4py communicator of several ranks, by buffers: nothing is pickled within a window.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator; its group is used as it is. If it has an attribute `progress`, as `Unobserved` is
        one, every collective is noted there.
    """

    def __init__(self, comm: Any):
        from mpi4py import MPI

        self._comm, self._in_place = comm, MPI.IN_PLACE
        self._progress: Unobserved = getattr(comm, "progress", Unobserved())
        self.rank: int = comm.rank
        self.size: int = comm.size

    @functools.cached_property
    def kinds(self) -> tuple[str, ...]:
        """By rank; asked once."""
        return tuple(self.allgather(kind_of_rank()))

    def allreduce(self, buffer: np.ndarray) -> None:
        """Sum a contiguous float64 array over all ranks, in place."""
        self._progress.enter("allreduce", buffer.size)
        self._comm.Allreduce(self._in_place, buffer)
        self._progress.leave()

    def reduce_scatter(self, send: np.ndarray, receive: np.ndarray, counts: np.ndarray) -> None:
        """Sum over all ranks and leave each rank its part."""
        self._progress.enter("reduce_scatter", send.size)
        self._comm.Reduce_scatter(send, receive, counts)
        self._progress.leave()

    def allgather(self, value: Any) -> list[Any]:
        """One object of every rank, by rank."""
        self._progress.enter("allgather")
        values = self._comm.allgather(value)
        self._progress.leave()
        return values

    def first(self, value: Any) -> Any:
        """Rank 0's object."""
        self._progress.enter("broadcast")
        value = self._comm.bcast(value if self.rank == 0 else None)
        self._progress.leave()
        return value

    def alltoallv(self, send: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Hand each rank its part of a one-dimensional array; two collectives, one for the counts."""
        self._progress.enter("alltoallv")
        outgoing = np.ascontiguousarray(counts, dtype=np.int64)
        incoming = np.empty_like(outgoing)
        self._comm.Alltoall(outgoing, incoming)
        receive = np.empty(int(incoming.sum()), dtype=send.dtype)
        self._comm.Alltoallv([send, outgoing], [receive, incoming])
        self._progress.leave()
        return receive

    def broadcast(self, buffer: np.ndarray) -> None:
        """Give all ranks the numbers of rank 0, in place."""
        self._progress.enter("broadcast", buffer.size)
        self._comm.Bcast(buffer, 0)
        self._progress.leave()

    def barrier(self) -> None:
        """Wait until all ranks are here."""
        self._progress.enter("barrier")
        self._comm.Barrier()
        self._progress.leave()


def communicator_of(comm: Any) -> Communicator:
    """Choose the communicator for an mpi4py communicator; a single rank needs no MPI."""
    return MpiCommunicator(comm) if comm.size > 1 else SelfCommunicator()


class CountingCommunicator(Communicator):
    """Counts what passes through another communicator.

    Parameters
    ----------
    inner : Communicator
        Does the work.

    Attributes
    ----------
    collectives, words, broadcasts : int
        Reductions, float64 words handed to them by this rank, and broadcasts of rank 0's numbers.
    """

    def __init__(self, inner: Communicator):
        self._inner = inner
        self.rank, self.size = inner.rank, inner.size
        self.collectives = self.words = self.broadcasts = 0
        # What is not counted is the other's own, at no call more.
        for name in ("allgather", "first", "alltoallv", "barrier"):
            setattr(self, name, getattr(inner, name))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those of the ranks."""
        return self._inner.kinds

    def count(self, collectives: int, words: int) -> None:
        """Count reductions that a rank alone leaves out, for they change nothing."""
        self.collectives += collectives
        self.words += words

    def allreduce(self, buffer: np.ndarray) -> None:
        """Count and sum."""
        self.collectives += 1
        self.words += buffer.size
        self._inner.allreduce(buffer)

    def reduce_scatter(self, send: np.ndarray, receive: np.ndarray, counts: np.ndarray) -> None:
        """Count and sum."""
        self.collectives += 1
        self.words += send.size
        self._inner.reduce_scatter(send, receive, counts)

    def broadcast(self, buffer: np.ndarray) -> None:
        """Count and pass on."""
        self.broadcasts += 1
        self._inner.broadcast(buffer)


def kind_of_rank() -> str:
    """What decides the bits of its arithmetic: processor, BLAS with its threads, NumPy, compiler, products.

    Two processors, two versions of a library, or one library on different threads, add up the same product
    in another order: both results are right, and their last bits differ. All ranks then make the same
    updates from the same sums, and hold different dual vectors nevertheless.

    The digest tells kinds apart whose names do not: of matrix products, of a product with a vector, and of
    the functions of the kernels.
    """
    # Here, for ranks that ask for no kind start three times as fast without the compiler and SciPy.
    import scipy.linalg  # noqa: F401  - loads its BLAS, so that it is seen

    from sstep_verify.compiled import AVAILABLE

    blas = [
        " ".join(str(one[name]) for name in ("internal_api", "version", "architecture") if name in one)
        + f" on {one['num_threads']} thread(s)"
        for one in _libraries().info()
        if one["user_api"] == "blas"
    ]
    inner = "compiled" if AVAILABLE else "plain Python"
    parts = [str(_processor()), *sorted({*blas}), f"NumPy {np.__version__}", f"{inner} loops"]
    return ", ".join([*parts, f"products {_products(tuple(blas))}"])


def listed(values: Sequence[str]) -> str:
    """What each rank has, by rank, in words; once where all have the same."""
    if len(set(values)) == 1:
        return values[0]
    found = {value: [rank for rank, other in enumerate(values) if other == value] for value in values}
    return "; ".join(f"rank {', '.join(map(str, ranks))}: {value}" for value, ranks in found.items())


_processor = functools.cache(provenance.processor)
_libraries = functools.cache(ThreadpoolController)


@functools.cache
def _products(_blas: tuple[str, ...]) -> str:
    """Digest of the bits of some results (8 hexadecimal digits), with these libraries and threads."""
    first = np.sin(np.arange(40.0 * 331)).reshape(40, 331)
    values = [first @ first.T, first @ first[0], np.exp(-np.abs(first[:3])), first[0] ** 3]
    return hashlib.sha256(b"".join(value.tobytes() for value in values)).hexdigest()[:8]
