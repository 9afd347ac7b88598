"""Styles: colours, markers and the legend of a panel; nothing can be told apart by colour alone."""

from __future__ import annotations

from sstep_verify.reporting import svg
from sstep_verify.reporting.case import DRIFT
from sstep_verify.reporting.panels import Curve, Panel
from sstep_verify.reporting.plain import xml_text

# Okabe and Ito's colours, which readers with any colour vision can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LEGEND_WIDTH = 72  # characters of the legend's font that fit beside each other
HANDLE = 7  # characters taken by the sample of a line


def steps(panel: Panel) -> list[int]:
    """Values of s in the panel, ascending."""
    return sorted({curve.series.s for curve in panel.curves})


def by_step(panel: Panel) -> bool:
    """Whether colours tell s apart (drift, one problem a panel) and not variants."""
    return panel.measure == DRIFT


def curve_style(panel: Panel, curve: Curve) -> dict:
    """Line and marker of a curve, as arguments of matplotlib's ``plot``."""
    s = curve.series.s
    colour = (
        COLOURS[steps(panel).index(s) % len(COLOURS)] if by_step(panel) else _colour(panel, curve.variant)
    )
    classical_there = any(other.series.s == 1 for other in panel.curves if other.variant == curve.variant)
    markers_only = s != 1 and classical_there and not by_step(panel)
    return {
        "color": colour,
        "linestyle": "none" if markers_only else "-",
        "linewidth": 1.3 if s == 1 else 0.8,
        "marker": None if s == 1 and not by_step(panel) else _marker(panel, s),
        "markersize": 4.4,
        "markerfacecolor": "none",
        "markeredgewidth": 0.9,
    }


def _colour(panel: Panel, variant: str) -> str:
    """Colour of a variant: the same in all panels of the group, if there are enough colours."""
    known = panel.palette if len(panel.palette) <= len(COLOURS) else panel.variants
    return COLOURS[list(known).index(variant) % len(COLOURS)]


def _marker(panel: Panel, s: int) -> str:
    marked = [step for step in steps(panel) if step != 1 or by_step(panel)]
    return MARKERS[marked.index(s) % len(MARKERS)]


def line_entries(panel: Panel) -> list[dict]:
    """Styles and labels of the horizontal lines, in the order of `panel.lines`."""
    entries = []
    for owned in panel.lines:
        own = owned.variant in panel.variants and len(panel.variants) > 1
        colour = _colour(panel, owned.variant) if own else svg.TEXT
        target = owned.line.name.startswith("target")
        height = "" if owned.line.y is None else f" {owned.line.y:.0e}"
        entries.append(
            {
                "color": colour,
                "linestyle": ":" if target else "--",
                "linewidth": 1.0,
                "label": f"{owned.line.name}, {owned.variant}" if own else owned.line.name + height,
            }
        )
    return entries


def entries(panel: Panel) -> list[dict]:
    """What the legend lists: variants, markers of s, lines."""
    if by_step(panel):
        first = {curve.series.s: curve for curve in reversed(panel.curves)}
        entries = [
            {**curve_style(panel, first[s]), "label": "s = 1 (classical)" if s == 1 else f"s = {s}"}
            for s in steps(panel)
        ]
    else:
        entries = []
        for variant in panel.variants:
            own = [curve for curve in panel.curves if curve.variant == variant]
            style = curve_style(panel, own[0])
            classical = ", classical" if own[0].series.s == 1 else ""
            entries.append({**style, "marker": None, "linestyle": "-", "label": f"{variant}{classical}"})
        for s in (s for s in steps(panel) if s != 1):
            style = curve_style(panel, next(curve for curve in panel.curves if curve.series.s == s))
            entries.append({**style, "color": svg.TEXT, "linestyle": "none", "label": f"s = {s}"})
    return [{**entry, "label": xml_text(entry["label"])} for entry in entries + line_entries(panel)]


def columns(lengths: list[int]) -> int:
    """The most columns, of at most 4, in which a legend with labels of these lengths fits.

    Columns are filled one after the other, and the first ones hold one entry more if need be.
    """
    for columns in (4, 3, 2):
        fewest, rest = divmod(len(lengths), columns)
        sizes = [fewest + (k < rest) for k in range(columns)]
        starts = [sum(sizes[:k]) for k in range(columns)]
        widths = [
            max(lengths[start : start + size], default=0) + HANDLE
            for start, size in zip(starts, sizes, strict=True)
        ]
        if sum(widths) <= LEGEND_WIDTH:
            return columns
    return 1


def draw_legend(figure, entries: list[dict], columns: int) -> None:
    """Put the legend below the axes."""
    from matplotlib.lines import Line2D

    figure.legend(
        handles=[Line2D([], [], **entry) for entry in entries],
        labels=[entry["label"].lstrip("_") for entry in entries],
        loc="lower left",
        bbox_to_anchor=(0.0, 0.0),
        ncols=columns,
        frameon=False,
        fontsize=7.6,
        borderpad=0.2,
        labelspacing=0.35,
        handlelength=1.7,
        columnspacing=0.9,
    )
