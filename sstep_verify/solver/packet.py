"""One reduction with a trailer: a status word and a signature travel with the data, at no extra message.

The status word says that some rank failed since the last reduction, so all ranks raise in the same window
instead of waiting for each other for ever. The signature is a digest of the replicated dual vector: if the
ranks no longer hold the same bits, the sum of their signatures is not P times one's own. Where s is tuned a
third word, the time, says how long each rank took for the batch of windows before, or has taken so far for
this one: a whole number of nanoseconds, so that its sum is exact in any order and all ranks decide from the
same bits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from time import perf_counter_ns

import numpy as np

from sstep_verify.compiled import compiled
from sstep_verify.errors import SstepVerifyError
from sstep_verify.solver.clock import Clock
from sstep_verify.solver.communicator import Communicator, listed

TRAILER = 2
"""Words that a reduction carries besides its payload: status and signature; of the two of a window with
exchange reduce-scatter the second alone."""

TIMED_TRAILER = TRAILER + 1
"""The same where s is tuned on several ranks: status, signature and time."""

LONGEST = 1 << 40
"""Most nanoseconds that are sent, 18 minutes: sums over 2**13 ranks are exact in float64."""

SIGNATURE_BITS = 32
"""Bits of a signature: sums over fewer than 2**21 ranks are exact in float64, in any order."""


class WindowError(SstepVerifyError, RuntimeError):
    """Some rank failed; raised on all ranks in the same window.

    `window`: window of the run, counted from 0, in which it became known; `failures`: what happened, by
    rank.
    """

    def __init__(self, window: int, failures: dict[int, str]):
        self.window, self.failures = window, failures
        said = "; ".join(f"rank {rank}: {text}" for rank, text in sorted(failures.items()))
        super().__init__(f"window {window}: {said}")


class IncoherenceError(SstepVerifyError, RuntimeError):
    """The ranks no longer hold the same dual vector, bit for bit.

    `window`: first window, counted from 0, after which they differ; `digests`: digest of the dual vector of
    each rank; `kinds`: what decides the bits of each rank's arithmetic, see `solver.communicator`.
    Attribute `ranks`: ranks that differ from most; all of them where no vector is that of most.
    """

    def __init__(self, window: int, digests: Sequence[str], kinds: Sequence[str]):
        counts = Counter(digests).most_common(2)
        tied = len(counts) > 1 and counts[0][1] == counts[1][1]
        usual = "" if tied else counts[0][0]
        self.window = window
        self.ranks = tuple(rank for rank, digest in enumerate(digests) if digest != usual)
        where = f"all are of one kind ({kinds[0]})"
        if len(set(kinds)) > 1:
            where = f"their kinds differ ({listed(kinds)}), but their windows end with rank 0's numbers"
        super().__init__(
            f"after window {window} the ranks hold different dual vectors: {listed(digests)}; "
            f"{f'most hold {usual}' if usual else 'none is that of most'}; {where}: a reduction gave them "
            "different bits, they drew different coordinates, or one made another update"
        )


class CountingCommunicator(Communicator):
    """Counts what passes through another communicator.

    `inner`: does the work. Attribute `collectives`, `words`, `broadcasts`: reductions, float64 words handed
    to them by this rank, and broadcasts of rank 0's numbers.
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


