"""Decimals: numbers that somebody printed, and how far each may be from the one that was printed so."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Collection
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from sstep_verify.errors import ProgramError

EXACT_DIGITS = 17
"""Significant decimal digits that tell every float64 from its neighbours."""

FEW = 8
"""Numbers of which nobody can tell by their digits whether they were rounded."""

UNLIKELY = 2.0**-20
"""Chance that shortest texts are as short as these, below which they are none."""


@dataclass(frozen=True)
class Numbers:
    """Numbers that a program wrote.

    Parameters
    ----------
    values : ndarray
        The numbers, float64.
    rounding : ndarray
        How far each may be from the program's own, see `rounding_shown`; of their shape.
    digits : int
        Most significant digits that one was printed with.
    exact : bool
        Whether they are the program's own float64, as far as can be told from how they were printed.
    long : frozenset of float
        Where that hangs on whether they are the shortest texts: those of 15 digits and more.
    """

    values: np.ndarray
    rounding: np.ndarray
    digits: int = EXACT_DIGITS
    exact: bool = True
    long: frozenset[float] = frozenset()

    def may_be_shortest(self, others: Collection[float] = ()) -> bool:
        """Whether these and others may all be the shortest texts that are read back.

        They are as short as this by chance only: of float64 that lie d apart, no more than a share d/u has
        a text of so many digits that is read back, u being a unit of the last.
        """
        numbers = {*self.long, *others}
        units = (10.0 ** (math.floor(math.log10(abs(one))) - self.digits + 1) for one in numbers)
        shares = (
            min(math.ulp(one), unit) / unit if unit else 1.0
            for one, unit in zip(numbers, units, strict=True)
        )
        return math.prod(shares) >= UNLIKELY


def shown_numbers(words: list[bytes], where: str, shape: tuple[int, ...]) -> Numbers:
    """Numbers in text, and whether they are what the program had.

    Whoever prints 17 digits, or the shortest text that is read back, shows 16 or more in some number,
    unless there are few numbers or all are as short as 0.5. One rounded to fewer digits, such as 0.333333,
    has other 17 digits than it shows; that it is the shortest text of a float64 says nothing.
    """
    read = [read_number(word, f"{where}, number {place}") for place, word in enumerate(words, 1)]
    most = max((digits for _, digits in read), default=EXACT_DIGITS)
    finite = [
        (Decimal(word.decode()), value)
        for word, (value, digits) in zip(words, read, strict=True)
        if math.isfinite(value) and digits != EXACT_DIGITS
    ]
    filled = zeros_filled(words)
    shortest = not filled and all(shown == Decimal(repr(value)) for shown, value in finite)
    values = np.array([value for value, _ in read])
    rounding = rounding_shown(words, values)
    if (
        not rounding.any()
        or (most >= EXACT_DIGITS and not filled)
        or all(shown == Decimal(f"{value:.17g}") for shown, value in finite)
    ):
        return Numbers(values.reshape(shape), rounding.reshape(shape), most)
    long = frozenset(one for one, digits in read if digits in (15, 16) and one and math.isfinite(one))
    few = len({value for _, value in finite if value}) < FEW
    found = Numbers(values.reshape(shape), rounding.reshape(shape), most, long=long)
    return replace(found, exact=shortest and (found.may_be_shortest() if long else few))


def zeros_filled(words: list[bytes]) -> bool:
    """Whether decimals are filled up with zeros, as ``%.6f`` does; ``2.0`` alone says nothing."""
    return any(re.search(rb"\.\d+0(?!\d)", word) for word in words)


def rounding_shown(words: list[bytes], values: np.ndarray) -> np.ndarray:
    """How far numbers may be from those that were printed so: half a unit of the last digit of each.

    One format prints all numbers of a text, and it is the text that tells it: ``2`` shows one digit both of
    ``%.17g`` and of ``%.0f``. Where a number ends in a zero after its point, zeros are filled in; then, and
    where all show as many decimals, the last digit shown is the last one. Else zeros may have been left
    out (``%g``, the shortest text that is read back, numbers rounded before they were printed): each was
    rounded either to as many significant digits as the number that shows most of them, or to as many
    decimals. The larger of the two is taken; where the format has more digits than any number shows, it is
    larger than the rounding made.

    From 17 significant digits every float64 is read back as it was, and from fewer where a unit of the last
    is less than the distance d of two float64 there: what was printed is within half of that unit of the
    text, and so it is the one that lies nearest. Else reading rounds once more.

    Parameters
    ----------
    words : list of bytes
        The text, decimal or hexadecimal.
    values : ndarray, shape (k,)
        What was read.

    Returns
    -------
    ndarray, shape (k,)
        0 for hexadecimal and infinite numbers; infinite where float64 has no such digit, as of 0e999.
    """
    found = np.zeros(values.size)
    shown = {
        place: Decimal(words[place].decode())
        for place in np.flatnonzero(np.isfinite(values))
        if b"x" not in words[place].lower()
    }
    exponents = {place: int(one.as_tuple().exponent) for place, one in shown.items()}
    fixed = zeros_filled(words) or len(set(exponents.values())) == 1
    digits = max((len(one.as_tuple().digits) for one in shown.values() if one), default=1)
    decimals = min(exponents.values(), default=0)
    for place, one in shown.items():
        last = exponents[place] if fixed else decimals
        if one and not fixed:
            last = max(one.adjusted() - digits + 1, decimals)
        if one and one.adjusted() - last + 1 >= EXACT_DIGITS:
            continue
        unit = 10.0**last if last <= sys.float_info.max_10_exp else math.inf
        if not one and b"e" in words[place].lower() and last <= 0:
            continue  # Whatever is no zero is printed as none by %e.
        if one and unit * (1 + 2.0**-50) < math.ulp(math.nextafter(values[place], 0.0)):
            continue
        found[place] = (0.5 * unit + math.ulp(values[place])) * (1 + 2.0**-50)
    return found


def read_number(word: bytes, where: str) -> tuple[float, int]:
    """A number as C prints it, and with how many significant digits; 17 for hexadecimal ones.

    Raises
    ------
    ProgramError
        If it is no number. NaN and infinities are numbers here: what follows from them is a verdict.
    """
    text = word.decode("ascii", "replace")
    try:
        if "x" in text.lower():
            return float.fromhex(text), EXACT_DIGITS
        value = float(word)
    except (ValueError, OverflowError) as error:
        raise ProgramError(f"{where}: {text[:40]!r} is no number") from error
    digits = re.sub(r"\D", "", text.lower().partition("e")[0]).lstrip("0")
    return value, len(digits)
