"""The scaling part of a report: predicted time over P, and the paper's claims next to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import SimpleNamespace
from typing import ClassVar, Literal, get_args

from markupsafe import Markup

from sstep_verify.report.case import Case
from sstep_verify.report.chart import (
    Figure,
    Plot,
    decades,
    group,
    line,
    mark,
    octaves,
    page_colour,
    sheet,
    text,
)
from sstep_verify.report.panels import slug
from sstep_verify.report.plain import Record, amount, count, grouped
from sstep_verify.report.results import Results
from sstep_verify.report.tables import Column, Of, Table, by_case, filed, words

Mark = Literal["supported", "not supported", "not reproducible"]
"""Of a claim, not of a solver."""

MARKS: tuple[Mark, ...] = get_args(Mark)


@dataclass(frozen=True)
class ScalingPoint(Record):
    """Predicted microseconds per iteration of a case on P ranks.

    Of the paper's classical program, of its s-step program at the `s` that takes least, and of this
    package's solver at the `exchange` and `our_s` that take least. An error is the median relative one of
    such predictions where they could be compared, such as ``14 %``, or says that it is not known.
    """

    case: str
    ranks: int
    classical: float
    s_step: float
    s: int
    ours: float
    exchange: str
    our_s: int
    classical_error: str
    s_step_error: str
    our_error: str


@dataclass(frozen=True)
class PaperClaim:
    """A claim of the paper on a case: its figure, next to a prediction and the error of its times.

    `timed` is what the published timings have, empty where there is nothing to compare.
    """

    case: str
    text: str
    stated: str
    predicted: str
    error: str
    timed: str
    mark: Mark
    reason: str


@dataclass(frozen=True)
class Scaling(Record):
    """The part of a document that a campaign of predictions adds, in the order of the cases, P ascending.

    Each machine stands by its name with what its predictions were off by.
    """

    machines: dict[str, str] = field(default_factory=dict)
    points: tuple[ScalingPoint, ...] = ()
    claims: tuple[PaperClaim, ...] = ()
    broken: ClassVar[tuple[str, ...]] = ()
    """A claim that does not hold is no fault."""

    @property
    def named(self) -> list[tuple[str, str]]:
        """Who names which case."""
        return [
            *(("a predicted time", point.case) for point in self.points),
            *(("a claim", claim.case) for claim in self.claims),
        ]


RECORD = Scaling

OUTCOMES = {
    0: ("PREDICTED", "Everything asked for is predicted; no solver was run, timed or judged"),
    3: ("INCOMPLETE", "Something asked for is not predicted; no solver was run, timed or judged"),
}

_CASE = (
    *filed(case="case.id", dataset="case.dataset", task="case.task", kernel="case.kernel"),
    *filed(block="case.block"),
    words("Problem", "case.problem", link="case.id"),
)

CLAIMS = (
    *_CASE,
    words("Claim", "row.text", file="text"),
    Column("Paper", "row.stated", str, "stated"),
    words(
        "Predicted",
        "row.predicted",
        lambda told: told.partition(" (")[0],
        "predicted",
        small=lambda of: of.row.predicted.partition(" (")[2].removesuffix(")"),
    ),
    words("Error", "row.error", str, "error"),
    words("Published timings", "row.timed", file="timed"),
    words("Mark", "row.mark", Markup("<strong>{}</strong>").format, "mark"),
    words("Because", "row.reason", str, "reason"),
)

POINTS = (
    *_CASE,
    Column("P", "row.ranks", count, "ranks"),
    Column("Classical", "row.classical", amount, "classical", small="row.classical_error"),
    Column("s-step", "row.s_step", amount, "s_step", small="row.s_step_error"),
    Column("s", "row.s", str, "s"),
    Column("Ours", "row.ours", amount, "ours", small="row.our_error"),
    words("Exchange", "row.exchange", file="exchange"),
    Column("s", "row.our_s", str, "our_s", label="its s"),
    *filed(
        classical_error="row.classical_error", s_step_error="row.s_step_error", our_error="row.our_error"
    ),
    Column("Classical / s-step", lambda of: of.row.classical / of.row.s_step, amount),
    Column("s-step / ours", lambda of: of.row.s_step / of.row.ours, amount),
)


def drawn(results: Results) -> SimpleNamespace:
    """What the page shows: a figure for each data set; claims, those that could be judged first; ends."""
    scaling: Scaling = results.scaling
    points = by_case(results, scaling.points)
    curves = list(grouped(points, lambda of: of.case.id).values())
    marks = Counter(claim.mark for claim in scaling.claims)
    claims = sorted(by_case(results, scaling.claims), key=lambda of: of.row.mark == "not reproducible")
    taken, figures = {"verdicts", "terms", "runs"}, []
    for name, own in grouped(curves, lambda curve: curve[0].case.dataset).items():
        rows = grouped(own, lambda curve: (curve[0].case.task, curve[0].case.block)).values()
        first = own[0][0].case
        title = f"{name}, {first.samples:,} × {first.features:,}"
        figures.append(scaling_figure(slug(f"scaling {name}", taken), title, tuple(rows)))
    return SimpleNamespace(
        machines=scaling.machines,
        figures=figures,
        tables={
            "claims": Table(CLAIMS, claims, "row.mark", by_case(results, scaling.claims)),
            "scaling": Table(POINTS, [own[-1] for own in curves], every=points),
        },
        texts={},
        counts={mark: marks[mark] for mark in MARKS},
    )


PROGRAMS = {"classical": "classical", "s_step": "s-step, best s", "ours": "ours, best exchange and s"}
"""Fields of a point that are drawn, and their words."""

DASHES = {
    "none": "its error is stated",
    "5 3": "stated of data not fitted only",
    "1.5 3": "not known: beyond what was timed",
}
"""How far a predicted time has been checked: dashes of its line, and words."""


def scaling_figure(slug: str, title: str, rows: Sequence[Sequence[Sequence[Of]]]) -> Figure:
    """The curves of a data set, of points with their case, in plots of one scale, a row a method."""
    curves = [curve for row in rows for curve in row]
    points = [point for curve in curves for _, point in curve]
    ranks = sorted({point.ranks for point in points})
    times = decades([getattr(point, name) for point in points for name in PROGRAMS])
    plot = Plot(octaves(ranks), times, 270, 150)
    across, down = plot.left + plot.width + 12, plot.top + plot.height + 44
    plots = [[_plot(curve, plot, ranks, first=curve is row[0]) for curve in row] for row in rows]
    told = [
        f"{_name(curve[0].case)}: "
        + ", ".join(
            f"P = {point.ranks}: {point.classical:g}, {point.s_step:g}, {point.ours:g}"
            for point in dict.fromkeys((curve[0].row, curve[-1].row))
        )
        for curve in curves
    ]
    return Figure(
        slug,
        title,
        f"Predicted time per iteration over P, {title}. Microseconds per iteration, classical, s-step, "
        f"ours. {'; '.join(told)}.",
        sheet(plots, (across, down), (62, plot.left, _legend()), right=14),
    )


def _name(case: Case) -> str:
    block = f", b = {case.block}" if case.task == "krr" else ""
    return f"{case.loss}{block}, {case.kernel}"


def _plot(curve: Sequence[Of], plot: Plot, ranks: list[int], first: bool) -> str:
    # At most seven labels.
    ticks = [(count, f"{count:,}") for count in ranks[:: -(-len(ranks) // 7)]]
    parts = [
        text(plot.left, plot.top - 9, _name(curve[0].case), font_weight="bold"),
        *plot.axes(ticks, "ranks P", "us per iteration" * first, plot.up.ticks(6)),
    ]
    for place, name in enumerate(PROGRAMS):
        points = [(plot.x(p.ranks), plot.y(getattr(p, name)), dashes(p, name)) for _, p in curve]
        drawn = [
            line(*one[:2], *other[:2], stroke_dasharray=max(one[2], other[2], key=[*DASHES].index))
            for one, other in pairwise(points)
        ]
        drawn += [mark(place, x, y) for x, y, _ in points]
        parts.append(group(drawn, stroke=page_colour(place), fill="none"))
    return "\n".join(parts)


def dashes(point: ScalingPoint, name: str) -> str:
    """Dashes that tell how far a predicted time has been checked."""
    error = getattr(point, "our_error" if name == "ours" else f"{name}_error")
    known, elsewhere, unknown = DASHES
    return unknown if "%" not in error else elsewhere if " to " in error else known


def _legend() -> str:
    parts = []
    for place, told in enumerate(PROGRAMS.values()):
        x = 220 * place
        sample = [line(x, 8, x + 26, 8), mark(place, x + 13, 8)]
        parts += [group(sample, stroke=page_colour(place), fill="none"), text(x + 34, 12, told)]
    for place, (pattern, told) in enumerate(DASHES.items()):
        x = 220 * place
        parts.append(line(x, 28, x + 26, 28, stroke="currentColor", stroke_dasharray=pattern))
        parts.append(text(x + 34, 32, told))
    return "\n".join(parts)
