"""Balls as float64 intervals, balls and rationals as decimals: every rounding has its direction."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from sstep_reference.arithmetic import Balls

from sstep_verify.oracle.verify.kernel import ball_ends
from sstep_verify.oracle.verify.record import Interval

RADIUS_DIGITS = 6
ROOM = Fraction(4)
"""Factor a radius is raised by before it is written, so that sums in another order can prove it anew."""


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


DOWN, UP = 1.0 - 2.0**-52, 1.0 + 2.0**-52
"""Factors that undo the rounding of a normal number."""


def magnitude_interval(ball) -> tuple[float, float]:
    """Float64 interval that contains the absolute value of a ball; (0, 0) only for an exact zero.

    An end that float64 does not hold is moved to the next number outwards, be it a subnormal one.
    """
    lower, upper = ball.abs_lower(), ball.abs_upper()
    low, high = float(lower), _finite(float(upper))
    if not lower >= low:
        low = max(0.0, math.nextafter(low, -math.inf))
    return low, high if upper <= high else math.nextafter(high, math.inf)


def distances(arithmetic: Balls, x, y) -> tuple[np.ndarray, np.ndarray]:
    """Float64 intervals of the absolute differences, lower and upper ends, shape (c,) each."""
    with arithmetic.working():
        ends = [magnitude_interval(a - b) for a, b in zip(x, y, strict=True)]
    low, high = np.array(ends).reshape(-1, 2).T
    return low, high


def upward(value: float) -> float:
    """Upper bound on a non-negative expression of few operations whose parts are bounds; 0 stays 0.

    Its roundings are covered by 2**-44, or by the neighbouring number where it underflows.
    """
    return math.nextafter(value * (1.0 + 2.0**-44), math.inf) if value > 0.0 else value


def root_interval(ball) -> tuple[float, float]:
    """Float64 interval that contains the root of a ball's part that is not negative.

    The root is taken before it is rounded to float64, where the square may underflow.
    """
    low, high = ball.lower(), ball.upper()
    lowest = magnitude_interval(low.sqrt())[0] if low > 0 else 0.0
    return lowest, magnitude_interval(high.sqrt())[1] if high > 0 else 0.0


def interval(ball) -> tuple[float, float]:
    """Float64 interval that contains a ball."""
    low, high = float(ball.lower()), float(ball.upper())
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)


def _finite(value: float) -> float:
    return value if value == value else math.inf
