"""Figures: each panel as a small SVG, classical as a line, s-step as markers."""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sstep_verify.errors import require
from sstep_verify.reporting import styles, svg
from sstep_verify.reporting.axes import LogAxis, is_wide, log_axis, marked, thin
from sstep_verify.reporting.panels import Curve, Group, Panel
from sstep_verify.reporting.plain import xml_text

WIDTH = 4.4  # inches
PLOT_HEIGHT = 2.2
STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "axes.unicode_minus": True,
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.edgecolor": svg.TEXT,
    "axes.labelcolor": svg.TEXT,
    "axes.linewidth": 0.7,
    "text.color": svg.TEXT,
    "xtick.color": svg.TEXT,
    "ytick.color": svg.TEXT,
    "grid.color": svg.GRID,
    "grid.linewidth": 0.6,
    "path.simplify": True,
}


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

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    require("matplotlib", "report")
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {}
    for panel in (panel for group in groups for panel in group.panels):
        drawn[panel.slug] = draw(panel)
        (folder / f"{panel.slug}.svg").write_text(svg.standalone(drawn[panel.slug]), encoding="utf-8")
    return drawn


def draw(panel: Panel) -> str:
    """Draw one panel; returns SVG text that depends on the panel alone (no date, no random ids)."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {**STYLE, "svg.hashsalt": panel.slug}
    with matplotlib.rc_context(style):
        title = textwrap.fill(xml_text(panel.title), 54)
        head = 0.2 + 0.16 * title.count("\n")
        entries = styles.entries(panel)
        columns = styles.columns([len(entry["label"]) for entry in entries])
        foot = 0.46 + 0.155 * math.ceil(len(entries) / columns)
        figure = Figure((WIDTH, head + PLOT_HEIGHT + foot))
        FigureCanvasSVG(figure)
        height = figure.get_figheight()
        axes = figure.add_axes((0.155, foot / height, 0.805, (PLOT_HEIGHT - 0.06) / height))
        figure.text(0.01, 1 - 0.03 / height, title, va="top", fontweight="bold", linespacing=1.2)
        _plot(axes, panel)
        styles.draw_legend(figure, entries, columns)
        stream = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(stream, format="svg", metadata=nothing, transparent=True)
    return svg.compact(stream.getvalue())


def _plot(axes, panel: Panel) -> None:
    wide = is_wide(x for curve in panel.curves for x in curve.series.x)
    vertical = log_axis(
        [y for curve in panel.curves for y in curve.series.y] + [owned.line.y for owned in panel.lines]
    )
    horizontal = log_axis([x for curve in panel.curves for x in curve.series.x], zeros=False)
    last = max((x for curve in panel.curves for x in curve.series.x), default=1)
    ends = (10.0**horizontal.low, float(last)) if wide else (0.0, float(last))
    axes.set_yscale("log")
    axes.set_ylim(10.0**vertical.low / 1.3, 10.0**vertical.high * 1.3)
    _set_ticks(axes.yaxis, vertical)
    scale = 0
    if wide:
        axes.set_xscale("log")
        first = min(x for curve in panel.curves for x in curve.series.x if x > 0)
        axes.set_xlim(first / 1.2, last * 1.3)
        ends = (float(first), float(last))
        _set_ticks(axes.xaxis, horizontal)
    else:
        scale = 3 * (int(math.log10(max(last, 1))) // 3)
        scale = scale if last >= 10**4 else 0
        axes.set_xlim(-0.02 * last, last * 1.03 or 1)
        axes.locator_params(axis="x", nbins=6)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value / 10**scale:g}")
    axes.grid(True, which="major")
    for spine in ("top", "right"):
        axes.spines[spine].set_visible(False)
    thousands = {0: "", 3: " (thousands)", 6: " (millions)"}.get(scale, f" (10^{scale})")
    axes.set_xlabel(f"iterations{thousands}", labelpad=2)
    axes.set_ylabel(
        xml_text(f"{panel.measure} ({panel.units})" if panel.units else panel.measure), labelpad=3
    )
    for curve in panel.curves:
        _plot_curve(axes, panel, curve, vertical, wide, ends)
    for owned, entry in zip(panel.lines, styles.line_entries(panel), strict=True):
        height = math.nan if owned.line.y is None else vertical.place(owned.line.y)
        axes.axhline(height, **{**entry, "label": None})


def _plot_curve(axes, panel: Panel, curve: Curve, vertical: LogAxis, wide: bool, ends) -> None:
    points = [
        (float(x), math.nan if y is None else vertical.place(y))
        for x, y in zip(curve.series.x, curve.series.y, strict=True)
        if x > 0 or not wide
    ]
    if not points:
        return
    kept = thin([x for x, _ in points], [y for _, y in points], wide)
    x, y = [points[k][0] for k in kept], [points[k][1] for k in kept]
    style = styles.curve_style(panel, curve)
    if style["marker"] is not None:
        known = [k for k in range(len(x)) if not math.isnan(y[k])]
        steps = styles.steps(panel)
        phase = steps.index(curve.series.s) / len(steps)
        chosen = marked([x[k] for k in known], wide, ends, phase)
        style["markevery"] = [known[k] for k in chosen]
    axes.plot(x, y, clip_on=False, **style)


def _set_ticks(axis, chosen: LogAxis) -> None:
    positions, labels = zip(*chosen.ticks(), strict=True)
    axis.set_ticks(positions, labels)
    axis.set_ticks([], minor=True)
