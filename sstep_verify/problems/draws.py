"""Coordinates as programs of others draw them: number after number, from generators that are not ours."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from sstep_verify.problems import glibc_rand

AT_ONCE = 1 << 12
"""Numbers asked of NumPy in one call; they are those that as many calls would give."""

GENERATORS = {
    "glibc-rand": "srand(seed), then rand() % m, of the GNU C library",
    "numpy-mt19937": "RandomState(seed).randint(m), of NumPy",
    "numpy-pcg64": "default_rng(seed).integers(m), of NumPy",
    "mt19937": "std::mt19937(seed), then its 32 bits % m, of C++",
}
"""Kinds of draws, and the calls that they stand for."""

SEEDS = 2**32
"""Seeds lie below: what ``srand`` and ``std::mt19937`` take."""


def numbers(kind: str, seed: int, samples: int) -> Iterator[int]:
    """Numbers in 0..m-1, one after the other.

    Parameters
    ----------
    kind : str
        One of `GENERATORS`. Those of NumPy are those of the NumPy that is installed: of RandomState they
        are frozen, of default_rng they may change with a version (a replay compares them).
    seed : int
        0..2^32-1.
    samples : int
        Number of samples (m), >= 1.
    """
    if kind == "glibc-rand":
        yield from (number % samples for number in glibc_rand.rand(seed))
    elif kind == "numpy-pcg64":
        generator = np.random.default_rng(seed)
        while True:
            yield from generator.integers(samples, size=AT_ONCE).tolist()
    legacy = np.random.RandomState(seed)  # Seeded by a number as std::mt19937 is.
    while True:
        if kind == "mt19937":
            raw = legacy.randint(0, 2**32, size=AT_ONCE, dtype=np.uint32)
            yield from (raw % np.uint32(samples)).tolist()
        else:
            yield from legacy.randint(samples, size=AT_ONCE).tolist()


def blocks(
    kind: str, seed: int, samples: int, block: int, count: int, *, replacement: bool = False
) -> np.ndarray:
    """Blocks of coordinates; without replacement a number that its block has already is drawn again.

    Returns
    -------
    ndarray of int64, shape (count, block)
    """
    drawn = numbers(kind, seed, samples)
    if block == 1 or replacement:
        return np.fromiter(islice(drawn, count * block), np.int64, count * block).reshape(count, block)
    found = np.empty((count, block), dtype=np.int64)
    for row in found:
        own: list[int] = []
        while len(own) < block:
            if (one := next(drawn)) not in own:
                own.append(one)
        row[:] = own
    return found


def first_repeat(drawn: np.ndarray) -> tuple[int, int] | None:
    """First block that holds a coordinate twice (from 0), and which; None if there is none."""
    ordered = np.sort(drawn, axis=1)
    repeated = np.argwhere(ordered[:, 1:] == ordered[:, :-1])
    return (int(repeated[0, 0]), int(ordered[tuple(repeated[0])])) if repeated.size else None
