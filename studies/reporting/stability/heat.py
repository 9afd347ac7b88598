"""Heat maps of the stability loss factor: s against condition, one map per problem and kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sstep_verify.reporting.figures.svg import document, group, moved, text
from studies.reporting.stability.summary import Cell, brief, condition_of

WIDTH, HEIGHT = 40, 25  # of one cell
LEFT, TOP, BOTTOM, GAP = 44, 24, 40, 18  # around one map
LEGEND, LEGEND_WIDTH = 34, 860
FULL = 10.0
"""Least factor at which a colour is full, so that losses near 1 do not look large."""

_MORE, _SAME, _LESS = (178, 24, 43), (247, 247, 247), (33, 102, 172)

Cells = Mapping[tuple[str, float, int], Cell]


@dataclass(frozen=True)
class HeatMap:
    """One map: the cells that have its name, under a title."""

    name: str
    title: str
    precision: str


@dataclass(frozen=True)
class HeatMaps:
    """One figure: maps of several cases, in rows of equal length.

    Parameters
    ----------
    slug : str
        File name stem.
    title : str
        What the figure shows.
    rows : tuple of tuple of HeatMap
        The maps.
    full : float
        Factor at which a colour is full, the same in all figures.
    """

    slug: str
    title: str
    rows: tuple[tuple[HeatMap, ...], ...]
    full: float


def full_factor(cells: Cells) -> float:
    """Power of ten that no finite median loss factor exceeds in size, at least `FULL`."""
    sizes = [abs(math.log10(cell.loss)) for cell in cells.values() if cell.loss]
    return max(FULL, 10.0 ** math.ceil(max(sizes, default=0.0)))


def draw_heat(maps: HeatMaps, cells: Cells) -> str:
    """Draw one figure; every cell shows the median (above, its colour) and the largest of its factors."""
    drawn, y, width = [], 0.0, 0.0
    for row in maps.rows:
        x, tallest = 0.0, 0.0
        for one in row:
            part, across, down = _map(one, cells, maps.full)
            drawn.append(moved(part, x, y))
            x, tallest = x + across, max(tallest, down)
        width, y = max(width, x - GAP), y + tallest
    drawn.append(moved(_legend(maps.full), LEFT, y))
    return document(max(width, LEGEND_WIDTH), y + LEGEND, drawn)


def heat_text(maps: HeatMaps, cells: Cells) -> str:
    """Text alternative: for each map its largest median and largest factor."""
    words = []
    for one in (one for row in maps.rows for one in row):
        own = [cell for cell in cells.values() if cell.case == one.name and cell.s > 1]
        top = max(own, key=lambda cell: math.inf if cell.loss is None else cell.loss)
        worst = max(own, key=lambda cell: math.inf if cell.worst is None else cell.worst)
        words.append(
            f"{one.title}: largest median {brief(top.loss)} at condition {condition_of(top)}, "
            f"s = {top.s}; largest {brief(worst.worst)} at condition {condition_of(worst)}, "
            f"s = {worst.s}"
        )
    return f"Stability loss factor, {maps.title}. " + ". ".join(words) + "."


def _map(one: HeatMap, cells: Cells, full: float) -> tuple[str, float, float]:
    """One map with its width and height."""
    own = [cell for cell in cells.values() if cell.case == one.name and cell.s > 1]
    conditions = {
        cell.condition: condition_of(cell) for cell in sorted(own, key=lambda cell: cell.condition)
    }
    steps = sorted({cell.s for cell in own}, reverse=True)
    fills: dict[str, list[str]] = {}
    medians: dict[int, list[str]] = {}
    extremes: dict[int, list[str]] = {}
    for cell in own:
        x = LEFT + WIDTH * list(conditions).index(cell.condition)
        y = TOP + HEIGHT * steps.index(cell.s)
        tone = _tone(cell.loss, full)
        fills.setdefault(_colour(tone), []).append(f"M{x} {y}h{WIDTH}v{HEIGHT}h-{WIDTH}z")
        light = {"fill": "#fff"} if abs(tone) > 0.6 else {}
        medians.setdefault(y, []).append(text(x + WIDTH / 2, 0, brief(cell.loss), **light))
        extremes.setdefault(y, []).append(text(x + WIDTH / 2, 0, brief(cell.worst), **light))
    squares = [f'<path d="{"".join(paths)}" fill="{colour}"/>' for colour, paths in fills.items()]
    bottom = TOP + HEIGHT * len(steps)
    labels = [
        text(LEFT + WIDTH * (k + 0.5), bottom + 13, words) for k, words in enumerate(conditions.values())
    ]
    labels.append(
        text(
            LEFT + WIDTH * len(conditions) / 2,
            bottom + 28,
            f"condition of the data in {one.precision}",
        )
    )
    sides = [text(LEFT - 5, TOP + HEIGHT * (k + 0.5) + 4, str(s)) for k, s in enumerate(steps)]
    middle = TOP + HEIGHT * len(steps) / 2
    title = text(LEFT, TOP - 8, one.title, font_weight="bold")
    axis = text(9, middle, "s", font_style="italic")
    part = "\n".join(
        [
            title,
            axis,
            group(squares, stroke="#fff", stroke_width=".6"),
            group(_lines(medians, 12), fill="#111", text_anchor="middle", font_size="11.5"),
            group(_lines(extremes, 21.5), fill="#333", text_anchor="middle", font_size="8.5"),
            group(labels, text_anchor="middle"),
            group(sides, text_anchor="end"),
        ]
    )
    return part, LEFT + WIDTH * len(conditions) + GAP, bottom + BOTTOM


def _lines(texts: Mapping[int, list[str]], down: float) -> list[str]:
    """Texts of each row of cells, moved there together."""
    return [moved("\n".join(row), 0, y + down) for y, row in texts.items()]


def _legend(full: float) -> str:
    steps = 9
    values = [full ** (2 * k / (steps - 1) - 1) for k in range(steps)]
    squares = [
        f'<path d="M{WIDTH * k} 4h{WIDTH}v12h-{WIDTH}z" fill="{_colour(_tone(value, full))}"/>'
        for k, value in enumerate(values)
    ]
    labels = [
        text(WIDTH * (k + 0.5), 28, words)
        for k, words in ((0, f"≤ {brief(1 / full)}"), (4, "1"), (8, f"≥ {brief(full)}"))
    ]
    words = "median loss factor of the runs (colour, large figure); the largest below it"
    return "\n".join(
        [*squares, group(labels, text_anchor="middle"), text(WIDTH * (steps + 0.4), 14, words)]
    )


def _tone(value: float | None, full: float) -> float:
    """Place between -1 (as much less as `full`) and 1 (as much more), 0 for no loss."""
    if value is None:
        return 1.0
    return max(-1.0, min(1.0, math.log10(value) / math.log10(full))) if value > 0 else -1.0


def _colour(tone: float) -> str:
    end: Sequence[int] = _MORE if tone > 0 else _LESS
    mixed = [round(a + (b - a) * abs(tone)) for a, b in zip(_SAME, end, strict=True)]
    return "#" + "".join(f"{value:02x}" for value in mixed)
