"""Draw docs/figures/predicted.svg, of docs/model.md: predicted times of published runs above 64 ranks.

The model is fitted to the published runs on up to 64 ranks.  These timings are not part of this project:
the folder that ``SSTEP_VERIFY_DATA`` names must hold them, with the column counts of news20.binary.

Usage: ``python docs/figures/predicted.py``, which also prints the median errors that the page states.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from why import BOTH_MODES

from sstep_verify.report.chart import Plot, Scale, document, group, mark, page_colour, path, text

FIGURE = Path(__file__).with_suffix(".svg")
sys.path.append(str(FIGURE.parents[2] / "benchmarks"))
SETS = ("duke", "mnist.scale", "news20.binary")
WHOLE = "**P > 64, fitted up to 64: model**"
LOW, HIGH = 0.5, 5.2
"""Decades of microseconds that are drawn."""


def held_out() -> tuple[Any, np.ndarray]:
    """The runs above 64 ranks, and the times predicted of them."""
    from model_fit import beyond, modelled, published_timings

    timings = published_timings(os.environ["SSTEP_VERIFY_DATA"])
    split = beyond(timings)
    return timings[split[1]], modelled(timings, split)


def medians(runs: Any, predicted: np.ndarray) -> list[str]:
    """Median errors of classical and s-step runs, in %: of all sets, and of each."""
    off = 100 * np.abs(predicted / runs.total - 1)
    lines = []
    for name in ("", *SETS):
        mine = (runs.dataset == name) | (name == "")
        first, second = (np.median(off[mine & (one == (runs.s == 1))]) for one in (True, False))
        lines.append(f"| {f'of it {name}' if name else WHOLE} | {first:.1f} | {second:.1f} |")
    return lines


def drawing(runs: Any, predicted: np.ndarray) -> str:
    """Two panels, classical and s-step; a dot a run."""
    parts = []
    for number, (title, chosen) in enumerate((("Classical", runs.s == 1), ("s-step", runs.s > 1))):
        across = Scale(LOW, HIGH)
        plot = Plot(across, across, 330, 260, left=66 + 424 * number, top=40)
        parts.append(text(plot.left, 18, title, font_weight="bold", font_size="14"))
        ticks = across.ticks()
        parts += plot.axes(ticks, "measured, us an iteration", "" if number else "predicted, us")
        for factor, dashes in ((1.0, ""), (2.0, "3 4"), (0.5, "3 4")):
            ends = [(x, x * factor) for x in (10**LOW, 10**HIGH)]
            if factor != 1.0:
                ends = [(10**LOW / min(factor, 1), 10**LOW * max(factor, 1)),
                        (10**HIGH / max(factor, 1), 10**HIGH * min(factor, 1))]  # fmt: skip
            (x1, y1), (x2, y2) = ((plot.x(x), plot.y(y)) for x, y in ends)
            outline = f"M{x1:.0f} {y1:.0f}L{x2:.0f} {y2:.0f}"
            parts.append(path(outline, stroke="currentColor", stroke_dasharray=dashes, stroke_width=".8"))
        for place, name in enumerate(SETS):
            mine = chosen & (runs.dataset == name)
            dots = sorted({
                (round(plot.x(x)), round(plot.y(y)))
                for x, y in zip(runs.total[mine], predicted[mine], strict=True)
            })  # fmt: skip
            outline = "".join(f"M{x} {y}h0" for x, y in dots)
            parts.append(path(outline, stroke=page_colour(place), stroke_width="3", stroke_linecap="round",
                              stroke_opacity=".6", fill="none"))  # fmt: skip
    for place, name in enumerate(SETS):
        x = 70 + 140 * place
        parts.append(group([mark(0, x, 352)], stroke=page_colour(place), fill=page_colour(place)))
        parts.append(text(x + 12, 356, name))
    parts.append(text(490, 356, "line: equal; dashed: a factor of 2"))
    return document(850, 366, [BOTH_MODES, *parts])


def main() -> None:
    """Draw the figure, and print the errors of the page."""
    runs, predicted = held_out()
    FIGURE.write_text(drawing(runs, predicted), encoding="utf-8")
    print("\n".join(medians(runs, predicted)))


if __name__ == "__main__":
    main()
