"""Balls as decimals of one unit, bounds as numbers of three digits: every rounding has its direction."""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, ROUND_UP, Context, Decimal
from fractions import Fraction
from typing import Any

from sstep_verify.errors import OracleDisagreementError
from sstep_verify.oracle.verify.kernel import ball_ends

DIGITS = 30
"""Decimal digits of a vector's largest coordinate, most of them beyond what float64 holds."""

SLACK = 2.0**-20
"""What a bound is raised by before it is written, relatively: other arithmetic must prove it anew."""

_NEAR = 2.0**-22
_EXACT = Context(prec=DIGITS + 10)


def enclosing(balls: list[Any]) -> tuple[tuple[str, ...], str]:
    """Middles and one radius that enclose some balls: multiples of a unit, and about half of it.

    Raises
    ------
    OracleDisagreementError
        If a ball is too wide for the digits wanted.
    """
    ends = [ball_ends(ball) for ball in balls]
    largest = max(max(abs(low), abs(high)) for low, high in ends)
    places = DIGITS - (math.floor(math.log10(largest)) + 1 if largest else 0)
    unit = Fraction(10) ** -places
    counts = [round((low + high) / 2 / unit) for low, high in ends]
    off = max(
        max(high - count * unit, count * unit - low)
        for count, (low, high) in zip(counts, ends, strict=True)
    )
    radius = f"501e{-places - 3}" if off else "0"
    if off > Fraction(radius):
        raise OracleDisagreementError(
            f"a ball is {float(off):.1e} wide, and {DIGITS} digits need {float(unit):.1e}: use more bits"
        )
    return tuple(_written(count, places) for count in counts), radius


def encloses(middles: tuple[str, ...], radius: str, balls: list[Any]) -> bool:
    """Whether every ball lies within the radius of its middle."""
    ends = [ball_ends(ball) for ball in balls]
    return all(
        max(high - Fraction(middle), Fraction(middle) - low) <= Fraction(radius)
        for middle, (low, high) in zip(middles, ends, strict=True)
    )


def _written(count: int, places: int) -> str:
    """``count * 10**-places`` without an exponent, where it has a fraction no longer than need be."""
    return f"{_EXACT.normalize(Decimal(count).scaleb(-places, _EXACT)):f}"


def bound_of(value: float) -> float:
    """A bound as it is written: three digits, not below it; 0 stays 0."""
    return float(Context(prec=3, rounding=ROUND_UP).create_decimal_from_float(value * (1.0 + SLACK)))


def same_bound(written: float, value: float) -> bool:
    """Whether a bound that was written is the one found anew, up to its rounding in float64."""
    return written in {bound_of(value * factor) for factor in (1.0, 1.0 - _NEAR, 1.0 + _NEAR)}


def least(value: float) -> str:
    """Three digits that are not above a number >= 0, nor change with its last bits."""
    return str(Context(prec=3, rounding=ROUND_FLOOR).create_decimal_from_float(value * (1.0 - 2.0**-40)))
