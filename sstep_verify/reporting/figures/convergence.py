"""Convergence figures: each panel as a small SVG, classical as a line, s-step as markers."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from sstep_verify.reporting.figures import styles, svg
from sstep_verify.reporting.figures.axes import (
    LogAxis,
    is_wide,
    linear_ticks,
    log_axis,
    marked,
    power_of_ten,
    thin,
)
from sstep_verify.reporting.figures.panels import Curve, Group, Panel

WIDTH, HEIGHT = 344, 176  # of the plot
LEFT, RIGHT, MARGIN = 62, 14, 5
TITLE_WIDTH = 62  # characters of a title that fit beside each other
LINE = 15  # height of a line of text
LETTER = 6.1  # width of a letter of the legend, on average
SAMPLE = 28  # width of a sample of the legend


@dataclass(frozen=True)
class Frame:
    """Places of iterations and values in a panel; ends are logarithms where `wide`."""

    wide: bool
    begin: float
    end: float
    vertical: LogAxis

    def across(self, iteration: float) -> float:
        """Distance from the left."""
        place = math.log10(iteration) if self.wide else iteration
        return LEFT + WIDTH * (place - self.begin) / (self.end - self.begin)

    def height(self, value: float) -> float:
        """Distance from the top of the plot, for a positive value."""
        share = (self.vertical.high - math.log10(value)) / (self.vertical.high - self.vertical.low)
        return MARGIN + (HEIGHT - 2 * MARGIN) * share


def write_figures(groups: Iterable[Group], folder: Path) -> dict[str, str]:
    """Draw every panel and save it as ``<slug>.svg``.

    Parameters
    ----------
    groups : iterable of Group
        From `panels.groups`.
    folder : Path
        Made if absent.

    Returns
    -------
    dict of str to str
        Slug to SVG text that can stand inside an HTML page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {panel.slug: draw(panel) for group in groups for panel in group.panels}
    for slug, figure in drawn.items():
        (folder / f"{slug}.svg").write_text(svg.standalone(figure), encoding="utf-8")
    return drawn


def draw(panel: Panel) -> str:
    """Draw one panel; returns SVG text that depends on the panel alone."""
    unbroken = panel.title.replace(" = ", "\u00a0=\u00a0")  # a value stays beside its name
    title = textwrap.wrap(unbroken, TITLE_WIDTH, break_on_hyphens=False)
    top = LINE * len(title) + 4
    frame = _frame(panel)
    legend, legend_height = _legend(panel)
    parts = [
        svg.text(2, LINE * k + 12, words.replace("\u00a0", " "), font_weight="bold")
        for k, words in enumerate(title)
    ]
    plot = "\n".join([*_axes(panel, frame), *_lines(panel, frame), *_curves(panel, frame)])
    foot = top + HEIGHT + 2 * LINE + 8
    parts += [svg.moved(plot, 0, top), svg.moved(legend, 2, foot)]
    return svg.document(LEFT + WIDTH + RIGHT, foot + legend_height, parts)


def _frame(panel: Panel) -> Frame:
    iterations = [x for curve in panel.curves for x in curve.series.x]
    values = [y for curve in panel.curves for y in curve.series.y]
    vertical = log_axis(values + [owned.line.y for owned in panel.lines])
    last = max(iterations, default=0) or 1
    if is_wide(iterations):
        first = min(x for x in iterations if x > 0)
        return Frame(True, math.log10(first / 1.2), math.log10(last * 1.3), vertical)
    return Frame(False, -0.02 * last, 1.03 * last, vertical)


