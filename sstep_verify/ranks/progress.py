"""Place of this process among its collectives; kept by the communicator, read by a watchdog.

It is kept in memory that another process may share, so that it outlives a crash.
"""

from __future__ import annotations

from typing import Any

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


def observed(communicator: Any) -> Any:
    """Another handle of an mpi4py communicator, whose `progress` is told of every collective.

    See `sstep_verify.solver.communicator.MpiCommunicator`.
    """
    from mpi4py import MPI

    return type("ObservedComm", (MPI.Intracomm,), {"progress": CURRENT})(communicator)
