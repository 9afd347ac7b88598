"""Parsing LIBSVM / svmlight text in one compiled pass: for large files, which are worth its loading.

Only what is plainly right is taken: bytes of numbers, one number to a token, ``index:value`` with digits
for an index, indices ascending. All else is left to `svmlight_lines`, which takes it line by line or says
what is wrong. A value of at most 15 digits and a power of ten up to 22 is a quotient or product of two
exact numbers, and so rounded correctly by one operation (Clinger, "How to read floating point numbers
accurately", 1990, section 3); others are left to Python.
"""

from __future__ import annotations

import re

import numpy as np

from sstep_verify.compiled import AVAILABLE, compiled
from sstep_verify.problems.data.svmlight_lines import Samples

COMMENT = re.compile(rb"#[^\n]*")

POWERS = 10.0 ** np.arange(23)
"""Powers of ten that float64 holds exactly."""


def scanned(text: bytes, largest: int) -> Samples | None:
    """The samples of some whole lines; None where a line is not plainly right.

    Parameters
    ----------
    text : bytes
        Whole lines; the last may lack its end.
    largest : int
        Largest index allowed, below 2^31.
    """
    if not AVAILABLE:
        return None  # In plain Python it is faster line by line.
    if b"#" in text:
        text = COMMENT.sub(b"", text)
    most = text.count(b":") + text.count(b"\n") + 1
    numbers, indices = np.empty(most), np.empty(most, dtype=np.int32)
    hard = np.empty((most, 3), dtype=np.int64)
    content = np.frombuffer(text, dtype=np.uint8)
    count, left = scan(content, largest, POWERS, numbers, indices, hard)
    for place, begin, end in hard[:left].tolist():
        numbers[place] = float(text[begin:end])
    if count < 0 or not np.isfinite(numbers[:count]).all():
        return None
    numbers, first = numbers[:count], indices[:count] < 0
    counts = np.diff(np.append(np.flatnonzero(first), count)) - 1
    return Samples(numbers[first], counts, indices[:count][~first], numbers[~first])


@compiled
def scan(content, largest, powers, numbers, indices, hard):
    """Read the numbers of a text with their indices, and where those stand that are `hard` to read.

    Parameters
    ----------
    content : ndarray of uint8
        The text.
    largest : int
        Largest index allowed.
    powers : ndarray of float64
        `POWERS`.
    numbers, indices : ndarray of float64 and of int32, as long as there can be numbers
        Out: targets and values in their order; the index of a value, from 0, and -1 of a target.
    hard : ndarray of int64, as long, 3 columns
        Out: the place of a number, and begin and end of its text.

    Returns
    -------
    count, left : int
        Numbers, and those that are hard; -1 and 0 where a line is not plainly right.
    """
    size, place, count, left = content.size, 0, 0, 0
    spaced, previous = True, -1  # Before a line's target, the index is -1.
    while place < size:
        byte, begin = content[place], place
        if byte == 32 or byte == 9 or byte == 10:
            if byte == 10:
                previous = -1
            spaced, place = True, place + 1
            continue
        if byte == 13 and (place + 1 == size or content[place + 1] == 10):
            place += 1
            continue
        if not spaced:
            return -1, 0
        index = 0
        if previous >= 0:
            while place < size and 48 <= content[place] <= 57 and place - begin < 10:
                index = 10 * index + (content[place] - 48)
                place += 1
            if place in (begin, size) or content[place] != 58 or not previous < index <= largest:
                return -1, 0
            place += 1
        value, end = number(content, place, powers)
        if end < 0:
            return -1, 0
        if np.isnan(value):
            hard[left, 0], hard[left, 1], hard[left, 2] = count, place, end
            left += 1
        numbers[count], indices[count] = value, index - 1
        spaced, previous, place, count = False, index, end, count + 1
    return count, left


@compiled
def number(content, place, powers):
    """Read one number; NaN in the place of one that is not read exactly here.

    Returns
    -------
    value : float
        The number.
    end : int
        Where its text ends; -1 if none begins here.
    """
    size, sign, whole, digits, power, seen = content.size, 1.0, 0, 0, 0, 0
    if place < size and (content[place] == 43 or content[place] == 45):
        sign = -1.0 if content[place] == 45 else 1.0
        place += 1
    point = False
    while place < size:
        byte = content[place]
        if 48 <= byte <= 57:
            seen += 1
            if digits or byte != 48:
                digits += 1
            if digits <= 15:
                whole = 10 * whole + (byte - 48)
            if point:
                power -= 1
        elif byte == 46 and not point:
            point = True
        else:
            break
        place += 1
    if not seen:
        return 0.0, -1
    if place < size and (content[place] == 101 or content[place] == 69):
        place += 1
        turn = 1
        if place < size and (content[place] == 43 or content[place] == 45):
            turn = -1 if content[place] == 45 else 1
            place += 1
        exponent, begin = 0, place
        while place < size and 48 <= content[place] <= 57:
            if exponent < 100000:
                exponent = 10 * exponent + (content[place] - 48)
            place += 1
        if place == begin:
            return 0.0, -1
        power += turn * exponent
    if digits > 15 or power < -22 or power > 22:
        return np.nan, place
    if power < 0:
        return sign * (whole / powers[-power]), place
    return sign * (whole * powers[power]), place
