"""Axes and points: linear or logarithmic, where the ticks stand, which points are drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MOST_POINTS = 300
WIDE_RANGE = 1000.0  # a logarithmic x axis is used where the largest / smallest iteration exceeds this
LONE_ZERO = 1e-16  # height of the lowest decade if a logarithmic axis has no positive value at all
LARGEST_EXPONENT = 300  # decades beyond it are not drawn, so that ends and margins stay finite
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class LogAxis:
    """A logarithmic axis over whole decades, 10**low to 10**high.

    Parameters
    ----------
    low, high : int
        Exponents of the ends, low < high.
    floor : float or None
        Where values <= 0 are drawn, labelled as such; None if there are none.
    """

    low: int
    high: int
    floor: float | None = None

    def place(self, value: float) -> float:
        """Place of a value (at an end of the axis if beyond it); NaN if nowhere."""
        if value > 0:
            return min(max(value, 10.0**self.low), 10.0**self.high)
        return math.nan if self.floor is None else self.floor

    def ticks(self, most: int = 7) -> list[tuple[float, str]]:
        """Positions and labels, at most about `most`."""
        lowest = self.low if self.floor is None else self.low + 1
        step = max(1, math.ceil((self.high - lowest) / most))
        found = [(10.0**k, power_of_ten(k)) for k in range(lowest, self.high + 1, step)]
        return found if self.floor is None else [(self.floor, "≤ 0"), *found]


def log_axis(values: Iterable[float | None], zeros: bool = True) -> LogAxis:
    """The logarithmic axis that holds the values.

    Parameters
    ----------
    values : iterable of float or None
        None and undefined values are ignored.
    zeros : bool
        Whether values <= 0 get a place of their own, one decade below the smallest positive one.
    """
    known = [value for value in values if value is not None and math.isfinite(value)]
    positive = [value for value in known if value > 0] or [LONE_ZERO]
    low = min(max(math.floor(math.log10(min(positive))), 1 - LARGEST_EXPONENT), LARGEST_EXPONENT - 1)
    high = min(max(math.ceil(math.log10(max(positive))), low + 1), LARGEST_EXPONENT)
    if zeros and len(known) > sum(value > 0 for value in known):
        return LogAxis(low - 1, high, 10.0 ** (low - 1))
    return LogAxis(low, high)


def linear_ticks(last: float, most: int = 6) -> list[float]:
    """Positions from 0 up to `last` in steps of 1, 2 or 5 times a power of ten, at most `most` + 1."""
    power = 10.0 ** math.floor(math.log10(last / most))
    step = next(size * power for size in (1, 2, 5, 10) if size * power * most >= last * (1 - 1e-12))
    return [k * step for k in range(int(last / step + 1e-9) + 1)]


def is_wide(iterations: Iterable[int]) -> bool:
    """Whether the iterations span so much that a logarithmic axis shows them better."""
    positive = [value for value in iterations if value > 0]
    return bool(positive) and max(positive) > WIDE_RANGE * min(positive)


def power_of_ten(exponent: int) -> str:
    """``10⁻⁸``, as plain text."""
    return "1" if exponent == 0 else "10" + str(exponent).translate(_SUPERSCRIPTS)


def thin(x: Sequence[float], y: Sequence[float], log: bool, most: int = MOST_POINTS) -> list[int]:
    """Positions of at most `most` points that keep the shape: ends, and the extremes of each part.

    Parameters
    ----------
    x, y : sequences of float, shape (k,)
        Points; x ascends (and is positive if `log`); y may hold NaN, which keeps one point per part.
    log : bool
        Whether the parts have equal width on a logarithmic axis.
    most : int
        Points kept, >= 4.

    Returns
    -------
    list of int
        Ascending positions.
    """
    if len(x) <= most:
        return list(range(len(x)))
    parts = (most - 2) // 2
    place = math.log if log else float
    low, high = place(x[0]), place(x[-1])
    members: dict[int, list[int]] = {}
    for position, value in enumerate(x):
        part = min(int(parts * (place(value) - low) / (high - low)), parts - 1)
        members.setdefault(part, []).append(position)
    kept = {0, len(x) - 1}
    for positions in members.values():
        known = [k for k in positions if not math.isnan(y[k])]
        kept.update(
            {min(known, key=y.__getitem__), max(known, key=y.__getitem__)} if known else positions[:1]
        )
    return sorted(kept)


def marked(
    x: Sequence[float], log: bool, ends: tuple[float, float], phase: float, most: int = 14
) -> list[int]:
    """Positions of at most `most` + 1 evenly spread points, the last one included.

    Parameters
    ----------
    x : sequence of float
        Abscissae, ascending (positive if `log`).
    log : bool
        Whether they are spread evenly on a logarithmic axis.
    ends : tuple of float
        Ends of the axis.
    phase : float
        Shift in [0, 1) of one spacing; different curves get different phases, so that the markers
        of curves that coincide do not hide each other.
    """
    if len(x) <= most:
        return list(range(len(x)))
    place = math.log if log else float
    low, high = place(ends[0]), place(ends[1])
    kept = {len(x) - 1}
    position = 0
    for k in range(most):
        wanted = low + (high - low) * (k + phase) / most
        while position < len(x) - 1 and place(x[position]) < wanted:
            position += 1
        kept.add(position)
    return sorted(kept)
