"""Styles: colours, markers and the legend of a panel; nothing can be told apart by colour alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sstep_verify.reporting.case import DRIFT
from sstep_verify.reporting.figures.panels import Curve, Panel, PanelLine
from sstep_verify.reporting.figures.svg import COLOURS, MARKERS, page_colour

TEXT = "currentColor"


@dataclass(frozen=True)
class Style:
    """Look of a curve or line: its colour, the width of its line (0 for none), dashes and marker."""

    colour: str
    width: float = 1.0
    dashes: str = ""
    marker: str = ""


def steps(panel: Panel) -> list[int]:
    """Values of s in the panel, ascending."""
    return sorted({curve.series.s for curve in panel.curves})


def by_step(panel: Panel) -> bool:
    """Whether colours tell s apart (drift, one problem a panel) and not variants."""
    return panel.measure == DRIFT


def curve_style(panel: Panel, curve: Curve) -> Style:
    """Style of a curve: the classical method is a line, s-step beside it markers alone."""
    s = curve.series.s
    if by_step(panel):
        place = steps(panel).index(s)
        colour = page_colour(COLOURS[place % len(COLOURS)])
        return Style(colour, 1.4 if s == 1 else 0.9, marker=MARKERS[place % len(MARKERS)])
    colour = _colour(panel, curve.variant)
    if s == 1:
        return Style(colour, 1.4)
    classical_there = any(other.series.s == 1 for other in panel.curves if other.variant == curve.variant)
    stepped = [step for step in steps(panel) if step != 1]
    return Style(colour, 0.0 if classical_there else 0.9, marker=MARKERS[stepped.index(s) % len(MARKERS)])


def line_style(panel: Panel, owned: PanelLine) -> Style:
    """Style of a horizontal line: dotted for a target, else dashed."""
    colour = _colour(panel, owned.variant) if _is_own(panel, owned) else TEXT
    return Style(colour, dashes="1.5 3" if owned.line.name.startswith("target") else "5 3")


def legend(panel: Panel) -> list[tuple[Style, str]]:
    """Samples and words of the legend: variants, markers of s, lines."""
    if by_step(panel):
        first = {curve.series.s: curve for curve in reversed(panel.curves)}
        listed = [
            (curve_style(panel, first[s]), "s = 1 (classical)" if s == 1 else f"s = {s}")
            for s in steps(panel)
        ]
    else:
        listed = []
        for variant in panel.variants:
            own = [curve for curve in panel.curves if curve.variant == variant]
            classical = ", classical" if own[0].series.s == 1 else ""
            listed.append((Style(_colour(panel, variant), 1.4), f"{variant}{classical}"))
        for s in (s for s in steps(panel) if s != 1):
            style = curve_style(panel, next(curve for curve in panel.curves if curve.series.s == s))
            listed.append((replace(style, colour=TEXT, width=0.0), f"s = {s}"))
    return listed + [(line_style(panel, owned), _line_words(panel, owned)) for owned in panel.lines]


def _colour(panel: Panel, variant: str) -> str:
    """Colour of a variant: the same in all panels of the group, if there are enough colours."""
    known = panel.palette if len(panel.palette) <= len(COLOURS) else panel.variants
    return page_colour(COLOURS[list(known).index(variant) % len(COLOURS)])


def _is_own(panel: Panel, owned: PanelLine) -> bool:
    return owned.variant in panel.variants and len(panel.variants) > 1


def _line_words(panel: Panel, owned: PanelLine) -> str:
    if _is_own(panel, owned):
        return f"{owned.line.name}, {owned.variant}"
    return owned.line.name + ("" if owned.line.y is None else f" {owned.line.y:.0e}")
