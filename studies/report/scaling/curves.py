"""Predicted time per iteration over P, both scales logarithmic: a small plot for each kernel and method."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sstep_verify.report.case import Case
from sstep_verify.report.chart import (
    Figure,
    Plot,
    decades,
    document,
    grid,
    group,
    line,
    mark,
    moved,
    octaves,
    page_colour,
    text,
)
from sstep_verify.report.tables import Of
from studies.report.scaling.document import ScalingPoint

MOST_LABELS = 7  # of the P axis

PROGRAMS = {"classical": "classical", "s_step": "s-step, best s", "ours": "ours, best exchange and s"}
"""Fields of a point that are drawn, and their words."""

ERRORS = {"classical": "classical_error", "s_step": "s_step_error", "ours": "our_error"}

DASHES = {
    "none": "its error is stated",
    "5 3": "stated of data not fitted only",
    "1.5 3": "not known: beyond what was timed",
}
"""How far a predicted time has been checked: dashes of its line, and words."""


def scaling_figure(slug: str, title: str, rows: Sequence[Sequence[Of]]) -> Figure:
    """The curves of a data set, each with its case, in plots with the same scales, a row a method."""
    curves = [of for row in rows for of in row]
    points = [point for of in curves for point in of.row.points]
    ranks = sorted({point.ranks for point in points})
    times = decades([getattr(point, name) for point in points for name in PROGRAMS])
    plot = Plot(octaves(ranks), times, 270, 150)
    across, down = plot.left + plot.width + 12, plot.top + plot.height + 44
    plots = [[_plot(of, plot, ranks, first=of is row[0]) for of in row] for row in rows]
    words = []
    for case, curve in curves:
        ends = ", ".join(
            f"P = {point.ranks}: {point.classical:g}, {point.s_step:g}, {point.ours:g}"
            for point in dict.fromkeys((curve.points[0], curve.points[-1]))
        )
        words.append(f"{_name(case)}: {ends}")
    told = "Microseconds per iteration, classical, s-step, ours"
    bottom = down * len(rows)
    return Figure(
        slug,
        title,
        f"Predicted time per iteration over P, {title}. {told}. " + "; ".join(words) + ".",
        document(
            max(map(len, rows)) * across + 14,
            bottom + 62,
            [*grid(plots, across, down), moved(_legend(), plot.left, bottom)],
        ),
    )


def _name(case: Case) -> str:
    block = f", b = {case.block}" if case.task == "krr" else ""
    return f"{case.loss}{block}, {case.kernel}"


def _plot(of: Of, plot: Plot, ranks: list[int], first: bool) -> str:
    ticks = [(count, f"{count:,}") for count in ranks[:: -(-len(ranks) // MOST_LABELS)]]
    parts = [
        text(plot.left, plot.top - 9, _name(of.case), font_weight="bold"),
        *plot.axes(ticks, "ranks P", "us per iteration" * first, plot.up.ticks(6)),
    ]
    for place, name in enumerate(PROGRAMS):
        points = [(plot.x(p.ranks), plot.y(getattr(p, name)), dashes(p, name)) for p in of.row.points]
        drawn = [
            line(*one[:2], *other[:2], stroke_dasharray=max(one[2], other[2], key=[*DASHES].index))
            for one, other in pairwise(points)
        ]
        drawn += [mark(place, x, y) for x, y, _ in points]
        parts.append(group(drawn, stroke=page_colour(place), fill="none"))
    return "\n".join(parts)


def dashes(point: ScalingPoint, name: str) -> str:
    """Dashes that tell how far a predicted time has been checked."""
    error = getattr(point, ERRORS[name])
    known, elsewhere, unknown = DASHES
    return unknown if "%" not in error else elsewhere if " to " in error else known


def _legend() -> str:
    parts = []
    for place, words in enumerate(PROGRAMS.values()):
        x = 220 * place
        sample = [line(x, 8, x + 26, 8), mark(place, x + 13, 8)]
        parts.append(group(sample, stroke=page_colour(place), fill="none"))
        parts.append(text(x + 34, 12, words))
    for place, (pattern, words) in enumerate(DASHES.items()):
        x = 220 * place
        parts.append(line(x, 28, x + 26, 28, stroke="currentColor", stroke_dasharray=pattern))
        parts.append(text(x + 34, 32, words))
    return "\n".join(parts)
