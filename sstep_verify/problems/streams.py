"""IndexStream: the coordinates drawn, the same for every solver, every s and every rank.

Those of our own kinds are drawn by NumPy's PCG64, chunk by chunk; others are in `problems.draws`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.problems import draws

KINDS = ("uniform", "cyclic", "epochs", "file", "logged", *draws.GENERATORS)


@dataclass(frozen=True)
class IndexStream:
    """Hold the coordinates that a run draws: `length` blocks of `block` coordinates out of `samples`.

    They are the same for every solver, every s and every rank. Coordinates of one block are distinct,
    unless they are drawn with `replacement`.

    Parameters
    ----------
    kind : str
        ``uniform`` draws each block independently, without replacement. ``cyclic`` counts up from 0.
        ``epochs`` cuts a new permutation for each pass into blocks, and drops a rest shorter than a block.
        ``file`` reads `path`. ``logged`` is what a program says that it drew, unknown before it ran.
        Programs draw by ``glibc-rand``, ``numpy-mt19937``, ``numpy-pcg64`` or ``mt19937``
        (`problems.draws`).
    samples : int
        Number of coordinates (m).
    block : int
        Coordinates per block (b), 1 <= b <= m.
    length : int
        Number of blocks (H).
    seed : int
        Seed of NumPy's PCG64 generator, or of the generator that the kind names (0..2^32-1).
    path : str
        For kind "file": an ``.npy`` array or a text file with one block of indices, from 0, a line.
    relabel : int, optional
        Seed of a renumbering of the samples: the same samples are drawn, under other numbers.
    replacement : bool
        Whether a block may hold a coordinate several times; for files, logs, and the kinds that programs
        draw. S-2.5 of the specification says what its step is.
    drawn : str
        For kind "logged": the blocks, once they are known, see `logged_stream`.

    Raises
    ------
    InputError
        If the kind is unknown, b is not in 1..m, or length or a seed is out of range. Also if a file or log
        cannot be read, has too few blocks, or holds an index out of range or repeated without
        `replacement`.

    Examples
    --------
    >>> from sstep_verify import IndexStream
    >>> stream = IndexStream("cyclic", samples=3, block=2, length=3)
    >>> stream.blocks(0, 3).tolist()
    [[0, 1], [2, 0], [1, 2]]
    """

    kind: str
    samples: int
    block: int
    length: int
    seed: int = 0
    path: str = ""
    relabel: int | None = None
    replacement: bool = False
    drawn: str = field(default="", repr=False)

    def __post_init__(self):
        if self.kind not in KINDS:
            raise InputError(f"index stream {self.kind!r} is unknown; known: {', '.join(KINDS)}")
        for name in ("samples", "block", "length", "seed", "relabel"):
            given = getattr(self, name)
            if name == "relabel" and given is None:
                continue
            if isinstance(given, bool) or not isinstance(given, (int, np.integer)):
                raise InputError(
                    f"index stream: {name} = {given!r:.80}, but it must be a whole number, such as 4"
                )
        if not 1 <= self.block <= self.samples:
            raise InputError(f"block size b = {self.block}, but it must lie in 1..m and m = {self.samples}")
        if self.length < 0:
            raise InputError(f"index stream of length {self.length}; it must be >= 0")
        for seed in (self.seed, self.relabel or 0):
            if seed < 0:
                raise InputError(f"index stream with seed {seed}; it must be >= 0")
        self._require_generator()
        # What a file or a log holds is read once: the stream is the content that it has now.
        held = None
        if self.kind == "file":
            held = draws.blocks_from_file(self.path, self.samples, self.block, replacement=self.replacement)
            if len(held) < self.length:
                raise InputError(f"{self.path}: holds {len(held)} blocks, but {self.length} are needed")
        elif self.kind == "logged" and self.drawn:
            whole = np.frombuffer(bytes.fromhex(self.drawn), dtype="<i8")
            if whole.size != self.length * self.block:
                raise InputError(
                    f"index stream of a program: {whole.size} numbers, but {self.length} blocks of "
                    f"{self.block} are needed"
                )
            held = draws.require_blocks(
                whole.reshape(-1, self.block),
                self.samples,
                "index stream of a program",
                replacement=self.replacement,
            )
        object.__setattr__(self, "_held", held)

    def _require_generator(self) -> None:
        """Raise unless seed and replacement go with a kind that programs draw."""
        if self.kind not in draws.GENERATORS:
            if self.replacement and self.kind not in ("file", "logged"):
                others = ", ".join(("file", "logged", *draws.GENERATORS))
                raise InputError(
                    f"replacement = True: index stream {self.kind!r} is drawn without replacement only; "
                    f"take one of {others}, or leave replacement out"
                )
            return
        if not 0 <= self.seed < draws.SEEDS:
            raise InputError(
                f"index stream {self.kind!r} with seed {self.seed}; it must lie in 0..{draws.SEEDS - 1}"
            )

    @property
    def known(self) -> bool:
        """Whether its blocks can be told: those of a program that logs them only after it ran."""
        return self.kind != "logged" or bool(self.drawn) or not self.length

    def blocks(self, begin: int, end: int) -> np.ndarray:
        """Return blocks begin..end-1, int64, shape (end - begin, b), read-only.

        Raises
        ------
        InputError
            If the range leaves the stream, or it is not known yet.
        """
        if not 0 <= begin <= end <= self.length:
            raise InputError(f"blocks {begin}..{end} asked of an index stream of {self.length} blocks")
        drawn = self._drawn(begin, end)
        blocks = drawn if self.relabel is None else relabelling(self.samples, self.relabel)[1][drawn]
        # Whatever they are made from, so that loops over them are compiled once.
        blocks.flags.writeable = False
        return blocks

    def _drawn(self, begin: int, end: int) -> np.ndarray:
        """The blocks before any renumbering."""
        held: np.ndarray | None = self._held  # type: ignore[attr-defined]
        if held is not None:
            return held[begin:end]
        if not self.known:
            raise InputError("this index stream is known only after its program ran and logged it")
        if self.kind in draws.GENERATORS:
            return self._generated()[begin:end]
        if self.kind == "cyclic":
            steps = np.arange(begin * self.block, end * self.block, dtype=np.int64)
            return (steps % self.samples).reshape(-1, self.block)
        return seeded_blocks(self.kind, self.samples, self.block, self.length, self.seed, begin, end)

    def _generated(self) -> np.ndarray:
        shape = self.samples, self.block, self.length
        return draws.blocks(self.kind, self.seed, *shape, replacement=self.replacement)


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


def logged_stream(stream: IndexStream, drawn: np.ndarray) -> IndexStream:
    """A stream of kind "logged" with what was drawn.

    Parameters
    ----------
    stream : IndexStream
        The stream before it was known.
    drawn : ndarray of int64, shape (k, b)
        Its first blocks, k <= H. Where every run ended before H, nobody knows the others, and nothing looks
        at them: they are 0, ..., b - 1.
    """
    rest = np.tile(np.arange(stream.block), (stream.length - len(drawn), 1))
    content = np.concatenate([drawn, rest]).astype("<i8").tobytes().hex()
    return replace(stream, drawn=content)


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
