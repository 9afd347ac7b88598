"""Convergence figures: each panel as a small chart, classical as a line, s-step as markers.

Nothing can be distinguished by colour alone.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from sstep_verify.report.case import DRIFT, Line
from sstep_verify.report.chart import (
    COLOURS,
    RULE,
    Figure,
    Plot,
    Point,
    Scale,
    decades,
    document,
    group,
    line,
    mark,
    moved,
    number,
    page_colour,
    path,
    power_of_ten,
    text,
)
from sstep_verify.report.panels import Curve, Panel

TITLE_WIDTH = 62  # characters of a title that fit next to each other
LINE = 15  # height of a line of text
LETTER = 6.1  # width of a letter of the legend, on average
SAMPLE = 28  # width of a sample of the legend
WIDE_RANGE = 1000.0  # a logarithmic x axis is used where the largest / smallest iteration exceeds this
TEXT = "currentColor"


class Style(NamedTuple):
    """Look of a curve or line: its colour, the width of its line (0 for none), dashes and marker."""

    colour: str
    width: float = 1.0
    dashes: str = ""
    marker: int | None = None


def figure(panel: Panel) -> Figure:
    """The figure of a panel, which depends on the panel alone."""
    unbroken = panel.title.replace(" = ", "\u00a0=\u00a0")  # a value stays next to its name
    titles = textwrap.wrap(unbroken, TITLE_WIDTH, break_on_hyphens=False)
    iterations = [x for curve in panel.curves for x in curve.series.x]
    values = [y for curve in panel.curves for y in curve.series.y]
    across, ticks, below = _iterations(iterations)
    up = decades(values + [drawn.y for _, drawn in panel.lines])
    plot = Plot(across, up, 344, 176, top=LINE * len(titles) + 4, margin=5)
    right, bottom = plot.left + plot.width, plot.top + plot.height
    words = f"{panel.measure} ({panel.units})" if panel.units else panel.measure
    upright = [line(plot.x(value), plot.top, plot.x(value), bottom) for value, _ in ticks]
    legend, height = _legend(panel, right + 14)
    parts = [
        *(text(2, LINE * k + 12, title, font_weight="bold") for k, title in enumerate(titles)),
        group(upright, stroke=RULE, fill="none"),
        *plot.axes(ticks, below, words),
        line(plot.left, plot.top, plot.left, bottom, stroke=TEXT, stroke_width=".8"),
        line(plot.left, bottom, right, bottom, stroke=TEXT, stroke_width=".8"),
        *_lines(panel, plot),
        *(part for curve in panel.curves for part in _curve(panel, curve, plot, iterations)),
        moved(legend, 2, bottom + 38),
    ]
    drawing = document(right + 14, bottom + 38 + height, parts)
    return Figure(panel.slug, panel.title, panel.text, drawing.replace("\u00a0", " "))


def _iterations(iterations: Sequence[int]) -> tuple[Scale, list[tuple[float, str]], str]:
    """Scale of the iterations, its ticks and its name: logarithmic where a linear one would show little."""
    last = max(iterations, default=0) or 1
    if is_wide(iterations):
        first = min(x for x in iterations if x > 0)
        scale = Scale(math.log10(first / 1.2), math.log10(last * 1.3))
        return scale, scale.ticks(), "iterations"
    power = 3 * int(math.log10(last) // 3) if last >= 10**4 else 0
    unit = {0: "", 3: " (thousands)", 6: " (millions)"}.get(power, f" ({power_of_ten(power)})")
    ticks = [(value, f"{value / 10**power:g}") for value in linear_ticks(last)]
    return Scale(-0.02 * last, 1.03 * last, linear=True), ticks, f"iterations{unit}"


def _lines(panel: Panel, plot: Plot) -> Iterator[str]:
    for variant, drawn in panel.lines:
        for _, y in plot.points([1], [drawn.y]):
            style, _ = line_look(panel, variant, drawn)
            right = plot.left + plot.width
            yield line(plot.left, y, right, y, stroke=style.colour, stroke_dasharray=style.dashes)


def _curve(panel: Panel, curve: Curve, plot: Plot, iterations: Iterable[int]) -> Iterator[str]:
    log = not plot.across.linear
    places = [
        (x, math.nan if y is None else plot.up.place(y))
        for x, y in zip(curve.series.x, curve.series.y, strict=True)
        if x > 0 or not log
    ]
    points = [None if math.isnan(y) else (plot.x(x), plot.y(y)) for x, y in places]
    seen = [k for k, point in enumerate(points) if point]
    if not seen:
        return
    style = curve_style(panel, curve)
    if style.width:
        yield path(
            _outline(points), stroke=style.colour, stroke_width=str(style.width), fill="none",
            stroke_linecap="round", stroke_linejoin="round",
        )  # fmt: skip
    if style.marker is not None:
        steps = _steps(panel)
        ends = (min(x for x in iterations if x > 0), max(iterations)) if log else (0, max(iterations) or 1)
        chosen = marked([places[k][0] for k in seen], log, ends, steps.index(curve.series.s) / len(steps))
        marks = [mark(style.marker, *point) for k in chosen if (point := points[seen[k]])]
        yield group(marks, stroke=style.colour, fill="none")


def _outline(points: Sequence[Point | None]) -> str:
    """The curve through the points, broken where one is missing; a lone point is a dot."""
    parts = []
    for before, point in pairwise([None, *points]):
        if point:
            x, y = map(number, point)
            parts.append(f"L{x} {y}" if before else f"M{x} {y}h0")
    return "".join(parts)


def _legend(panel: Panel, most: float) -> tuple[str, float]:
    """The legend, wrapped like words, and its height."""
    parts, x, y = [], 0.0, 0
    for style, words in legend(panel):
        written = textwrap.wrap(words, int((most - SAMPLE) / LETTER)) or [""]
        width = SAMPLE + LETTER * len(written[0]) + 8
        if x and x + width > most:
            x, y = 0.0, y + LINE
        width_of_line = str(style.width)
        sample = [line(x, y + 8, x + 20, y + 8, stroke_width=width_of_line, stroke_dasharray=style.dashes)]
        marks = [] if style.marker is None else [mark(style.marker, x + 10, y + 8)]
        parts.append(group(sample * (style.width > 0) + marks, stroke=style.colour, fill="none"))
        parts += [text(x + 26, y + 12 + LINE * k, part) for k, part in enumerate(written)]
        x, y = x + width, y + LINE * (len(written) - 1)
    return group(parts, font_size="10.5"), y + LINE + 3


def _steps(panel: Panel) -> list[int]:
    """Values of s in the panel, ascending."""
    return sorted({curve.series.s for curve in panel.curves})


def curve_style(panel: Panel, curve: Curve) -> Style:
    """Style of a curve: the classical method is a line, s-step is markers only."""
    s, steps = curve.series.s, _steps(panel)
    if panel.measure == DRIFT:  # One problem a panel: colours tell s apart, not variants.
        place = steps.index(s)
        return Style(page_colour(place), 1.4 if s == 1 else 0.9, marker=place)
    colour = _colour(panel, curve.variant)
    if s == 1:
        return Style(colour, 1.4)
    classical_there = any(other.series.s == 1 for other in panel.curves if other.variant == curve.variant)
    stepped = [step for step in steps if step != 1]
    return Style(colour, 0.0 if classical_there else 0.9, marker=stepped.index(s))


def line_look(panel: Panel, variant: str, drawn: Line) -> tuple[Style, str]:
    """Style and words of a horizontal line: dotted for a target, else dashed; a variant's in its colour."""
    own = variant in panel.variants and len(panel.variants) > 1
    colour = _colour(panel, variant) if own else TEXT
    words = f"{drawn.name}, {variant}" if own else f"{drawn.name} {drawn.y:.0e}"
    return Style(colour, dashes="1.5 3" if drawn.name.startswith("target") else "5 3"), words


