"""The part of a report on stability: error of s-step over that of classical; figures, table, sentence."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from types import SimpleNamespace
from typing import Any

from sstep_verify.report.case import Case
from sstep_verify.report.chart import AgainstS, Figure, draw_against_s
from sstep_verify.report.panels import slug, task_words
from sstep_verify.report.plain import brief, count, grouped, short
from sstep_verify.report.results import Results
from sstep_verify.report.tables import Column, Of, Table, by_case, filed, words

MOST_CURVES = 8
"""Curves of one figure, so that no two have the same marker."""


def stability_sentence(results: Results) -> str:
    """What the factors are, for each s over all problems."""
    rows = results.against_classical
    factors = [(row.loss, row) for row in rows if row.loss is not None]
    without = len(rows) - len(factors)
    rest = f"; {without} of {len(rows)} runs have none (not compared, or broken down)" if without else ""
    if not factors:
        return f"stability: no s-step run has a factor over s = 1{rest}"
    by_s = {s: [loss for loss, row in factors if row.s == s] for s in sorted({row.s for _, row in factors})}
    told = ", ".join(f"{brief(median(own))} and {brief(max(own))} at s = {s}" for s, own in by_s.items())
    _, worst = max(factors, key=lambda factor: factor[0])
    return (
        f"stability (a diagnostic, no verdict): error over that of s = 1, median and largest: {told}; "
        f"the largest on {worst.case}, s = {worst.s}{rest}"
    )


def losses(results: Results) -> SimpleNamespace:
    """What the page shows of the factors, as of a study (`report.results.part_of`)."""
    return SimpleNamespace(
        sentence=stability_sentence(results),
        figures=_figures(results),
        tables={"stability": _table(results)},
        texts={},
    )


def _figures(results: Results) -> list[Figure]:
    """Factors against s: a figure for each task and data set, of several where there are many problems."""
    compared = {row.case for row in results.against_classical}
    shown = (case for case in results.cases if case.id in compared)
    groups = grouped(shown, lambda case: (task_words(case.task), case.dataset))
    taken = {"verdicts", "terms", "runs"}
    return [
        _figure(results, f"{task}, {data}", cases[first : first + MOST_CURVES], taken)
        for (task, data), cases in groups.items()
        for first in range(0, len(cases), MOST_CURVES)
    ]


def _table(results: Results) -> Table:
    """Every s-step run next to the classical one, and in the file the values that the measure ended at."""
    ends = {(case.id, run.s): run for case in results.cases for run in case.runs}
    apart = len({(case.facts.get("ranks"), case.facts.get("exchange")) for case in results.cases}) > 1

    def problem(of: Of) -> str:
        block = f" / b = {of.case.block}" if of.case.task == "krr" else ""
        return of.case.problem + block + (f" / P = {of.case.facts['ranks']}" if apart else "")

    def final(of: Of, s: int, what: str = "final") -> Any:
        run = ends.get((of.case.id, s))
        return run and getattr(run, what)

    return Table(
        (
            words("Problem", problem, link="case.id"),
            *filed(case="case.id"),
            Column("s", "row.s", str, "s"),
            Column("Iteration", "row.iteration", count, "iteration"),
            Column("s-step error", "row.error", short, "error"),
            Column("Classical error", "row.classical", short, "classical"),
            Column("Loss factor", "row.loss", short, "loss"),
            *filed(largest="row.largest"),
            Column("On the way", "row.largest_loss", short, "largest_loss"),
            Column("Bits", "row.bits", short, "bits"),
            Column("of s = 1", "row.classical_bits", short, "classical_bits", label="bits of s = 1"),
            *filed(final=lambda of: final(of, of.row.s)),
            Column("", lambda of: final(of, 1), file="classical final"),
            *filed(measure=lambda of: final(of, of.row.s, "measure") or ""),
        ),
        by_case(results, results.against_classical),
    )


def _figure(results: Results, title: str, cases: Sequence[Case], taken: set[str]) -> Figure:
    curves, ends = [], []
    for case in cases:
        own = [row for row in results.against_classical if row.case == case.id]
        name = _name(case)
        curves.append(AgainstS(name, [1, *(row.s for row in own)], [1.0, *(row.loss for row in own)]))
        ends += [f"{name} {brief(row.loss)} at s = {row.s}" for row in own[-1:] if row.loss is not None]
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
