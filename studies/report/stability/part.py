"""The stability part of a report: figures in order, and tables."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

from sstep_verify.report.case import Case
from sstep_verify.report.chart import Figure
from sstep_verify.report.panels import task_words
from sstep_verify.report.plain import DIGITS, count, finite, grouped, short
from sstep_verify.report.results import Results
from sstep_verify.report.tables import Column, Table, Value, filed, of, words
from sstep_verify.report.write import OUTCOMES as OUTCOMES  # its runs are judged as those of any solver
from sstep_verify.report.write import First
from sstep_verify.rounding.arithmetic import unit_roundoff
from studies.report.stability.answer import CAPTION, SLUG, picture
from studies.report.stability.answer import said as said  # for a report that is committed
from studies.report.stability.curves import curves_figure, frontier_figure
from studies.report.stability.document import (
    TENFOLD,
    Answer,
    Stability,
    form_of,
    in_units,
    precision_of,
    short_name,
)
from studies.report.stability.heat import Cells, HeatMap, cells, full_factor, heat_figure, pooled_name, rows

RECORD = Stability

FORM_WORDS = {"in-place": "a updated in place", "frozen": "the paper's form, a frozen within a window"}


INLINE = 2
"""Figures of a kind that stand in the page; further ones are linked."""


class Told(NamedTuple):
    """A row of a table: an answer with one of its runs or bands; of this the numbers of one s."""

    answer: Answer
    row: Any
    of_s: tuple[Any, ...] = ()


def _interval(low: str, high: str) -> Column:
    return Column("95 % interval", lambda row: f"{short(of(row, low))} to {short(of(row, high))}", str)


def _fewer(value: float | None) -> str | float | None:
    """The number in fewer characters, if they say the same."""
    text = f"{value:g}" if value is not None else ""
    return text if text and float(text) == value else value


def _units(name: str) -> Value:
    """An error in unit roundoffs of its precision."""

    def value(told: Told) -> float | None:
        error = in_units(getattr(told.row, name), unit_roundoff(told.answer.precision))
        return finite(error, digits=DIGITS)

    return value


_WHICH = words("Precision and task", "answer.name")

GROWTH = (
    _WHICH,
    Column("Scenarios", "row.scenarios", count),
    Column("Exponent", "row.exponent"),
    _interval("row.low", "row.high"),
    Column("Across", "row.across"),
    Column("Noise, median", "row.noise"),
    Column("largest", "row.largest_noise", label="noise, largest"),
    Column("Exponent of the largest", "row.largest_exponent"),
    _interval("row.largest_low", "row.largest_high"),
    Column("Left out", "row.left_out", count),
)

WORSE = (
    *filed(precision="answer.precision", task="answer.task"),
    words("Problem", "row.case", file="case", link="row.case"),
    *filed(condition=lambda told: _fewer(told.row.condition)),
    Column("Condition", "row.attained"),
    Column("", lambda told: _fewer(told.row.attained), file="attained condition"),
    Column("Seed", "row.seed", str, "seed"),
    Column("s", "row.s", str, "s"),
    Column("s-step error", _units("error"), short, "error / u"),
    Column("Classical error", _units("classical"), short, "classical error / u"),
    Column("Loss factor", "row.loss", short, "loss factor"),
    Column("Noise", "row.noise", short, "noise factor"),
    words("Beyond it", "row.beyond", lambda beyond: "yes" if beyond else "no", "beyond noise"),
    *filed(orders="row.orders"),
    Column(
        "In the median of orders",
        lambda told: short(told.row.again) + (f" of {told.row.orders}" if told.row.orders else ""),
        str,
    ),
    Column("", "row.again", file="loss factor of medians over orders"),
)

SAFE = (
    *filed(precision="answer.precision", task="answer.task"),
    *filed(
        **{"u condition from": lambda told: f"{told.row.low:g}", "to": lambda told: f"{told.row.high:g}"}
    ),
    _WHICH,
    Column("u · condition", lambda told: f"{short(told.row.low)} to {short(told.row.high)}", str),
    Column("Runs for each s", "row.scenarios", count, "scenarios"),
    *filed(**{"noise floor": "row.noise"}),
    *filed(**{"s": lambda told: told.of_s[0], "largest loss factor": lambda told: told.of_s[1]}),
    *filed(**{"factors beyond their own noise": lambda told: told.of_s[2]}),
    *filed(**{"safe s within noise": "row.within_noise", "safe s within 10": "row.within_ten"}),
    Column(f"Safe within {short(TENFOLD)}", "row.within_ten", count),
    Column("Safe within noise", "row.within_noise", count),
    Column("of s up to", lambda told: told.row.s[-1], count),
    Column("Largest factor", "row.worst", lambda worst: "∞" if worst is None else short(worst)),
    Column("Noise floor", "row.noise"),
    Column("Outside, smallest s", lambda told: told.row.beyond[0], str),
    Column("largest s", lambda told: told.row.beyond[-1], str, label="outside, largest s"),
)

SUMMARY = (
    words("Problem", "case.problem", link="case.id"),
    Column("b", "case.block", str),
    Column("Median loss", "loss"),
    Column("Largest loss", "worst"),
    words("at", "where", kind="s"),
    Column("Largest loss over window ends", "largest_worst"),
    Column("Classical error, smallest condition", "lowest"),
    Column("largest condition", "highest"),
    Column("Window ratio", "ratio"),
)

_CONDITIONS: dict[str, Value] = {
    "condition": lambda of: _fewer(of.condition),
    "attained condition": lambda of: _fewer(of.attained),
}

RUNS = (
    *filed("case", **_CONDITIONS),
    *filed("seed", "s", "error", **{"largest error": "largest", "loss factor": "loss"}),
    *filed(**{"loss factor of the largest error": "largest_loss", "window ratio": "ratio"}),
    *filed(**{"noise factor": "noise"}),
)

CELLS = (
    *filed("case", **_CONDITIONS),
    *filed("s", seeds="runs"),
    *filed(**{"median error": "error", "median classical error": "classical"}),
    *filed(**{"median loss factor": "loss", "largest loss factor": "worst"}),
    *filed(**{"median loss factor of the largest error": "largest_loss"}),
    *filed(**{"largest loss factor of the largest error": "largest_worst", "window ratio": "ratio"}),
)


def drawn(results: Results) -> SimpleNamespace:
    """What the page shows: findings in words, figures and tables.

    ``frontier`` is the largest safe s against u * condition, which a document without answers has not;
    ``heat`` the loss factor against s and condition, ``curves`` the error against s. Tables: ``growth``
    with s, the runs that are much ``worse``, the bands of ``safe`` s, and ``rows`` of every problem.
    """
    stability: Stability = results.stability
    told, found = stability.answers, cells(stability)
    bands = [Told(answer, band) for answer in told for band in answer.safe]
    of_s = [
        one._replace(of_s=numbers)
        for one in bands
        for numbers in zip(one.row.s, one.row.largest, one.row.beyond, strict=True)
    ]
    frontier = [frontier_figure([answer for answer in told if answer.safe])] if bands else []
    heat, curves = _figures(stability, found, results.cases)
    first = picture(results)
    return SimpleNamespace(
        answer=said(results),
        first=first and First(*first, SLUG, CAPTION),
        sentences=stability.sentences,
        answers=told,
        frontier=frontier,
        heat=heat,
        curves=curves,
        figures=[*frontier, *heat, *curves],
        growth=Table(GROWTH, [Told(answer, answer.growth) for answer in told]),
        rows=Table(SUMMARY, rows(stability, found, results.cases)),
        tables={
            "stability": Table(RUNS, stability.runs),
            "stability-cells": Table(CELLS, list(found.values())),
            "stability-worse": Table(WORSE, [Told(answer, run) for answer in told for run in answer.worse]),
            "stability-safe": Table(SAFE, bands, every=of_s),
        },
        texts={},
        tenfold=TENFOLD,
        inline=INLINE,
    )


def _figures(
    stability: Stability, found: Cells, known: tuple[Case, ...]
) -> tuple[list[Figure], list[Figure]]:
    """Heat maps, one over everything first where it shows more than those of each problem; and curves."""
    cases = [case for case in known if any(key[0] == case.id for key in found)]
    full = full_factor(found)
    heat, curves = [], []
    pools = {case.id: pooled_name(case) for case in cases}
    if len(set(pools.values())) < len(cases):
        maps = {
            pooled_name(case): HeatMap(
                pooled_name(case), f"{task_words(case.task)}, {precision_of(case)}", precision_of(case)
            )
            for case in cases
        }
        grid = tuple(grouped(maps.values(), lambda one: one.precision).values())
        title = "All kernels, blocks, forms and seeds together"
        pooled = cells(stability, lambda run: pools[run.case])
        heat.append(heat_figure("loss-overview", title, grid, pooled, full))
    keys = (precision_of, form_of, lambda case: case.task)
    for (precision, form, task), own in _nested(cases, keys):
        title = f"{task_words(task)}, {precision}, {FORM_WORDS.get(form, form)}"
        grid = tuple(
            [HeatMap(case.id, short_name(case), precision) for case in row]
            for row in grouped(own, lambda case: case.block).values()
        )
        heat.append(heat_figure(f"loss-{precision}-{form}-{task}", title, grid, found, full))
    for (precision, task), own in _nested(cases, (precision_of, lambda case: case.task)):
        plots = [
            list(grouped(row, lambda case: case.kernel).values())
            for row in grouped(own, lambda case: case.block).values()
        ]
        title = f"{task_words(task)}, {precision}"
        curves.append(curves_figure(f"error-{precision}-{task}", title, plots, found))
    return heat, curves


def _nested(cases, keys) -> Iterator[tuple[tuple, list[Case]]]:
    """Cases by several keys, those of the first together, of the second within them, and so on."""
    for first, own in grouped(cases, keys[0]).items():
        for rest, members in _nested(own, keys[1:]) if keys[1:] else [((), own)]:
            yield (first, *rest), members
