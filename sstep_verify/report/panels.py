"""Panels: which curves stand together in one small figure. Pure data; nothing is drawn here."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from sstep_verify.report.case import DRIFT, ERROR, GAP, Case, Line, Series
from sstep_verify.report.plain import grouped
from sstep_verify.report.results import Results


def task_words(task: str) -> str:
    """A task as it is printed."""
    return {"svm-l1": "K-SVM-L1", "svm-l2": "K-SVM-L2", "krr": "K-RR"}.get(task, task)


class Curve(NamedTuple):
    """One curve and where it comes from; `variant` (such as K-SVM-L1, b = 8) chooses the colour."""

    case: Case
    variant: str
    series: Series


@dataclass(frozen=True)
class Panel:
    """One small figure of the series of a measure: curves, classical before s-step, and horizontal lines.

    Its slug is the stem of its file, unique in the document; units are empty for a relative quantity. Each
    of the lines stands behind its variant, which is empty where it belongs to the whole panel; the palette
    has the variants of all panels of the measure, so that one has the same colour in each.
    """

    slug: str
    title: str
    measure: str
    units: str
    curves: tuple[Curve, ...]
    lines: tuple[tuple[str, Line], ...]
    palette: tuple[str, ...] = ()

    @property
    def variants(self) -> list[str]:
        """Variants in the order of first use."""
        return list(dict.fromkeys(curve.variant for curve in self.curves))

    @property
    def text(self) -> str:
        """Text alternative: what is drawn, and where each curve ends."""
        ends = []
        for curve in self.curves:
            last = next((value for value in reversed(curve.series.y) if value is not None), None)
            if last is not None:
                ends.append(f"{curve.variant} s={curve.series.s} ends at {last:.1e}")
        return f"{self.measure} over iterations, {self.title}. " + "; ".join(ends) + "."


def panels_of(results: Results) -> list[Panel]:
    """The figures of a document: convergence per data set and kernel, drift per problem.

    Duality gap, solution error and drift come first, then other measures by name.
    """
    names = dict.fromkeys([GAP, ERROR, DRIFT])
    names.update(dict.fromkeys(sorted({series.name for case in results.cases for series in case.series})))
    taken = {"verdicts", "terms", "runs", "ratios"}
    found: list[Panel] = []
    for name in names:
        panels = list(_panels(results, name, taken))
        palette = tuple(dict.fromkeys(variant for panel in panels for variant in panel.variants))
        found += (replace(panel, palette=palette) for panel in panels)
    return found


def slug(text: str, taken: set[str]) -> str:
    """A file name stem of lower-case letters, digits and hyphens, unique in `taken` (extended)."""
    stem = re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:90] or "figure"
    name, number = stem, 2
    while name in taken:
        name, number = f"{stem}-{number}", number + 1
    taken.add(name)
    return name


def _panels(results: Results, measure: str, taken: set[str]):
    drawn = (case for case in results.cases if any(series.name == measure for series in case.series))
    for key, cases in grouped(drawn, lambda case: _key(case, measure)).items():
        title = " · ".join(part for part in key if part)
        curves = [
            Curve(case, variant, series)
            for case, variant in zip(cases, _variants(cases, measure), strict=True)
            for series in sorted(case.series, key=lambda series: series.s)
            if series.name == measure
        ]
        units = next((curve.series.units for curve in curves if curve.series.units not in ("", "1")), "")
        lines = tuple(_lines(curves, measure))
        yield Panel(slug(f"{measure} {title}", taken), title, measure, units, tuple(curves), lines)


def _key(case: Case, measure: str) -> tuple[str, ...]:
    if measure not in (GAP, ERROR):
        return (case.problem, f"b = {case.block}" if case.task == "krr" else "", _shared_out(case))
    parameters = ", ".join(f"{name} = {value:g}" for name, value in sorted(case.parameters.items()))
    return (case.dataset, case.kernel, parameters)


def _variants(cases: list[Case], measure: str) -> list[str]:
    """Names that tell the cases of one panel apart: task, block size, ranks, at worst the id."""
    words = [task_words(case.task) for case in cases]
    if any(case.task == "krr" for case in cases):
        words = [f"{word}, b = {case.block}" for word, case in zip(words, cases, strict=True)]
        if all(case.task == "krr" for case in cases):
            words = [f"b = {case.block}" for case in cases]
    if len(set(words)) < len(words):
        parts = [filter(None, (word, _shared_out(case))) for word, case in zip(words, cases, strict=True)]
        words = [", ".join(part) for part in parts]
    if len(set(words)) < len(words):
        words = [f"{word} ({case.id})" for word, case in zip(words, cases, strict=True)]
    return words


def _shared_out(case: Case) -> str:
    """Ranks and exchange of a case that ran on several."""
    ranks = case.facts.get("ranks", 1)
    return f"P = {ranks}, {case.facts.get('exchange', '')}" if ranks != 1 else ""


def _lines(curves: list[Curve], measure: str):
    """Lines of the cases; one that all cases share (the target) is drawn once, without a variant."""
    owners: dict[tuple[str, float], list[str]] = {}
    total = dict.fromkeys((curve.variant, curve.case.id) for curve in curves)
    cases = {curve.case.id: curve.case for curve in curves}
    for variant, identity in total:
        for line in cases[identity].lines:
            belongs = line.series == measure or (not line.series and measure in (GAP, ERROR))
            if belongs and line.y is not None:
                owners.setdefault((line.name, line.y), []).append(variant)
    for (name, y), variants in owners.items():
        if len(variants) == len(total):
            variants = ["" if len(total) > 1 else variants[0]]
        yield from ((variant, Line(name, y, measure)) for variant in variants)
