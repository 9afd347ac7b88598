"""Index streams drawn by NumPy's PCG64, chunk by chunk: uniform, or permutations cut into blocks."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

CHUNK = 1 << 14
"""Blocks drawn per seeded chunk: any part of a stream is reached without drawing what precedes it."""

SHUFFLED, SHUFFLED_SHARE = 10_000, 20
"""Of more coordinates than the first, ``Generator.choice`` shuffles where a block takes more than one in so
many (the second), and follows Floyd elsewhere."""


def seeded_blocks(
    kind: str, samples: int, block: int, length: int, seed: int, begin: int, end: int
) -> np.ndarray:
    """Blocks begin..end-1 of a stream, int64, shape (end - begin, b).

    Parameters
    ----------
    kind : {"uniform", "epochs"}
        As `IndexStream` describes them.
    samples, block, length, seed : int
        As for `IndexStream`.
    begin, end : int
        0 <= begin <= end <= length.
    """
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
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, chunk))))
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
            np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, epoch))))
            .permutation(samples)[: per_epoch * block]
            .reshape(per_epoch, block)
            for epoch in range(first, last + 1)
        ]
    )
    offset = chunk * CHUNK - first * per_epoch
    return np.ascontiguousarray(blocks[offset : offset + count], dtype=np.int64)
