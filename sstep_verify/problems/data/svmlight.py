"""Reading LIBSVM / svmlight text, plain or compressed, with errors that name file, line and value.

scikit-learn parses; it neither names lines nor refuses everything that is unusable here (NaN, query
ids, underscores in numbers). Whenever it fails, or the text looks suspicious, the file is read a
second time, slowly, to find the first line at fault.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import scipy.sparse as sp

from sstep_verify.errors import DataError, require
from sstep_verify.problems.data.files import require_regular, short_name
from sstep_verify.problems.data.svmlight_lines import FORM, LARGEST_INDEX, SUSPICIOUS, LineError, line_fault

SUFFIXES = ("", ".bz2", ".xz", ".gz")
"""Endings a file may have: plain text or one of three compressed forms."""

_OPENERS = {".bz2": bz2.open, ".xz": lzma.open, ".gz": gzip.open}
_UNREADABLE = (OSError, EOFError, lzma.LZMAError, zlib.error)
_CHUNK = 1 << 20  # bytes unpacked at once while the length of a text is found
_LONGEST_LINE = 1 << 30  # bytes; a few kB of compressed zeros unpack to more than any memory holds


@dataclass(frozen=True, eq=False)
class Block:
    """Some consecutive lines of a file.

    Parameters
    ----------
    matrix : csr_array, shape (rows, largest index met or features)
        Their values, float64; zeros written out stay stored.
    targets : ndarray, shape (rows,)
        First number of each line that is neither empty nor a comment.
    lines : int
        Lines read, those without a sample included.
    """

    matrix: sp.csr_array
    targets: np.ndarray
    lines: int


def read_svmlight(path: str | Path, *, features: int | None = None) -> tuple[sp.csr_array, np.ndarray]:
    """Read one LIBSVM / svmlight file.

    Parameters
    ----------
    path : str or Path
        Text, or text compressed as its name says (``.bz2``, ``.xz``, ``.gz``). Indices count from 1;
        whatever follows ``#`` on a line is a comment, empty lines are skipped.
    features : int, optional
        Number of features (n) the file is known to have; without it, the largest index met.

    Returns
    -------
    data : csr_array, shape (m, n)
        Samples by features (A), float64, indices sorted; zeros written out in the file stay stored.
    targets : ndarray, shape (m,)
        First number of each line (y), float64.

    Raises
    ------
    DataError
        If the file cannot be read or unpacked, holds no sample or no feature, or a line has no
        target, a pair that is not ``index:value``, a number that is no finite float64, an index
        outside 1..n, repeated or out of order, or a query id (``qid``).
    MissingExtraError
        If scikit-learn is not installed.
    """
    block = read_block(path, features=features)
    require_content(path, block.lines, block.targets.size, block.matrix.nnz)
    return block.matrix, block.targets


def read_block(
    path: str | Path, *, begin: int = 0, end: int | None = None, features: int | None = None
) -> Block:
    """Read the lines of a file that begin at the bytes ``begin <= byte < end`` of its text.

    Blocks that share out the bytes of a text share out its lines: each belongs to exactly one. In a
    compressed file all that comes before `begin` is unpacked and dropped.

    Parameters
    ----------
    path : str or Path
        As for `read_svmlight`.
    begin, end : int
        Bytes of the unpacked text; to its end if `end` is absent.
    features : int, optional
        Number of features (n) the file is known to have.

    Raises
    ------
    DataError
        As for `read_svmlight`, but a block may be without samples or features; a `LineError`, its
        lines counted from the block's first, wherever a line is at fault.
    MissingExtraError
        If scikit-learn is not installed.
    """
    path = Path(path)
    require("sklearn", "data")
    from sklearn.datasets import load_svmlight_file

    failure: Exception | None = None
    with _opened(path) as handle:
        lines = _CountedLines(handle, begin, end)
        try:
            matrix, targets = load_svmlight_file(lines, n_features=features, zero_based=False)
        except _UNREADABLE as error:
            raise _unreadable(path, lines.count + 1, error) from error
        except (ValueError, OverflowError) as error:
            failure = error
    if failure is not None:
        _raise_first_fault(path, begin, end, features)
        raise LineError(path, lines.count, f"{failure}; {FORM}") from failure
    wide = features is None and matrix.shape[1] > LARGEST_INDEX
    if wide or lines.suspicious or not (np.isfinite(matrix.data).all() and np.isfinite(targets).all()):
        _raise_first_fault(path, begin, end, features)
    return Block(_canonical(matrix), np.array(targets, dtype=np.float64), lines.count)


def require_content(path: str | Path, lines: int, samples: int, stored: int) -> None:
    """Refuse a file without samples, or without a single stored value.

    Raises
    ------
    LineError
        With the numbers of lines and samples read.
    """
    if samples == 0:
        raise LineError(Path(path), 1, f"no sample in {lines} lines; {FORM}")
    if stored == 0:
        raise LineError(Path(path), 1, f"{samples} targets but not one feature; {FORM}")


def cut_looks_alike(path: str | Path) -> bool:
    """True if plain text ends without a newline: whole, or cut in the middle of its last number.

    A compressed file that was cut cannot be unpacked, so there is no doubt about it.
    """
    if Path(path).suffix in _OPENERS:
        return False
    with _opened(Path(path)) as handle:
        size = handle.seek(0, os.SEEK_END)
        handle.seek(max(size - 1, 0))
        return handle.read(1) not in (b"", b"\n")


CUT = "the file ends without a newline, as it would if it were cut in its last number"
"""Note on data for which `cut_looks_alike` is true."""


def text_length(path: str | Path) -> int | None:
    """Bytes of a file's text; a compressed file is unpacked once. None if it is unreadable."""
    try:
        with _opened(Path(path)) as handle:
            if Path(path).suffix not in _OPENERS:
                return os.fstat(handle.fileno()).st_size
            length = 0
            while chunk := handle.read(_CHUNK):
                length += len(chunk)
            return length
    except (DataError, *_UNREADABLE):
        return None


