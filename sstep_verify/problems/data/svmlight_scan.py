"""Parsing LIBSVM / svmlight text in one compiled pass: for large files, which are worth its loading.

As `svmlight_numbers.parsed`, and for the same lines: what is not plainly right is left to that. A value of
at most 15 digits and a power of ten up to 22 is a quotient or product of two exact numbers, and so rounded
correctly by one operation (Clinger, "How to read floating point numbers accurately", 1990, section 3);
others are left to Python.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import AVAILABLE, compiled
from sstep_verify.problems.data.svmlight_numbers import COMMENT, Samples

POWERS = 10.0 ** np.arange(23)
"""Powers of ten that float64 holds exactly."""


def scanned(text: bytes, largest: int) -> Samples | None:
    """The samples of some whole lines; None where a line is not plainly right, or most numbers are long.

    Parameters
    ----------
    text : bytes
        Whole lines; the last may lack its end.
    largest : int
        Largest index allowed, below 2^31.
    """
    if not AVAILABLE:
        return None  # In plain Python array operations are faster.
    if b"#" in text:
        text = COMMENT.sub(b"", text)
    content = np.frombuffer(text, dtype=np.uint8)
    pairs, lines = text.count(b":"), text.count(b"\n") + 1
    targets, counts = np.empty(lines), np.empty(lines, dtype=np.int64)
    indices, values = np.empty(pairs, dtype=np.int32), np.empty(pairs)
    hard = np.empty((pairs // 8 + 64, 3), dtype=np.int64)
    rows, entries, left = scan(content, largest, POWERS, targets, counts, indices, values, hard)
    if rows < 0:
        return None
    for place, begin, end in hard[:left].tolist():
        try:
            value = float(text[begin:end])
        except ValueError:
            return None
        if place < 0:
            targets[-place - 1] = value
        else:
            values[place] = value
    found = Samples(targets[:rows], counts[:rows], indices[:entries], values[:entries])
    finite = np.isfinite(found.targets).all() and np.isfinite(found.values).all()
    return found if finite else None


@compiled
def scan(content, largest, powers, targets, counts, indices, values, hard):
    """Fill targets, counts, indices and values; where values that are `hard` to read stand, too.

    Parameters
    ----------
    content : ndarray of uint8
        The text.
    largest : int
        Largest index allowed.
    powers : ndarray of float64
        `POWERS`.
    targets, counts, indices, values
        Out: as in `Samples`, long enough.
    hard : ndarray of int64, shape (most, 3)
        Out: place of a value, or -1 - row of a target, and begin and end of its text.

    Returns
    -------
    rows, entries, left : int
        How many of each are filled; all -1 where a line is not plainly right, or `hard` is too short.
    """
    size, rows, entries, left, place = content.size, 0, 0, 0, 0
    while place < size:
        byte, following = content[place], content[min(place + 1, size - 1)]
        if byte == 32 or byte == 9 or byte == 10 or (byte == 13 and following == 10):
            place += 1
            continue
        # A line with a sample: its target, then pairs up to the end of the line.
        value, end = number(content, place, powers)
        if end < 0 or rows == targets.size:
            return -1, -1, -1
        if np.isnan(value):
            if left == hard.shape[0]:
                return -1, -1, -1
            hard[left, 0], hard[left, 1], hard[left, 2] = -1 - rows, place, end
            left += 1
        targets[rows] = value
        place, previous, first = end, 0, entries
        while True:
            spaces = 0
            while place < size and (content[place] == 32 or content[place] == 9):
                place += 1
                spaces += 1
            if place == size or content[place] == 10:
                break
            if content[place] == 13:
                if place + 1 < size and content[place + 1] != 10:
                    return -1, -1, -1
                place += 1
                continue
            if not spaces:
                return -1, -1, -1
            index, begin = 0, place
            while place < size and 48 <= content[place] <= 57 and place - begin < 10:
                index = 10 * index + (content[place] - 48)
                place += 1
            if place in (begin, size) or content[place] != 58 or not previous < index <= largest:
                return -1, -1, -1
            place += 1
            value, end = number(content, place, powers)
            if end < 0:
                return -1, -1, -1
            if np.isnan(value):
                if left == hard.shape[0]:
                    return -1, -1, -1
                hard[left, 0], hard[left, 1], hard[left, 2] = entries, place, end
                left += 1
            indices[entries], values[entries] = index - 1, value
            entries += 1
            place, previous = end, index
        counts[rows] = entries - first
        rows += 1
    return rows, entries, left


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
