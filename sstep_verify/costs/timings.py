"""What the tuner of s tries and is told: candidates, batches, intervals of confidence for their times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

FLOOR, EARLY = 0.01, (0.45, 0.15)
"""Least half of an interval over its time, and that of one and of two times, without a spread."""


MOST_WINDOWS = 4096
"""Of a batch."""


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


def beside(one: Candidate, best: Candidate) -> bool:
    """Whether a candidate is a neighbour of the best, and may only seem worse."""
    return one.exchange == best.exchange and one.s in (best.s // 2, best.s, 2 * best.s)


def expected_next(answers: Sequence[float]) -> float:
    """Time per iteration expected of the next s of a walk: it grows as it did last, at most twofold."""
    if len(answers) < 2:
        return answers[-1] if answers else 0.0
    return answers[-1] * min(max(answers[-1] / answers[-2], 1.0), 2.0)
