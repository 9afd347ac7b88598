"""Balls and rationals as decimals: every rounding has its direction."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from sstep_verify.oracle.verify.kernel import ball_ends
from sstep_verify.oracle.verify.record import Interval

RADIUS_DIGITS = 6
ROOM = Fraction(4)
"""Factor a radius is raised by before it is written, so that sums in another order can prove it again."""


def exact_decimal(value: Fraction) -> str:
    """A rational with a power of two as denominator, written out exactly.

    Raises
    ------
    ValueError
        If the denominator is not a power of two.
    """
    bits = value.denominator.bit_length() - 1
    if value.denominator != 1 << bits:
        raise ValueError(f"{value} has no finite binary expansion")
    return f"{value.numerator * 5**bits}e-{bits}" if bits else str(value.numerator)


def nearest_decimal(value: Fraction, digits: int) -> str:
    """The decimal of so many significant digits that is nearest to a rational."""
    return _written(value, digits, round)


def upper_decimal(value: Fraction) -> str:
    """A decimal of few digits that is not below a rational."""
    return _written(value, RADIUS_DIGITS, math.ceil)


def lower_decimal(value: Fraction) -> str:
    """A decimal of few digits that is not above a rational."""
    return _written(value, RADIUS_DIGITS, math.floor)


def bounding_decimal(ball: Any) -> str:
    """A decimal of few digits that a ball is below, with room to spare."""
    return upper_decimal(ball_ends(ball)[1] * ROOM)


def enclosing_decimals(ball: Any, digits: int) -> Interval:
    """Middle and radius of an interval that holds a ball with room to spare."""
    lower, upper = ball_ends(ball)
    middle = nearest_decimal((lower + upper) / 2, digits)
    centre = Fraction(middle)
    return Interval(middle, upper_decimal(max(upper - centre, centre - lower) * ROOM))


def decimals_of(bits: int) -> int:
    """Decimal digits that a number of so many bits is written with."""
    return math.ceil(bits * math.log10(2))


def decimal_digits(radius: Fraction, size: Fraction, most: int) -> int:
    """Decimal digits that ``radius <= 10**-digits size`` proves, at most `most`."""
    if radius == 0:
        return most
    if size <= 0:
        return 0
    digits = max(min(most, math.floor(_log10(size) - _log10(radius)) + 1), 0)
    while digits and radius * 10**digits > size:
        digits -= 1
    return digits


def _log10(value: Fraction) -> float:
    return math.log10(value.numerator) - math.log10(value.denominator)


def _written(value: Fraction, digits: int, rounding: Any) -> str:
    if value == 0:
        return "0"
    exponent = math.floor(_log10(abs(value))) + 1 - digits
    scale = Fraction(10) ** exponent
    return f"{rounding(value / scale)}e{exponent}"
