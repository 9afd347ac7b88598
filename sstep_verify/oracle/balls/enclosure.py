"""From balls to float64 intervals, rounded outwards."""

from __future__ import annotations

import math

import numpy as np
from sstep_reference.arithmetic import Balls

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
