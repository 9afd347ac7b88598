"""Coordinates as programs draw them, number after number, and as files hold them."""

from __future__ import annotations

import io
import warnings
from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from itertools import count, islice
from pathlib import Path

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.files import MALFORMED_ARRAY, open_regular

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


def blocks_from_file(path: str, samples: int, block: int, *, replacement: bool = False) -> np.ndarray:
    """Blocks of a file, shape (count, b).

    Raises
    ------
    InputError
        If it cannot be read, or holds something else than blocks of coordinates in range, distinct ones
        unless they were drawn with `replacement`.
    """
    with open_regular(path, "an index stream") as file:
        drawn = _parsed(path, file.read())
    if drawn.ndim != 2 or drawn.shape[1] != block or not np.issubdtype(drawn.dtype, np.integer):
        raise InputError(
            f"{path}: holds an array of shape {drawn.shape} and type {drawn.dtype}; "
            f"it must hold integers, {block} on each line"
        )
    required = require_blocks(drawn, samples, path, replacement=replacement)
    return np.ascontiguousarray(required, dtype=np.int64)


def require_blocks(drawn: np.ndarray, samples: int, where: str, *, replacement: bool = False) -> np.ndarray:
    """The blocks, shape (count, b).

    InputError if an index is out of range, or repeated in a block that was drawn without `replacement`.
    """
    outside = np.argwhere((drawn < 0) | (drawn >= samples))
    if outside.size:
        row, column = outside[0]
        raise InputError(
            f"{where}: block {row} (from 0) holds index {drawn[row, column]}, outside 0..{samples - 1}"
        )
    repeat = None if replacement else first_repeat(drawn)
    if repeat is not None:
        raise InputError(
            f"{where}: block {repeat[0]} (from 0) holds index {repeat[1]} twice; "
            "a block drawn without replacement has distinct coordinates"
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
