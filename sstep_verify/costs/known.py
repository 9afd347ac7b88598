"""What the tuner of s tries and learns, and what follows: how long candidates take, what a trial may lose.

Of a candidate counts the lower median of its batches since exploring began; what it took when last tried,
before that, says only how many windows the next batch has.

Of the one that it settled on batches are long, since each costs some Python, but short until one took what
is expected, and to be cut after `LATE` times that: when times jump, few windows pass before it is known.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

FLOOR, EARLY = 0.01, (0.45, 0.15)
"""Least half of an interval over its time, and that of one and of two times, without a spread."""

MOST_WINDOWS = 4096
"""Of a batch."""

ALIKE = 0.02
"""Share by which candidates may differ and still be alike."""

SHARE, SHORT, LEAST_QUANTUM = 0.004, 5e-4, 5e4
"""Of what the rest of the training takes: the most that the trials of an s may lose, and a batch; its least
length, in nanoseconds."""

LATE = 1.5
CONFIRM, JUMPED, DRIFT, JUMP = 4, 3, 0.3, 2.0
"""An alarm is `CONFIRM` batches in a row, or `JUMPED` of which the last is `JUMP` times off, that leave
what is expected by more than `DRIFT` and by more than the interval of 6 MAD."""
RECENT = 24
"""Batches from which is drawn what is expected."""


class Candidate(NamedTuple):
    """What may be tried: an exchange, and iterations a window (s)."""

    exchange: str
    s: int


class Batch(NamedTuple):
    """What to make next: so many windows, cut at the end of one after so many nanoseconds (`limit`).

    The time of a first batch, which compiles and fills caches, does not count.
    """

    candidate: Candidate
    windows: int
    counted: bool = True
    limit: float = math.inf


class Tried(NamedTuple):
    """What is known of a candidate: batches and nanoseconds per iteration, NaN where none counted."""

    candidate: Candidate
    batches: int
    nanoseconds: float


def powers_of_two(most: int) -> list[int]:
    """1, 2, 4, ..., up to `most`."""
    return [1 << k for k in range(most.bit_length())]


def middle(times: Sequence[float]) -> float:
    """The lower median."""
    return sorted(times)[(len(times) - 1) // 2]


def spread_of(times: Sequence[float]) -> float:
    """The median absolute deviation from the median."""
    level = middle(times)
    return sorted(abs(time - level) for time in times)[len(times) // 2]


def half_interval(times: Sequence[float]) -> float:
    """Half of the confidence interval of a time."""
    level, count = middle(times), len(times)
    if count <= len(EARLY):
        return EARLY[count - 1] * level
    return max(FLOOR * level, 3 * spread_of(times) / math.sqrt(count))


def is_near(one: Candidate, best: Candidate) -> bool:
    """Whether a candidate is a neighbour of the best, and may only seem worse."""
    return one.exchange == best.exchange and one.s in (best.s // 2, best.s, 2 * best.s)


def expected_next(answers: Sequence[float]) -> float:
    """Time per iteration expected of the next s of a walk: it grows as it did last, at most twofold."""
    if len(answers) < 2:
        return answers[-1] if answers else 0.0
    return answers[-1] * min(max(answers[-1] / answers[-2], 1.0), 2.0)


class Known:
    """Times of candidates, in nanoseconds, of a training that is to make so many iterations.

    Exchanges are in the order in which they are tried; while exploring a batch is to take a `quantum`.
    `times` are nanoseconds per iteration of batches, since exploring began; `last` has of every candidate
    that was ever tried how many batches counted, and its last time; `rest` are the iterations still to be
    made; `longest` is the longest window left in an elimination, 0 where batches need not be alike.
    """

    def __init__(self, exchanges: Sequence[str], iterations: float, quantum: float):
        self._exchanges, self.quantum, self.rest = list(exchanges), quantum, iterations
        self.times: dict[Candidate, list[float]] = {}
        self.last: dict[Candidate, tuple[int, float]] = {}
        self.longest = 0.0

    def add(self, candidate: Candidate, each: float) -> None:
        """Note what a batch took, in nanoseconds per iteration."""
        self.times.setdefault(candidate, []).append(each)
        self.note(candidate, middle(self.times[candidate]))

    def note(self, candidate: Candidate, each: float) -> None:
        """Note what a candidate takes."""
        self.last[candidate] = (self.last.get(candidate, (0, 0.0))[0] + 1, each)

    @property
    def tried(self) -> list[Tried]:
        """All candidates that were ever tried, with their last times, by exchange and s."""
        found = sorted(self.last.items(), key=lambda item: self._order(item[0]))
        return [Tried(candidate, count, last) for candidate, (count, last) in found]

    def _order(self, candidate: Candidate) -> tuple[int, int]:
        return self._exchanges.index(candidate.exchange), candidate.s

    def fastest(self, otherwise: float) -> float:
        """Least time of a candidate."""
        return min((middle(times) for times in self.times.values()), default=otherwise)

    def leader(self, otherwise: Candidate) -> Candidate:
        """The candidate with the least time."""
        return min(self.times, key=lambda one: middle(self.times[one]), default=otherwise)

    def answers(self, candidates: Sequence[Candidate]) -> list[float]:
        """Times of those that have one."""
        return [middle(self.times[one]) for one in candidates if one in self.times]

    def affordable(self, candidate: Candidate, each: float) -> bool:
        """Whether windows that take so long an iteration, one a batch, lose little of what is to come."""
        fastest, batches = self.fastest(each), 1 + len(self.times.get(candidate, ()))
        return batches * candidate.s * (each - fastest) <= SHARE * max(self.rest, 0.0) * fastest

    def left(self, before: Candidate) -> list[Candidate]:
        """Candidates that are not out; the best alone where the others are alike.

        `before` was the best before exploring began.
        """
        bounds = {one: (middle(times), half_interval(times)) for one, times in self.times.items()}
        best = min(bounds, key=lambda one: bounds[one][0])
        level = bounds[best][0] + bounds[best][1]
        left = [
            one for one, (time, half) in bounds.items()
            if time - half <= level or (len(self.times[one]) == 1 and (is_near(one, best) or one == before))
        ]  # fmt: skip
        known = all(len(self.times[one]) >= 3 for one in left)
        if known and all(bounds[one][0] <= bounds[best][0] * (1 + ALIKE) for one in left):
            return [best]
        left = [one for one in left if one == best or self.affordable(one, bounds[one][0])]
        return sorted(left, key=self._order)

    def windows(self, candidate: Candidate) -> int:
        """Windows that are expected to take a quantum, from what is known of it or of those next to it.

        Where that is nothing since exploring began, as it was when last tried: of one window alone what a
        batch costs once would be most.
        """
        near = (Candidate(candidate.exchange, s) for s in (candidate.s, candidate.s // 2, 2 * candidate.s))
        known = next((self.times[one] for one in near if one in self.times), None)
        before = self.last.get(candidate, (0, self.fastest(self.quantum)))[1]
        each = middle(known) if known else before
        fastest = self.fastest(each)
        short = max(SHORT * self.rest * fastest, LEAST_QUANTUM)
        alike = min(self.longest, short / max(each / fastest - 1, ALIKE))
        return min(max(int(max(min(self.quantum, short), alike) / (each * candidate.s)), 1), MOST_WINDOWS)

    @property
    def limit(self) -> float:
        """Nanoseconds that a batch is to take at most."""
        return max(self.quantum, self.longest)

    def others(self, near: Candidate) -> dict[Candidate, float]:
        """Last times of the candidates of the same exchange that are not next to one."""
        return {
            one: last for one, (_, last) in self.last.items()
            if one.exchange == near.exchange and not is_near(one, near)
        }  # fmt: skip


class Settled:
    """What its batches are, and take.

    Times are nanoseconds per iteration of its batches so far; a short and a long batch are to take so many.
    Told are how many batches were `seen`, the time that is `expected`, between what a batch takes as
    `usual`, and the `long` batch.
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
