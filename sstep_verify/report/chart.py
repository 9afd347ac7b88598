"""Charts as SVG text: small, without scripts or ids, in the colours of the page that holds them.

A chart can stand in a light or a dark page: text is ``currentColor``, rules and curves are CSS variables
with the printed colour as the fallback.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from sstep_verify.errors import writable

RULE = "var(--rule,#d1d2d3)"
FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"

# Okabe and Ito's colours, which readers with any colour vision can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = (
    "M-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0z",
    "M-3 -3h6v6h-6z",
    "M0 -3.8L3.6 3H-3.6z",
    "M0 -4L4 0L0 4L-4 0z",
    "M0 3.8L3.6 -3H-3.6z",
    "M-3.6 0h7.2M0 -3.6v7.2",
    "M-3 -3L3 3M-3 3L3 -3",
    "M-3.6 0h7.2M-2 -3.2L2 3.2M-2 3.2L2 -3.2",
)
"""Outlines around the origin, for use with `mark`."""

APART = 13
"""Least distance of two labels of the vertical axis, so that they do not touch."""

LONE_ZERO = 1e-16  # height of the lowest decade if a logarithmic scale has no positive value at all
LARGEST_EXPONENT = 300  # decades beyond it are not drawn, so that ends and margins stay finite
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

Point = tuple[float, float]


def number(value: float) -> str:
    """A coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def page_colour(place: int) -> str:
    """Colour of a curve by its place, as the page may change it."""
    colour = COLOURS[place % len(COLOURS)]
    return f"var(--c-{colour[1:]},{colour})"


def text(x: float, y: float, words: str, **attributes: str) -> str:
    """One line of text at its baseline; y = 0 is left out, as SVG allows."""
    height = f' y="{number(y)}"' if y else ""
    return f'<text x="{number(x)}"{height}{_written(attributes)}>{escape(writable(words))}</text>'


def line(x1: float, y1: float, x2: float, y2: float, **attributes: str) -> str:
    """One straight line."""
    return path(f"M{number(x1)} {number(y1)}L{number(x2)} {number(y2)}", **attributes)


def path(outline: str, **attributes: str) -> str:
    """An outline."""
    return f'<path d="{outline}"{_written(attributes)}/>'


def mark(place: int, x: float, y: float) -> str:
    """The marker of a place in `MARKERS`, in the colours of its group."""
    outline = MARKERS[place % len(MARKERS)]
    return path(outline, transform=f"translate({number(x)} {number(y)})")


def group(parts: Iterable[str], **attributes: str) -> str:
    """Parts with common attributes."""
    return f"<g{_written(attributes)}>" + "\n".join(parts) + "</g>"


def moved(part: str, x: float, y: float) -> str:
    """A part at another place."""
    return group([part], transform=f"translate({number(x)} {number(y)})")


