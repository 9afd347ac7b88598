"""Which s and exchange the windows of a training have, one batch after the other.

What was made is written down as segments, from which all windows follow (`windows_of`), so that a run can
be made again, to the last bit on ranks of the same kinds: segments that are given are followed first, then
the tuner says what comes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sstep_verify.solver.settings import EXCHANGES, interval_end

if TYPE_CHECKING:
    from sstep_verify.costs.known import Batch
    from sstep_verify.costs.tuning import Tuner


class Segment(NamedTuple):
    """Iterations that were made alike, up to `end`, counted from the first of all; see `windows_of`."""

    end: int
    s: int
    exchange: str


class Schedule:
    """What comes next, and what was `made`: how all iterations so far were; neighbours alike are joined.

    Segments that are `given` are followed first, from iteration 0; those up to where training begins were
    made before. Then the tuner says what comes. Times are summed over the ranks.
    """

    def __init__(self, tuner: Tuner, ranks: int = 1, given: Sequence[Segment] = (), begin: int = 0):
        self.tuner, self._ranks = tuner, ranks
        self._given = [segment for segment in given if segment.end > begin]
        before = [segment for segment in given if segment.end <= begin]
        if self._given and begin and begin > (before[-1].end if before else 0):
            before.append(self._given[0]._replace(end=begin))
        self.made: list[Segment] = before
        self._place, self._first = begin, begin
        self._batch: Batch | None = None
        self._sent: tuple[Batch, int] | None = None

    @property
    def limit(self) -> float:
        """Nanoseconds after which what `next` said is to be cut; what is given never is."""
        return math.inf if self._batch is None else self._batch.limit

    def next(self, begin: int, end: int) -> Segment:
        """What to make from an iteration on, within an interval that ends at `end`."""
        while self._given and self._given[0].end <= begin:
            del self._given[0]
        self._place = begin
        if self._given:
            self._batch = None
            segment = self._given[0]
            return segment._replace(end=min(segment.end, end))
        self._batch = batch = self.tuner.choose()
        candidate = batch.candidate
        last = min(begin + batch.windows * candidate.s, end)
        return Segment(last, candidate.s, candidate.exchange)

    def done(self, segment: Segment) -> bool:
        """Note that a segment was made; whether its time is to be told."""
        self._join(segment)
        iterations = segment.end - self._place
        # A window that was cut would speak ill of its s.
        if self._batch is None or iterations % segment.s:
            return False
        self._sent = self._batch, iterations
        return True

    def told(self, total: int) -> None:
        """Note what the last segment whose time was sent took, summed over all ranks."""
        if self._sent is not None:
            batch, iterations = self._sent
            self._sent = None
            self.tuner.observe(batch, iterations, total / self._ranks)

    def lines(self, exchanges: Sequence[str], width: int) -> Iterator[str]:
        """Say what was tried with these exchanges and s up to a width, and what was found."""
        tuner, best = self.tuner, self.tuner.best
        for exchange in exchanges:
            found = [one for one in tuner.tried if one.candidate.exchange == exchange]
            if found:
                told = ", ".join(f"{one.candidate.s}: {one.nanoseconds / 1000:.3g}" for one in found)
                yield f"s tried with {exchange}, us an iteration when last tried: {told}"
        reasons = Counter(tuner.explored)
        why = ", ".join(f"{why} ({count})" if count > 1 else why for why, count in reasons.items())
        state = "not found yet, exploring from" if tuner.exploring else "found"
        yield f"s {state}: {best.s} with {best.exchange}; explored because {why}; s at most {width}"
        shares: Counter[tuple[str, int]] = Counter()
        begin = 0
        for segment in self.made:
            shares[segment.exchange, segment.s] += segment.end - begin
            begin = segment.end
        most = ", ".join(f"s = {s} {exchange} {count}" for (exchange, s), count in shares.most_common(3))
        yield f"iterations by s, the most: {most}; in {len(self.made)} segments, kept in the result"

    def _join(self, segment: Segment) -> None:
        """Write a segment down; one that continues with the same windows is joined to the one before."""
        if self.made:
            last = self.made[-1]
            begin = self.made[-2].end if len(self.made) > 1 else 0
            if last[1:] == segment[1:] and (last.end - begin) % last.s == 0:
                self.made[-1] = segment
                return
        self.made.append(segment)


def windows_of(
    sequence: Sequence[Segment], interval: int, lengthening: bool = False
) -> Iterator[tuple[int, int, str]]:
    """First iteration, one beyond the last, and exchange of every window.

    Windows are cut from where a segment or an interval begins, whichever is later; the last before either
    ends may be shorter.
    """
    place = 0
    for segment in sequence:
        while place < segment.end:
            end = min(place + segment.s, segment.end, interval_end(place, interval, lengthening))
            yield place, end, segment.exchange
            place = end


def numbers_of(sequence: Sequence[Segment]) -> np.ndarray:
    """Segments as numbers, shape (k, 3): end, s, place of the exchange among `EXCHANGES`."""
    rows = [(segment.end, segment.s, EXCHANGES.index(segment.exchange)) for segment in sequence]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)
