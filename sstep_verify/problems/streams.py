"""IndexStream: the coordinates drawn, the same for every solver, every s and every rank."""

from __future__ import annotations

import io
import warnings
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from sstep_verify.errors import InputError, RefusedError
from sstep_verify.files import MALFORMED_ARRAY, open_regular
from sstep_verify.problems import draws

KINDS = ("uniform", "cyclic", "epochs", "file", "logged", *draws.GENERATORS)


@dataclass(frozen=True)
class IndexStream:
    """A sequence of `length` blocks of `block` distinct coordinates out of `samples`.

    Parameters
    ----------
    kind : str
        uniform: each block drawn without replacement, blocks independent; cyclic: 0, 1, 2, ...;
        epochs: a fresh permutation per pass, cut into blocks (a rest shorter than a block is
        dropped); file: read from `path`; logged: what a program says that it drew, unknown before it ran;
        glibc-rand, numpy-mt19937, numpy-pcg64, mt19937: as programs draw, see `problems.draws`.
    samples : int
        Number of coordinates (m).
    block : int
        Coordinates per block (b), 1 <= b <= m.
    length : int
        Number of blocks (H).
    seed : int
        Seed of NumPy's PCG64 generator, or of that which the kind names (0..2^32-1).
    path : str
        For kind "file": an ``.npy`` array or a text file with one block of indices, from 0, a line.
    relabel : int, optional
        Seed of a renumbering of the samples: the same samples are drawn, under the numbers that
        `relabelling` gives them.
    replacement : bool
        Of the kinds that programs draw: whether blocks are drawn with replacement. None of the stream may
        hold a coordinate twice for all that (S-2.5 of the specification).
    drawn : str
        For kind "logged": the blocks, once they are known, see `logged_stream`.

    Raises
    ------
    InputError
        If the kind is unknown, b is not in 1..m, length or a seed is out of range, or the file or the
        log cannot be read, has too few blocks, or holds an index out of range or repeated in its block.
    RefusedError
        If a block drawn with replacement holds a coordinate twice.
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
            held = blocks_from_file(self.path, self.samples, self.block)
            if len(held) < self.length:
                raise InputError(f"{self.path}: holds {len(held)} blocks, but {self.length} are needed")
        elif self.kind == "logged" and self.drawn:
            whole = np.frombuffer(bytes.fromhex(self.drawn), dtype="<i8")
            if whole.size != self.length * self.block:
                raise InputError(
                    f"index stream of a program: {whole.size} numbers, but {self.length} blocks of "
                    f"{self.block} are needed"
                )
            held = require_blocks(whole.reshape(-1, self.block), self.samples, "index stream of a program")
        object.__setattr__(self, "_held", held)

    def _require_generator(self) -> None:
        """Raise unless seed and replacement go with a kind that programs draw."""
        if self.kind not in draws.GENERATORS:
            if self.replacement:
                raise InputError(f"index stream {self.kind!r} is drawn without replacement only")
            return
        if not 0 <= self.seed < draws.SEEDS:
            raise InputError(
                f"index stream {self.kind!r} with seed {self.seed}; it must lie in 0..{draws.SEEDS - 1}"
            )
        if self.replacement and self.block > 1:
            repeat = draws.first_repeat(self._generated())
            if repeat is not None:
                raise RefusedError(
                    f"drawn with replacement, block {repeat[0] + 1} holds coordinate {repeat[1]} twice: "
                    "the coordinates of one block are distinct (S-2.5), and no step from such a block is "
                    f"defined; at most {repeat[0]} iterations can be judged"
                )

    @property
    def known(self) -> bool:
        """Whether its blocks can be told: those of a program that logs them only after it ran."""
        return self.kind != "logged" or bool(self.drawn) or not self.length

    def blocks(self, begin: int, end: int) -> np.ndarray:
        """Blocks begin..end-1, int64, shape (end - begin, b), read-only.

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
        return draws.seeded_blocks(self.kind, self.samples, self.block, self.length, self.seed, begin, end)

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


def distinct_length(
    kind: str, seed: int, samples: int, block: int, length: int, *, replacement: bool
) -> int:
    """How many first blocks come before one that holds a coordinate twice; `length` if none does."""
    if not replacement or block == 1 or kind not in draws.GENERATORS:
        return length
    repeat = draws.first_repeat(draws.blocks(kind, seed, samples, block, length, replacement=True))
    return length if repeat is None else repeat[0]


def blocks_from_file(path: str, samples: int, block: int) -> np.ndarray:
    """Blocks of a file, shape (count, b).

    Raises
    ------
    InputError
        If it cannot be read, or holds something else than blocks of distinct coordinates in range.
    """
    with open_regular(path, "an index stream") as file:
        drawn = _parsed(path, file.read())
    if drawn.ndim != 2 or drawn.shape[1] != block or not np.issubdtype(drawn.dtype, np.integer):
        raise InputError(
            f"{path}: holds an array of shape {drawn.shape} and type {drawn.dtype}; "
            f"needed are integers with {block} a line"
        )
    return np.ascontiguousarray(require_blocks(drawn, samples, path), dtype=np.int64)


def require_blocks(drawn: np.ndarray, samples: int, where: str) -> np.ndarray:
    """The blocks, shape (count, b); InputError if an index is out of range or repeated in its block."""
    outside = np.argwhere((drawn < 0) | (drawn >= samples))
    if outside.size:
        row, column = outside[0]
        raise InputError(
            f"{where}: block {row} (from 0) holds index {drawn[row, column]}, outside 0..{samples - 1}"
        )
    repeat = draws.first_repeat(drawn)
    if repeat is not None:
        raise InputError(
            f"{where}: block {repeat[0]} (from 0) holds index {repeat[1]} twice; "
            "a block has distinct coordinates"
        )
    return drawn


def _parsed(path: str, content: bytes) -> np.ndarray:
    try:
        if Path(path).suffix == ".npy":
            return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
        with warnings.catch_warnings():
            # An empty file, and in some releases of NumPy a "1.5" cut to 1, end in a warning only.
            warnings.simplefilter("error")
            return np.loadtxt(io.BytesIO(content), dtype=np.int64, ndmin=2)
    except (*MALFORMED_ARRAY, Warning) as error:
        raise InputError(f"{path}: cannot be read as an index stream: {error}") from error
