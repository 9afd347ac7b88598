"""Column profiles: how many nonzeros each feature has, and what that leaves the ranks."""

from __future__ import annotations

import lzma
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sstep_verify.errors import InputError


class Shares(NamedTuple):
    """What ranks hold of contiguous columns: nonzeros of rank 0, and of the rank with most of them.

    Pairs are those of a drawn sample's nonzero with a nonzero in its column, on average over the samples.
    """

    first: float
    most: float
    first_pairs: float
    most_pairs: float


@dataclass(frozen=True, eq=False)
class Profile:
    """A data set as its cost depends on it: samples (m), nonzeros of each column (counts, shape (n,))."""

    name: str
    samples: int
    counts: np.ndarray[Any, Any]

    @property
    def features(self) -> int:
        """Number of features (n)."""
        return int(self.counts.size)

    @property
    def nonzeros(self) -> float:
        """All nonzeros."""
        return float(self.counts.sum())

    @property
    def dense(self) -> bool:
        """Whether no entry is zero."""
        return bool((self.counts >= self.samples).all())

    def shares(self, ranks: int, balanced: bool = False) -> Shares:
        """Of contiguous blocks of columns, as equal in number as can be, the larger ones first.

        Balanced, columns are distributed so that every one of the P ranks has the same work, instead.
        """
        return _shares(self, ranks, balanced)


@lru_cache(maxsize=256)
def _shares(profile: Profile, ranks: int, balanced: bool) -> Shares:
    """Shares, kept: every s and exchange asks for the same ones, of a million columns."""
    counts = profile.counts.astype(np.float64)
    pairs = counts * counts / profile.samples
    if balanced:
        each, work = float(counts.sum()) / ranks, float(pairs.sum()) / ranks
        # No column is split: the one with most pairs is a floor.
        return Shares(each, each, work, max(work, float(pairs.max())))
    small, extra = divmod(profile.features, ranks)
    edges = np.arange(ranks + 1) * small + np.minimum(np.arange(ranks + 1), extra)
    held, worked = (np.diff(np.concatenate([[0], np.cumsum(of)])[edges]) for of in (counts, pairs))
    return Shares(float(held[0]), float(held.max()), float(worked[0]), float(worked.max()))


def uniform_profile(name: str, samples: int, features: int, nonzeros: float) -> Profile:
    """Every column as full as the others; InputError if there are more nonzeros than entries, or none."""
    if not 0 < nonzeros <= samples * features:
        given = f"{nonzeros:g} nonzero{'s' * (nonzeros != 1)} of {samples} x {features} entries"
        raise InputError(f"{given}; give 1 to {samples * features}")
    return Profile(name, samples, np.full(features, nonzeros / features))


def matrix_profile(name: str, data: Any) -> Profile:
    """Of samples by features, an array or a sparse array."""
    samples, features = data.shape
    return Profile(name, samples, np.bincount(data.nonzero()[1], minlength=features))


def read_counts(path: str | Path, samples: int) -> np.ndarray[Any, Any]:
    """Nonzeros of each column from a file, one a line; of its name ``.xz`` it is unpacked.

    InputError if it cannot be read, or they are no counts of columns with so many samples.
    """
    try:
        with (lzma.open if str(path).endswith(".xz") else open)(path, "rt", encoding="ascii") as lines:
            counts = np.array([int(word) for word in lines.read().split()])
    except (OSError, ValueError, EOFError, lzma.LZMAError) as error:
        raise InputError(f"{path}: {error}; one whole number a line, nonzeros of a column") from error
    if counts.size == 0 or counts.min() < 0 or counts.max() > samples or not counts.sum():
        raise InputError(f"{path}: counts must be 0 to {samples}, the samples, and not all 0")
    return counts
