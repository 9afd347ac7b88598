"""Numbers that are promised: two significant digits, rounded up; of an interval, outward."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal


def rounded_up(value: float | None) -> float | None:
    """A number >= 0 to two significant digits, never smaller than it; None if there is no such number."""
    if value is None or not math.isfinite(value):
        return None
    return float(Context(prec=2, rounding=ROUND_CEILING).create_decimal(Decimal(value)))


def promised(value: float | None) -> str:
    """The same as text, such as ``1.3e-12``; none where there is no such number."""
    up = rounded_up(value)
    return "none" if up is None else f"{up:.2g}"


def enclosed(low: float, high: float) -> str:
    """An interval as text, each end rounded away from the other: ``[7.6e-07, 7.8e-07]``."""
    down = Context(prec=2, rounding=ROUND_FLOOR).create_decimal(Decimal(low))
    up = Context(prec=2, rounding=ROUND_CEILING).create_decimal(Decimal(high))
    return f"[{float(down):.2g}, {float(up):.2g}]"


def neighbours(value: float) -> tuple[float, float]:
    """The numbers of two significant digits beside one."""
    context, number = Context(prec=2), Decimal(repr(value))
    return float(number.next_minus(context)), float(number.next_plus(context))
