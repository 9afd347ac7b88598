"""Choice of s, and of the exchange, while training runs: the tuner.

Every window of every s advances the same iterates in exact arithmetic, so trying costs no iteration, only
time. The tuner learns how long batches of windows took and says which comes next. It asks no clock, and
what it says follows from these times: ranks that have the same ones choose alike.

The rule
--------
*Time.* Of a candidate (exchange, s): the lower median of the nanoseconds per iteration of its batches since
exploring began. Noise only ever adds time, hence the lower of two. Its interval is ``+- 3 MAD / sqrt(k)``,
MAD the median absolute deviation of its k batches, but at least `FLOOR`, and before three batches `EARLY`.

*Exploring*, from a candidate on: first walks to larger s and to smaller ones, one batch of each, until
`MISSES` in a row take `FAR` times as long as the best; the same with each further exchange from the best s
so far. No trial is made whose window, slower by as much as the s before, would lose more than `SHARE` of
what the rest of the training takes at its best, be it that a second batch of the s before says otherwise;
and none is made again where all trials of its s since exploring began would lose more.
Then *successive elimination*: rounds of one batch of each that is left; a candidate is out when its
interval lies above that of the best, one next to the best, and what was the best before, only after two
batches, since one may have been disturbed. Exploring ends when one is left, or all that are left are within
`ALIKE` of the best, or after `ROUNDS`.

*Settled* on the best (see `known.Settled`). When batches leave what is expected, exploring begins again
from there, in the same exchange: to larger s first where times rose, to smaller ones where they fell, and
the other way only if that was in vain; the walk ends at `NEAR` times the best. Without such a cause the
neighbours are tried again after `AGAIN` windows, of a batch at most `COUNTED`, then after twice as many,
and so on, unless one of them was better. With them goes the best of the others, if it took at most `NEAR`
times as long when last tried: products are formed in ways that change with s, so more than one s may be a
least. Where times rose meanwhile, exploring continues as after an alarm.

Batches are as many whole windows as are expected to take a `quantum`: by the s next to where a candidate
was not tried since exploring began, or as it was before; while exploring less where little is left to be
made. Those of an elimination that no alarm began take as long as the longest window that is left, or what
loses as little as a short batch may: the first iterations after a change of s find other things in cache,
and that is to weigh alike. Batches are to be cut after `FAR` times that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sstep_verify.costs.known import (
    Batch,
    Candidate,
    Known,
    Settled,
    Tried,
    expected_next,
    middle,
    powers_of_two,
)

FAR, MISSES, ROUNDS = 4.0, 2, 8
NEAR, NEAR_ROUNDS, LATE_ROUNDS = 1.25, 4, 2
"""`FAR` and `ROUNDS` where exploring begins again: from what was the best before, little is to be found.
And the rounds where an alarm began it."""
AGAIN, COUNTED, NEIGHBOURS = 128, 4, "neighbours again"
CAUTION = 8
"""Most batches for one in an alarm: one that was false, which found nothing new, doubles them, another sets
them to 1."""


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
        iterations: float = math.inf, quantum: float = 3e5, settled: float = 2e6,
    ):  # fmt: skip
        self._sizes, self._exchanges = powers_of_two(most), list(exchanges)
        self._known, self._longer = Known(exchanges, iterations, quantum), settled
        place = min(range(len(self._sizes)), key=lambda k: abs(math.log2(self._sizes[k] / start)))
        self._best = Candidate(self._exchanges[0], self._sizes[place])
        self._warm: set[str] = set()
        self._unanswered, self._last = 0, Batch(self._best, 1, False)
        self._settled = Settled(self._best, [quantum], quantum, settled)
        self._patience = AGAIN
        self._asked, self._caution = self._best, 1
        self._alarm: Candidate | None = None
        self.explored: list[str] = []
        self._plan: Iterator[Candidate] | None = self._explore(
            "training began", self._exchanges, (1, -1), FAR
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
        """All candidates that were ever tried, with their last times, by exchange and s."""
        return self._known.tried

    def choose(self) -> Batch:
        """The next batch. At most two are under way without an answer; then the last one is made again."""
        if self._plan is None:
            return self._settled.batch
        if self._unanswered < 2:
            self._last = self._next()
        self._unanswered += 1
        return self._last

    def observe(self, batch: Batch, iterations: int, nanoseconds: float) -> None:
        """Note what a batch that `choose` gave took; others are taken not to have been made."""
        self._unanswered = 0
        self._known.rest -= iterations
        candidate = batch.candidate
        if not batch.counted:
            self._warm.add(candidate.exchange)
            return
        each = max(nanoseconds, 1.0) / iterations
        if self._plan is not None:
            self._known.add(candidate, each)
        elif candidate == self._best:
            self._watch(each)

    def _next(self) -> Batch:
        known = self._known
        if self._plan is not None:
            candidate = next(self._plan, None)
            if candidate is None and self._rose_meanwhile():
                self._alarmed(1)
                candidate = next(self._plan)
            if candidate is not None:
                counted = candidate.exchange in self._warm
                return Batch(candidate, known.windows(candidate), counted, FAR * known.limit)
            self._settle()
        return self._settled.batch

    # Exploring

    def _explore(
        self, why: str, exchanges: Sequence[str], directions: Sequence[int], far: float, reach: int = 64
    ) -> Iterator[Candidate]:
        """Candidates to be tried, one after the other; answers may come one late."""
        self.explored.append(why)
        known, start = self._known, self._best
        known.times, known.longest = {}, 0.0
        for exchange in exchanges:
            begin = self._sizes.index(known.leader(start).s)
            first = Candidate(exchange, self._sizes[begin])
            while exchange not in self._warm:
                yield first
            yield first
            for direction in directions:
                yield from self._walk(exchange, begin, direction, far, reach)
                if far == NEAR and reach > 1 and known.leader(start) != start:
                    break
        if reach == 1:
            yield from self._other(start)
        if self._asked not in known.times:
            yield known.leader(start)  # The last answer is late.
        for _ in range(LATE_ROUNDS if self._alarm else NEAR_ROUNDS if far == NEAR else ROUNDS):
            left = known.left(start)
            if len(left) == 1:
                break
            if self._alarm is None:  # Else there is no time to lose.
                known.longest = max(one.s * middle(known.times[one]) for one in left)
            yield from left

    def _walk(
        self, exchange: str, begin: int, direction: int, far: float, reach: int
    ) -> Iterator[Candidate]:
        """Larger or smaller s, until two in a row are far from the best."""
        known = self._known
        place, seen, sure = begin + direction, [Candidate(exchange, self._sizes[begin])], False
        while 0 <= place < len(self._sizes) and len(seen) <= reach:
            candidate = Candidate(exchange, self._sizes[place])
            answers = known.answers(seen)
            if direction > 0 and not known.affordable(candidate, expected_next(answers)):
                if sure:
                    return
                sure = True
                yield seen[-1]  # What makes it seem too dear may have been a batch that was disturbed.
                continue
            seen.append(candidate)
            self._asked = candidate
            yield candidate
            last = known.answers(seen)[-MISSES:]
            if len(last) == MISSES and min(last) > far * known.fastest(math.inf):
                return
            place += direction

    def _other(self, start: Candidate) -> Iterator[Candidate]:
        """The best beyond the neighbours, as it was when last tried, if it was not far behind."""
        known, far = self._known, self._known.others(start)
        if far:
            other = min(far, key=far.__getitem__)
            if far[other] <= NEAR * known.fastest(math.inf) and known.affordable(other, far[other]):
                self._asked = other
                yield other

    # Settled

    def _rose_meanwhile(self) -> bool:
        """Whether times rose while only the neighbours were tried."""
        return self.explored[-1] == NEIGHBOURS and self._known.fastest(0.0) > self._settled.usual[1]

    def _settle(self) -> None:
        before, self._best = self._best, self._known.leader(self._best)
        if self._best != before:
            self._patience = AGAIN
        if self._alarm is not None:
            same = self._alarm == self._best
            self._caution, self._alarm = min(2 * self._caution, CAUTION) if same else 1, None
        quantum = self._known.quantum
        times = self._known.times.get(self._best, [quantum])
        self._settled, self._plan = Settled(self._best, times, quantum, self._longer), None

    def _watch(self, each: float) -> None:
        """Look at a settled batch; begin to explore where that is due."""
        self._known.note(self._best, self._settled.expected)
        side = self._settled.alarm(each, self._caution)
        if side:
            self._alarmed(side)
        elif self._settled.seen * min(self._settled.long.windows, COUNTED) >= self._patience:
            self._patience *= 2
            self._begin(NEIGHBOURS, (-1, 1), reach=1)

    def _alarmed(self, side: int) -> None:
        self._patience, self._alarm = AGAIN, self._best
        self._begin("times rose" if side > 0 else "times fell", (1, -1) if side > 0 else (-1, 1))

    def _begin(self, why: str, directions: Sequence[int], reach: int = 64) -> None:
        self._plan = self._explore(why, [self._best.exchange], directions, NEAR, reach)