def _axes(panel: Panel, frame: Frame) -> list[str]:
    unit = ""
    if frame.wide:
        span = LogAxis(math.ceil(frame.begin), math.floor(frame.end))
        ticks = [(frame.across(value), label) for value, label in span.ticks()]
    else:
        last = frame.end / 1.03
        power = 3 * int(math.log10(last) // 3) if last >= 10**4 else 0
        unit = {0: "", 3: " (thousands)", 6: " (millions)"}.get(power, f" ({power_of_ten(power)})")
        ticks = [(frame.across(value), f"{value / 10**power:g}") for value in linear_ticks(last)]
    words = f"{panel.measure} ({panel.units})" if panel.units else panel.measure
    below, place = f"iterations{unit}", f"translate(11 {HEIGHT / 2}) rotate(-90)"
    upright = [svg.line(x, 0, x, HEIGHT) for x, _ in ticks]
    return [
        svg.group(upright, stroke=svg.RULE, fill="none"),
        svg.rules(frame.vertical.ticks(), LEFT, LEFT + WIDTH, frame.height),
        svg.line(LEFT, 0, LEFT, HEIGHT, stroke="currentColor", stroke_width=".8"),
        svg.line(LEFT, HEIGHT, LEFT + WIDTH, HEIGHT, stroke="currentColor", stroke_width=".8"),
        svg.group([svg.text(x, HEIGHT + LINE, label) for x, label in ticks], text_anchor="middle"),
        svg.text(LEFT + WIDTH / 2, HEIGHT + 2 * LINE, below, text_anchor="middle"),
        svg.text(0, 0, words, text_anchor="middle", transform=place),
    ]


def _lines(panel: Panel, frame: Frame) -> Iterable[str]:
    for owned in panel.lines:
        place = math.nan if owned.line.y is None else frame.vertical.place(owned.line.y)
        if not math.isnan(place):
            y, style = frame.height(place), styles.line_style(panel, owned)
            yield svg.line(LEFT, y, LEFT + WIDTH, y, stroke=style.colour, stroke_dasharray=style.dashes)


def _curves(panel: Panel, frame: Frame) -> Iterable[str]:
    iterations = [x for curve in panel.curves for x in curve.series.x if x > 0 or not frame.wide]
    ends = (float(min(iterations)), float(max(iterations))) if frame.wide else (0.0, frame.end / 1.03)
    for curve in panel.curves:
        yield from _curve(panel, curve, frame, ends)


def _curve(panel: Panel, curve: Curve, frame: Frame, ends: tuple[float, float]) -> Iterable[str]:
    x, y = [], []
    for iteration, value in zip(curve.series.x, curve.series.y, strict=True):
        if iteration > 0 or not frame.wide:
            x.append(float(iteration))
            y.append(math.nan if value is None else frame.vertical.place(value))
    kept = thin(x, y, frame.wide) if x else []
    style = styles.curve_style(panel, curve)
    known = [k for k in kept if not math.isnan(y[k])]
    points = {k: (frame.across(x[k]), frame.height(y[k])) for k in known}
    if style.width and points:
        yield (
            f'<path d="{_path(kept, points)}" stroke="{style.colour}" stroke-width="{style.width}" '
            f'fill="none" stroke-linecap="round" stroke-linejoin="round"/>'
        )
    if style.marker and points:
        values = styles.steps(panel)
        phase = values.index(curve.series.s) / len(values)
        chosen = [known[k] for k in marked([x[k] for k in known], frame.wide, ends, phase)]
        yield svg.group(
            [svg.mark(style.marker, *points[k]) for k in chosen], stroke=style.colour, fill="none"
        )


def _path(kept: list[int], points: dict[int, tuple[float, float]]) -> str:
    """The curve through the points, broken where one is missing; a lone point is a dot."""
    parts = []
    for before, k in pairwise([None, *kept]):
        if k in points:
            x, y = map(svg.number, points[k])
            parts.append(f"L{x} {y}" if before in points else f"M{x} {y}h0")
    return "".join(parts)


def _legend(panel: Panel) -> tuple[str, float]:
    """The legend, wrapped like words, and its height."""
    most = LEFT + WIDTH + RIGHT
    parts, x, y = [], 0.0, 0
    for style, words in styles.legend(panel):
        written = textwrap.wrap(words, int((most - SAMPLE) / LETTER)) or [""]
        width = SAMPLE + LETTER * len(written[0]) + 8
        if x and x + width > most:
            x, y = 0.0, y + LINE
        parts.append(_sample(style, x, y + 8))
        parts += [svg.text(x + 26, y + 12 + LINE * k, part) for k, part in enumerate(written)]
        x, y = x + width, y + LINE * (len(written) - 1)
    return svg.group(parts, font_size="10.5"), y + LINE + 3


def _sample(style: styles.Style, x: float, y: float) -> str:
    parts = []
    if style.width:
        dashes = {"stroke_dasharray": style.dashes} if style.dashes else {}
        parts.append(svg.line(x, y, x + 20, y, stroke_width=str(style.width), **dashes))
    if style.marker:
        parts.append(svg.mark(style.marker, x + 10, y))
    return svg.group(parts, stroke=style.colour, fill="none")
