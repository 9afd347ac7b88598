"""Reading LIBSVM / svmlight text, plain or compressed, with errors that name file, line and value."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.sparse as sp

from sstep_verify.errors import DataError, InputError, LineError
from sstep_verify.files import open_regular
from sstep_verify.problems.data.svmlight_lines import (
    BYTE_ORDER_MARK,
    FORM,
    LARGEST_INDEX,
    NO_SAMPLES,
    Samples,
    require_right,
    samples_in,
)
from sstep_verify.problems.data.unpacking import opened_bz2, opened_xz, opened_zip

SUFFIXES = ("", ".bz2", ".xz", ".gz")
"""Endings a file may have: plain text or one of three compressed forms."""

_OPENERS: dict[str, Any] = {".bz2": opened_bz2, ".xz": opened_xz, ".gz": gzip.open, ".zip": opened_zip}

_BEGINNINGS = {
    b"BZh": ".bz2",
    b"\xfd7zXZ\0": ".xz",
    b"\x1f\x8b": ".gz",
    b"PK\x03\x04": ".zip",
}
"""The first bytes of compressed files, whatever their names; no text of ours begins with one."""

TAR, TAR_AT = b"ustar", 257
"""What a tar archive has at this place, packed or not."""

UTF_16, WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE), 40
"""Marks that begin a file in UTF-16; bytes at its beginning of which every second one is 0 there."""

_UNREADABLE = (OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile)
_CHUNK = 1 << 19  # bytes read at once
GROWTH = 8  # an array that grows has room for one in so many more
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
        Text, or text compressed by bzip2, xz, gzip or zip, whatever its name. Indices count from 1;
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
    """
    path = Path(path)
    samples, lines = _parsed(path, begin, end, features or LARGEST_INDEX, _CHUNK)
    starts = np.concatenate([[0], np.cumsum(samples.counts)])
    width = features or int(samples.indices.max(initial=-1)) + 1
    kind = np.int32 if starts[-1] <= np.iinfo(np.int32).max else np.int64
    parts = (samples.values, samples.indices.astype(kind, copy=False), starts.astype(kind))
    return Block(sp.csr_array(parts, shape=(samples.targets.size, width)), samples.targets, lines)


def require_content(path: str | Path, lines: int, samples: int, stored: int) -> None:
    """Refuse a file without samples, or without a single stored value.

    Raises
    ------
    LineError
        With the numbers of lines and samples read.
    """
    if samples == 0:
        where = f"in {lines} line{'s' * (lines > 1)}" if lines else "there, for the file is empty"
        raise LineError(Path(path), 1, f"no sample {where}; {FORM}")
    if stored == 0:
        raise LineError(Path(path), 1, f"{samples} targets but not one feature; {FORM}")


def cut_looks_alike(path: str | Path) -> bool:
    """True if plain text ends without a newline: whole, or cut in the middle of its last number.

    A compressed file that was cut cannot be unpacked, so there is no doubt about it.
    """
    if packed_as(path):
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
            if not packed_as(path):
                return os.fstat(handle.fileno()).st_size
            length = 0
            while chunk := handle.read(_CHUNK):
                length += len(chunk)
            return length
    except (DataError, *_UNREADABLE):
        return None


def _texts(handle: BinaryIO, begin: int, end: int | None, at_once: int) -> Iterator[bytes]:
    """The lines of a block, those together that begin in so many bytes; no mark at the file's beginning."""
    if begin:
        # The line that the byte before belongs to is another block's, even where it ends there.
        handle.seek(begin - 1)
        handle.readline()
    position = handle.tell()
    while end is None or position < end:
        text = handle.read(at_once if end is None else min(at_once, end - position))
        if text and not text.endswith(b"\n"):
            rest = handle.readline(_LONGEST_LINE)
            if len(rest) == _LONGEST_LINE:
                raise EOFError(f"a line is longer than {_LONGEST_LINE >> 30} GiB")
            text += rest
        if not text:
            return
        yield text if position else text.removeprefix(BYTE_ORDER_MARK)
        position += len(text)


