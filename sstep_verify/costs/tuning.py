"""Choice of s, and of the exchange, while training runs: the tuner.

Every window of every s advances the same iterates in exact arithmetic, so trying costs no iteration, only
time. The tuner is told how long batches of windows took and says which comes next. It asks no clock, and
what it says follows from what it was told: ranks that are told the same times choose alike.

The rule
--------
*Time.* Of a candidate (exchange, s): the lower median of the nanoseconds per iteration of its batches since
exploring began. Noise only ever adds time, hence the lower of two. Its interval is ``+- 3 MAD / sqrt(k)``,
MAD the median absolute deviation of its k batches, but at least `FLOOR`, and before three batches `EARLY`.

*Exploring*, from a candidate on: first walks to smaller s and to larger ones, one batch of each, until
`MISSES` in a row take `FAR` times as long as the best; the same with each further exchange from the best s
so far. No trial is made whose window, slower by as much as the s before, would lose more than `SHARE` of
what the rest of the training takes at its best. Then *successive elimination*: rounds of one batch of
each that is left; a candidate is out when its interval lies above that of the best. Exploring ends when one
is left, or all that are left are within `ALIKE` of the best, or after `ROUNDS`.

*Settled* on the best. When `CONFIRM` batches in a row, or `JUMPED` that are `JUMP` times off, leave what is
expected by more than `DRIFT` and by more than the interval of 6 MAD, exploring begins anew from there, in
the same exchange: to larger s first where times rose, to smaller ones where they fell, and the other way
only if that was in vain; the walk ends at `NEAR` times the best. Without such a
cause the neighbours are tried again after `AGAIN` batches, then after twice as many, and so on.

Batches are as many whole windows as are expected to take a `quantum`, while exploring less where little is
left to be made.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Sequence

from sstep_verify.costs.timings import (
    Batch,
    Candidate,
    Tried,
    half_interval,
    middle,
    powers_of_two,
    spread_of,
)

ALIKE = 0.02
FAR, MISSES, ROUNDS, MOST_WINDOWS = 4.0, 2, 4, 4096
SHARE, SHORT, LEAST_QUANTUM = 0.004, 5e-4, 5e4
"""Of what the rest of the training takes: the most that a trial may lose, and a batch; its least length."""
NEAR, NEAR_ROUNDS = 1.25, 2
"""`FAR` and `ROUNDS` where exploring begins anew: from what was the best before, little is to be found."""
CONFIRM, JUMPED, DRIFT, JUMP, AGAIN = 4, 3, 0.3, 2.0, 256
CAUTION = 8
"""Most times `CONFIRM`: a false alarm, which found nothing new, doubles it, one that did sets it to 1."""
RECENT = 24
"""Settled batches from which is drawn what is expected."""


class Tuner:
    """Says which windows come next.

    Parameters
    ----------
    exchanges : sequence of str
        Exchanges that may be chosen; training begins with the first.
    most : int
        Largest s: no candidate is beyond it.
    start : int
        The s that is tried first; the nearest candidate is taken.
    iterations : float
        Iterations that the training is to make.
    quantum, settled : float
        Nanoseconds that a batch is to take while exploring, and once settled.

    Attributes
    ----------
    explored : list of str
        Why exploring began, once for each time.
    """

    def __init__(
        self, exchanges: Sequence[str], most: int, start: int = 16,
        iterations: float = math.inf, quantum: float = 3e5, settled: float = 2e5,
    ):  # fmt: skip
        self._sizes, self._exchanges = powers_of_two(most), list(exchanges)
        self._quantum, self._longer, self._rest = quantum, settled, iterations
        place = min(range(len(self._sizes)), key=lambda k: abs(math.log2(self._sizes[k] / start)))
        self._best = Candidate(self._exchanges[0], self._sizes[place])
        self._times: dict[Candidate, list[float]] = {}
        self._totals: dict[Candidate, tuple[int, float]] = {}
        self._warm: set[str] = set()
        self._unanswered, self._last = 0, Batch(self._best, 1, False)
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._expected, self._beyond, self._patience, self._settled = (0.0, 0.0), 0, AGAIN, 0
        self._asked, self._caution = self._best, 1
        self._alarm: Candidate | None = None
        self.explored: list[str] = []
        self._plan: Iterator[Candidate] | None = self._explore(
            "training began", self._exchanges, (-1, 1), FAR
        )

    @property
    def best(self) -> Candidate:
        """The best candidate so far."""
        return self._best

    @property
    def exploring(self) -> bool:
        """Whether candidates are being compared."""
        return self._plan is not None

    @property
    def tried(self) -> list[Tried]:
        """All candidates that were ever tried, with the mean of their last times, by exchange and s."""
        order = {name: place for place, name in enumerate(self._exchanges)}
        found = sorted(self._totals.items(), key=lambda item: (order[item[0].exchange], item[0].s))
        return [Tried(candidate, count, last) for candidate, (count, last) in found]

    def choose(self) -> Batch:
        """The next batch. At most two are under way without an answer; then the last one is made again."""
        if self._unanswered < 2 or self._plan is None:
            self._last = self._next()
        self._unanswered += 1
        return self._last

    def observe(self, batch: Batch, iterations: int, nanoseconds: float) -> None:
        """Note what a batch took; those that are not noted are taken not to have been made.

        Parameters
        ----------
        batch : Batch
            What `choose` gave.
        iterations : int
            Iterations made.
        nanoseconds : float
            Time taken.
        """
        self._unanswered = 0
        self._rest -= iterations
        candidate = batch.candidate
        if not batch.counted:
            self._warm.add(candidate.exchange)
            return
        each = max(nanoseconds, 1.0) / iterations
        if self._plan is not None:
            self._times.setdefault(candidate, []).append(each)
            self._note(candidate, middle(self._times[candidate]))
        elif candidate == self._best:
            self._watch(each)

    def _note(self, candidate: Candidate, each: float) -> None:
        self._totals[candidate] = (self._totals.get(candidate, (0, 0.0))[0] + 1, each)

    def _next(self) -> Batch:
        if self._plan is not None:
            candidate = next(self._plan, None)
            if candidate is not None:
                counted = candidate.exchange in self._warm
                return Batch(candidate, self._windows(candidate), counted)
            self._settle()
        return Batch(self._best, self._windows(self._best))

    def _windows(self, candidate: Candidate) -> int:
        """Windows that are expected to take a quantum, from what is known of the best."""
        if self._plan is None:
            return min(max(int(self._longer / (self._expected[0] * candidate.s)), 1), MOST_WINDOWS)
        own = self._times.get(candidate)
        each = middle(own) if own else self._fastest(self._quantum)
        rest = max(SHORT * self._rest * self._fastest(math.inf), LEAST_QUANTUM)
        return min(max(int(min(self._quantum, rest) / (each * candidate.s)), 1), MOST_WINDOWS)

    def _fastest(self, otherwise: float) -> float:
        return min((middle(times) for times in self._times.values()), default=otherwise)

    # Exploring

    def _explore(
        self, why: str, exchanges: Sequence[str], directions: Sequence[int], far: float, reach: int = 64
    ) -> Iterator[Candidate]:
        """Candidates to be tried, one after the other; answers may come one late."""
        self.explored.append(why)
        self._times = {}
        start = self._best
        for exchange in exchanges:
            begin = self._sizes.index(self._leader(start).s)
            first = Candidate(exchange, self._sizes[begin])
            while exchange not in self._warm:
                yield first
            yield first
            for direction in directions:
                yield from self._walk(exchange, begin, direction, far, reach)
                if far == NEAR and reach > 1 and self._leader(start) != start:
                    break
        if self._asked not in self._times:
            yield self._leader(start)  # The last answer is late.
        for _ in range(NEAR_ROUNDS if far == NEAR else ROUNDS):
            left = self._left()
            if len(left) == 1:
                break
            yield from left

    def _walk(
        self, exchange: str, begin: int, direction: int, far: float, reach: int
    ) -> Iterator[Candidate]:
        """Larger or smaller s, until two in a row are far from the best."""
        place, seen = begin + direction, [Candidate(exchange, self._sizes[begin])]
        while 0 <= place < len(self._sizes) and len(seen) <= reach:
            candidate = Candidate(exchange, self._sizes[place])
            answers = [middle(self._times[one]) for one in seen if one in self._times]
            if direction > 0 and not self._affordable(candidate, _expected_next(answers)):
                return
            seen.append(candidate)
            self._asked = candidate
            yield candidate
            answers = [middle(self._times[one]) for one in seen if one in self._times]
            last = answers[-MISSES:]
            if len(last) == MISSES and min(last) > far * self._fastest(math.inf):
                return
            place += direction

    def _left(self) -> list[Candidate]:
        """Candidates that are not out; the best alone where the others are alike."""
        bounds = {one: (middle(times), half_interval(times)) for one, times in self._times.items()}
        best = min(bounds, key=lambda one: bounds[one][0])
        level = bounds[best][0] + bounds[best][1]
        left = [one for one, (time, half) in bounds.items() if one == best or time - half <= level]
        known = all(len(self._times[one]) >= 3 for one in left)
        if known and all(bounds[one][0] <= bounds[best][0] * (1 + ALIKE) for one in left):
            return [best]
        left = [one for one in left if one == best or self._affordable(one, bounds[one][0])]
        return sorted(left, key=lambda one: (self._exchanges.index(one.exchange), one.s))

    def _affordable(self, candidate: Candidate, each: float) -> bool:
        """Whether a window that takes so long an iteration loses little of what is still to come."""
        fastest = self._fastest(each)
        return candidate.s * (each - fastest) <= SHARE * max(self._rest, 0.0) * fastest

    def _leader(self, otherwise: Candidate) -> Candidate:
        return min(self._times, key=lambda one: middle(self._times[one]), default=otherwise)

    # Settled

    def _settle(self) -> None:
        self._best = self._leader(self._best)
        if self._alarm is not None:
            same = self._alarm == self._best
            self._caution, self._alarm = min(2 * self._caution, CAUTION) if same else 1, None
        times = self._times.get(self._best, [self._quantum])
        self._expected = middle(times), spread_of(times)
        self._plan, self._beyond, self._settled = None, 0, 0
        self._recent.clear()

    def _watch(self, each: float) -> None:
        """Compare a settled batch with what is expected; begin to explore where that is due."""
        expected, spread = self._expected
        self._settled += 1
        self._note(self._best, expected)
        room = max(DRIFT * expected, 6 * spread)
        side = 1 if each > expected + room else -1 if each < expected - min(room, 0.5 * expected) else 0
        self._beyond = self._beyond + side if side and self._beyond * side >= 0 else side
        jumped = each > JUMP * expected + 6 * spread or each * JUMP < expected
        if abs(self._beyond) >= (JUMPED if jumped else CONFIRM) * self._caution:
            self._patience, self._alarm = AGAIN, self._best
            rose = self._beyond > 0
            self._begin("times rose" if rose else "times fell", (1, -1) if rose else (-1, 1), NEAR)
        elif self._settled >= self._patience:
            self._patience *= 2
            self._begin("neighbours again", (-1, 1), NEAR, reach=1)
        elif not side:
            self._recent.append(each)
            if self._settled % (RECENT // 2) == 0:
                times = sorted(self._recent)
                self._expected = middle(times), spread_of(times)

    def _begin(self, why: str, directions: Sequence[int], far: float, reach: int = 64) -> None:
        self._plan = self._explore(why, [self._best.exchange], directions, far, reach)


def _expected_next(answers: Sequence[float]) -> float:
    """Time per iteration expected of the next s of a walk: it grows as it did last, at most twofold."""
    if len(answers) < 2:
        return answers[-1] if answers else 0.0
    return answers[-1] * min(max(answers[-1] / answers[-2], 1.0), 2.0)
