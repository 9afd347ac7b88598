"""Values against s, both axes logarithmic: one figure with a line and markers for each named series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from sstep_verify.reporting.figures.axes import LogAxis, log_axis
from sstep_verify.reporting.figures.svg import (
    COLOURS,
    MARKERS,
    document,
    group,
    line,
    mark,
    page_colour,
    rules,
    text,
)

WIDTH, HEIGHT = 420, 240  # of the plot
LEFT, TOP, LINE = 66, 26, 16
APART = 8
"""Least distance of two labels of s, for each digit."""


class AgainstS(NamedTuple):
    """One series: a value for each s, None or infinite where there is none to draw.

    What was predicted in place of the values, if anything, is dashed.
    """

    name: str
    s: Sequence[int]
    values: Sequence[float | None]
    predicted: Sequence[float | None] = ()


def draw_against_s(title: str, unit: str, series: Sequence[AgainstS], largest: int = 0) -> str:
    """Draw one figure.

    Parameters
    ----------
    title, unit : str
        What is shown, and what the values are.
    series : sequence of AgainstS
        Curves.
    largest : int
        The s at which a vertical line stands; 0 for none.

    Returns
    -------
    str
        SVG text that can stand inside a page; `svg.standalone` makes a file of it.
    """
    steps = sorted({s for curve in series for s in curve.s})
    axis = log_axis([value for curve in series for value in (*curve.values, *curve.predicted)])
    across = {s: _across(s, steps[-1]) for s in [*steps, *([largest] if largest else [])]}
    told: list[int] = []
    for s in steps:
        if not told or across[s] - across[told[-1]] >= APART * len(str(s)):
            told.append(s)
    parts = [
        text(2, 14, title, font_weight="bold"),
        rules(axis.ticks(), LEFT, LEFT + WIDTH, lambda value: _height(value, axis)),
        group([text(across[s], TOP + HEIGHT + LINE, str(s)) for s in told], text_anchor="middle"),
        text(LEFT + WIDTH / 2, TOP + HEIGHT + 2 * LINE, "s", text_anchor="middle", font_style="italic"),
        text(
            0, 0, unit, text_anchor="middle", transform=f"translate(12 {TOP + HEIGHT / 2:.0f}) rotate(-90)"
        ),
    ]
    if largest:
        upright = line(across[largest], TOP, across[largest], TOP + HEIGHT, stroke_dasharray="2 4")
        parts.append(group([upright], stroke="currentColor", fill="none"))
    for place, curve in enumerate(series):
        parts.append(_curve(curve, place, axis, across))
    return document(LEFT + WIDTH + 20, TOP + HEIGHT + (3 + len(series)) * LINE, parts)


def _across(s: int, last: int) -> float:
    return LEFT + WIDTH * math.log2(s) / max(math.log2(last), 1.0)


def _height(value: float, axis: LogAxis) -> float:
    return TOP + HEIGHT * (axis.high - math.log10(axis.place(value))) / (axis.high - axis.low)


def _curve(curve: AgainstS, place: int, axis: LogAxis, across: dict[int, float]) -> str:
    """The curve, what was predicted of it, and below the plot its marker and name."""
    y = TOP + HEIGHT + (2.6 + place) * LINE
    points = _points(curve.s, curve.values, axis, across)
    drawn = [line(*one, *other) for one, other in pairwise(points)]
    marks = [mark(MARKERS[place % len(MARKERS)], *point) for point in [*points, (LEFT + 6, y)]]
    guessed = _points(curve.s[: len(curve.predicted)], curve.predicted, axis, across)
    dashed = [line(*one, *other, stroke_dasharray="3 3") for one, other in pairwise(guessed)]
    colour = page_colour(COLOURS[place % len(COLOURS)])
    return group([*drawn, *dashed, *marks], stroke=colour, fill="none") + text(LEFT + 18, y + 4, curve.name)


def _points(
    steps: Sequence[int], values: Sequence[float | None], axis: LogAxis, across: dict[int, float]
) -> list[tuple[float, float]]:
    """Where values are drawn."""
    return [
        (across[s], _height(value, axis))
        for s, value in zip(steps, values, strict=True)
        if value is not None and math.isfinite(value) and not math.isnan(axis.place(value))
    ]
