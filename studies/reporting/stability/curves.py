"""Error against s, one small panel per problem and kernel: classical as a line, s-step as markers."""

from __future__ import annotations

import math
from dataclasses import dataclass

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
from studies.reporting.stability.heat import Cells
from studies.reporting.stability.summary import ROUNDOFF, condition_of, form_of, short_name

WIDTH, HEIGHT = 300, 170  # of the plot inside one panel
LEFT, TOP, BOTTOM, GAP = 58, 24, 40, 20
LEGEND = 40
MOST_CONDITIONS = 4
DASHES = ("", "7 3", "2 3", "8 3 2 3")


@dataclass(frozen=True)
class ErrorCurves:
    """One figure: panels of several cases that share an error axis.

    Parameters
    ----------
    slug : str
        File name stem.
    title : str
        What the figure shows.
    precision : str
        Precision of all runs.
    rows : tuple of tuple of tuple of Case
        A panel for each inner tuple: the same problem in all forms of the precision.
    """

    slug: str
    title: str
    precision: str
    rows: tuple[tuple[tuple[Case, ...], ...], ...]

    @property
    def cases(self) -> list[Case]:
        """All cases."""
        return [case for row in self.rows for panel in row for case in panel]


def shown_conditions(curves: ErrorCurves, cells: Cells) -> list[float]:
    """At most `MOST_CONDITIONS` conditions, the ends included."""
    ids = {case.id for case in curves.cases}
    known = sorted({cell.condition for cell in cells.values() if cell.case in ids})
    if len(known) <= MOST_CONDITIONS:
        return known
    step = (len(known) - 1) / (MOST_CONDITIONS - 1)
    return [known[round(k * step)] for k in range(MOST_CONDITIONS)]


def draw_curves(curves: ErrorCurves, cells: Cells) -> str:
    """Draw one figure."""
    conditions = shown_conditions(curves, cells)
    unit = ROUNDOFF[curves.precision]
    ids = {case.id for case in curves.cases}
    shown = [cell.error for cell in cells.values() if cell.case in ids and cell.condition in conditions]
    axis = log_axis([*shown, unit])
    across, down = LEFT + WIDTH + GAP, TOP + HEIGHT + BOTTOM
    panels = [[_panel(panel, conditions, cells, axis, unit) for panel in row] for row in curves.rows]
    width, bottom = max(map(len, panels)) * across - GAP + 14, down * len(panels)
    first = {cell.condition: condition_of(cell) for cell in cells.values() if cell.case in ids}
    words = [first[condition] for condition in conditions]
    forms = list(dict.fromkeys(form_of(case) for case in curves.cases))
    drawn = [*placed(panels, across, down), moved(_legend(words, forms), LEFT, bottom)]
    return document(max(width, LEFT + 190 * len(words)), bottom + LEGEND, drawn)


def curves_text(curves: ErrorCurves, cells: Cells) -> str:
    """Text alternative: where classical and s-step end, at the smallest and the largest condition."""
    words = []
    conditions = shown_conditions(curves, cells)
    for case in curves.cases:
        for condition in dict.fromkeys((conditions[0], conditions[-1])):
            own = [cells[key] for key in cells if key[:2] == (case.id, condition)]
            if own:
                last = max(own, key=lambda cell: cell.s)
                words.append(
                    f"{short_name(case)}, {form_of(case)}, condition {condition_of(last)}: classical "
                    f"{_brief(last.classical)}, s = {last.s} {_brief(last.error)}"
                )
    return f"Relative error at the last iteration against s, {curves.title}. " + "; ".join(words) + "."


def _panel(
    panel: tuple[Case, ...], conditions: list[float], cells: Cells, axis: LogAxis, unit: float
) -> str:
    steps = sorted({key[2] for key in cells if key[0] in {case.id for case in panel}})
    across = {s: LEFT + WIDTH * math.log2(s) / max(math.log2(steps[-1]), 1.0) for s in steps}
    span = axis.high - axis.low

    def height(value: float | None) -> float:
        placed = axis.place(math.inf if value is None else value)
        return TOP + HEIGHT * (axis.high - math.log10(placed)) / span

    parts = [
        text(LEFT, TOP - 9, short_name(panel[0]), font_weight="bold"),
        rules(axis.ticks(6), LEFT, LEFT + WIDTH, height),
        line(LEFT, height(unit), LEFT + WIDTH, height(unit), stroke="currentColor", stroke_dasharray="1 4"),
        text(LEFT + WIDTH + 4, height(unit) + 3, "u", font_style="italic"),
        group([text(across[s], TOP + HEIGHT + 14, str(s)) for s in steps], text_anchor="middle"),
        text(LEFT + WIDTH / 2, TOP + HEIGHT + 29, "s", text_anchor="middle", font_style="italic"),
    ]
    for place, condition in enumerate(conditions):
        parts.append(_curve(panel, condition, place, cells, across, height))
    return "\n".join(parts)


def _curve(panel: tuple[Case, ...], condition: float, place: int, cells: Cells, across, height) -> str:
    """One condition in one panel: a line for classical, markers for the forms of s-step."""
    parts: list[str] = []
    for case in panel:
        own = sorted(
            (cell for key, cell in cells.items() if key[:2] == (case.id, condition)),
            key=lambda cell: cell.s,
        )
        if own and not parts:
            level = height(own[0].classical)
            dashes = {"stroke_dasharray": DASHES[place]} if DASHES[place] else {}
            parts.append(line(LEFT, level, LEFT + WIDTH, level, stroke_width="1.3", **dashes))
        fill = page_colour(COLOURS[place]) if form_of(case) == "frozen" else "none"
        marks = [mark(MARKERS[place], across[cell.s], height(cell.error)) for cell in own if cell.s > 1]
        parts.append(group(marks, fill=fill, fill_opacity=".55"))
    return group(parts, stroke=page_colour(COLOURS[place]), fill="none")


def _legend(conditions: list[str], forms: list[str]) -> str:
    parts = []
    for place, condition in enumerate(conditions):
        x = 190 * place
        colour = page_colour(COLOURS[place])
        dashes = {"stroke_dasharray": DASHES[place]} if DASHES[place] else {}
        marks = [line(x, 8, x + 26, 8, stroke_width="1.3", **dashes)]
        for k, form in enumerate(forms):
            fill = {"fill": colour, "fill_opacity": ".55"} if form == "frozen" else {}
            marks.append(group([mark(MARKERS[place], x + 40 + 14 * k, 8)], **fill))
        parts.append(group(marks, stroke=colour, fill="none"))
        parts.append(text(x + 52 + 14 * (len(forms) - 1), 12, f"condition {condition}"))
    known = {"in-place": "open marker: s-step, in place", "frozen": "filled marker: s-step, frozen"}
    said = "; ".join(["line: classical", *(known[form] for form in forms)])
    words = f"Relative error at H, median over the seeds; {said}; dotted u: unit roundoff."
    return "\n".join([*parts, text(0, 32, words)])


def _brief(value: float | None) -> str:
    return "without limit" if value is None else f"{value:.1e}"
