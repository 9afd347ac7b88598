"""Column profiles: how many nonzeros each feature has, and what that leaves the ranks."""

from __future__ import annotations

import lzma
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sstep_verify.errors import InputError

NEWS_FILE, NEWS_SAMPLES = "news20.binary.colnnz.txt.xz", 19_996
"""Counts of nonzeros per feature of news20.binary, one a line; its samples."""

ADULT = (
    [6512] * 5
    + [22696, 2541, 1116, 960, 2093, 1298, 14, 7]
    + [6512] * 5
    + [5355, 7291, 1175, 10501, 576, 1067, 1382, 514, 646, 433, 1723, 168, 933, 413, 333, 51]
    + [6512] * 5
    + [14976, 4443, 10683, 1025, 993, 418, 23]
    + [928, 4099, 3295, 3650, 4066, 4140, 1370, 2002, 3770, 994, 1597, 149, 649, 9]
    + [1568, 5068, 13193, 8305, 981, 3446]
    + [27816, 1039, 311, 271, 3124]
    + [10771, 21790, 29849, 2712, 31042, 1519]
    + [6512] * 5
    + [29170, 643]
    + [55] * 39
)
"""Samples of the UCI Adult data that have each of a9a's 123 features. Quantiles (each 1/5), capital gain
and loss, and the 39 rarer countries are stated as even; the sum is within 0.1 % of a9a's 451,592."""


class Shares(NamedTuple):
    """What ranks hold of contiguous columns: rank 0, and the rank with most of it.

    Parameters
    ----------
    first, most : float
        Nonzeros.
    first_pairs, most_pairs : float
        Pairs of a drawn sample's nonzero with a nonzero in its column, on average over the samples.
    columns : float
        Columns of a rank.
    """

    first: float
    most: float
    first_pairs: float
    most_pairs: float
    columns: float


@dataclass(frozen=True, eq=False)
class Profile:
    """A data set as its cost depends on it.

    Parameters
    ----------
    name : str
        Its name.
    samples : int
        Number of samples (m).
    counts : ndarray, shape (n,)
        Nonzeros of each column.
    """

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

        Parameters
        ----------
        ranks : int
            Number of ranks (P).
        balanced : bool
            Whether columns are dealt out so that every rank has the same work, instead.
        """
        return _shares(self, ranks, balanced)


@lru_cache(maxsize=256)
def _shares(profile: Profile, ranks: int, balanced: bool) -> Shares:
    """Shares, kept: every s and exchange asks for the same ones, of a million columns."""
    counts, features = profile.counts.astype(np.float64), profile.features
    pairs = counts * counts / profile.samples
    if balanced:
        each, work = float(counts.sum()) / ranks, float(pairs.sum()) / ranks
        # No column is split: the one with most pairs is a floor.
        return Shares(each, each, work, max(work, float(pairs.max())), features / ranks)
    small, extra = divmod(features, ranks)
    edges = np.arange(ranks + 1) * small + np.minimum(np.arange(ranks + 1), extra)
    held = np.diff(np.concatenate([[0], np.cumsum(counts)])[edges])
    worked = np.diff(np.concatenate([[0], np.cumsum(pairs)])[edges])
    return Shares(
        float(held[0]), float(held.max()), float(worked[0]), float(worked.max()), features / ranks
    )


def uniform_profile(name: str, samples: int, features: int, nonzeros: float) -> Profile:
    """Every column as full as the others.

    Raises
    ------
    InputError
        If there are more nonzeros than entries, or none.
    """
    if not 0 < nonzeros <= samples * features:
        raise InputError(f"{nonzeros:g} nonzeros of {samples} x {features} entries; give 1 to m n")
    return Profile(name, samples, np.full(features, nonzeros / features))


def matrix_profile(name: str, data: Any) -> Profile:
    """Of samples by features, an array or a sparse array."""
    samples, features = data.shape
    return Profile(name, samples, np.bincount(data.nonzero()[1], minlength=features))


def read_counts(path: str | Path, samples: int) -> np.ndarray[Any, Any]:
    """Nonzeros of each column from a file, one a line; of its name ``.xz`` it is unpacked.

    Raises
    ------
    InputError
        If it cannot be read, or they are no counts of columns with so many samples.
    """
    try:
        with (lzma.open if str(path).endswith(".xz") else open)(path, "rt", encoding="ascii") as lines:
            counts = np.array([int(word) for word in lines.read().split()])
    except (OSError, ValueError, EOFError, lzma.LZMAError) as error:
        raise InputError(f"{path}: {error}; one whole number a line, nonzeros of a column") from error
    if counts.size == 0 or counts.min() < 0 or counts.max() > samples or not counts.sum():
        raise InputError(f"{path}: counts must be 0 to {samples}, the samples, and not all 0")
    return counts


def handwritten_profile() -> Profile:
    """mnist.scale: 28 x 28 pixels whose use falls off from the middle, scaled to its nonzeros.

    Its true counts are not at hand. Fourth power of the row, 2.6th of the column, widths 7.6 and 6.3 about
    13.8, at most 85 % of the samples: chosen by eye after the digits, not fitted.
    """
    row, column = np.divmod(np.arange(780), 28)
    shape = np.exp(-(np.abs((row - 13.8) / 7.6) ** 4) - np.abs((column - 13.8) / 6.3) ** 2.6)
    shape[row < 1] = 0.0
    low, high = 0.0, 3.0
    for _ in range(60):
        scale = (low + high) / 2
        filled = np.minimum(scale * shape, 0.85).sum() * 60_000
        low, high = (scale, high) if filled < 8_994_156 else (low, scale)
    return Profile("mnist.scale", 60_000, np.minimum(low * shape, 0.85) * 60_000)


@cache
def published_profiles(folder: str) -> dict[str, Profile]:
    """The four data sets of the published timings; news20.binary's counts are read from a folder."""
    known = [
        Profile("duke", 44, np.full(7129, 44)),
        Profile("a9a", 32_561, np.array(ADULT)),
        handwritten_profile(),
        Profile("news20.binary", NEWS_SAMPLES, read_counts(Path(folder) / NEWS_FILE, NEWS_SAMPLES)),
    ]
    return {profile.name: profile for profile in known}
