"""Reading LIBSVM / svmlight text, plain or compressed, with errors that name file, line and value.

scikit-learn parses; it neither names lines nor refuses everything that is unusable here (NaN, query
ids, underscores in numbers). Whenever it fails, or the text looks suspicious, the file is read a
second time, slowly, to find the first line at fault.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
import os
import re
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import scipy.sparse as sp

from sstep_verify.errors import DataError, require

SUFFIXES = ("", ".bz2", ".xz", ".gz")
"""Endings a file may have: plain text or one of three compressed forms."""

_OPENERS = {".bz2": bz2.open, ".xz": lzma.open, ".gz": gzip.open}
_UNREADABLE = (OSError, EOFError, lzma.LZMAError, zlib.error)
_LARGEST_INDEX = 2**31 - 1  # scikit-learn keeps an index in a C int
_SHOWN = 60
_FORM = "a line is 'target index:value index:value ...', indices ascending from 1"


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
    path = Path(path)
    require("sklearn", "data")
    from sklearn.datasets import load_svmlight_file

    failure: Exception | None = None
    with _opened(path) as handle:
        lines = _CountedLines(handle)
        try:
            matrix, targets = load_svmlight_file(lines, n_features=features, zero_based=False)
        except _UNREADABLE as error:
            raise DataError(_unreadable(path, lines.count + 1, error)) from error
        except (ValueError, OverflowError) as error:
            failure = error
    if failure is not None:
        _raise_first_fault(path, features)
        raise DataError(f"{path}, line {lines.count}: {failure}; {_FORM}") from failure
    if lines.suspicious or not (np.isfinite(matrix.data).all() and np.isfinite(targets).all()):
        _raise_first_fault(path, features)
    if targets.size == 0:
        raise DataError(f"{path}, line 1: no sample in {lines.count} lines; {_FORM}")
    if matrix.nnz == 0:
        raise DataError(f"{path}, line 1: {targets.size} targets but not one feature; {_FORM}")
    return _canonical(matrix), np.array(targets, dtype=np.float64)


class _CountedLines:
    """The lines of a binary file, counted, with an eye on what scikit-learn takes without a word."""

    def __init__(self, handle: BinaryIO):
        self._handle = handle
        self.count = 0
        self.suspicious = False

    def read(self, size: int = -1) -> bytes:
        """Only here because scikit-learn tells open files by it; it iterates over the lines."""
        return self._handle.read(size)

    def __iter__(self) -> Iterator[bytes]:
        for line in self._handle:
            self.count += 1
            # float() and int() read "1_0" as ten, and a leading qid pair would be dropped silently.
            self.suspicious = self.suspicious or b"_" in line or b"qid" in line
            yield line


def _opened(path: Path) -> BinaryIO:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise DataError(f"{path}: is not a regular file; a LIBSVM file is needed")
        # The openers of the standard library differ in their declared types, not in what they yield.
        return _OPENERS.get(path.suffix, open)(path, "rb")  # type: ignore[operator]
    except OSError as error:
        raise DataError(f"{path}: cannot be opened: {error.strerror or error}") from error


def _unreadable(path: Path, line: int, error: BaseException) -> str:
    kind = f"as {path.suffix}" if path.suffix in _OPENERS else "as text"
    return f"{path}, line {line}: cannot be read {kind}: {error}; the file is damaged or incomplete"


def _canonical(matrix) -> sp.csr_array:
    """Plain float64 csr_array whatever scikit-learn's release hands out, with the narrowest index type."""
    kind = np.int32 if max(matrix.nnz, *matrix.shape) <= np.iinfo(np.int32).max else np.int64
    parts = (matrix.data.astype(np.float64), matrix.indices.astype(kind), matrix.indptr.astype(kind))
    return sp.csr_array(parts, shape=matrix.shape)


def _raise_first_fault(path: Path, features: int | None) -> None:
    number = 0
    with _opened(path) as handle:
        try:
            for line in handle:
                number += 1
                fault = _line_fault(line, features or _LARGEST_INDEX)
                if fault:
                    raise DataError(f"{path}, line {number}: {fault}; {_FORM}")
        except _UNREADABLE as error:
            raise DataError(_unreadable(path, number + 1, error)) from error


def _line_fault(line: bytes, largest: int) -> str | None:
    """What is wrong with one line, or None."""
    tokens = line.split(b"#", 1)[0].split()
    if not tokens:
        return None
    if b":" in tokens[0]:
        return f"begins with {_show(tokens[0])}, so the target is missing"
    if fault := _number_fault(tokens[0]):
        return f"target {_show(tokens[0])} {fault}"
    previous = 0
    for pair in tokens[1:]:
        index, colon, value = pair.partition(b":")
        if not colon:
            return f"{_show(pair)} is not of the form index:value"
        if index.startswith(b"qid"):
            return f"{_show(pair)} is a query id: ranking data cannot be used, remove the qid pairs"
        if not re.fullmatch(rb"[+-]?[0-9]+", index):
            return f"index {_show(index)} in {_show(pair)} is not an integer"
        # Longer than any index allowed; int() itself refuses thousands of digits.
        number = int(index) if len(index) <= 18 else largest + 1
        if not 1 <= number <= largest:
            return f"index {_show(index)} in {_show(pair)} is outside 1..{largest}"
        if number == previous:
            return f"index {number} occurs twice, the second time in {_show(pair)}"
        if number < previous:
            return f"index {number} in {_show(pair)} comes after index {previous}: unsorted"
        if fault := _number_fault(value):
            return f"value {_show(value)} in {_show(pair)} {fault}"
        previous = number
    return None


def _number_fault(token: bytes) -> str | None:
    try:
        value = float(token)
    except ValueError:
        return "is not a number"
    if b"_" in token:
        return "is not a number"
    return None if math.isfinite(value) else "is not a finite float64"


def _show(token: bytes) -> str:
    """The token in quotes, unprintable bytes escaped, shortened."""
    return repr(token[:_SHOWN])[1:] + ("..." if len(token) > _SHOWN else "")
