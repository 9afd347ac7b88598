"""Bounds compared, from both sides, with what their derivations give in rationals.

A derivation stands in the docstring of the bound's module. Examples are small, and their numbers have few
digits, so that what a derivation gives is known but for a root or an exponential.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

U = Fraction(1, 2**53)
U32 = Fraction(1, 2**24)
TINY = Fraction(1, 2**1074)
TINY32 = Fraction(1, 2**149)
"""Unit roundoffs, and smallest numbers, of float64 and float32."""

BELOW = Fraction(1, 10**13)
"""What float64 may lose of a bound's value."""

ABOVE = Fraction(1, 10**6)
"""What a bound is rounded outwards by, at most: some times 2**-29."""


def gamma(roundings: int, u: Fraction) -> Fraction:
    """``k u / (1 - k u)``."""
    return roundings * u / (1 - roundings * u)


def root(square: Any) -> Fraction:
    """A root, to the digits of float64."""
    return Fraction(math.sqrt(square))


def length(vector: Iterable[Any]) -> Fraction:
    """The 2-norm."""
    return root(sum(Fraction(x) ** 2 for x in vector))


def is_bound(found: Any, derived: Any, above: Fraction = ABOVE) -> None:
    """What is found, one number or many, is what is derived, but for roundings and rounding outwards."""
    if np.ndim(found):
        assert len(found) == len(derived)
        for one, other in zip(found, derived, strict=True):
            is_bound(one, other, above)
        return
    number = Fraction(float(found))
    exact = Fraction(derived)
    assert exact * (1 - BELOW) <= number <= exact * (1 + above), (float(number), float(exact))


def is_least(found: float, derived: Any, below: Fraction = ABOVE) -> None:
    """What is found, a bound from below, is what is derived, but for roundings and rounding inwards."""
    number, exact = Fraction(float(found)), Fraction(derived)
    assert exact * (1 - below) <= number <= exact * (1 + BELOW), (float(number), float(exact))