class _CountedLines:
    """The lines of a block, counted, with an eye on what scikit-learn takes without a word."""

    def __init__(self, handle: BinaryIO, begin: int, end: int | None):
        self._handle, self._begin, self._end = handle, begin, end
        self.count = 0
        self.suspicious = False

    def read(self, size: int = -1) -> bytes:
        """Only here because scikit-learn tells open files by it; it iterates over the lines."""
        return self._handle.read(size)

    def __iter__(self) -> Iterator[bytes]:
        if self._begin:
            # The line that the byte before belongs to is another block's, even where it ends there.
            self._handle.seek(self._begin - 1)
            self._handle.readline()
        position = self._handle.tell()
        for line in iter(self._next, b""):
            if self._end is not None and position >= self._end:
                return
            position += len(line)
            self.count += 1
            self.suspicious = self.suspicious or SUSPICIOUS.search(line) is not None
            yield line

    def _next(self) -> bytes:
        line = self._handle.readline(_LONGEST_LINE)
        if len(line) == _LONGEST_LINE:
            raise EOFError(f"a line is longer than {_LONGEST_LINE >> 30} GiB")
        return line


def _opened(path: Path) -> BinaryIO:
    require_regular(path, "a LIBSVM file")
    try:
        # The openers of the standard library differ in their declared types, not in what they yield.
        return _OPENERS.get(path.suffix, open)(path, "rb")  # type: ignore[operator]
    except OSError as error:
        raise DataError(f"{short_name(path)}: cannot be opened: {error.strerror or error}") from error


def _unreadable(path: Path, line: int, error: BaseException) -> LineError:
    kind = f"as {path.suffix}" if path.suffix in _OPENERS else "as text"
    return LineError(path, line, f"cannot be read {kind}: {error}; the file is damaged or incomplete")


def _canonical(matrix) -> sp.csr_array:
    """Plain float64 csr_array whatever scikit-learn's release hands out, with the narrowest index type."""
    kind = np.int32 if max(matrix.nnz, *matrix.shape) <= np.iinfo(np.int32).max else np.int64
    values = matrix.data.astype(np.float64, copy=False)
    parts = (values, matrix.indices.astype(kind), matrix.indptr.astype(kind))
    return sp.csr_array(parts, shape=matrix.shape)


def _raise_first_fault(path: Path, begin: int, end: int | None, features: int | None) -> None:
    with _opened(path) as handle:
        lines = _CountedLines(handle, begin, end)
        try:
            for line in lines:
                if fault := line_fault(line, features or LARGEST_INDEX):
                    raise LineError(path, lines.count, f"{fault}; {FORM}")
        except _UNREADABLE as error:
            raise _unreadable(path, lines.count + 1, error) from error
