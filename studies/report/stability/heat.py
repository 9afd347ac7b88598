"""Medians and extremes over the runs of a stability campaign, and their heat maps, s against condition."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sstep_verify.report.case import Case
from sstep_verify.report.chart import Figure, document, group, moved, path, text
from sstep_verify.report.plain import grouped
from sstep_verify.rounding.arithmetic import unit_roundoff
from studies.report.stability.document import (
    Stability,
    StabilityRun,
    brief,
    extreme,
    in_units,
    middle,
    power,
    precision_of,
)

WIDTH, HEIGHT = 40, 25  # of a cell of a map
LEFT, TOP = 44, 24  # of a map
FULL = 10.0
"""Least factor at which a colour is full, so that losses near 1 do not look large."""


@dataclass(frozen=True)
class Cell:
    """One case, or several pooled under a name, at one condition and one s, over the seeds: so many runs.

    `attained` is the median of the condition that the data have, as stored in the precision of the run.
    Then median relative errors at the last iteration, of s-step and of classical; median and largest
    loss factor there, and over the recorded window ends; the largest measured / bound of the replayed
    windows. None where a run broke down.
    """

    case: str
    condition: float
    attained: float
    s: int
    runs: int
    error: float | None
    classical: float | None
    loss: float | None
    worst: float | None
    largest_loss: float | None
    largest_worst: float | None
    ratio: float | None


Cells = dict[tuple[str, float, int], Cell]


def cells(stability: Stability, name: Callable[[StabilityRun], str] = lambda run: run.case) -> Cells:
    """All cells by case (or by another name of a run, which pools), condition and s, in document order."""
    members = grouped(stability.runs, lambda run: (name(run), run.condition))
    return {
        (*key, s): _cell(*key, s, own)
        for key, runs in members.items()
        for s, own in sorted(grouped(runs, lambda run: run.s).items())
    }


def _cell(case: str, condition: float, s: int, runs: Sequence[StabilityRun]) -> Cell:
    losses, largest = [run.loss for run in runs], [run.largest_loss for run in runs]
    return Cell(
        case,
        condition,
        middle(run.attained for run in runs) or condition,
        s,
        len(runs),
        middle(run.error for run in runs),
        middle(run.classical for run in runs),
        middle(losses),
        extreme(losses),
        middle(largest),
        extreme(largest),
        extreme([run.ratio for run in runs if run.ratio is not None]),
    )


def pooled_name(case: Case) -> str:
    """Name under which all cases of a precision and task are pooled."""
    return f"{precision_of(case)}/{case.task}"


def condition_of(cell: Cell) -> str:
    """The condition that the data of a cell have: as prescribed, or what rounding the data left of it."""
    kept = abs(cell.attained - cell.condition) <= 0.05 * cell.condition
    return power(cell.condition) if kept else power(float(f"{cell.attained:.1g}"))


def rows(stability: Stability, found: Cells, cases: Iterable[Case]) -> list[dict[str, Any]]:
    """What the summary shows of each case that has runs, over all conditions, seeds and s > 1.

    Median and largest loss factor, where that is, the largest over the window ends; the median classical
    error at the smallest and at the largest condition, in unit roundoffs; the largest window ratio.
    """
    table = []
    for case in cases:
        own = [cell for cell in found.values() if cell.case == case.id]
        stepped = [cell for cell in own if cell.s > 1]
        if not stepped:
            continue
        top = max(stepped, key=lambda cell: math.inf if cell.worst is None else cell.worst)
        unit = unit_roundoff(precision_of(case))
        low, high = (
            in_units(found[case.id, end(cell.condition for cell in own), 1].classical, unit)
            for end in (min, max)
        )
        table.append(
            {
                "case": case,
                "loss": middle(run.loss for run in stability.runs if run.case == case.id and run.s > 1),
                "worst": top.worst,
                "where": f"condition {condition_of(top)}, s = {top.s}",
                "largest_worst": extreme([cell.largest_worst for cell in stepped]),
                "lowest": low,
                "highest": high,
                "ratio": max((cell.ratio for cell in own if cell.ratio is not None), default=None),
            }
        )
    return table


class HeatMap(NamedTuple):
    """One map: the cells that have its name, under a title."""

    name: str
    title: str
    precision: str


def full_factor(cells: Cells) -> float:
    """Power of ten that no finite median loss factor exceeds in size, at least `FULL`."""
    sizes = [abs(math.log10(cell.loss)) for cell in cells.values() if cell.loss]
    return max(FULL, 10.0 ** math.ceil(max(sizes, default=0.0)))


def heat_figure(
    slug: str, title: str, rows: Sequence[Sequence[HeatMap]], cells: Cells, full: float
) -> Figure:
    """Maps in rows; every cell shows the median (above, its colour) and the largest of its factors.

    A colour is full at the factor `full`. The text tells the largest median and the largest of each map.
    """
    drawn, words, y, width = [], [], 0.0, 0.0
    for row in rows:
        x, tallest = 0.0, 0.0
        for one in row:
            own = [cell for cell in cells.values() if cell.case == one.name and cell.s > 1]
            part, across, down = _map(one, own, full)
            drawn.append(moved(part, x, y))
            x, tallest = x + across, max(tallest, down)
            top, worst = (
                max(own, key=lambda cell: math.inf if (value := getattr(cell, name)) is None else value)
                for name in ("loss", "worst")
            )
            words.append(
                f"{one.title}: largest median {brief(top.loss)} at condition {condition_of(top)}, "
                f"s = {top.s}; largest {brief(worst.worst)} at condition {condition_of(worst)}, "
                f"s = {worst.s}"
            )
        width, y = max(width, x - 18), y + tallest
    drawn.append(moved(_heat_legend(full), LEFT, y))
    told = f"Stability loss factor, {title}. " + ". ".join(words) + "."
    return Figure(slug, title, told, document(max(width, 860), y + 34, drawn))


def _map(one: HeatMap, own: Sequence[Cell], full: float) -> tuple[str, float, float]:
    """One map with its width and height."""
    ordered = sorted(own, key=lambda cell: cell.condition)
    conditions = {cell.condition: condition_of(cell) for cell in ordered}
    steps = sorted({cell.s for cell in own}, reverse=True)
    fills: dict[str, list[str]] = {}
    medians: dict[int, list[str]] = {}
    extremes: dict[int, list[str]] = {}
    for cell in own:
        x = LEFT + WIDTH * list(conditions).index(cell.condition)
        y = TOP + HEIGHT * steps.index(cell.s)
        tone = _tone(cell.loss, full)
        fills.setdefault(_mixed(tone), []).append(f"M{x} {y}h{WIDTH}v{HEIGHT}h-{WIDTH}z")
        light = "#fff" if abs(tone) > 0.6 else ""
        medians.setdefault(y, []).append(text(x + WIDTH / 2, 0, brief(cell.loss), fill=light))
        extremes.setdefault(y, []).append(text(x + WIDTH / 2, 0, brief(cell.worst), fill=light))
    squares = [path("".join(outlines), fill=colour) for colour, outlines in fills.items()]
    right, bottom = LEFT + WIDTH * len(conditions), TOP + HEIGHT * len(steps)
    labels = [
        text(LEFT + WIDTH * (k + 0.5), bottom + 13, words) for k, words in enumerate(conditions.values())
    ]
    labels.append(text((LEFT + right) / 2, bottom + 28, f"condition of the data in {one.precision}"))
    sides = [text(LEFT - 5, TOP + HEIGHT * (k + 0.5) + 4, str(s)) for k, s in enumerate(steps)]
    parts = [
        text(LEFT, TOP - 8, one.title, font_weight="bold"),
        text(9, (TOP + bottom) / 2, "s", font_style="italic"),
        group(squares, stroke="#fff", stroke_width=".6"),
        group(_lines(medians, 12), fill="#111", text_anchor="middle", font_size="11.5"),
        group(_lines(extremes, 21.5), fill="#333", text_anchor="middle", font_size="8.5"),
        group(labels, text_anchor="middle"),
        group(sides, text_anchor="end"),
    ]
    return "\n".join(parts), right + 18, bottom + 40


def _lines(texts: Mapping[int, list[str]], down: float) -> list[str]:
    """Texts of each row of cells, moved there together."""
    return [moved("\n".join(row), 0, y + down) for y, row in texts.items()]


def _heat_legend(full: float) -> str:
    steps = 9
    squares = [
        path(f"M{WIDTH * k} 4h{WIDTH}v12h-{WIDTH}z", fill=_mixed(2 * k / (steps - 1) - 1))
        for k in range(steps)
    ]
    ends = {0: f"≤ {brief(1 / full)}", 4: "1", 8: f"≥ {brief(full)}"}
    labels = [text(WIDTH * (k + 0.5), 28, words) for k, words in ends.items()]
    words = "median loss factor of the runs (colour, large figure); the largest below it"
    told = text(WIDTH * (steps + 0.4), 14, words)
    return "\n".join([*squares, group(labels, text_anchor="middle"), told])


def _tone(value: float | None, full: float) -> float:
    """Place between -1 (as much less as `full`) and 1 (as much more), 0 for no loss."""
    if value is None:
        return 1.0
    return max(-1.0, min(1.0, math.log10(value) / math.log10(full))) if value > 0 else -1.0


def _mixed(tone: float) -> str:
    # From white to red of more, or blue of less.
    same, end = (247, 247, 247), (178, 24, 43) if tone > 0 else (33, 102, 172)
    mixed = (round(a + (b - a) * abs(tone)) for a, b in zip(same, end, strict=True))
    return "#" + "".join(f"{value:02x}" for value in mixed)
