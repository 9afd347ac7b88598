"""From balls to float64 intervals, rounded outwards."""

from __future__ import annotations

import math

DOWN, UP = 1.0 - 2.0**-52, 1.0 + 2.0**-52


def magnitude_interval(ball) -> tuple[float, float]:
    """Float64 interval that contains the absolute value of a ball."""
    return float(ball.abs_lower()) * DOWN, _finite(float(ball.abs_upper())) * UP


def interval(ball) -> tuple[float, float]:
    """Float64 interval that contains a ball."""
    low, high = float(ball.lower()), float(ball.upper())
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)


def _finite(value: float) -> float:
    return value if value == value else math.inf
