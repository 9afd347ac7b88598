"""Lines of LIBSVM / svmlight text: what they hold, and what is wrong with one that is at fault.

`samples_in` takes lines that are right, many at once; of others `require_right` says what is to be mended.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np

from sstep_verify.compiled import compiled, inlined

FORM = "a line is 'target index:value index:value ...', indices ascending from 1"
"""The way out that every message ends in."""

LARGEST_INDEX = 2**27
"""Largest index of a feature: one number for each feature takes 1 GiB already, whatever the file stores."""

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_FORTRAN = re.compile(rb"(?<=[0-9.])[dD](?=[+-]?[0-9])")
"""The letter of an exponent as Fortran prints it: 1.0D+00."""

_COMMENT = re.compile(rb"#[^\n]*")

_LF, _CR, _SPACE, _PLUS, _MINUS, _POINT, _ZERO, _COLON, _LETTER = b"\n\r +-.0:e"
_SIGNS, _BLANKS, _BETWEEN = tuple(b"+-"), tuple(b" \t"), tuple(b" \t\r\n")
_CASE = 0x20
"""Bit in which small letters differ from large ones."""

_LARGEST_EXACT = 2**53
"""Up to here every whole number is one of float64."""

_BEYOND = 2**59
"""A whole number that is larger than any that is used; ten times as much still is one of int64."""

_POWERS = np.array([float(10**power) for power in range(23)])
"""Powers of ten that are numbers of float64: a product with one, or a quotient, is rounded once."""


@inlined
def _digits(text, place, number):
    """A whole number continued by the digits at a place, `_BEYOND` at most; where they end."""
    while _ZERO <= text[place] < _ZERO + 10:
        number = min(10 * number + np.int64(text[place]) - _ZERO, _BEYOND)
        place += 1
    return number, place


@inlined
def _number(text, begin, powers):
    """The number at a place, or NaN where this cannot round it; where it ends, -1 if it is none."""
    first = begin + (text[begin] in _SIGNS)
    number, place = _digits(text, first, 0)
    digits, scale = place - first, 0
    if text[place] == _POINT:
        first = place + 1
        number, place = _digits(text, first, number)
        scale = first - place
        digits -= scale
    if digits == 0:
        return math.nan, -1
    if text[place] | _CASE == _LETTER:
        sign = text[place + 1]
        first = place + 1 + (sign in _SIGNS)
        exponent, place = _digits(text, first, 0)
        if place == first:
            return math.nan, -1
        scale += -exponent if sign == _MINUS else exponent
    if number > _LARGEST_EXACT or abs(scale) >= powers.size:
        return math.nan, place
    size = number / powers[-scale] if scale < 0 else number * powers[scale]
    return -size if text[begin] == _MINUS else size, place


@inlined
def _put(text, begin, end, left, used):
    """Append a number to those that are left, with a blank behind it; the places used."""
    for place in range(begin, end):
        left[used] = text[place]
        used += 1
    left[used] = _SPACE
    return used + 1


@compiled
def _read(text, largest, powers, targets, counts, indices, values, left):
    """Read lines that end in LF and hold no comment; how many samples, and how many bytes of `left`.

    Sets targets, pairs of each, their indices from 0, and values. A number that is not rounded here is NaN,
    and its text is appended to `left`. Of faults, here -1 samples, numbers that are too large are none.
    """
    place, rows, pairs, used = 0, 0, 0, 0
    while place < text.size:
        byte = text[place]
        if byte == _LF or byte in _BLANKS:
            place += 1
            continue
        if byte != _CR:
            begin = place
            targets[rows], place = _number(text, begin, powers)
            if place < 0:
                return -1, 0
            if math.isnan(targets[rows]):
                used = _put(text, begin, place, left, used)
            before, first = 0, pairs
            while text[place] in _BLANKS:
                place += 1
                if text[place] in _BETWEEN:
                    continue
                index, end = _digits(text, place + (text[place] == _PLUS), 0)
                if not before < index <= largest or text[end] != _COLON:
                    return -1, 0
                begin = end + 1
                values[pairs], place = _number(text, begin, powers)
                if place < 0:
                    return -1, 0
                if math.isnan(values[pairs]):
                    used = _put(text, begin, place, left, used)
                indices[pairs] = index - 1
                before = index
                pairs += 1
            counts[rows] = pairs - first
            rows += 1
        while text[place] == _CR:
            place += 1
        if text[place] != _LF:
            return -1, 0
    return rows, used


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
    text = text if text.endswith(b"\n") else text + b"\n"
    samples = _samples_in(text, largest)
    return _samples_in(_FORTRAN.sub(b"e", text), largest) if samples is None else samples


def _samples_in(text: bytes, largest: int) -> Samples | None:
    """The same of lines that all have their ends, no comment, and exponents as C prints them."""
    most, stored = text.count(b"\n"), text.count(b":")
    targets, counts = np.empty(most), np.empty(most, dtype=np.int64)
    indices, values = np.empty(stored, dtype=np.int32), np.empty(stored)
    content, left = np.frombuffer(text, dtype=np.uint8), np.empty(len(text), dtype=np.uint8)
    rows, used = _read(content, largest, _POWERS, targets, counts, indices, values, left)
    if rows < 0:
        return None
    targets, counts = targets[:rows], counts[:rows]
    if used:
        numbers = np.fromstring(left[:used].tobytes(), sep=" ")
        if not np.isfinite(numbers).all():
            return None
        # As they come in the text: the target of a sample before its values.
        starts = np.cumsum(counts) - counts
        unknown = np.flatnonzero(np.isnan(values)), np.flatnonzero(np.isnan(targets))
        order = np.argsort(np.concatenate([unknown[0], starts[unknown[1]] - 0.5]), kind="stable")
        found = np.empty(numbers.size)
        found[order] = numbers
        values[unknown[0]], targets[unknown[1]] = np.split(found, [unknown[0].size])
    return Samples(targets, counts, indices, values)


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
