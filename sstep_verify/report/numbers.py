"""Numbers as text: for the page, for sentences, and those that are promised, rounded to the safe side."""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_UP, Context, Decimal


def short(value: float | None) -> str:
    """Three significant digits; a dash for what is not available."""
    return "–" if value is None else f"{value:.3g}".replace("inf", "∞")


def amount(value: float) -> str:
    """A positive number in three digits, of a large one all before the point: ``0.749``, ``5 600``."""
    return short(value) if value < 100 else count(round(value))


def count(value: int | None) -> str:
    """An integer with thin spaces between thousands."""
    return "–" if value is None else f"{value:,}".replace(",", "\u202f")


def duration(seconds: float | None) -> str:
    """Seconds in words: ``0.31 s``, ``3 min 5 s``, ``2 h 10 min``."""
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def brief(value: float, digits: int = 2) -> str:
    """A number in few characters: ``1.3``, ``250``, ``3e4``, ``1e-5``."""
    return re.sub(r"e\+?(-?)0*(?=\d)", r"e\1", f"{value:.{digits}g}")


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


def shortened(text: str, digits: int = 3, rounding: str = ROUND_UP) -> str:
    """A decimal string rounded to so many significant digits; an empty one stays."""
    context = Context(prec=digits, rounding=rounding, Emin=-999_999, Emax=999_999)
    return text and str(context.create_decimal(text))
