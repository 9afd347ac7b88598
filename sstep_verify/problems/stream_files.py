"""Index streams read from files: ``.npy`` arrays or text, one block of indices, from 0, a line."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.inputs import open_regular
from sstep_verify.problems import draws


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
    except (ValueError, EOFError, Warning) as error:
        raise InputError(f"{path}: cannot be read as an index stream: {error}") from error
