"""The candidate that the tuner settled on: its batches, and whether they take what is expected.

Every batch costs some Python, so batches are long here, but short until one took what is expected, and to
be cut after `LATE` times that: when times jump, few windows pass before it is known.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from sstep_verify.costs.timings import MOST_WINDOWS, Batch, Candidate, middle, spread_of

LATE = 1.5
CONFIRM, JUMPED, DRIFT, JUMP = 4, 3, 0.3, 2.0
"""An alarm is `CONFIRM` batches in a row, or `JUMPED` of which the last is `JUMP` times off, that leave
what is expected by more than `DRIFT` and by more than the interval of 6 MAD."""
RECENT = 24
"""Batches from which is drawn what is expected."""


class Settled:
    """What its batches are, and take.

    Times are nanoseconds per iteration of its batches so far; a short and a long batch are to take so many.

    Attributes
    ----------
    seen : int
        Batches looked at.
    expected : float
        Nanoseconds per iteration.
    usual : tuple of float
        From where to where a batch takes what is expected.
    long : Batch
        The long batch.
    """

    def __init__(self, candidate: Candidate, times: Sequence[float], short: float, long: float):
        self._candidate, self._quanta = candidate, (short, long)
        self._recent: deque[float] = deque(maxlen=RECENT)
        self.seen, self._beyond, self._calm = 0, 0, False
        self._expect(times)

    @property
    def batch(self) -> Batch:
        """The next batch."""
        return self.long if self._calm else self._short

    def _expect(self, times: Sequence[float]) -> None:
        """Expect such times."""
        self.expected, spread = middle(times), spread_of(times)
        each = self.expected
        self._short, self.long = (
            self._batch(each * self._candidate.s, quantum) for quantum in self._quanta
        )
        room = max(DRIFT * each, 6 * spread)
        self.usual = each - min(room, 0.5 * each), each + room
        self._steady = each / JUMP, JUMP * each + 6 * spread

    def _batch(self, window: float, quantum: float) -> Batch:
        windows = min(max(int(quantum / window), 1), MOST_WINDOWS)
        return Batch(self._candidate, windows, True, LATE * windows * window)

    def alarm(self, each: float, caution: int) -> int:
        """Look at a batch: 1 if times rose, -1 if they fell, by `caution` times the batches of an alarm."""
        self.seen += 1
        least, most = self.usual
        side = 1 if each > most else -1 if each < least else 0
        self._calm = not side
        if side:
            self._beyond = self._beyond + side if self._beyond * side >= 0 else side
            jumped = not self._steady[0] <= each <= self._steady[1]
            return side if abs(self._beyond) >= (JUMPED if jumped else CONFIRM) * caution else 0
        self._beyond = 0
        self._recent.append(each)
        if self.seen % (RECENT // 2) == 0:
            self._expect(self._recent)
        return 0
