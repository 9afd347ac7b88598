"""Predicted time per iteration over P, both axes logarithmic: a small panel for each kernel and method."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from sstep_verify.reporting.case import Case
from sstep_verify.reporting.figures.axes import LogAxis, log_axis
from sstep_verify.reporting.figures.svg import (
    COLOURS,
    MARKERS,
    document,
    group,
    line,
    mark,
    moved,
    page_colour,
    rules,
    text,
)
from studies.reporting import placed
from studies.reporting.scaling.document import ScalingCurve, ScalingPoint

WIDTH, HEIGHT = 270, 150  # of the plot inside one panel
LEFT, TOP, BOTTOM, GAP = 62, 24, 44, 12
LEGEND, STEP = 62, 220
MOST_LABELS = 7  # of the P axis

PROGRAMS = (
    ("classical", "classical"),
    ("s_step", "s-step, best s"),
    ("ours", "ours, best exchange and s"),
)
"""Fields of a point that are drawn, and their words."""


@dataclass(frozen=True)
class ScalingFigure:
    """One figure: the curves of a data set.

    Parameters
    ----------
    slug : str
        File name stem.
    title : str
        What the figure shows.
    rows : tuple of tuple of (Case, ScalingCurve)
        Panels; a row for each method and b.
    """

    slug: str
    title: str
    rows: tuple[tuple[tuple[Case, ScalingCurve], ...], ...]


def draw_scaling(figure: ScalingFigure) -> str:
    """Draw one figure; all its panels have the same axes."""
    curves = [curve for row in figure.rows for _, curve in row]
    ranks = sorted({point.ranks for curve in curves for point in curve.points})
    axis = log_axis([getattr(p, name) for curve in curves for p in curve.points for name, _ in PROGRAMS])
    across, down = LEFT + WIDTH + GAP, TOP + HEIGHT + BOTTOM
    panels = [
        [_panel(case, curve, axis, ranks, first=place == 0) for place, (case, curve) in enumerate(row)]
        for row in figure.rows
    ]
    bottom = down * len(panels)
    parts = [*placed(panels, across, down), moved(_legend(), LEFT, bottom)]
    return document(max(map(len, panels)) * across + 14, bottom + LEGEND, parts)


def scaling_text(figure: ScalingFigure) -> str:
    """Text alternative: what each panel begins and ends with."""
    words = []
    for case, curve in (panel for row in figure.rows for panel in row):
        ends = ", ".join(
            f"P = {point.ranks}: {point.classical:g}, {point.s_step:g}, {point.ours:g}"
            for point in dict.fromkeys((curve.points[0], curve.points[-1]))
        )
        words.append(f"{_name(case)}: {ends}")
    told = "Microseconds per iteration, classical, s-step, ours"
    return f"Predicted time per iteration over P, {figure.title}. {told}. " + "; ".join(words) + "."


def _name(case: Case) -> str:
    return (
        f"{case.loss}, b = {case.block}, {case.kernel}"
        if case.task == "krr"
        else f"{case.loss}, {case.kernel}"
    )


def _panel(case: Case, curve: ScalingCurve, axis: LogAxis, ranks: list[int], first: bool) -> str:
    low, high = math.log2(ranks[0]), max(math.log2(ranks[-1]), math.log2(ranks[0]) + 1)

    def across(count: int) -> float:
        return LEFT + WIDTH * (math.log2(count) - low) / (high - low)

    def height(value: float) -> float:
        return TOP + HEIGHT * (axis.high - math.log10(axis.place(value))) / (axis.high - axis.low)

    shown = ranks[:: -(-len(ranks) // MOST_LABELS)]
    parts = [
        text(LEFT, TOP - 9, _name(case), font_weight="bold"),
        rules(axis.ticks(6), LEFT, LEFT + WIDTH, height),
        group([text(across(p), TOP + HEIGHT + 14, f"{p:,}") for p in shown], text_anchor="middle"),
        text(LEFT + WIDTH / 2, TOP + HEIGHT + 29, "ranks P", text_anchor="middle"),
    ]
    if first:
        turn = f"translate(12 {TOP + HEIGHT / 2:.0f}) rotate(-90)"
        parts.append(text(0, 0, "us per iteration", text_anchor="middle", transform=turn))
    for place, (name, _) in enumerate(PROGRAMS):
        points = [(across(p.ranks), height(getattr(p, name)), dashes(p, name)) for p in curve.points]
        drawn = [
            line(*one[:2], *other[:2], stroke_dasharray=max(one[2], other[2], key=DASHES.index))
            for one, other in pairwise(points)
        ]
        drawn += [mark(MARKERS[place], x, y) for x, y, _ in points]
        parts.append(group(drawn, stroke=page_colour(COLOURS[place]), fill="none"))
    return "\n".join(parts)


DASHES = ("none", "5 3", "1.5 3")
"""Of a line whose error is known, known of other data only, and not known."""


def dashes(point: ScalingPoint, name: str) -> str:
    """Dashes that tell how far a predicted time has been checked."""
    error = {"classical": point.classical_error, "s_step": point.s_step_error, "ours": point.our_error}[
        name
    ]
    return DASHES[2] if "%" not in error else DASHES[1] if " to " in error else DASHES[0]


def _legend() -> str:
    parts = []
    for place, (_, words) in enumerate(PROGRAMS):
        x = STEP * place
        sample = [line(x, 8, x + 26, 8), mark(MARKERS[place], x + 13, 8)]
        parts.append(group(sample, stroke=page_colour(COLOURS[place]), fill="none"))
        parts.append(text(x + 34, 12, words))
    meanings = (
        "its error is stated",
        "stated of data not fitted only",
        "not known: beyond what was timed",
    )
    for place, (pattern, told) in enumerate(zip(DASHES, meanings, strict=True)):
        x = STEP * place
        parts.append(line(x, 28, x + 26, 28, stroke="currentColor", stroke_dasharray=pattern))
        parts.append(text(x + 34, 32, told))
    return "\n".join(parts)
