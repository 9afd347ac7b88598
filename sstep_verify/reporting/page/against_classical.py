"""The part of a report on stability: error of s-step over that of classical; figures, table, sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from statistics import median

from sstep_verify.outputs import write_table
from sstep_verify.reporting.against_classical import AgainstClassical
from sstep_verify.reporting.case import Case
from sstep_verify.reporting.figures import svg
from sstep_verify.reporting.figures.against_s import AgainstS, draw_against_s
from sstep_verify.reporting.figures.panels import TASK_WORDS, slug
from sstep_verify.reporting.figures.svg import Figure
from sstep_verify.reporting.results import Results

MOST_CURVES = 8
"""Curves of one figure, so that no two have the same marker."""


def stability_sentence(results: Results) -> str:
    """What the factors are, for each s over all problems; empty if none was asked for."""
    rows = results.against_classical
    if not rows:
        return ""
    factors = [(row.loss, row) for row in rows if row.loss is not None]
    without = len(rows) - len(factors)
    rest = f"; {without} of {len(rows)} runs have none (not compared, or broken down)" if without else ""
    if not factors:
        return f"stability: no s-step run has a factor over s = 1{rest}"
    by_s = {s: [loss for loss, row in factors if row.s == s] for s in sorted({row.s for _, row in factors})}
    told = ", ".join(f"{_brief(median(own))} and {_brief(max(own))} at s = {s}" for s, own in by_s.items())
    _, worst = max(factors, key=lambda factor: factor[0])
    return (
        f"stability (a diagnostic, no verdict): error over that of s = 1, median and largest: {told}; "
        f"the largest on {worst.case}, s = {worst.s}{rest}"
    )


def stability_figures(results: Results) -> list[Figure]:
    """Factors against s: a figure for each task and data set, of several where there are many problems."""
    groups: dict[tuple[str, str], list[Case]] = {}
    for case in results.cases:
        if any(row.case == case.id for row in results.against_classical):
            groups.setdefault((TASK_WORDS.get(case.task, case.task), case.dataset), []).append(case)
    taken = {"verdicts", "terms", "runs"}
    return [
        _figure(results, f"{task}, {data}", cases[first : first + MOST_CURVES], taken)
        for (task, data), cases in groups.items()
        for first in range(0, len(cases), MOST_CURVES)
    ]


def write_stability(results: Results, figures: Sequence[Figure], folder: Path) -> None:
    """Write the figures, and ``tables/stability.csv`` with the values that the measure ended at."""
    svg.write_files(figures, folder / "figures")
    names = [field.name for field in fields(AgainstClassical)]
    ends = {(case.id, run.s): run for case in results.cases for run in case.runs}
    rows = []
    for row in results.against_classical:
        run, classical = (ends.get((row.case, s)) for s in (row.s, 1))
        last = [one and one.final for one in (run, classical)]
        rows.append([*(getattr(row, name) for name in names), *last, run.measure if run else ""])
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    columns = (*names, "final", "classical final", "measure")
    write_table(folder / "tables" / "stability.csv", columns, rows)


def _brief(factor: float) -> str:
    return f"{factor:.2g}".replace("e+0", "e").replace("e-0", "e-")


def _figure(results: Results, title: str, cases: Sequence[Case], taken: set[str]) -> Figure:
    curves, ends = [], []
    for case in cases:
        own = [row for row in results.against_classical if row.case == case.id]
        name = _name(case)
        curves.append(AgainstS(name, [1, *(row.s for row in own)], [1.0, *(row.loss for row in own)]))
        ends += [f"{name} {_brief(row.loss)} at s = {row.s}" for row in own[-1:] if row.loss is not None]
    return Figure(
        slug(f"stability {title}", taken),
        title,
        f"Error over that of s = 1, against s, {title}. {'; '.join(ends)}.",
        draw_against_s(title, "error over that of s = 1", curves),
    )


def _name(case: Case) -> str:
    """What tells a problem from the others of its figure."""
    words = [case.kernel, *(f"{name} = {value:g}" for name, value in case.parameters.items())]
    words += [f"b = {case.block}"] if case.task == "krr" else []
    ranks = case.facts.get("ranks", 1)
    return ", ".join([*words, f"P = {ranks}"] if ranks != 1 else words)
