"""What the tuner was told of its candidates, and what follows: how long they take, what a trial may lose.

Of a candidate counts the lower median of its batches since exploring began; what it took when last tried,
before that, says only how many windows the next batch has.
"""

from __future__ import annotations

from collections.abc import Sequence

from sstep_verify.costs.timings import (
    MOST_WINDOWS,
    Candidate,
    Tried,
    beside,
    half_interval,
    middle,
)

ALIKE = 0.02
"""Share by which candidates may differ and still be alike."""

SHARE, SHORT, LEAST_QUANTUM = 0.004, 5e-4, 5e4
"""Of what the rest of the training takes: the most that the trials of an s may lose, and a batch; its least
length, in nanoseconds."""


class Known:
    """Times of candidates, in nanoseconds, of a training that is to make so many iterations.

    Exchanges are in the order in which they are tried; while exploring a batch is to take a `quantum`.

    Attributes
    ----------
    times : dict of Candidate to list of float
        Nanoseconds per iteration of batches, since exploring began.
    last : dict of Candidate to tuple
        Of every candidate that was ever tried, how many batches counted, and its last time.
    rest : float
        Iterations that are still to be made.
    longest : float
        Of the longest window that is left in an elimination; 0 where batches need not be alike.
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
            if time - half <= level or (len(self.times[one]) == 1 and (beside(one, best) or one == before))
        ]  # fmt: skip
        known = all(len(self.times[one]) >= 3 for one in left)
        if known and all(bounds[one][0] <= bounds[best][0] * (1 + ALIKE) for one in left):
            return [best]
        left = [one for one in left if one == best or self.affordable(one, bounds[one][0])]
        return sorted(left, key=self._order)

    def windows(self, candidate: Candidate) -> int:
        """Windows that are expected to take a quantum, from what is known of it or of those beside it.

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
        """Last times of the candidates of the same exchange that are not beside one."""
        return {
            one: last for one, (_, last) in self.last.items()
            if one.exchange == near.exchange and not beside(one, near)
        }  # fmt: skip
