"""IndexStream: the coordinates drawn, the same for every solver, every s and every rank."""

from __future__ import annotations

import hashlib
import io
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.problems import glibc_rand
from sstep_verify.problems.data.files import require_regular

CHUNK = 1 << 14
"""Blocks drawn per seeded chunk: any part of a stream is reached without drawing what precedes it."""

SHUFFLED, SHUFFLED_SHARE = 10_000, 20
"""Of more coordinates than the first, ``Generator.choice`` shuffles where a block takes more than one in so
many (the second), and follows Floyd elsewhere."""

KINDS = ("uniform", "cyclic", "epochs", "file", "glibc-rand")


@dataclass(frozen=True)
class IndexStream:
    """A sequence of `length` blocks of `block` distinct coordinates out of `samples`.

    Parameters
    ----------
    kind : {"uniform", "cyclic", "epochs", "file", "glibc-rand"}
        uniform: each block drawn without replacement, blocks independent; cyclic: 0, 1, 2, ...;
        epochs: a fresh permutation per pass, cut into blocks (a rest shorter than a block is
        dropped); file: read from `path`; glibc-rand: as C programs draw, see `problems.glibc_rand`.
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
    relabel : int, optional
        Seed of a renumbering of the samples: the same samples are drawn, under the numbers that
        `relabelling` gives them.

    Raises
    ------
    InputError
        If the kind is unknown, b is not in 1..m, length or a seed is negative, or the file cannot be
        read, has too few blocks, or holds an index out of range or repeated within its block.
    """

    kind: str
    samples: int
    block: int
    length: int
    seed: int = 0
    path: str = ""
    relabel: int | None = None

    def __post_init__(self):
        if self.kind not in KINDS:
            raise InputError(f"index stream {self.kind!r} is unknown; known: {', '.join(KINDS)}")
        if not 1 <= self.block <= self.samples:
            raise InputError(f"block size b = {self.block}, but it must lie in 1..m and m = {self.samples}")
        if self.length < 0:
            raise InputError(f"index stream of length {self.length}; it must be >= 0")
        for seed in (self.seed, self.relabel or 0):
            if seed < 0:
                raise InputError(f"index stream with seed {seed}; it must be >= 0")
        if self.kind == "file":
            # The stream is the content the file has now; blocks() refuses any other.
            content = _content(self.path)
            object.__setattr__(self, "_sha256", hashlib.sha256(content).hexdigest())
            available = self._file_blocks().shape[0]
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
        drawn = self._drawn(begin, end)
        return drawn if self.relabel is None else relabelling(self.samples, self.relabel)[1][drawn]

    def _drawn(self, begin: int, end: int) -> np.ndarray:
        """The blocks before any renumbering."""
        if self.kind == "file":
            return self._file_blocks()[begin:end]
        if self.kind == "glibc-rand":
            return _by_rand(self.seed, self.samples, self.block, self.length)[begin:end]
        if self.kind == "cyclic":
            steps = np.arange(begin * self.block, end * self.block, dtype=np.int64)
            return (steps % self.samples).reshape(-1, self.block)
        if begin == end:
            return np.empty((0, self.block), dtype=np.int64)
        first, last = begin // CHUNK, (end - 1) // CHUNK
        parts = [
            self._chunk(chunk)[max(begin - chunk * CHUNK, 0) : end - chunk * CHUNK]
            for chunk in range(first, last + 1)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _chunk(self, chunk: int) -> np.ndarray:
        # The last chunk is drawn as far as the stream goes: blocks are drawn one after the other, so those
        # that are left out change nothing in those before them.
        count = min(CHUNK, self.length - chunk * CHUNK)
        return _chunk(self.kind, self.samples, self.block, self.seed, chunk, count)

    def _file_blocks(self) -> np.ndarray:
        return _from_file(self.path, self._sha256, self.samples, self.block)  # type: ignore[attr-defined]


@lru_cache(maxsize=4)
def relabelling(samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A renumbering of the samples.

    Parameters
    ----------
    samples : int
        Number of samples (m).
    seed : int
        Seed of NumPy's PCG64 generator.

    Returns
    -------
    order, number : ndarray of int64, shape (m,)
        Old number of each new one, and new number of each old one; read-only.
    """
    order = np.random.Generator(np.random.PCG64(seed)).permutation(samples)
    number = np.argsort(order)
    for part in (order, number):
        part.setflags(write=False)
    return order, number


@lru_cache(maxsize=4)
def _by_rand(seed: int, samples: int, block: int, length: int) -> np.ndarray:
    """All blocks of a stream by the C library's ``rand``; read-only."""
    drawn = glibc_rand.blocks(seed, samples, block, length)
    drawn.setflags(write=False)
    return drawn


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


@lru_cache(maxsize=4)
def _from_file(path: str, sha256: str, samples: int, block: int) -> np.ndarray:
    content = _content(path)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise InputError(f"{path}: was changed after the index stream was made from it; make it again")
    drawn = _parsed(path, content)
    if drawn.ndim != 2 or drawn.shape[1] != block or not np.issubdtype(drawn.dtype, np.integer):
        raise InputError(
            f"{path}: holds an array of shape {drawn.shape} and type {drawn.dtype}; "
            f"needed are integers with {block} a line"
        )
    outside = np.argwhere((drawn < 0) | (drawn >= samples))
    if outside.size:
        row, column = outside[0]
        raise InputError(
            f"{path}: block {row} (from 0) holds index {drawn[row, column]}, outside 0..{samples - 1}"
        )
    ordered = np.sort(drawn, axis=1)
    repeated = np.argwhere(ordered[:, 1:] == ordered[:, :-1])
    if repeated.size:
        row, column = repeated[0]
        raise InputError(
            f"{path}: block {row} (from 0) holds index {ordered[row, column]} twice; "
            "a block has distinct coordinates"
        )
    drawn = np.ascontiguousarray(drawn, dtype=np.int64)
    drawn.setflags(write=False)
    return drawn


def _content(path: str) -> bytes:
    require_regular(path, "a file with blocks of indices")
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path!r}: cannot be read as an index stream: {error.strerror}") from error


def _parsed(path: str, content: bytes) -> np.ndarray:
    try:
        if Path(path).suffix == ".npy":
            return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
        with warnings.catch_warnings():
            # An empty file, and in some releases of NumPy a "1.5" cut to 1, end in a warning only.
            warnings.simplefilter("error")
            return np.loadtxt(io.BytesIO(content), dtype=np.int64, ndmin=2)
    except (ValueError, EOFError, Warning) as error:
        raise InputError(f"{path}: cannot be read as an index stream: {error}") from error