def _parsed(path: Path, begin: int, end: int | None, largest: int, at_once: int) -> tuple[Samples, int]:
    """The samples of a block, and its lines; LineError for the first one at fault or unreadable."""
    grown, lines = [Growing(part) for part in NO_SAMPLES], 0
    with _opened(path) as handle:
        try:
            for text in _texts(handle, begin, end, at_once):
                for whole, part in zip(grown, _samples(path, lines, text, largest), strict=True):
                    whole.add(part)
                lines += text.count(b"\n") + (not text.endswith(b"\n"))
        except _UNREADABLE as error:
            if at_once > 1:
                # A line before the damage may be at fault itself.
                return _parsed(path, begin, end, largest, 1)
            kind = f"as {packed_as(path) or 'text'}"
            fault = f"cannot be read {kind}: {error}; the file is damaged or incomplete"
            raise LineError(path, lines + 1, fault) from error
    return Samples(*(whole.taken() for whole in grown)), lines


class Growing:
    """An array that parts are appended to, in place: parts and their whole would take twice its memory.

    `like`: an array of its type, which it begins with.
    """

    def __init__(self, like: np.ndarray):
        self._room, self._used = like.copy(), like.size

    def add(self, part: np.ndarray) -> None:
        """Append a part."""
        end = self._used + part.size
        if end > self._room.size:
            self._room.resize(end + end // GROWTH, refcheck=False)
        self._room[self._used : end] = part
        self._used = end

    def taken(self) -> np.ndarray:
        """The whole; nothing may be appended after."""
        self._room.resize(self._used, refcheck=False)
        return self._room


def _samples(path: Path, before: int, text: bytes, largest: int) -> Samples:
    """The samples of some lines, which come after `before` others; LineError if one is at fault."""
    samples = samples_in(text, largest)
    if samples is not None:
        return samples
    if not before and text[TAR_AT : TAR_AT + len(TAR)] == TAR:
        raise LineError(path, 1, "the file is a tar archive; unpack it, and name the file that it holds")
    if not before and _is_wide(text):
        raise LineError(path, 1, "the file is UTF-16; save it as UTF-8")
    for number, line in enumerate(text.split(b"\n"), before + 1):
        try:
            require_right(line, largest)
        except ValueError as fault:
            raise LineError(path, number, f"{fault}; {FORM}") from fault
    raise LineError(path, before + 1, f"this line or one behind it cannot be read; {FORM}")


def _is_wide(text: bytes) -> bool:
    """Whether a text, of digits and the like, is UTF-16, with a mark or without one."""
    text = text[2:] if text.startswith(UTF_16) else text
    first, second = (not text[place:WIDE:2].strip(b"\0") for place in (0, 1))
    return len(text) > 1 and first != second


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """The text of a file, unpacked as its first bytes or its name say."""
    try:
        file = open_regular(path, "a LIBSVM file")
    except InputError as error:
        raise DataError(str(error)) from error
    with contextlib.ExitStack() as held:
        held.enter_context(file)
        packed = _packed(path, file)
        try:
            text = held.enter_context(_OPENERS[packed](file)) if packed else file
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
            raise DataError(f"{path}: cannot be read as {packed}: {error}") from error
        yield text


def packed_as(path: str | Path) -> str:
    """How a file is compressed, as the ending of such a name; empty if it is not."""
    try:
        with open_regular(path, "a LIBSVM file") as file:
            return _packed(Path(path), file)
    except (InputError, OSError):
        return Path(path).suffix if Path(path).suffix in _OPENERS else ""


def _packed(path: Path, file: io.BufferedReader) -> str:
    begun = file.peek(8)
    by_content = (ending for first, ending in _BEGINNINGS.items() if begun.startswith(first))
    return next(by_content, path.suffix if path.suffix in _OPENERS else "")
