"""Draw docs/figures/stability.svg, of docs/stability.md: the largest accuracy loss of s-step runs over s.

Usage: ``python docs/figures/stability.py``, which also prints the tables of the page.
"""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

from why import BOTH_MODES

from sstep_verify.report.chart import (
    Plot,
    Scale,
    document,
    group,
    joined,
    line,
    mark,
    octaves,
    page_colour,
    text,
)

FIGURE = Path(__file__).with_suffix(".svg")
TABLES = FIGURE.parents[2] / "reports" / "stability" / "tables"
NAMES = {"svm-l1": "K-SVM-L1", "svm-l2": "K-SVM-L2", "krr": "K-RR"}
PRECISIONS = ("float64", "float32")
SHOWN = (64, 128, 256, 512, 1024)
"""Values of s with a column of the table; the first stands for all up to it."""

Factors = dict[tuple[str, str], dict[int, float]]


def factors() -> Factors:
    """The largest factor at each s, over all bands of u times condition, by precision and task."""
    found: Factors = {(precision, task): {} for precision in PRECISIONS for task in NAMES}
    with (TABLES / "stability-safe.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            own, s = found[row["precision"], row["task"]], int(row["s"])
            own[s] = max(own.get(s, 0.0), float(row["largest loss factor"]))
    return found


def table(found: Factors) -> list[str]:
    """The largest factors, a line for each precision and task."""
    first, *rest = SHOWN
    lines = [f"| | s up to {first} | " + " | ".join(f"s = {s:,}" for s in rest) + " |", "|---" * 6 + "|"]
    for (precision, task), own in found.items():
        values = max(value for s, value in own.items() if s <= first), *(own[s] for s in rest)
        lines.append(f"| {precision}, {NAMES[task]} | " + " | ".join(f"{one:.1f}" for one in values) + " |")
    return lines


def growth(sentence: str) -> str | None:
    """The line of the table of growth that a sentence of the report makes; None of another sentence."""
    number = r"(-?[\d.]+)"
    found = re.search(
        rf"^(\w+, [\w-]+): .* error is {number} times the smallest in the median.* in a scenario .*?"
        rf"\(exponent {number}, 95% interval {number} to {number}\)\. "
        rf"It changes by a factor of {number} from",
        sentence,
    )
    if found is None:
        return None
    name, noise, exponent, low, high, across = found.groups()
    return f"| {name} | {exponent} [{low}, {high}] | {across} | {noise} |"


def growths() -> list[str]:
    """The table of growth, a line for each precision and task."""
    sentences = json.loads((TABLES.parent / "made.json").read_text("utf-8"))["sentences"]
    return [line for line in map(growth, sentences) if line]


def worse() -> list[dict[str, str]]:
    """The runs that lose more than a factor of ten."""
    with (TABLES / "stability-worse.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def drawing(found: Factors) -> str:
    """Two panels, one for each precision, with a curve for each task."""
    parts = []
    for place, precision in enumerate(PRECISIONS):
        steps = list(found[precision, "krr"])
        plot = Plot(octaves(steps), Scale(0, 1.301), 330, 220, left=62 + 424 * place, top=40)
        levels = [(k, str(k)) for k in (1, 2, 5, 10, 20)]
        ten = plot.y(10)
        parts += [
            text(plot.left, 18, precision, font_weight="bold", font_size="14"),
            *plot.axes([(s, str(s)) for s in steps], "s", "" if place else "largest accuracy loss", levels),
            line(
                plot.left, ten, plot.left + plot.width, ten, stroke="currentColor", stroke_dasharray="4 3"
            ),
        ]
        for number, task in enumerate(NAMES):
            points = plot.points(steps, [found[precision, task][s] for s in steps])
            drawn = [*joined(points), *(mark(number, *point) for point in points)]
            parts.append(group(drawn, stroke=page_colour(number), fill="none", stroke_width="1.8"))
    for number, name in enumerate(NAMES.values()):
        x = 66 + 140 * number
        parts.append(
            group([mark(number, x, 312)], stroke=page_colour(number), fill="none", stroke_width="1.8")
        )
        parts.append(text(x + 12, 316, name))
    parts.append(text(486, 316, "dashed: ten times worse than classical"))
    return document(846, 326, [BOTH_MODES, *parts])


def main() -> None:
    """Draw the figure, and print the table of the page."""
    found = factors()
    FIGURE.write_text(drawing(found), encoding="utf-8")
    print("\n".join([*growths(), "", *table(found)]))


if __name__ == "__main__":
    main()
