"""IndexStream: the coordinates drawn, the same for every solver, every s and every rank."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from sstep_verify.errors import InputError

CHUNK = 1 << 14
"""Blocks drawn per seeded chunk: any part of a stream is reached without drawing what precedes it."""

KINDS = ("uniform", "cyclic", "epochs", "file")


@dataclass(frozen=True)
class IndexStream:
    """A sequence of `length` blocks of `block` distinct coordinates out of `samples`.

    Parameters
    ----------
    kind : {"uniform", "cyclic", "epochs", "file"}
        uniform: each block drawn without replacement, blocks independent; cyclic: 0, 1, 2, ...;
        epochs: a fresh permutation per pass, cut into blocks (a rest shorter than a block is
        dropped); file: read from `path`.
    samples : int
        Number of coordinates (m).
    block : int
        Coordinates per block (b), 1 <= b <= m.
    length : int
        Number of blocks (H).
    seed : int
        Seed of NumPy's PCG64 generator.
    path : str
        For kind "file": an ``.npy`` array or a text file with one block of indices, from 0, a line.

    Raises
    ------
    InputError
        If the kind is unknown, b is not in 1..m, or an index of the file is out of range or
        repeated within its block.
    """

    kind: str
    samples: int
    block: int
    length: int
    seed: int = 0
    path: str = ""

    def __post_init__(self):
        if self.kind not in KINDS:
            raise InputError(f"index stream {self.kind!r} is unknown; known: {', '.join(KINDS)}")
        if not 1 <= self.block <= self.samples:
            raise InputError(
                f"block size b = {self.block}, but it must lie in 1..m and m = {self.samples}"
            )
        if self.length < 0:
            raise InputError(f"index stream of length {self.length}; it must be >= 0")
        if self.kind == "file":
            available = _from_file(self.path, self.samples, self.block).shape[0]
            if available < self.length:
                raise InputError(f"{self.path}: holds {available} blocks, but {self.length} are needed")

    def blocks(self, begin: int, end: int) -> np.ndarray:
        """Blocks begin..end-1, int64, shape (end - begin, b).

        Raises
        ------
        InputError
            If the range leaves the stream.
        """
        if not 0 <= begin <= end <= self.length:
            raise InputError(f"blocks {begin}..{end} asked of an index stream of {self.length} blocks")
        if self.kind == "file":
            return _from_file(self.path, self.samples, self.block)[begin:end]
        if self.kind == "cyclic":
            steps = np.arange(begin * self.block, end * self.block, dtype=np.int64)
            return (steps % self.samples).reshape(-1, self.block)
        if begin == end:
            return np.empty((0, self.block), dtype=np.int64)
        first, last = begin // CHUNK, (end - 1) // CHUNK
        parts = [
            _chunk(self.kind, self.samples, self.block, self.seed, chunk)[
                max(begin - chunk * CHUNK, 0) : end - chunk * CHUNK
            ]
            for chunk in range(first, last + 1)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


@lru_cache(maxsize=4)
def _chunk(kind: str, samples: int, block: int, seed: int, chunk: int) -> np.ndarray:
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, chunk))))
    if kind == "uniform" and block == 1:
        drawn = generator.integers(samples, size=(CHUNK, 1), dtype=np.int64)
    elif kind == "uniform":
        drawn = np.empty((CHUNK, block), dtype=np.int64)
        for row in drawn:
            row[:] = generator.choice(samples, size=block, replace=False, shuffle=False)
    else:
        drawn = _epoch_chunk(samples, block, seed, chunk)
    drawn.setflags(write=False)
    return drawn


def _epoch_chunk(samples: int, block: int, seed: int, chunk: int) -> np.ndarray:
    per_epoch = samples // block
    first = chunk * CHUNK // per_epoch
    last = ((chunk + 1) * CHUNK - 1) // per_epoch
    blocks = np.concatenate(
        [
            np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, epoch))))
            .permutation(samples)[: per_epoch * block]
            .reshape(per_epoch, block)
            for epoch in range(first, last + 1)
        ]
    )
    offset = chunk * CHUNK - first * per_epoch
    return np.ascontiguousarray(blocks[offset : offset + CHUNK], dtype=np.int64)


@lru_cache(maxsize=4)
def _from_file(path: str, samples: int, block: int) -> np.ndarray:
    try:
        if Path(path).suffix == ".npy":
            drawn = np.load(path, allow_pickle=False)
        else:
            drawn = np.loadtxt(path, dtype=np.int64, ndmin=2)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as an index stream: {error}") from error
    if drawn.ndim != 2 or drawn.shape[1] != block or not np.issubdtype(drawn.dtype, np.integer):
        raise InputError(
            f"{path}: holds an array of shape {drawn.shape} and type {drawn.dtype}; "
            f"needed are integers with {block} a line"
        )
    outside = np.argwhere((drawn < 0) | (drawn >= samples))
    if outside.size:
        row, column = outside[0]
        raise InputError(
            f"{path}: line {row + 1} holds index {drawn[row, column]}, outside 0..{samples - 1}"
        )
    ordered = np.sort(drawn, axis=1)
    repeated = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if repeated.size:
        raise InputError(
            f"{path}: line {repeated[0] + 1} holds an index twice; a block has distinct coordinates"
        )
    drawn = np.ascontiguousarray(drawn, dtype=np.int64)
    drawn.setflags(write=False)
    return drawn