def legend(panel: Panel) -> list[tuple[Style, str]]:
    """Samples and words of the legend: variants, markers of s, lines."""
    first = {curve.series.s: curve_style(panel, curve) for curve in reversed(panel.curves)}
    if panel.measure == DRIFT:
        listed = [(first[s], f"s = {s}{' (classical)' if s == 1 else ''}") for s in _steps(panel)]
    else:
        own = {curve.variant: curve.series.s for curve in reversed(panel.curves)}
        listed = [
            (Style(_colour(panel, variant), 1.4), variant + ", classical" * (own[variant] == 1))
            for variant in panel.variants
        ]
        steps = (s for s in _steps(panel) if s != 1)
        listed += [(first[s]._replace(colour=TEXT, width=0.0), f"s = {s}") for s in steps]
    return listed + [line_look(panel, *owned) for owned in panel.lines]


def _colour(panel: Panel, variant: str) -> str:
    """Colour of a variant: the same in all panels of the group, if there are enough colours."""
    known = panel.palette if len(panel.palette) <= len(COLOURS) else panel.variants
    return page_colour(list(known).index(variant))


def linear_ticks(last: float, most: int = 6) -> list[float]:
    """Positions from 0 up to `last` in steps of 1, 2 or 5 times a power of ten, at most `most` + 1."""
    power = 10.0 ** math.floor(math.log10(last / most))
    step = next(size * power for size in (1, 2, 5, 10) if size * power * most >= last * (1 - 1e-12))
    return [k * step for k in range(int(last / step + 1e-9) + 1)]


def is_wide(iterations: Iterable[int]) -> bool:
    """Whether the iterations span so much that a logarithmic scale shows them better."""
    positive = [value for value in iterations if value > 0]
    return bool(positive) and max(positive) > WIDE_RANGE * min(positive)


def marked(
    x: Sequence[float], log: bool, ends: tuple[float, float], phase: float, most: int = 14
) -> list[int]:
    """Positions of at most `most` + 1 points, evenly spread between the ends, the last one included.

    x ascends (and is positive if `log`, which spreads them on a logarithmic scale). `phase`, in [0, 1), is
    a shift in spacings: different curves get different ones, so that the markers of curves that coincide
    do not hide each other.
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
