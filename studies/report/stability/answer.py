"""The first screen of a stability report: is s-step as stable as classical, up to which s, where not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sstep_verify.errors import counted
from sstep_verify.report.answer import Answer as Said
from sstep_verify.report.answer import Row
from sstep_verify.report.case import Case
from sstep_verify.report.chart import (
    Figure,
    Plot,
    Scale,
    decades,
    document,
    group,
    joined,
    line,
    mark,
    moved,
    octaves,
    page_colour,
    path,
    text,
)
from sstep_verify.report.panels import task_words
from sstep_verify.report.plain import count, grouped, short
from sstep_verify.report.results import Results
from sstep_verify.report.tables import Column, Table, filed
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.verdict import Status
from studies.report.stability.document import (
    TENFOLD,
    Answer,
    Stability,
    StabilityRun,
    brief,
    in_units,
    middle,
    power,
    precision_of,
    short_name,
)

SLUG = "stability-error"
"""Stem of the files of the picture and of its table."""

CAPTION = (
    "Median error at the last iteration, in unit roundoffs u of the precision: s-step as markers, "
    "classical as dashed lines. A ring is a run in which s-step is more than ten times worse."
)

MEANING = (
    f"the error is at most {short(TENFOLD)} times that of s = 1 on the same problem",
    "a run beyond it counts where other orders of the data show it too",
)

MOST_NAMED = 3
"""Runs that the answer names, of those where it does not hold."""


class Middle(NamedTuple):
    """Median errors of all runs of a precision and task at one s, of both methods, in unit roundoffs."""

    precision: str
    task: str
    s: int
    runs: int
    error: float | None
    classical: float | None


def said(results: Results) -> Said | None:
    """The sentence and the rows; None of a document without answers."""
    stability: Stability = results.stability
    answers = stability.answers
    if not answers:
        return None
    runs = sum(answer.runs for answer in answers)
    held = [(answer, run) for answer in answers for run in answer.held]
    steps = sorted({run.s for run in stability.runs if run.s > 1})
    where = f"at every s from {steps[0]} to {count(steps[-1])}"
    every = f"all {count(runs)} runs" if not held else f"{count(runs - len(held))} of {count(runs)} runs"
    cases = {case.id: case for case in results.cases}
    rows = (
        Row("This means", MEANING),
        Row("Change with s", tuple(_change(answers, steps))),
        Row("Does not hold", tuple(_exceptions(answers, held, cases))),
        Row("Safe s", tuple(_safe(answers))),
        Row("Verdicts", (_verdicts(results),)),
        Row("Not looked at", tuple(_unseen(results, steps))),
    )
    passed = results.summary.exit_code == 0
    shown = tuple(row for row in rows if row.parts)
    return Said(f"s-step is as stable as classical in {every}, {where}.", shown, not passed)


def _change(answers: Sequence[Answer], steps: Sequence[int]) -> Iterator[str]:
    known = [answer.growth for answer in answers if answer.growth.across is not None]
    across = [growth.across for growth in known if growth.across is not None]
    if not across:
        return
    yield (
        f"from s = {steps[0]} to {count(steps[-1])} the error changes by a factor of {_range(across)} "
        "(mean of each task and precision)"
    )
    noise = [growth.noise for growth in known if growth.noise is not None]
    less = sum((one.noise or 0) >= (one.across or 0) for one in known)
    if noise:
        yield (
            "classical errors of the same data in several orders are apart by a factor of "
            f"{_range(noise)} (largest over smallest, median of each task and precision)"
        )
        yield f"in {less} of {len(known)} tasks and precisions this is at least the change with s"


def _range(values: Sequence[float]) -> str:
    low, high = short(min(values)), short(max(values))
    return low if low == high else f"{low} to {high}"


def _exceptions(
    answers: Sequence[Answer], held: Sequence[tuple[Answer, StabilityRun]], cases: dict[str, Case]
) -> Iterator[str]:
    for answer, run in held[:MOST_NAMED]:
        unit = unit_roundoff(answer.precision)
        yield (
            f"{answer.precision}, {short_name(cases[run.case])}, condition {power(run.condition)}, "
            f"s = {run.s}: error {short(in_units(run.error, unit))} u against "
            f"{short(in_units(run.classical, unit))} u, {short(run.loss)} times"
        )
    if held[MOST_NAMED:]:
        yield f"{counted(len(held) - MOST_NAMED, 'more run')}, in the table below"
    if left := sum(len(answer.worse) for answer in answers) - len(held):
        orders = max((run.orders for answer in answers for run in answer.worse), default=0)
        again = f", not in the median over {orders} other orders" if orders else ""
        yield f"{counted(left, 'run')} beyond it in one order of the data only{again}"


def _safe(answers: Sequence[Answer]) -> Iterator[str]:
    """The largest s up to which no run is held to be worse, over all bands of condition."""
    found = {one.name: min(band.within_ten for band in one.safe) for one in answers if one.safe}
    for s, names in sorted(grouped(found, lambda name: found[name]).items()):
        rest = "all others" if len(found) > len(names) > 2 else ", ".join(names)
        yield f"up to {count(s)}: {'all tasks and precisions' if len(names) == len(found) else rest}"


def _verdicts(results: Results) -> str:
    cases, summary = results.cases, results.summary
    passed = sum(case.status == Status.PASS for case in cases)
    return (
        f"PASS on {passed} of {counted(len(cases), 'problem')}; {count(summary.steps_judged)} of "
        f"{count(summary.steps)} steps judged one by one"
    )


def _unseen(results: Results, steps: Sequence[int]) -> Iterator[str]:
    samples, features = (
        max(getattr(case, name) for case in results.cases) for name in ("samples", "features")
    )
    yield f"larger data than {count(samples)} samples or {count(features)} features"
    yield f"s above {count(steps[-1])}"
    yield "several ranks"


def middles(results: Results) -> list[Middle]:
    """The median errors, by precision, task and s."""
    stability: Stability = results.stability
    cases = {case.id: case for case in results.cases}
    runs = (run for run in stability.runs if run.classical is not None)
    groups = grouped(runs, lambda run: (precision_of(cases[run.case]), cases[run.case].task, run.s))
    found = []
    for (precision, task, s), own in groups.items():
        unit = unit_roundoff(precision)
        error, classical = (
            in_units(middle(getattr(run, name) for run in own), unit) for name in ("error", "classical")
        )
        found.append(Middle(precision, task, s, len(own), error, classical))
    return sorted(found, key=lambda one: (one.precision != "float64", one.task, one.s))


def picture(results: Results) -> tuple[Figure, Table] | None:
    """Error over s of both methods, a plot for each precision; None of a document without runs."""
    found = middles(results)
    if not any(one.s > 1 for one in found):
        return None
    stability: Stability = results.stability
    held = {
        precision: [run for one in own for run in one.held]
        for precision, own in grouped(stability.answers, lambda one: one.precision).items()
    }
    last = max(one.s for one in found)
    by_precision = grouped(found, lambda one: one.precision)
    rings = {
        precision: [
            (run.s, in_units(run.error, unit_roundoff(precision))) for run in held.get(precision, ())
        ]
        for precision in by_precision
    }
    drawn = [value for one in found for value in (one.error, one.classical)]
    up = decades([*drawn, *(value for own in rings.values() for _, value in own)])
    tasks = list(dict.fromkeys(one.task for one in found))
    height = 150
    parts = [
        moved(_plot(precision, own, rings[precision], tasks, up, last, height), 0, k * (height + 62))
        for k, (precision, own) in enumerate(by_precision.items())
    ]
    below = len(by_precision) * (height + 62)
    words = [
        f"{one.precision}, {task_words(one.task)}, s = {one.s}: {brief(one.error)} against "
        f"{brief(one.classical)}"
        for one in found
        if one.s == max(other.s for other in by_precision[one.precision])
    ]
    title = "Error over s, s-step and classical"
    figure = Figure(
        SLUG,
        title,
        f"{title}: medians in unit roundoffs; the lines lie together. {'; '.join(words)}.",
        document(514, below + 14, [*parts, moved(_legend(tasks), 60, below)]),
    )
    columns = (
        *filed("precision", "task", "s", "runs"),
        *(Column("", name, file=told) for name, told in NAMES.items()),
    )
    return figure, Table(columns, found)


NAMES = {"error": "median error / u", "classical": "median classical error / u"}


def _plot(
    precision: str,
    own: Sequence[Middle],
    rings: Sequence[tuple[int, float | None]],
    tasks: Sequence[str],
    up: Scale,
    last: int,
    height: float,
) -> str:
    plot = Plot(octaves([1, last]), up, 440, height, left=60, top=20)
    steps = sorted({one.s for one in own})
    parts = [
        text(plot.left, 12, precision, font_weight="bold"),
        *plot.axes([(s, str(s)) for s in steps], "s", "error / u", font_style="italic"),
    ]
    for place, task in enumerate(tasks):
        mine = [one for one in own if one.task == task]
        classical = joined(plot.points([one.s for one in mine], [one.classical for one in mine]), "6 3")
        stepped = [one for one in mine if one.s > 1]
        at = plot.points([one.s for one in stepped], [one.error for one in stepped])
        marks = group([mark(place, *point) for point in at], fill=page_colour(place), fill_opacity=".4")
        parts.append(group([*classical, marks], stroke=page_colour(place), fill="none"))
    for s, value in rings:
        x, y = plot.x(s), plot.y(value)
        ring = path(f"M{x - 7:.1f} {y:.1f}a7 7 0 1 0 14 0a7 7 0 1 0 -14 0z")
        cross = [line(x - 3, y - 3, x + 3, y + 3), line(x - 3, y + 3, x + 3, y - 3)]
        parts.append(group([ring, *cross], stroke="var(--fail,#b3160f)", stroke_width="1.5", fill="none"))
    return "\n".join(parts)


def _legend(tasks: Sequence[str]) -> str:
    parts = []
    for place, task in enumerate(tasks):
        x = 110 * place
        sample = [line(x, 4, x + 20, 4, stroke_dasharray="6 3"), mark(place, x + 30, 4)]
        parts.append(group(sample, stroke=page_colour(place), fill="none"))
        parts.append(text(x + 40, 8, task_words(task)))
    return "\n".join(parts)
