"""One rank of many, played without the others: counting needs no ranks."""

from __future__ import annotations

from typing import Any

import numpy as np

from sstep_verify.errors import SstepVerifyError


class ShapeError(SstepVerifyError, ValueError):
    """A collective was called with buffers that do not go together."""


class SimulatedCommunicator:
    """Rank p of P, as if all others handed over what this one does.

    A sum over the ranks is P times this rank's part: what is replicated stays coherent (P times a
    signature, P times the status 0), partial kernel entries stay those of a kernel. A gather gives this
    rank's value P times. Values mean nothing here; shapes and counts are those of a run on P ranks.

    Parameters
    ----------
    rank, size : int
        Which rank (p) of how many (P).

    Attributes
    ----------
    calls : list of (str, int)
        Every collective in order: its name, and the words that this rank hands to it, 0 where they are not
        numbers of a reduction.

    Raises
    ------
    ShapeError
        If 0 <= p < P does not hold.
    """

    def __init__(self, rank: int, size: int):
        if not 0 <= rank < size:
            raise ShapeError(f"rank {rank} of {size} ranks")
        self.rank, self.size = rank, size
        self.kinds = ("simulated",) * size
        self.calls: list[tuple[str, int]] = []

    @property
    def reductions(self) -> list[tuple[str, int]]:
        """The calls that sum over the ranks."""
        return [call for call in self.calls if call[0] in ("allreduce", "reduce_scatter")]

    def allreduce(self, buffer: np.ndarray) -> None:
        """Sum in place."""
        self._require(buffer)
        self.calls.append(("allreduce", buffer.size))
        buffer *= self.size

    def reduce_scatter(self, send: np.ndarray, receive: np.ndarray, counts: np.ndarray) -> None:
        """Sum this rank's part of what is sent.

        Raises
        ------
        ShapeError
            If the counts are not one for each rank, do not add up to what is sent, or are not what is
            received here.
        """
        self._require(send)
        sizes = np.asarray(counts)
        if sizes.shape != (self.size,) or sizes.sum() != send.size or sizes[self.rank] != receive.size:
            raise ShapeError(
                f"reduce_scatter of {send.size} words to {sizes.size} of {self.size} ranks, in all "
                f"{sizes.sum()}, {receive.size} of them here"
            )
        self.calls.append(("reduce_scatter", send.size))
        first = int(sizes[: self.rank].sum())
        np.multiply(send[first : first + receive.size], self.size, out=receive)

    def allgather(self, value: Any) -> list[Any]:
        """The same value from every rank."""
        self.calls.append(("allgather", 0))
        return [value] * self.size

    def first(self, value: Any) -> Any:
        """What rank 0 has, this rank has."""
        self.calls.append(("first", 0))
        return value

    def alltoallv(self, send: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """From every rank what is handed to this one."""
        self.calls.append(("alltoallv", 0))
        ends = np.cumsum([0, *counts])
        return np.tile(send[ends[self.rank] : ends[self.rank + 1]], self.size)

    def broadcast(self, buffer: np.ndarray) -> None:
        """What rank 0 has, this rank has."""
        self.calls.append(("broadcast", buffer.size))

    def barrier(self) -> None:
        """Nobody is behind."""
        self.calls.append(("barrier", 0))

    @staticmethod
    def _require(buffer: np.ndarray) -> None:
        if not buffer.flags.c_contiguous:
            raise ShapeError(f"a buffer with strides {buffer.strides} is not contiguous")
