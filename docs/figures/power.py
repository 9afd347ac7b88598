"""Draw the figures of docs/power.md from the tables of the campaign ``sensitivity``.

``power-methods.svg`` has a point for each method: faulty solvers that it detects over correct ones that it
rejects.  ``power-limits.svg`` has the errors that each method detects, and each quantity of a step.

Usage: ``python docs/figures/power.py``, which also prints the table of limits of the page.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from why import BOTH_MODES

from sstep_verify.report.chart import (
    Plot,
    Scale,
    document,
    group,
    line,
    mark,
    page_colour,
    power_of_ten,
    text,
)
from sstep_verify.report.plain import promised

FOLDER = Path(__file__).parent
TABLES = FOLDER.parents[1] / "reports" / "sensitivity" / "tables"
METHODS, LIMITS = FOLDER / "power-methods.svg", FOLDER / "power-limits.svg"
OURS = "sstep-verify"
ALWAYS, NEVER = "refuses", "not applicable"
PRECISION = "float64"

QUANTITIES = {
    "stale-product": "product with the old alpha",
    "curvature": "curvature, block system",
    "kernel-correction": "kernel correction",
    "same-coordinate": "same-coordinate correction",
    "overlap": "overlap, frozen form",
    "omega": "shift omega, K-SVM-L2",
    "labels": "labels",
    "upper-end": "upper limit C",
    "lower-end": "lower limit 0",
    "samples": "m of K-RR",
    "penalty": "lambda of K-RR",
    "off-diagonal": "block, off the diagonal",
}
"""Quantities of a step that can be off by a small relative error, and their words here."""


@dataclass(frozen=True)
class Method:
    """A method: how many solvers it detects and rejects, and the relative errors that it detects."""

    name: str
    detected: int
    faulty: int
    rejected: int
    correct: int
    limit: float | None
    median: float

    @property
    def place(self) -> int:
        """Colour and marker: the first for ours, others for all baseline methods."""
        return 0 if self.name == OURS else 1


def rows(name: str) -> list[dict[str, str]]:
    """The rows of a table of the report."""
    with (TABLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def methods() -> list[Method]:
    """Every method, the one that detects most first."""
    solvers = rows("methods-on-corpus.csv")
    found = {row["id"]: row["found"] for row in rows("corpus.csv")}
    limits = {
        row["method"]: row
        for row in rows("method-limits.csv")
        if row["precision"] == PRECISION and not row["quantity"]
    }
    made = []
    for name, limit in limits.items():
        said = [
            (row["faulty"] == "True", ALWAYS if found[row["id"]] == "FAIL" else "")
            if name == OURS
            else (row["faulty"] == "True", row[name])
            for row in solvers
        ]
        faulty, correct = (
            [word for wrong, word in said if wrong is one and word != NEVER] for one in (True, False)
        )
        made.append(
            Method(
                name,
                faulty.count(ALWAYS),
                len(faulty),
                correct.count(ALWAYS),
                len(correct),
                float(limit["limit"]) if limit["limit"] else None,
                float(limit["median"]),
            )
        )
    return sorted(made, key=lambda one: (-one.detected / one.faulty, one.rejected))


def limits() -> list[tuple[str, float, float]]:
    """Each quantity with its median and its limit, over all problems of the study."""
    overall = {
        row["quantity"]: row
        for row in rows("limits.csv")
        if row["precision"] == PRECISION and not row["task"] and row["switch"] == "False"
    }
    return [
        (words, float(overall[name]["median"]), float(overall[name]["limit"]))
        for name, words in QUANTITIES.items()
    ]


def table(found: Iterable[tuple[str, float, float]]) -> list[str]:
    """The table of limits, a line each."""
    return [
        "| quantity of a step | detection limit | median |",
        "|---|---|---|",
        *(f"| {words} | {promised(limit)} | {promised(median)} |" for words, median, limit in found),
    ]


def sentences(found: Sequence[Method]) -> list[str]:
    """What the page says in numbers, besides the table."""
    ours = next(one for one in found if one.name == OURS)
    switches = [
        row for row in rows("limits.csv") if row["precision"] == PRECISION and row["switch"] == "True"
    ]
    overall = [row for row in switches if not row["task"]]
    acted, seen = (sum(int(row[name]) for row in overall) for name in ("acted", "seen"))
    trials = [row for row in rows("doses.csv") if row["check"] == "either" and not row["quantity"]]
    double = next(row for row in trials if row["precision"] == PRECISION)
    turned = (f"{float(double[name]):.3g}" for name in ("median", "smallest", "largest"))
    solvers = rows("corpus.csv")
    both = [row for row in solvers if row["class right"] == row["place right"] == "True"]
    rare = [row for row in solvers if row["label"] == "wrong" and row["acts"] != "every step"]
    most = max((one for one in found if one is not ours), key=lambda one: one.detected)
    return [
        f"the best of them rejects {most.rejected} of {most.correct} correct solvers.]",
        f"`{most.name}` rejects {most.rejected} of {most.correct} correct solvers: ",
        f"detected all {ours.faulty} faulty solvers, and rejected none of {ours.correct} correct ones",
        f"a relative error of {promised(ours.limit)} in a quantity",
        f"{seen:,} of {acted:,} float64 runs",
        f"{sum(int(row['certain']) for row in trials)} errors that were certain to be detected",
        "changed at {} times the error that reaches the bound (smallest {}, largest {})".format(*turned),
        f"In {len(both)} of {ours.faulty} cases",
        f"({len(rare)} of {ours.faulty}) do not have an effect in every step",
    ]


def scatter(found: Sequence[Method]) -> str:
    """The figure of methods: detected over rejected."""
    plot = Plot(Scale(0, 12, linear=True), Scale(20, 100, linear=True), 560, 300, left=72, top=34)
    percent = [(k, f"{k} %") for k in range(20, 101, 20)]
    parts = [
        text(72, 16, "Faulty solvers detected, correct ones rejected", font_weight="bold", font_size="14"),
        *plot.axes([(k, f"{k} %") for k in range(0, 13, 2)], "correct solvers rejected",
                   "faulty solvers detected", percent),
    ]  # fmt: skip
    lowest = 0.0
    for one in found:
        x = plot.x(100 * one.rejected / one.correct)
        y = plot.y(100 * one.detected / one.faulty)
        level = max(y + 4, lowest)  # names that do not touch
        if one.rejected == 0:
            lowest = level + 15
        words = f"{one.name}: {one.detected} of {one.faulty}"
        words += f", rejects {one.rejected} of {one.correct}" if one.rejected else ""
        end = x > plot.left + plot.width / 2
        parts += [
            group([mark(one.place, x, y)], fill=page_colour(one.place), stroke=page_colour(one.place)),
            text(x - 10 if end else x + 12, level, words, text_anchor="end" if end else "",
                 font_weight="bold" if one.name == OURS else "", font_size="12"),
        ]  # fmt: skip
    return document(660, plot.top + plot.height + 42, [BOTH_MODES, *parts])


def spans(found: Sequence[Method], quantities: Sequence[tuple[str, float, float]]) -> str:
    """The figure of limits: a line from median to limit, for each method and each quantity."""
    across, top, row = Scale(-17, 1), 40, 20
    left, right = (
        Plot(across, Scale(0, 1, linear=True), 330, row * len(rows), left=at, top=top)
        for at, rows in ((118, found), (654, quantities))
    )
    parts = [
        text(10, 18, "Methods, all quantities together", font_weight="bold", font_size="14"),
        text(484, 18, "Quantities, sstep-verify", font_weight="bold", font_size="14"),
        *_span_rows(left, row, [(one.name, one.median, one.limit, one.place) for one in found]),
        *_span_rows(right, row, [(words, median, limit, 0) for words, median, limit in quantities]),
    ]  # fmt: skip
    y = top + row * len(found) + 62
    parts += [
        group([mark(0, 110, y - 4), line(110, y + 10, 110, y + 22), line(105, y + 34, 110, y + 38),
               line(105, y + 42, 110, y + 38)],
              fill="currentColor", stroke="currentColor", stroke_width="2"),
        text(124, y, "median: half of the runs show it"),
        text(124, y + 20, "limit: 95 % of the runs show it, with 95 % confidence"),
        text(124, y + 42, "no limit: an error as large as the quantity is missed too often"),
    ]  # fmt: skip
    return document(1000, top + row * len(quantities) + 46, [BOTH_MODES, *parts])


def _span_rows(plot: Plot, row: float, lines: Sequence[tuple[str, float, float | None, int]]) -> list[str]:
    """A named row each: a point at the median, a line to the limit, a bar there; else an arrow."""
    bottom = plot.top + row * len(lines)
    ticks = [(10.0**k, power_of_ten(k)) for k in range(-16, 1, 4)]
    parts = [
        group([line(plot.x(value), plot.top - 6, plot.x(value), bottom) for value, _ in ticks],
              stroke="var(--rule,#d1d2d3)"),
        group([text(plot.x(value), bottom + 16, label) for value, label in ticks], text_anchor="middle"),
        text(plot.left + plot.width / 2, bottom + 34, "relative error", text_anchor="middle"),
    ]  # fmt: skip
    for place, (name, median, limit, colour) in enumerate(lines):
        y = plot.top + row * place + row / 2 - 3
        end = plot.x(limit) if limit is not None else plot.left + plot.width
        drawn = [line(plot.x(median), y, end, y), mark(0, plot.x(median), y)]
        if limit is None:
            drawn.append(line(end - 5, y - 4, end, y) + line(end - 5, y + 4, end, y))
        else:
            drawn.append(line(end, y - 6, end, y + 6))
        parts += [
            text(
                plot.left - 10, y + 4, name, text_anchor="end", font_weight="bold" if name == OURS else ""
            ),
            group(drawn, stroke=page_colour(colour), fill=page_colour(colour), stroke_width="2"),
        ]
    return parts


def main() -> None:
    """Draw both figures, and print the table of the page."""
    found, quantities = methods(), limits()
    METHODS.write_text(scatter(found), encoding="utf-8")
    LIMITS.write_text(spans(found, quantities), encoding="utf-8")
    print("\n".join(table(quantities)))


if __name__ == "__main__":
    main()
