"""The narrow door to communication, through which every word leaves a rank, and how ranks agree on errors.

An error of one rank is raised by all, so that none waits for another.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from sstep_verify.errors import (
    DataError,
    InputError,
    LineError,
    MissingExtraError,
    SstepVerifyError,
    UnwritableError,
)
from sstep_verify.provenance import processor


class Communicator:
    """Communication that the production solver needs: here of one process, which has all ranks' sums.

    Attribute `rank`, `size`: this process and the number of processes (P).
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

    `comm`: the communicator; its group is used as it is. If it has an attribute `progress`, as `Unobserved`
    is one, every collective is noted there.
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

    def _noted(self, name: str, collective: Callable[..., Any], *arguments: Any, words: int = 0) -> Any:
        """Make a collective, of so many words where it is called in windows."""
        self._progress.enter(name, words)
        value = collective(*arguments)
        self._progress.leave()
        return value

    def allreduce(self, buffer: np.ndarray) -> None:
        """Sum a contiguous float64 array over all ranks, in place."""
        # Every window waits for it, hence no call more than needs be.
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
        return self._noted("allgather", self._comm.allgather, value)

    def first(self, value: Any) -> Any:
        """Rank 0's object."""
        return self._noted("broadcast", self._comm.bcast, value if self.rank == 0 else None)

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
        self._noted("broadcast", self._comm.Bcast, buffer, 0, words=buffer.size)

    def barrier(self) -> None:
        """Wait until all ranks are here."""
        self._noted("barrier", self._comm.Barrier)


def communicator_of(comm: Any) -> Communicator:
    """Choose the communicator for an mpi4py communicator; a single rank needs no MPI."""
    return MpiCommunicator(comm) if comm.size > 1 else SelfCommunicator()


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


_processor = functools.cache(processor)
_libraries = functools.cache(ThreadpoolController)


@functools.cache
def _products(_blas: tuple[str, ...]) -> str:
    """Digest of the bits of some results (8 hexadecimal digits), with these libraries and threads."""
    first = np.sin(np.arange(40.0 * 331)).reshape(40, 331)
    values = [first @ first.T, first @ first[0], np.exp(-np.abs(first[:3])), first[0] ** 3]
    return hashlib.sha256(b"".join(value.tobytes() for value in values)).hexdigest()[:8]


Value = TypeVar("Value")


class ReadingError(SstepVerifyError, RuntimeError):
    """A rank failed for a reason that is not the input's, such as its memory; raised on all ranks."""


def failure_of(error: Exception) -> SstepVerifyError:
    """The error that the other ranks get; what is not the input's fault is a ReadingError."""
    if isinstance(error, LineError):
        return error
    known = DataError, UnwritableError, InputError, MissingExtraError
    kinds = (kind for kind in known if isinstance(error, kind))
    kind = next(kinds, None)
    return kind(str(error)) if kind else ReadingError(f"{type(error).__name__}: {error}")


def raise_first(
    failures: Sequence[SstepVerifyError | None], cause: Exception | None, lines: Sequence[int] = ()
) -> None:
    """Raise the first failure of any rank, with its rank where the others met another or none.

    `lines`: how many of a file each rank has read, from which those of later ranks are counted.
    """
    for rank, failure in enumerate(failures):
        if isinstance(failure, LineError):
            raise LineError(failure.path, sum(lines[:rank]) + failure.line, failure.fault) from cause
        if failure is not None:
            alike = all(repr(other) == repr(failure) for other in failures)
            raise type(failure)(f"{'' if alike else f'rank {rank}: '}{failure}") from cause


def on_all_ranks(communicator: Communicator, function: Callable[[], Value]) -> Value:
    """Call a function that does not communicate on all ranks; what one of them raises, all raise.

    Raises on all ranks what the first that failed met: InputError, MissingExtraError or ReadingError.
    """
    value, failure, cause = _attempted(function)
    raise_first(communicator.allgather(failure), cause)
    return value  # type: ignore[return-value]


def on_first_rank(communicator: Communicator, function: Callable[[], Value]) -> Value:
    """Call a function on rank 0 only; all ranks get its result, or raise its error.

    Raises what it raised: InputError, MissingExtraError, or ReadingError where it was neither.
    """
    value, failure, cause = _attempted(function) if communicator.rank == 0 else (None, None, None)
    value, failure = communicator.first((value, failure))
    raise_first([failure], cause)
    return value


@contextlib.contextmanager
def held_by_first_rank(
    communicator: Communicator, manager: Callable[[], AbstractContextManager[Value]]
) -> Iterator[Value]:
    """Enter a context manager on rank 0 only; all ranks get its value, or raise its error."""
    with contextlib.ExitStack() as held:
        yield on_first_rank(communicator, lambda: held.enter_context(manager()))


def _attempted(
    function: Callable[[], Value],
) -> tuple[Value | None, SstepVerifyError | None, Exception | None]:
    """Result, failure and error of a call; one of them at least is None."""
    try:
        return function(), None, None
    except Exception as error:
        return None, failure_of(error), error