class Packet:
    """The buffer of a reduction, with room for its trailer, and what every window needs of the ranks.

    It is summed by `communicator`, and holds a payload of at most so many words. `timed`: whether the time
    word travels too, where there are several ranks; `room`: memory of an earlier packet, used if it is
    large enough, whatever it holds; `separate`: tell waiting from transfer, and the gradient from the
    recurrence.

    Attributes `alone`: whether there is one rank; `clock`: seconds per phase; `failure`: what went wrong on
    this rank since the last reduction, sent with the next; `signature`, uint64, (1,): digest of the
    replicated dual vector, see `sign`; `window`: that under way, for messages; `time`: nanoseconds of this
    rank to be told with the next reduction, after which there are none; `told`: sum over all ranks of what
    the last reduction that was given a time told; `late`: whether a reduction told that the windows watched
    took too long.
    """

    def __init__(
        self,
        communicator: Communicator,
        words: int,
        timed: bool = False,
        room: np.ndarray | None = None,
        separate: bool = False,
    ):
        self.communicator, self.separate, self.clock = communicator, separate, Clock()
        self.alone = communicator.size == 1
        self._trailer = TIMED_TRAILER if timed and not self.alone else TRAILER
        enough = room is not None and room.size >= words + self._trailer
        self._flat = room if enough and room is not None else np.zeros(words + self._trailer)
        self._squares: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._matrices: dict[tuple[int, int], np.ndarray] = {}
        self.failure: Exception | None = None
        self.signature = np.zeros(1, dtype=np.uint64)
        self.window = 0
        self.time: int | None = None
        self.told: int | None = None
        self.late, self._begun, self._limit = False, 0, math.inf

    def watch(self, limit: float) -> None:
        """Let the windows from here on be late once they took so many nanoseconds, a mean over the ranks.

        All ranks come to know in the same window: what has passed travels where there is no time to tell.
        """
        self.late, self._begun, self._limit = False, perf_counter_ns(), limit * self.communicator.size

    @property
    def room(self) -> np.ndarray:
        """All words of the buffer."""
        return self._flat

    def payload(self, words: int) -> np.ndarray:
        """The first `words` words of the buffer."""
        return self._flat[:words]

    def matrix(self, rows: int, width: int) -> np.ndarray:
        """The first words as a matrix (rows, width); views made once for each shape."""
        view = self._matrices.get((rows, width))
        if view is None:
            view = self._matrices[rows, width] = self._flat[: rows * width].reshape(rows, width)
        return view

    def square(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The first words as a matrix (c, c) and, behind it, a vector (c,); views made once for each c."""
        views = self._squares.get(count)
        if views is None:
            flat, words = self._flat, count * count
            views = flat[:words].reshape(count, count), flat[words : words + count]
            self._squares[count] = views
        return views

    def reduce(self, words: int) -> None:
        """Sum the payload over all ranks.

        Raises WindowError if some rank failed; its own failure where this is the only rank;
        IncoherenceError if the ranks' signatures differ.
        """
        communicator, size = self.communicator, self.communicator.size
        if self.alone:
            if self.failure is not None:
                raise self.failure
            communicator.allreduce(self._flat[: words + self._trailer])
            return
        own = self._signature_word()
        self._flat[words] = 0.0 if self.failure is None else 1.0
        self._flat[words + 1] = own
        if self._trailer == TIMED_TRAILER:
            passed = perf_counter_ns() - self._begun if self.time is None else self.time
            self._flat[words + 2] = min(passed, LONGEST)
        communicator.allreduce(self._flat[: words + self._trailer])
        if self._trailer == TIMED_TRAILER:
            if self.time is not None:
                self.time, self.told = None, int(self._flat[words + 2])
            elif self._flat[words + 2] > self._limit:
                self.late = True
        if self._flat[words] != 0.0:
            self.raise_failures()
        if self._flat[words + 1] != size * own:
            found = communicator.allgather(f"{int(own):08x}")
            raise IncoherenceError(self.window - 1, found, communicator.kinds)

    def hold_back(self, error: Exception) -> None:
        """Keep an error of this rank until all ranks can raise together."""
        if self.alone or isinstance(error, (WindowError, IncoherenceError)):
            raise error
        self.failure = error

    def sign(self, alpha: np.ndarray, columns: np.ndarray) -> None:
        """Continue with the signature after a window that may have changed a at `columns`."""
        if not self.alone:
            sign(self.signature, alpha.view(np.uint64), columns)

    def _signature_word(self) -> float:
        """The digest, both halves joined, as a whole number that float64 holds."""
        digest = int(self.signature[0])
        return float((digest >> SIGNATURE_BITS) ^ (digest & ((1 << SIGNATURE_BITS) - 1)))

    def raise_failures(self) -> None:
        """Tell all ranks what happened where, if anything did; called by all ranks together."""
        failure, self.failure = self.failure, None
        text = f"{type(failure).__name__}: {failure}" if failure is not None else ""
        failures = {rank: said for rank, said in enumerate(self.communicator.allgather(text)) if said}
        if failures:
            raise WindowError(self.window, failures) from failure


@compiled
def sign(signature, bits, columns):
    """Continue with the digest of a dual vector, `bits`, (m,), whose values at `columns` may have changed.

    The digest in `signature`, (1,), is rotated by 13 bits and joined (xor) with the bits of each value and
    with its coordinate, so that one changed bit always changes it.
    """
    digest = signature[0]
    for column in columns:
        digest = ((digest << np.uint64(13)) | (digest >> np.uint64(51))) ^ bits[column]
        digest ^= np.uint64(column)
    signature[0] = digest
