"""What is measured of an iteration (seconds, collectives, words) over repeats; the delay injected."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Delay:
    """What every collective of more than one rank is late by: ceil(log2 P) (alpha + beta bytes).

    Parameters
    ----------
    microseconds : float
        Of a level of the tree (alpha).
    per_byte : float
        Nanoseconds of a level for each byte that a rank hands in (beta).
    """

    microseconds: float = 0.0
    per_byte: float = 0.0

    @property
    def text(self) -> str:
        """As the environment variable of the interposer has it."""
        return f"{self.microseconds!r} {self.per_byte!r}"

    def transfer(self, ranks: int, words: float) -> float:
        """Seconds of the part that grows with the words of 8 bytes."""
        return 8e-9 * self.per_byte * words * levels(ranks)


@dataclass(frozen=True)
class Sample:
    """One stretch of a run, of one iteration on average.

    Parameters
    ----------
    seconds : float
        Of the slowest rank.
    collectives, words : float
        Collectives entered, and words of 8 bytes handed to them, by the rank that had most; as the
        interposer counted them.
    """

    seconds: float
    collectives: float
    words: float


@dataclass(frozen=True)
class Cell:
    """The stretches of one s at one delay on some ranks.

    Parameters
    ----------
    samples : tuple of Sample
        One for each repeat, in order.
    """

    samples: tuple[Sample, ...]

    @property
    def seconds(self) -> float:
        """Median over the repeats."""
        return quartiles(self.all_seconds)[1]

    @property
    def all_seconds(self) -> list[float]:
        """Of every repeat."""
        return [sample.seconds for sample in self.samples]

    @property
    def collectives(self) -> float:
        """Median over the repeats."""
        return quartiles([sample.collectives for sample in self.samples])[1]

    @property
    def words(self) -> float:
        """Median over the repeats."""
        return quartiles([sample.words for sample in self.samples])[1]


def levels(ranks: int) -> int:
    """Levels of a binary tree over some ranks, ceil(log2 P)."""
    return (ranks - 1).bit_length()


def quartiles(values: list[float]) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile."""
    low, middle, high = np.quantile(values, QUARTILES).tolist()
    return low, middle, high
