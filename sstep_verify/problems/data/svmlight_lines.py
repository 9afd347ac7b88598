"""Lines of LIBSVM / svmlight text: what they hold, and what is wrong with one that is at fault.

`samples_in` takes lines that are right, many at once; of others `require_right` says what is to be mended.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np

FORM = "a line is 'target index:value index:value ...', indices ascending from 1"
"""The way out that every message ends in."""

LARGEST_INDEX = 2**27
"""Largest index of a feature: one number for each feature takes 1 GiB already, whatever the file stores."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_FORTRAN = re.compile(rb"(?<=[0-9.])[dD](?=[+-]?[0-9])")
"""The letter of an exponent as Fortran prints it: 1.0D+00."""

_COMMENT = re.compile(rb"#[^\n]*")

_NUMBER = rb"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_RIGHT = re.compile(rb"(?m)^[ \t]*(?:%b(?:[ \t]+\+?[0-9]+:%b)*[ \t]*)?\r*$" % (_NUMBER, _NUMBER))
"""A line without a comment that is right but for the order of indices and the size of numbers.

No text matches in two ways, so that a wrong line is given up in a time that grows as its length does.
Possessive quantifiers would say so too, but Python before 3.11.5 takes wrong lines for right with them:
https://github.com/python/cpython/issues/106052.
"""

_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\r[^\r\n]")
"""Of control characters only the tab is a separator of this format and CR, LF the end of a line; Python
splits at others as well."""

_SHOWN = 60


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


NO_SAMPLES = Samples(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0))


def samples_in(text: bytes, largest: int) -> Samples | None:
    """The samples of some whole lines; None where `require_right` finds a fault in one.

    Parameters
    ----------
    text : bytes
        Whole lines; the last may lack its end.
    largest : int
        Largest index allowed.
    """
    text = _COMMENT.sub(b"", text) if b"#" in text else text
    if not _is_right(text):
        text = _FORTRAN.sub(b"e", text)
        if not _is_right(text):
            return None
    counts = np.array([line.count(b":") for line in text.split(b"\n") if line.strip()], dtype=np.int64)
    if not counts.size:
        return NO_SAMPLES
    numbers = np.fromstring(text.replace(b":", b" "), sep=" ")
    starts = np.cumsum(counts) - counts
    targets = np.arange(counts.size) + 2 * starts
    pairs = np.delete(numbers, targets).reshape(-1, 2)
    before = np.concatenate([[0.0], pairs[:-1, 0]])[: len(pairs)]
    before[starts[counts > 0]] = 0.0
    ascending = (before < pairs[:, 0]) & (pairs[:, 0] <= largest)
    if not (ascending.all() and np.isfinite(numbers).all()):
        return None
    return Samples(numbers[targets], counts, pairs[:, 0].astype(np.int32) - 1, pairs[:, 1])


def _is_right(text: bytes) -> bool:
    """Whether all lines are right, but for the order of indices and the size of numbers."""
    return _RIGHT.subn(b"", text)[1] > text.count(b"\n")


def require_right(line: bytes, largest: int) -> None:
    """Say what is wrong with one line.

    Parameters
    ----------
    line : bytes
        The line.
    largest : int
        Largest index allowed.

    Raises
    ------
    ValueError
        Says the fault, if the line has one.
    """
    content = line.split(b"#", 1)[0]
    if content.startswith(BYTE_ORDER_MARK):
        raise ValueError(
            "begins with a byte order mark, which may stand at the beginning of a file only: remove it"
        )
    if control := _CONTROL.search(content):
        near = content[max(control.start() - 20, 0) : control.end() + 20].rstrip(b"\r\n")
        raise ValueError(
            f"holds the control character {_show(control[0][:1])} in {_show(near)}; numbers are "
            "separated by spaces or tabs, and lines end in LF or CR LF"
        )
    tokens = content.split()
    if not tokens:
        return
    if b":" in tokens[0]:
        raise ValueError(f"begins with {_show(tokens[0])}, so the target is missing")
    _require_number(tokens[0], f"target {_show(tokens[0])}")
    previous = 0
    for pair in tokens[1:]:
        index, colon, value = pair.partition(b":")
        if not colon:
            raise ValueError(f"{_show(pair)} is not of the form index:value")
        previous = _index(index, pair, previous, largest)
        _require_number(value, f"value {_show(value)} in {_show(pair)}")


def _index(index: bytes, pair: bytes, previous: int, largest: int) -> int:
    """The index of a pair, above that of the one before."""
    shown = f"index {_show(index)} in {_show(pair)}"
    if index.startswith(b"qid"):
        raise ValueError(f"{_show(pair)} is a query id: ranking data cannot be used, remove the qid pairs")
    if not re.fullmatch(rb"[+-]?[0-9]+", index):
        raise ValueError(f"{shown} is not an integer")
    number = float(index)  # int() refuses thousands of digits.
    if not 1 <= number <= largest:
        raise ValueError(f"{shown} is outside 1..{largest}{_why(number, largest)}")
    if number == previous:
        raise ValueError(f"index {previous} occurs twice, the second time in {_show(pair)}")
    if number < previous:
        raise ValueError(f"index {number:.0f} in {_show(pair)} comes after index {previous}: unsorted")
    return int(number)


def _why(number: float, largest: int) -> str:
    if number == 0:
        return (
            ": the file counts its features from 0, and this format counts them from 1; write it with "
            "indices from 1 (scikit-learn's dump_svmlight_file: zero_based=False)"
        )
    if number < 1:
        return ": indices count from 1"
    if largest < LARGEST_INDEX:
        return ""
    return " (one number for each feature would take more than 1 GiB: number the features without gaps)"


def _require_number(token: bytes, what: str) -> None:
    try:
        plain = _FORTRAN.sub(b"e", token)
        value = float(b"?" if b"_" in token else plain)  # Python reads 1_0 as ten.
    except ValueError:
        raise ValueError(f"{what} is not a number") from None
    if not math.isfinite(value):
        raise ValueError(f"{what} is not a finite float64")


def _show(token: bytes) -> str:
    """The token in quotes, unprintable bytes escaped, shortened."""
    return repr(token[:_SHOWN])[1:] + ("..." if len(token) > _SHOWN else "")
