"""Draw docs/figures/false_alarms.svg: decided runs and largest ratios of the cells of docs/false-alarms.md.

A column is a value of an implementation choice, a row a check.  The numbers are those of the campaign
``false-alarms``.

Usage: ``python docs/figures/false_alarms.py``, which also prints the tables of the page.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from why import BOTH_MODES

from sstep_verify.report.chart import document, group, line, path, text
from sstep_verify.report.plain import promised

FIGURE = Path(__file__).with_suffix(".svg")
TABLES = FIGURE.parents[2] / "reports" / "false-alarms" / "tables"
NAMES = "check", "choice", "value", "largest ratio"
"""Columns of the table that are no task and kernel."""

WIDE, HIGH, LEFT, TOP = 8, 13, 150, 40
STEPS = ("var(--s0,#e3eef7)", "var(--s1,#a9cde6)", "var(--s2,#5b9fd0)", "var(--s3,#0d5c9c)")
SHADES = """<style>
@media (prefers-color-scheme: dark) { svg { --s0:#1d2f3d; --s1:#245478; --s2:#3f8fc6; --s3:#a8d8f8; } }
</style>"""
"""From few or little to many or much."""

TITLES = (
    "Decided runs of correct solvers: at least 30 wherever a run is possible",
    "Largest error over its bound: never above 1",
)
RUNS = ("30 to 99", "100 to 299", "300 to 999", "1,000 and more")
RATIOS = ("0", "up to 0.1", "up to 0.5", "up to 1")


WHY = {
    "judges weights that are maintained": "`residual-gap` is about maintained weights",
    "weights are of the linear kernel": "weights exist with the linear kernel only",
    "K-RR has no box": "K-RR has no box",
    "a power of two does not commute with pow": (
        "`metamorphic-exact`: powers of two do not commute with `pow`"
    ),
    "K-SVM draws one coordinate a step": "a K-SVM draws one coordinate a step",
    "a is known to a rounding only": "printed decimals give alpha to a rounding only",
    "counts are judged of a declared exchange": "`message-count` needs a declared communication scheme",
    "judges runs that claim to have converged": "`optimum` needs a run that claims convergence",
    "a residual is what K-RR has": "only K-RR maintains a residual",
    "its plain runs claim nothing": "plain runs of these schemes claim nothing (`claim-honesty`)",
    "judges entries that are exposed": "`kernel-entries` needs exposed kernel entries",
    "judges steps that are written down": "`step-replay` needs a log of steps",
    "replays exactly, and the case's limit is none": "the check always replays exactly",
    "compares with s = 1": "`sstep-equals-classical` compares with s = 1",
    "compares ranks": "`rank-coherence` compares ranks",
    "no bound here but in place": "`residual-gap` has no bound for this form of the update",
}
"""The reasons of the table in the words of the page."""

SMALL_CACHE = "production column-cache "
"""Beginning of the names of runs that are not made where the cache is smaller than a window."""


@dataclass(frozen=True)
class Cell:
    """A check and a value of a choice: decided runs of each task and kernel, and the largest ratio.

    A task and kernel of which no run is possible has the reason instead.
    """

    check: str
    choice: str
    value: str
    decided: tuple[int, ...]
    reasons: tuple[str, ...]
    ratio: float

    @property
    def runs(self) -> int:
        """Decided runs of all tasks and kernels."""
        return sum(self.decided)


def cells() -> list[Cell]:
    """Every cell, its tasks and kernels together."""
    found = []
    for row in _rows("coverage.csv"):
        words = [one for name, one in row.items() if name not in NAMES]
        decided = [re.match(r"(\d+) \(", one) for one in words]
        found.append(
            Cell(
                row["check"],
                row["choice"],
                row["value"],
                tuple(int(one[1]) for one in decided if one),
                tuple(reason for reason, one in zip(words, decided, strict=True) if not one),
                float(row["largest ratio"] or 0.0),
            )
        )
    return found


def table(found: Sequence[Cell]) -> list[str]:
    """The table of checks, a line each: those that compare numbers, then those that decide yes or no."""
    rows = _rows("tightness.csv")
    lines, exact = [], []
    for check in dict.fromkeys(one.check for one in found):
        first = next(one for one in found if one.check == check)
        runs = sum(one.runs for one in found if one.check == check and one.choice == first.choice)
        groups = [row for row in rows if row["check"] == check]
        most = max(float(row["most"]) for row in groups)
        if most:
            median = max(float(row["median"] or 0.0) for row in groups)
            lines.append(f"| `{check}` | {runs:,} | {_in_words(median)} | {_in_words(most)} |")
        else:
            exact.append(f"| `{check}` | {runs:,} | | always 0 |")
    return ["| check | decided runs | median ratio | largest ratio |", "|---|---|---|---|", *lines, *exact]


def _in_words(ratio: float) -> str:
    up = promised(ratio)
    return "nearly 1" if ratio < 1 < float(up) + 0.005 or up == "1" else up


def _rows(name: str) -> list[dict[str, str]]:
    with (TABLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def why_none(found: Sequence[Cell]) -> list[str]:
    """The table of reasons why no run of a cell is possible, a line each, the most frequent first."""
    counts = Counter(WHY[reason] for one in found for reason in one.reasons)
    return ["| cells | why no run is possible |", "|---|---|"] + [
        f"| {count} | {words} |" for words, count in counts.most_common()
    ]


def sentences(found: Sequence[Cell]) -> list[str]:
    """What the page says in numbers, besides the table."""
    counts: Counter[str] = Counter()
    for row in _rows("variants.csv"):
        counts.update({name: int(value) for name, value in row.items() if name != "variant"})
    covered = sum(len(one.decided) for one in found)
    explained = sum(len(one.reasons) for one in found)
    cached = sum(
        int(row["absent"]) for row in _rows("variants.csv") if row["variant"].startswith(SMALL_CACHE)
    )
    stated = (TABLES.parent / "made.json").read_text("utf-8")
    pairs, injected = re.findall(r"([\d,]+ of [\d,]+) (?:possible pairs|injected defects)", stated)
    return [
        f"{counts['failed'] or 'None'} of {counts['passed'] + counts['failed']:,} decided runs",
        f"{counts.total():,} runs were drawn",
        f"{counts['vacuous']:,} runs no check's own defect could have shown",
        f"{counts['undecided']:,} runs only checks without a derived bound",
        f"other {counts['absent']:,} runs were not judged. In {cached:,} of these, the column cache",
        f"{covered:,} of {covered + explained:,} cells have at least 30 decided runs",
        f"other {explained:,} cells",
        f"{pairs} possible pairs",
        f"{injected} injected defects",
    ]


def of_runs(one: Cell) -> int:
    """Step of a cell by its runs; every cell with any has at least 30."""
    return sum(one.runs >= least for least in (100, 300, 1000))


def of_ratio(one: Cell) -> int:
    """Step of a cell by its largest ratio."""
    return sum(one.ratio > most for most in (0.0, 0.1, 0.5))


def drawing(found: Sequence[Cell]) -> str:
    """Two heat maps, one above the other, with the names of choices below."""
    checks = list(dict.fromkeys(one.check for one in found))
    second = TOP + HIGH * len(checks) + 72
    values = len(found) // len(checks)
    names = _choices([one for one in found if one.check == checks[0]])
    bottom = second + HIGH * len(checks)
    parts = [
        *_map(found, checks, TOP, of_runs, TITLES[0], RUNS),
        *_map(found, checks, second, of_ratio, TITLES[1], RATIOS),
    ]
    for name, first, last in names:
        middle, edge = LEFT + WIDE * (first + last) / 2 + 3, LEFT + WIDE * first - 0.5
        turned = f"translate({middle:.0f} {bottom + 10}) rotate(-55)"
        parts.append(text(0, 0, name, transform=turned, text_anchor="end", font_size="10"))
        parts += [
            line(edge, top, edge, top + HIGH * len(checks), stroke="currentColor", stroke_width=".5")
            for top in (TOP, second)
        ]
    return document(LEFT + WIDE * values + 12, bottom + 74, [BOTH_MODES, SHADES, *parts])


def _choices(row: Sequence[Cell]) -> list[tuple[str, int, int]]:
    """Names of the choices, with their first column and the one after their last."""
    starts = [
        (name, next(group)[0]) for name, group in groupby(enumerate(row), key=lambda one: one[1].choice)
    ]
    ends = [*starts[1:], ("", len(row))]
    return [
        (name.replace("_", " "), first, last) for (name, first), (_, last) in zip(starts, ends, strict=True)
    ]


def _map(
    found: Sequence[Cell],
    checks: Sequence[str],
    top: float,
    step: Callable[[Cell], int],
    title: str,
    legend: Sequence[str],
) -> Iterator[str]:
    """One heat map with its title and legend."""
    values = len(found) // len(checks)
    yield text(LEFT, top - 24, title, font_weight="bold", font_size="14")
    outlines: list[list[str]] = [[] for _ in STEPS]
    for number in range(len(checks)):
        row, y = found[number * values : (number + 1) * values], top + HIGH * number + HIGH // 2
        for shade, group_of in groupby(range(values), key=lambda k: step(row[k]) if row[k].runs else None):
            same = list(group_of)
            if shade is not None:
                outlines[shade].append(f"M{LEFT + WIDE * same[0]} {y}h{WIDE * len(same)}")
    for colour, outline in zip(STEPS, outlines, strict=True):
        yield path(
            "".join(outline), stroke=colour, stroke_width=f"{HIGH - 1}", stroke_dasharray=f"{WIDE - 1} 1"
        )
    yield group(
        [text(LEFT - 8, top + HIGH * k + 10, name) for k, name in enumerate(checks)], text_anchor="end"
    )
    x = float(LEFT)
    for colour, words in zip((*STEPS, "none"), (*legend, "no run possible"), strict=True):
        edge = "var(--rule,#d1d2d3)" if colour == "none" else ""
        yield path(f"M{x} {top - 16}h10v10h-10z", fill=colour, stroke=edge)
        yield text(x + 15, top - 7, words)
        x += 34 + 6.2 * len(words)


def main() -> None:
    """Draw the figure, and print the table of the page."""
    found = cells()
    FIGURE.write_text(drawing(found), encoding="utf-8")
    print("\n".join([*table(found), "", *why_none(found)]))


if __name__ == "__main__":
    main()
