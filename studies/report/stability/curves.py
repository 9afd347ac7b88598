"""Error against s in small plots, and the frontier: the largest safe s against u * condition."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sstep_verify.report.case import Case
from sstep_verify.report.chart import (
    RULE,
    Figure,
    Plot,
    Scale,
    decades,
    group,
    line,
    mark,
    octaves,
    page_colour,
    path,
    power_of_ten,
    sheet,
    text,
)
from sstep_verify.report.panels import task_words
from sstep_verify.report.plain import grouped
from sstep_verify.rounding.arithmetic import unit_roundoff
from studies.report.stability.document import (
    TENFOLD,
    Answer,
    SafeBand,
    brief,
    form_of,
    precision_of,
    short_name,
)
from studies.report.stability.heat import Cell, Cells, condition_of

MOST_CONDITIONS = 4
DASHES = ("", "7 3", "2 3", "8 3 2 3")

SAFE = {
    "within_ten": (5, f"no run more than {TENFOLD:g} times worse, in other orders too"),
    "within_noise": (0, "every loss factor within the largest noise of the band"),
}
"""Fields of a band, from the wider bar to the narrower, with the place of the colour, and words."""


def curves_figure(
    slug: str,
    title: str,
    rows: Sequence[Sequence[Sequence[Case]]],
    cells: Cells,
) -> Figure:
    """Error against s: classical as a line, s-step as markers, in plots with the same scales.

    A plot holds the cases of one problem in all forms of the precision. At most `MOST_CONDITIONS` are
    drawn; the text tells where classical and s-step end at the smallest and at the largest.
    """
    cases = [case for row in rows for forms in row for case in forms]
    ids = {case.id for case in cases}
    own = [cell for cell in cells.values() if cell.case in ids]
    names = {cell.condition: condition_of(cell) for cell in own}
    conditions = sorted(names)
    if len(conditions) > MOST_CONDITIONS:
        step = (len(conditions) - 1) / (MOST_CONDITIONS - 1)
        conditions = [conditions[round(k * step)] for k in range(MOST_CONDITIONS)]
    unit = unit_roundoff(precision_of(cases[0]))
    shown = [cell for cell in own if cell.condition in conditions]
    scale = decades([*(cell.error for cell in shown), unit])
    plots = [[_curves(forms, conditions, shown, scale, unit) for forms in row] for row in rows]
    words = [
        f"{short_name(case)}, {form_of(case)}, condition {condition_of(last)}: classical "
        f"{_error(last.classical)}, s = {last.s} {_error(last.error)}"
        for case in cases
        for condition in dict.fromkeys((conditions[0], conditions[-1]))
        for ends in [[cell for cell in shown if (cell.case, cell.condition) == (case.id, condition)]]
        for last in sorted(ends, key=lambda cell: cell.s)[-1:]
    ]
    legend = _curves_legend([names[one] for one in conditions], list(dict.fromkeys(map(form_of, cases))))
    return Figure(
        slug,
        title,
        f"Relative error at the last iteration against s, {title}. " + "; ".join(words) + ".",
        sheet(plots, (378, 234), (40, 58, legend), right=-6, least=58 + 190 * len(conditions)),
    )


def _curves(
    forms: Sequence[Case], conditions: Sequence[float], cells: Sequence[Cell], scale: Scale, unit: float
) -> str:
    """One plot: for each condition a line for classical, markers for the forms of s-step."""
    own = {case.id: sorted((c for c in cells if c.case == case.id), key=lambda c: c.s) for case in forms}
    steps = sorted({cell.s for found in own.values() for cell in found})
    plot = Plot(octaves([1, steps[-1]]), scale, 300, 170, left=58)
    right, level = plot.left + plot.width, plot.y(unit)
    ticks = [(s, str(s)) for s in steps]
    *rules, labels, name = plot.axes(ticks, "s", levels=scale.ticks(6), font_style="italic")
    parts = [
        text(plot.left, plot.top - 9, short_name(forms[0]), font_weight="bold"),
        *rules,
        line(plot.left, level, right, level, stroke="currentColor", stroke_dasharray="1 4"),
        text(right + 4, level + 3, "u", font_style="italic"),
        labels,
        name,
    ]
    for place, condition in enumerate(conditions):
        found: list[str] = []
        for case in forms:
            row = [cell for cell in own[case.id] if cell.condition == condition]
            if row and not found:
                y = plot.y(row[0].classical)
                found.append(
                    line(plot.left, y, right, y, stroke_width="1.3", stroke_dasharray=DASHES[place])
                )
            fill = page_colour(place) if form_of(case) == "frozen" else "none"
            marks = [mark(place, plot.x(cell.s), plot.y(cell.error)) for cell in row if cell.s > 1]
            found.append(group(marks, fill=fill, fill_opacity=".55"))
        parts.append(group(found, stroke=page_colour(place), fill="none"))
    return "\n".join(parts)


def _curves_legend(conditions: Sequence[str], forms: Sequence[str]) -> str:
    parts = []
    for place, condition in enumerate(conditions):
        x = 190 * place
        marks = [line(x, 8, x + 26, 8, stroke_width="1.3", stroke_dasharray=DASHES[place])]
        for k, form in enumerate(forms):
            fill = {"fill": page_colour(place), "fill_opacity": ".55"} if form == "frozen" else {}
            marks.append(group([mark(place, x + 40 + 14 * k, 8)], **fill))
        parts.append(group(marks, stroke=page_colour(place), fill="none"))
        parts.append(text(x + 52 + 14 * (len(forms) - 1), 12, f"condition {condition}"))
    known = {"in-place": "open marker: s-step, in place", "frozen": "filled marker: s-step, frozen"}
    said = "; ".join(["line: classical", *(known[form] for form in forms)])
    words = f"Relative error at H, median over the seeds; {said}; dotted u: unit roundoff."
    return "\n".join([*parts, text(0, 32, words)])


def _error(value: float | None) -> str:
    return "without limit" if value is None else f"{value:.1e}"


def frontier_figure(answers: Sequence[Answer]) -> Figure:
    """Bars from s = 1 up to the largest safe s, for each band of u * condition, with its largest factor."""
    plots = [list(map(_frontier, row)) for row in grouped(answers, lambda one: one.precision).values()]
    words = [
        f"{answer.name}: "
        + ", ".join(
            f"{power_of_ten(round(math.log10(band.low)))} to {power_of_ten(round(math.log10(band.high)))} "
            f"s = {band.within_ten} and {band.within_noise} of {band.s[-1]}"
            for band in answer.safe
        )
        for answer in answers
    ]
    return Figure(
        "frontier",
        "Largest safe s against u times condition",
        f"Largest s up to which no run is more than {TENFOLD:g} times worse, in the median over other "
        "orders too, and up to which every loss factor stays within the noise floor, by band of u times "
        f"condition. {'; '.join(words)}.",
        sheet(plots, (364, 272), (58, 44, _frontier_legend())),
    )


def _frontier(answer: Answer) -> str:
    last = max(band.s[-1] for band in answer.safe)
    levels = [(float(2**k), str(2**k)) for k in range(last.bit_length())]
    if levels[-1][0] != last:
        levels.append((float(last), str(last)))
    edges = list(dict.fromkeys(value for band in answer.safe for value in (band.low, band.high)))
    ticks = [(edge, power_of_ten(round(math.log10(edge)))) for edge in edges]
    across = Scale(math.log10(edges[0]), math.log10(edges[-1]))
    plot = Plot(across, octaves([1, last]), 300, 190, left=44, top=40)
    rules, labels, below, name = plot.axes(ticks, "u · condition of the data", levels=levels, size="10")
    bottom = plot.top + plot.height
    return "\n".join(
        [
            text(
                plot.left,
                plot.top - 24,
                f"{task_words(answer.task)}, {answer.precision}",
                font_weight="bold",
            ),
            text(plot.left - 20, plot.top - 9, "s", text_anchor="end", font_style="italic"),
            rules,
            labels,
            *(_bars(band, plot) for band in answer.safe),
            line(plot.left, bottom, plot.left + plot.width, bottom, stroke=RULE),
            below,
            name,
        ]
    )


def _bars(band: SafeBand, plot: Plot) -> str:
    """Both bars of a band, the narrower in front, and its largest factor above them."""
    left, right = plot.x(band.low), plot.x(band.high)
    parts = []
    for inset, (name, (colour, _)) in zip((0.08, 0.24), SAFE.items(), strict=True):
        margin = (right - left) * inset
        top, bottom = plot.y(getattr(band, name)), plot.y(1)
        outline = f"M{left + margin:.1f} {bottom:.1f}V{top:.1f}H{right - margin:.1f}V{bottom:.1f}z"
        parts.append(path(outline, fill=page_colour(colour)))
    parts.append(text((left + right) / 2, plot.top - 6, brief(band.worst), text_anchor="middle"))
    return "\n".join(parts)


def _frontier_legend() -> str:
    parts = []
    for place, (colour, words) in enumerate(SAFE.values()):
        x = 430 * place
        parts.append(path(f"M{x} 2h14v10h-14z", fill=page_colour(colour)))
        parts.append(text(x + 20, 11, words))
    words = (
        "A bar ends at the largest s up to which that holds of every run in its band of u · condition; "
        "one at the top, at every s that was run; none, at no s > 1. Above: the band's largest loss factor."
    )
    return "\n".join([*parts, text(0, 34, words)])
