"""The picture of an answer: error over its bound against the iteration, for each s, as compared exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from sys import float_info
from typing import NamedTuple

from sstep_verify.report.chart import (
    APART,
    MARKERS,
    Figure,
    Plot,
    Scale,
    decades,
    document,
    group,
    line,
    mark,
    page_colour,
    path,
    text,
)
from sstep_verify.report.convergence import is_wide, linear_ticks
from sstep_verify.report.plain import grouped, short
from sstep_verify.report.results import Results
from sstep_verify.report.tables import Table, filed
from sstep_verify.report.verdicts import ratio_of
from sstep_verify.report.words import s_in_words
from sstep_verify.verdict import Status

SLUG = "ratios"
"""Stem of the files of the picture and of its table."""

PARTS = 40
"""Parts of the axis of iterations; in each the largest ratio of an s is drawn."""

LETTER = 6.2
HEIGHT, MARGIN = 232, 4

SOURCES = {
    "step-replay": ("exact_steps", "step"),
    "window-replay": ("windows", "end"),
    "trajectory": ("points", "iteration"),
}
"""Evidence of a check that holds exact comparisons, and what names the iteration of each."""


class Point(NamedTuple):
    """One exact comparison: the iteration after which it was made, and measured / bound."""

    check: str
    case: str
    s: int
    iteration: int
    ratio: float


def points(results: Results) -> list[Point]:
    """The exact comparisons that the verdicts keep: notable steps, windows, else the ends of runs.

    An infinite ratio is one over a bound of zero.
    """
    found = [point for verdict in results.verdicts for point in _of_verdict(verdict)]
    closer = {(one.case, one.s) for one in found if one.check != "trajectory"}
    return [one for one in found if one.check != "trajectory" or (one.case, one.s) not in closer]


def not_drawn(results: Results, found: Iterable[Point]) -> dict[str, list[int]]:
    """The s at which a check fails on a case of which no comparison is above its bound there, by check."""
    above = {(one.case, one.s) for one in found if one.ratio > 1}
    failed = (one for one in results.verdicts if one["status"] == Status.FAIL)
    hidden = ((one["check"], one["s"]) for one in failed if (one["case"], one["s"]) not in above)
    by_check = grouped(sorted(hidden, key=lambda one: one[1]), lambda one: one[0])
    return {check: [*dict.fromkeys(s for _, s in own)] for check, own in by_check.items()}


def not_drawn_in_words(results: Results, found: Iterable[Point]) -> str:
    """The failures of which the picture shows nothing; empty where there are none."""
    hidden = not_drawn(results, found)
    said = " and ".join(f"{check} at {s_in_words(values)}" for check, values in hidden.items())
    return f"Not drawn: the failures of {said}." if said else ""


def _of_verdict(verdict: dict) -> Iterator[Point]:
    kept, name = SOURCES.get(verdict["check"], ("", ""))
    listed = verdict["evidence"].get(kept, ())
    for one in listed if isinstance(listed, list) else ():
        ratio = ratio_of({**one, "executed": 1})
        if ratio is not None and one.get(name):
            yield Point(verdict["check"], verdict["case"], verdict["s"], one[name], ratio)


def ratios(results: Results) -> tuple[Figure, Table] | None:
    """The picture and its table; None where nothing was compared exactly at an iteration."""
    found = points(results)
    if not found:
        return None
    across, ticks = _across([one.iteration for one in found])
    shown = _largest(found, across)
    columns = (*filed("check", "case", "s", "iteration", "ratio"),)
    title = "Error over its bound"
    alone = not_drawn_in_words(results, found)
    said = " ".join(filter(None, (_words(found), alone)))
    return Figure(SLUG, title, said, _drawn(shown, across, ticks)), Table(columns, shown)


def _across(iterations: Sequence[int]) -> tuple[Scale, list[tuple[float, str]]]:
    """The axis of iterations with its ticks."""
    last = max(iterations)
    if is_wide(iterations):
        scale = Scale(math.log10(min(iterations) / 1.2), math.log10(last * 1.2))
        return scale, scale.ticks()
    return Scale(0, 1.03 * last, linear=True), [(tick, f"{tick:g}") for tick in linear_ticks(last)]


def _largest(found: Iterable[Point], across: Scale) -> list[Point]:
    """Of each s and part of the axis the comparison with the largest ratio."""
    cells = grouped(found, lambda one: (one.s, int(PARTS * across.share(one.iteration))))
    return [max(own, key=lambda one: one.ratio) for _, own in sorted(cells.items())]


def _words(found: Sequence[Point]) -> str:
    """Text alternative: the largest ratio of each s, and how many are above the bound."""
    beyond = sum(one.ratio > 1 for one in found)
    said = f"{beyond} of {len(found)} are above the bound" if beyond else "all are below the bound"
    largest = {s: max(one.ratio for one in own) for s, own in _by_s(found).items()}
    ends = "; ".join(f"s = {s} {short(value)}" for s, value in largest.items())
    return f"Error over its bound against iterations, {said}. Largest for each s: {ends}."


def _by_s(found: Iterable[Point]) -> dict[int, list[Point]]:
    return dict(sorted(grouped(found, lambda one: one.s).items()))


def _series(found: Sequence[Point]) -> list[tuple[str, list[Point]]]:
    """The points of each s; neighbours together where there are more values of s than markers."""
    by_s = _by_s(found)
    steps = [s for s in by_s if s > 1]
    size = math.ceil(len(steps) / (len(MARKERS) - 1)) or 1
    own = [[s] for s in by_s if s == 1] + [steps[k : k + size] for k in range(0, len(steps), size)]
    names = (f"s = {one[0]}" + (f" to {one[-1]}" if one[1:] else "") for one in own)
    return [
        (name + " (classical)" * (values == [1]), [point for s in values for point in by_s[s]])
        for name, values in zip(names, own, strict=True)
    ]


def _drawn(shown: Sequence[Point], across: Scale, ticks: Sequence[tuple[float, str]]) -> str:
    up = decades([*(one.ratio for one in shown), 1.0, 10.0])
    beyond = any(math.isinf(one.ratio) for one in shown)
    # An infinite ratio is drawn one decade above the others, or so far that its label touches none.
    room = max(1.0, (up.high - up.low) * APART / (HEIGHT - 2 * MARGIN - APART)) * beyond
    up = Scale(up.low, min(up.high + room, float_info.max_10_exp), up.floor)
    plot = Plot(across, up, 440, HEIGHT, left=60, top=12, margin=MARGIN)
    right, bottom, level = plot.left + plot.width, plot.top + plot.height, plot.y(1.0)
    edge = [(10.0**up.high, "∞")] * beyond
    ticks_up = [(value, label if value != up.floor else "0") for value, label in up.ticks(6)]
    levels = plot.apart([*edge, *ticks_up], (1.0,))
    area = f"M{plot.left:.1f} {plot.top}H{right:.1f}V{level:.1f}H{plot.left:.1f}z"
    parts = [
        path(area, fill="var(--fail-wash,#fde3e1)"),
        *plot.axes(ticks, "iteration", "error / bound", levels=levels),
        line(plot.left, level, right, level, stroke="var(--fail,#b3160f)", stroke_width="1.6"),
        group(
            [
                text(plot.left - 6, level + 4, "1", text_anchor="end", font_weight="bold"),
                text(right - 5, level - 5, "FAIL above the bound", text_anchor="end"),
            ],
            fill="var(--fail,#b3160f)",
        ),
    ]
    x, y = plot.left, bottom + 46
    for place, (name, own) in enumerate(_series(shown)):
        marks = [mark(place, *at) for at in _places(plot, own)]
        width = 22 + LETTER * len(name)
        if x > plot.left and x + width > right:
            x, y = plot.left, y + 16
        sample = mark(place, x + 6, y)
        filled = page_colour(place) if place < 5 else "none"
        parts.append(group([*marks, sample], stroke=page_colour(place), fill=filled, fill_opacity=".35"))
        parts.append(text(x + 15, y + 4, name))
        x += width + 8
    return document(right + 12, y + 12, parts)


def _places(plot: Plot, own: Iterable[Point]) -> list[tuple[float, float]]:
    return [(plot.x(one.iteration), plot.y(one.ratio)) for one in own]
