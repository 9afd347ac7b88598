"""Lines of LIBSVM / svmlight text: what they hold, and what is wrong with one that is at fault.

`samples_in` takes lines that are right, many at once; of others `require_right` says what is to be mended.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np

from sstep_verify.compiled import compiled

FORM = "a line is 'target index:value index:value ...', indices ascending from 1"
"""The way out that every message ends in."""

LARGEST_INDEX = 2**27
"""Largest index of a feature: one number for each feature takes 1 GiB already, whatever the file stores."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_FORTRAN = re.compile(rb"(?<=[0-9.])[dD](?=[+-]?[0-9])")
"""The letter of an exponent as Fortran prints it: 1.0D+00."""

_COMMENT = re.compile(rb"#[^\n]*")

(
    _BEGIN, _SIGN, _DIGITS, _POINT, _FRACTION, _LETTER, _EXPONENT_SIGN, _EXPONENT,
    _BLANK, _PLUS, _INDEX, _VALUE, _RETURN, _FAULT,
) = range(14)  # fmt: skip
"""Where a reader is in a line: at its beginning, in the parts of a number, between pairs, in an index,
before a value, behind a carriage return, or behind a fault."""

_NUMBER = {_SIGN: b"+-", _DIGITS: b"0123456789", _POINT: b"."}
_BEHIND = {_BLANK: b" \t", _RETURN: b"\r", _BEGIN: b"\n"}
_NEXT = {
    _BEGIN: {**_NUMBER, _BEGIN: b" \t\n", _RETURN: b"\r"},
    _SIGN: {_DIGITS: b"0123456789", _POINT: b"."},
    _DIGITS: {_DIGITS: b"0123456789", _FRACTION: b".", _LETTER: b"eE", **_BEHIND},
    _POINT: {_FRACTION: b"0123456789"},
    _FRACTION: {_FRACTION: b"0123456789", _LETTER: b"eE", **_BEHIND},
    _LETTER: {_EXPONENT_SIGN: b"+-", _EXPONENT: b"0123456789"},
    _EXPONENT_SIGN: {_EXPONENT: b"0123456789"},
    _EXPONENT: {_EXPONENT: b"0123456789", **_BEHIND},
    _BLANK: {_PLUS: b"+", _INDEX: b"0123456789", **_BEHIND},
    _PLUS: {_INDEX: b"0123456789"},
    _INDEX: {_INDEX: b"0123456789", _VALUE: b":"},
    _VALUE: _NUMBER,
    _RETURN: {_RETURN: b"\r", _BEGIN: b"\n"},
}
"""Lines without a comment that are right but for the order of indices and the size of numbers."""

_TABLE = np.full((len(_NEXT), 256), _FAULT, dtype=np.uint8)
for _state, _ways in _NEXT.items():
    for _reached, _bytes in _ways.items():
        _TABLE[_state, list(_bytes)] = _reached

_ENDS = frozenset({_BEGIN, *(_state for _state, _ways in _NEXT.items() if _BEGIN in _ways)})
"""Where a text may end."""


@compiled
def _counted(text, table, begin, fault, blank, value, counts):
    """Set the number of pairs of each line of samples; how many lines, and where the text ends."""
    state, rows, pairs, held = begin, 0, 0, False
    for byte in text:
        state = table[state, byte]
        if state == fault:
            break
        if byte == 10:
            if held:
                counts[rows] = pairs
                rows += 1
            pairs, held = 0, False
        elif state == value:
            pairs += 1
        elif begin < state < blank:
            held = True
    if held:
        counts[rows] = pairs
        rows += 1
    return rows, state


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
    counts = _counts(text)
    if counts is None:
        text = _FORTRAN.sub(b"e", text)
        counts = _counts(text)
        if counts is None:
            return None
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


def _counts(text: bytes) -> np.ndarray | None:
    """Pairs of each line of samples; None unless lines are right but for the order and size of numbers."""
    counts = np.empty(text.count(b"\n") + 1, dtype=np.int64)
    content = np.frombuffer(text, dtype=np.uint8)
    rows, state = _counted(content, _TABLE, _BEGIN, _FAULT, _BLANK, _VALUE, counts)
    return counts[:rows] if state in _ENDS else None


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
            "begins with a byte order mark, which is allowed only at the beginning of a file: remove it"
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
    if b"," in tokens[0] and b":" in b"".join(tokens[1:]):
        raise ValueError(
            f"begins with several labels, {_show(tokens[0])}; keep one for each sample, such as +1 for "
            "those with one of the labels and -1 for the others"
        )
    if b"," in tokens[0]:
        raise ValueError(
            f"begins with {_show(tokens[0])}, as a table with commas does; write it in LIBSVM's format "
            "(scikit-learn's dump_svmlight_file)"
        )
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