def document(width: float, height: float, parts: Iterable[str]) -> str:
    """A whole chart that can stand inside a page."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {number(width)} {number(height)}" '
        f'font-family="{FONT}" font-size="11" fill="currentColor">\n' + "\n".join(parts) + "\n</svg>\n"
    )


def sheet(
    rows: Sequence[Sequence[str]],
    spaces: Point,
    legend: tuple[float, float, str],
    right: float = 0,
    least: float = 0,
) -> str:
    """A chart of parts in rows, so far from their neighbours; below them a legend of some height, from x.

    It is so much wider than the longest row, and so wide at least.
    """
    (across, down), (height, x, told) = spaces, legend
    parts = [moved(part, across * k, down * n) for n, row in enumerate(rows) for k, part in enumerate(row)]
    bottom = down * len(rows)
    width = max(max(map(len, rows)) * across + right, least)
    return document(width, bottom + height, [*parts, moved(told, x, bottom)])


def standalone(chart: str) -> str:
    """The same chart as a file of its own, on white."""
    head = '<?xml version="1.0" encoding="utf-8"?>\n'
    return head + chart.replace("<svg ", '<svg style="background:#fff;color:#111" ', 1)


def _written(attributes: dict[str, str]) -> str:
    return "".join(f' {key.replace("_", "-")}="{value}"' for key, value in attributes.items() if value)


class Figure(NamedTuple):
    """One drawn figure of a page: stem of its file, title, text alternative, and SVG."""

    slug: str
    title: str
    text: str
    svg: str


def write_files(figures: Iterable[Figure], folder: Path) -> None:
    """Write each figure as a file of its own; the folder is made if absent."""
    folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        (folder / f"{figure.slug}.svg").write_text(standalone(figure.svg), encoding="utf-8")


@dataclass(frozen=True)
class Scale:
    """A scale from `low` to `high`, which are exponents of ten unless it is linear.

    Values <= 0 of a logarithmic one are drawn at `floor`, labelled as such; nowhere if that is None.
    """

    low: float
    high: float
    floor: float | None = None
    linear: bool = False

    def place(self, value: float) -> float:
        """Place of a value (at an end of the scale if beyond it); NaN if nowhere."""
        if value > 0 and not self.linear:
            return min(max(value, 10.0**self.low), 10.0**self.high)
        return value if self.linear else math.nan if self.floor is None else self.floor

    def share(self, value: float) -> float:
        """How far a value is from the low end, of the whole scale; NaN if nowhere."""
        place = self.place(value)
        return ((place if self.linear else math.log10(place)) - self.low) / (self.high - self.low)

    def ticks(self, most: int = 7) -> list[tuple[float, str]]:
        """Powers of ten with their labels, at most about `most`."""
        lowest = math.ceil(self.low) if self.floor is None else math.ceil(self.low) + 1
        step = max(1, math.ceil((math.floor(self.high) - lowest) / most))
        found = [(10.0**k, power_of_ten(k)) for k in range(lowest, math.floor(self.high) + 1, step)]
        return found if self.floor is None else [(self.floor, "≤ 0"), *found]


def decades(values: Iterable[float | None]) -> Scale:
    """The logarithmic scale of whole decades that holds the known values.

    Values <= 0 get a place of their own, one decade below the smallest positive one.
    """
    known = [value for value in values if value is not None and math.isfinite(value)]
    positive = [value for value in known if value > 0] or [LONE_ZERO]
    low = min(max(math.floor(math.log10(min(positive))), 1 - LARGEST_EXPONENT), LARGEST_EXPONENT - 1)
    high = min(max(math.ceil(math.log10(max(positive))), low + 1), LARGEST_EXPONENT)
    zeros = len(known) > sum(value > 0 for value in known)
    return Scale(low - 1, high, 10.0 ** (low - 1)) if zeros else Scale(low, high)


def octaves(values: Sequence[float]) -> Scale:
    """The logarithmic scale from the first value to the last, one doubling at least."""
    low = math.log10(values[0])
    return Scale(low, max(math.log10(values[-1]), low + math.log10(2)))


def power_of_ten(exponent: int) -> str:
    """``10⁻⁸``, as plain text."""
    return "1" if exponent == 0 else "10" + str(exponent).translate(_SUPERSCRIPTS)


@dataclass(frozen=True)
class Plot:
    """The area of a chart in which values are drawn; `margin` is left free above and below them."""

    across: Scale
    up: Scale
    width: float
    height: float
    left: float = 62
    top: float = 24
    margin: float = 0

    def x(self, value: float) -> float:
        """Place of a value from the left."""
        return self.left + self.width * self.across.share(value)

    def y(self, value: float | None) -> float:
        """Place of a value from the top; that of a run that broke down is at the upper end."""
        share = self.up.share(math.inf if value is None else value)
        return self.top + self.margin + (self.height - 2 * self.margin) * (1 - share)

    def points(self, x: Iterable[float], y: Iterable[float | None]) -> list[Point]:
        """Where values are drawn: those that are finite and have a place."""
        pairs = zip(x, y, strict=True)
        known = ((one, other) for one, other in pairs if other is not None and math.isfinite(other))
        return [
            (self.x(one), self.y(other)) for one, other in known if not math.isnan(self.up.share(other))
        ]

    def apart(
        self, levels: Iterable[tuple[float, str]], taken: Iterable[float] = ()
    ) -> list[tuple[float, str]]:
        """Those levels whose labels touch no earlier one, and none of the values that have one already."""
        kept: list[tuple[float, str]] = []
        places = [self.y(value) for value in taken]
        for value, label in levels:
            if all(abs(self.y(value) - place) >= APART for place in places):
                kept.append((value, label))
                places.append(self.y(value))
        return kept

    def axes(
        self,
        ticks: Iterable[tuple[float, str]],
        below: str,
        side: str = "",
        levels: Iterable[tuple[float, str]] | None = None,
        size: str = "",
        **name: str,
    ) -> list[str]:
        """Rules at the ticks of the vertical scale (`levels`, if given), labels and names of both."""
        bottom, middle = self.top + self.height, self.left + self.width / 2
        found = [(self.y(value), label) for value, label in levels or self.apart(self.up.ticks())]
        turned = f"translate(12 {number(self.top + self.height / 2)}) rotate(-90)"
        right = self.left + self.width
        labels = [text(self.x(value), bottom + 14, label) for value, label in ticks]
        return [
            group([line(self.left, y, right, y) for y, _ in found], stroke=RULE, fill="none"),
            group([text(self.left - 6, y + 4, label) for y, label in found], text_anchor="end"),
            group(labels, text_anchor="middle", font_size=size),
            text(middle, bottom + 29, below, text_anchor="middle", **name),
            *([text(0, 0, side, text_anchor="middle", transform=turned)] if side else []),
        ]


def joined(points: Iterable[Point], dashes: str = "") -> list[str]:
    """Straight lines from each point to the next."""
    return [line(*one, *other, stroke_dasharray=dashes) for one, other in pairwise(points)]


class AgainstS(NamedTuple):
    """A value for each s, None or infinite where there is none to draw; what was predicted is dashed."""

    name: str
    s: Sequence[int]
    values: Sequence[float | None]
    predicted: Sequence[float | None] = ()


def draw_against_s(title: str, unit: str, series: Sequence[AgainstS], largest: int = 0) -> str:
    """Values against s, both scales logarithmic: a line and markers for each series, named below.

    `unit` says what the values are; at the s `largest` a vertical line stands, unless it is 0.
    """
    steps = sorted({s for curve in series for s in curve.s})
    up = decades([value for curve in series for value in (*curve.values, *curve.predicted)])
    plot = Plot(octaves([1, steps[-1]]), up, 420, 240)
    bottom, told = plot.top + plot.height, [steps[0]]
    for s in steps:  # labels that do not touch
        if plot.x(s) - plot.x(told[-1]) >= 8 * len(str(s)):
            told.append(s)
    labels = [(s, str(s)) for s in told]
    parts = [text(2, 14, title, font_weight="bold"), *plot.axes(labels, "s", unit, font_style="italic")]
    if largest:
        upright = line(plot.x(largest), plot.top, plot.x(largest), bottom, stroke_dasharray="2 4")
        parts.append(group([upright], stroke="currentColor", fill="none"))
    for place, curve in enumerate(series):
        y = bottom + 40 + 16 * place
        points = plot.points(curve.s, curve.values)
        marks = [mark(place, *point) for point in [*points, (plot.left + 6, y)]]
        guessed = plot.points(curve.s[: len(curve.predicted)], curve.predicted)
        drawn = [*joined(points), *joined(guessed, "3 3"), *marks]
        parts.append(group(drawn, stroke=page_colour(place), fill="none"))
        parts.append(text(plot.left + 18, y + 4, curve.name))
    return document(plot.left + plot.width + 20, bottom + 34 + 16 * len(series), parts)
