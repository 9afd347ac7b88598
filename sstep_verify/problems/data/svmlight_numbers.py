"""Parsing many lines of LIBSVM / svmlight text at once, by array operations.

Only what is plainly right is taken: bytes of numbers, one number to a token, ``index:value`` with digits
for an index, indices ascending. All else is left to `svmlight_lines`, which takes it line by line or says
what is wrong.
"""

from __future__ import annotations

import re
import warnings
from typing import NamedTuple

import numpy as np

COMMENT = re.compile(rb"#[^\n]*")
_LONE_RETURN = re.compile(rb"\r[^\r\n]")

_SPACE, _COLON, _DIGIT, _SIGN, _REAL, _OTHER = range(6)
_BYTES = {_SPACE: b" \t\r\n", _COLON: b":", _DIGIT: b"0123456789", _SIGN: b"+-", _REAL: b".eE"}
_KINDS = np.full(256, _OTHER, dtype=np.uint8)
for _kind, _found in _BYTES.items():
    _KINDS[list(_found)] = _kind

_LONGEST_INDEX = 9
"""Digits of an index that int32 holds whatever they are."""


class Samples(NamedTuple):
    """Samples of some lines.

    Parameters
    ----------
    targets : ndarray of float64, shape (rows,)
        First number of each line that is neither empty nor a comment.
    counts : ndarray of int64, shape (rows,)
        Values of each.
    indices : ndarray of int32, shape (values,)
        Their features, from 0, ascending within a row.
    values : ndarray of float64, shape (values,)
        The values, all finite.
    """

    targets: np.ndarray
    counts: np.ndarray
    indices: np.ndarray
    values: np.ndarray


NONE = Samples(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0))


def joined(parts: list[Samples]) -> Samples:
    """The samples of consecutive lines, together."""
    return Samples(*map(np.concatenate, zip(NONE, *parts, strict=True)))


def parsed(text: bytes, largest: int) -> Samples | None:
    """The samples of some whole lines; None where a line is not plainly right.

    Parameters
    ----------
    text : bytes
        Whole lines; the last may lack its end.
    largest : int
        Largest index allowed, below 2^31.
    """
    if b"#" in text:
        text = COMMENT.sub(b"", text)
    content = np.frombuffer(text, dtype=np.uint8)
    kinds = _KINDS[content]
    if (kinds == _OTHER).any() or (b"\r" in text and _LONE_RETURN.search(text)):
        return None
    within = kinds != _SPACE
    begins = np.flatnonzero(within & ~np.concatenate([[False], within[:-1]]))
    if not begins.size:
        return NONE
    line = np.searchsorted(np.flatnonzero(content == ord("\n")), begins)
    first = np.concatenate([[True], line[1:] != line[:-1]])
    colons = np.flatnonzero(kinds == _COLON)
    if not _one_in_each(colons, begins, first):
        return None
    indices = _indices(content, kinds, begins[~first], colons, largest)
    if (
        indices is None
        or not ((np.diff(indices, prepend=-1) > 0) | first[np.flatnonzero(~first) - 1]).all()
    ):
        return None
    numbers = _numbers(text, begins[~first], colons)
    if numbers is None or numbers.size != begins.size or not np.isfinite(numbers).all():
        return None
    counts = np.diff(np.append(np.flatnonzero(first), begins.size)) - 1
    return Samples(numbers[first], counts, indices, numbers[~first])


def _one_in_each(colons: np.ndarray, begins: np.ndarray, first: np.ndarray) -> bool:
    """Whether a line's first token has no colon and every other one has one."""
    owners = np.searchsorted(begins, colons, side="right") - 1
    return bool(np.array_equal(owners, np.flatnonzero(~first)))


def _indices(
    content: np.ndarray, kinds: np.ndarray, begins: np.ndarray, colons: np.ndarray, largest: int
) -> np.ndarray | None:
    """Indices from 0; None unless digits alone stand before a colon, and a number can begin after it."""
    if not colons.size:
        return NONE.indices
    digits = colons - begins
    most = int(digits.max())
    if digits.min() < 1 or most > _LONGEST_INDEX or colons[-1] + 1 == kinds.size:
        return None
    after = kinds[colons + 1]
    if ((after == _SPACE) | (after == _COLON)).any():
        return None
    indices = np.zeros(colons.size, dtype=np.int32)
    for place in range(most):
        own = digits > place
        at = colons[own] - place - 1 if not own.all() else colons - place - 1
        if (kinds[at] != _DIGIT).any():
            return None
        part = (content[at] - np.uint8(ord("0"))).astype(np.int32) * np.int32(10**place)
        indices[own] += part
    if indices.min() < 1 or indices.max() > largest:
        return None
    return indices - np.int32(1)


def _numbers(text: bytes, begins: np.ndarray, colons: np.ndarray) -> np.ndarray | None:
    """The numbers that are no index, correctly rounded; None if NumPy stops before the end."""
    changes = np.zeros(len(text) + 1, dtype=np.int8)
    changes[begins] = 1
    changes[colons + 1] -= 1
    blank = np.cumsum(changes[:-1], dtype=np.int8).view(bool)
    rest = np.where(blank, np.uint8(ord(" ")), np.frombuffer(text, dtype=np.uint8))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(rest.tobytes(), sep=" ")
        except (DeprecationWarning, ValueError):
            return None
