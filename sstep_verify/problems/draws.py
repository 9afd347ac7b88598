"""Coordinates as they are drawn: by NumPy's PCG64 chunk by chunk, or number after number as programs do."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from itertools import count, islice

import numpy as np

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


_MULTIPLIER, _MODULUS = 16807, 2**31 - 1
_LAGS, _DISCARDED = (3, 31), 310


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
        yield from (number % samples for number in _glibc_rand(seed))
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


def _glibc_rand(seed: int) -> Iterator[int]:
    """The numbers of ``srand(seed); rand()`` of the GNU C library, in 0..2^31-1.

    The state is 31 numbers of ``16807 x mod 2^31 - 1``; then ``r_i = r_(i-3) + r_(i-31) mod 2^32``, of
    which the first 310 are dropped and the rest lose their last bit. A seed of 0 is taken as 1.

    Source: the additive feedback generator that glibc documents for ``random`` (TYPE_3, degree 31).
    """
    state = [np.int32(np.uint32(seed or 1)).item()]
    for _ in range(_LAGS[1] - 1):
        # As C divides: towards zero, and a negative remainder is brought up.
        state.append(int(np.fmod(_MULTIPLIER * state[-1], _MODULUS)) % _MODULUS)
    last = deque((state + state[:3])[-_LAGS[1] :], maxlen=_LAGS[1])
    for place in count():
        last.append((last[-_LAGS[0]] + last[-_LAGS[1]]) % 2**32)
        if place >= _DISCARDED:
            yield last[-1] >> 1


@lru_cache(maxsize=4)
def blocks(
    kind: str, seed: int, samples: int, block: int, length: int, *, replacement: bool = False
) -> np.ndarray:
    """Blocks of coordinates; without replacement a number that its block has already is drawn again.

    Returns
    -------
    ndarray of int64, shape (length, block); read-only
    """
    drawn = numbers(kind, seed, samples)
    if block == 1 or replacement:
        rows = np.fromiter(islice(drawn, length * block), np.int64, length * block).reshape(length, block)
    else:
        rows = np.empty((length, block), dtype=np.int64)
        for row in rows:
            coordinates: dict[int, None] = {}
            while len(coordinates) < block:
                coordinates[next(drawn)] = None
            row[:] = list(coordinates)
    rows.setflags(write=False)
    return rows


def first_repeat(drawn: np.ndarray) -> tuple[int, int] | None:
    """First block that holds a coordinate twice (from 0), and which; None if there is none."""
    ordered = np.sort(drawn, axis=1)
    repeated = np.argwhere(ordered[:, 1:] == ordered[:, :-1])
    return (int(repeated[0, 0]), int(ordered[tuple(repeated[0])])) if repeated.size else None


CHUNK = 1 << 14
"""Blocks drawn per seeded chunk: any part of a stream is reached without drawing what precedes it."""

SHUFFLED, SHUFFLED_SHARE = 10_000, 20
"""Of more coordinates than the first, ``Generator.choice`` shuffles where a block takes more than one in so
many (the second), and follows Floyd elsewhere."""


def seeded_blocks(
    kind: str, samples: int, block: int, length: int, seed: int, begin: int, end: int
) -> np.ndarray:
    """Blocks begin..end-1 of an `IndexStream` of kind uniform or epochs, shape (end - begin, b)."""
    if begin == end:
        return np.empty((0, block), dtype=np.int64)
    parts = []
    for chunk in range(begin // CHUNK, (end - 1) // CHUNK + 1):
        # The last chunk is drawn as far as the stream goes: blocks are drawn one after the other, so those
        # that are left out change nothing in those before them.
        first = chunk * CHUNK
        drawn = _chunk(kind, samples, block, seed, chunk, min(CHUNK, length - first))
        parts.append(drawn[max(begin - first, 0) : end - first])
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


@lru_cache(maxsize=4)
def _chunk(kind: str, samples: int, block: int, seed: int, chunk: int, count: int) -> np.ndarray:
    """The first `count` blocks of a chunk, shape (count, b); read-only."""
    generator = _generator(seed, chunk)
    if kind == "uniform" and block == 1:
        drawn = generator.integers(samples, size=(count, 1), dtype=np.int64)
    elif kind == "uniform":
        drawn = _distinct_blocks(generator, samples, block, count)
    else:
        drawn = _epoch_chunk(samples, block, seed, chunk, count)
    drawn.setflags(write=False)
    return drawn


def _distinct_blocks(generator: np.random.Generator, samples: int, block: int, count: int) -> np.ndarray:
    """Blocks drawn without replacement, the very ones that ``Generator.choice`` draws one by one.

    Floyd's algorithm for all blocks at once: place k takes a number drawn from 0..m-b+k, or m-b+k itself
    where the block holds that number already. Source: Bentley and Floyd 1987, Communications of the ACM 30.
    """
    if samples > SHUFFLED and block > samples // SHUFFLED_SHARE:
        drawn = np.empty((count, block), dtype=np.int64)
        for row in drawn:
            row[:] = generator.choice(samples, size=block, replace=False, shuffle=False)
        return drawn
    last = np.arange(samples - block, samples)
    drawn = generator.integers(last, endpoint=True, size=(count, block), dtype=np.int64)
    by_place = np.ascontiguousarray(drawn.T)
    for place in range(1, block):
        taken = (by_place[:place] == by_place[place]).any(axis=0)
        by_place[place, taken] = last[place]
    return np.ascontiguousarray(by_place.T)


def _epoch_chunk(samples: int, block: int, seed: int, chunk: int, count: int) -> np.ndarray:
    per_epoch = samples // block
    first = chunk * CHUNK // per_epoch
    last = (chunk * CHUNK + count - 1) // per_epoch
    blocks = np.concatenate(
        [
            _generator(seed, epoch).permutation(samples)[: per_epoch * block].reshape(per_epoch, block)
            for epoch in range(first, last + 1)
        ]
    )
    offset = chunk * CHUNK - first * per_epoch
    return np.ascontiguousarray(blocks[offset : offset + count], dtype=np.int64)


def _generator(seed: int, place: int) -> np.random.Generator:
    """That of a chunk or of an epoch."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, place))))
