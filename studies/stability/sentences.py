"""Plain sentences on a stability campaign, for each precision and task, computed from its data.

Three things keep them from quoting noise. A classical run whose relative error is below the unit roundoff u
is as near to the exact vector as rounding that vector would bring it (``|fl(a_i) - a_i| <= u |a_i|`` for
every i, so the 2-norm of the rounding is at most ``u ||a||``): a factor over such an error says how the
last bits fell and nothing of a method, and its scenario is counted apart. A factor is quoted as the largest
only if it exceeds what reordering the sums of the classical run did to its error in the same scenario. And
growth with s is the exponent of s fitted within each scenario, with a confidence interval of its mean over
the scenarios, whose rounding errors are taken to be independent; the forms of one scenario count as one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from sstep_verify.report.case import Case
from sstep_verify.report.panels import task_words
from sstep_verify.report.plain import brief
from sstep_verify.rounding.arithmetic import unit_roundoff
from studies.report.stability.document import (
    TENFOLD,
    Answer,
    Growth,
    StabilityRun,
    form_of,
    in_units,
    middle,
    power,
    precision_of,
    short_name,
)
from studies.stability.answers import CONFIDENCE, above_rounding, by_task
from studies.stability.definition import ORDERS


def sentences(
    runs: Sequence[StabilityRun], cases: Iterable[Case], answered: Iterable[Answer]
) -> tuple[str, ...]:
    """Say, for each precision and task, how large the loss is, above what noise, and how it grows with s.

    One sentence for each answer, and one on the condition; none if there is no s-step run.
    """
    known = {case.id: case for case in cases}
    groups = by_task(runs, known)
    if not groups:
        return ()
    of_groups = (_of_group(answer, groups[answer.precision, answer.task], known) for answer in answered)
    return (*of_groups, _condition(runs, known))


def _of_group(answer: Answer, runs: list[StabilityRun], cases: dict[str, Case]) -> str:
    unit = unit_roundoff(answer.precision)
    counted = [run for run in runs if above_rounding(run, unit)]
    left_out = answer.growth.left_out
    apart = (
        f" Left out: {left_out} scenarios whose classical error is below one unit roundoff, which rounding "
        "the exact vector may bring."
    )
    if not counted:
        return f"{answer.name}: no accuracy loss can be distinguished from rounding.{apart}"
    losses = [run.loss for run in counted]
    broken = losses.count(None)
    parts = [
        f"{answer.name}: over {len({run.scenario for run in counted})} scenarios the s-step error at the "
        f"last iteration is {_number(middle(losses))} times the classical one in the median"
        + (f"; {broken} runs broke down" if broken else ""),
        _noise(answer.growth, counted, cases, unit),
        _growth(answer.growth, counted),
        _worse(answer),
    ]
    return ". ".join(parts) + "." + (apart if left_out else "")


def _noise(growth: Growth, runs: list[StabilityRun], cases: dict[str, Case], unit: float) -> str:
    known = [run for run in runs if run.loss is not None]
    if growth.noise is None:
        text, seen = "The effect of reordered sums was not measured", known
    else:
        seen = [run for run in known if run.noise is not None and run.beyond]
        text = (
            f"A scenario has {ORDERS} classical runs, with samples and features in as many orders. Their "
            f"largest error is {_number(growth.noise)} times the smallest in the median, and "
            f"{_number(growth.largest_noise)} times at most. The accuracy loss exceeds that ratio of "
            f"its own scenario in {len(seen)} of {len(known)} runs"
        )
    if not seen:
        return text
    top = max(seen, key=lambda run: run.loss or 0.0)
    return (
        f"{text}. The largest such loss is {_number(top.loss)} ({form_of(cases[top.case])}, "
        f"{short_name(cases[top.case])}, condition {power(top.condition)}, s = {top.s}). "
        f"Its errors are {_number(in_units(top.error, unit))} and "
        f"{_number(in_units(top.classical, unit))} unit roundoffs"
    )


def _growth(found: Growth, runs: list[StabilityRun]) -> str:
    mean = trend(found.exponent, found.low, found.high)
    largest = trend(found.largest_exponent, found.largest_low, found.largest_high)
    if not mean:
        return "Growth with s: too few runs"
    steps = sorted({run.s for run in runs})
    return (
        f"Growth with s: in a scenario the loss {mean}. It changes by a factor of {_number(found.across)} "
        f"from s = {steps[0]} to s = {steps[-1]}"
    ) + (f". The largest loss over the scenarios {largest}" if largest else "")


def trend(exponent: float | None, low: float | None, high: float | None) -> str:
    """Whether there is growth with s, and the numbers; nothing where one of them is missing."""
    if exponent is None or low is None or high is None:
        return ""
    sign = "grows" if low > 0 else "falls" if high < 0 else "shows no growth"
    return f"{sign} with s (exponent {exponent:.2g}, {CONFIDENCE:.0%} interval {low:.2g} to {high:.2g})"


def _worse(answer: Answer) -> str:
    text = f"Runs more than {TENFOLD:g} times worse than classical: {len(answer.worse)} of {answer.runs}"
    if not answer.worse:
        return text
    again = [run for run in answer.worse if run.orders]
    text += f". Those beyond what reordered sums do to the classical error: {len(answer.beyond)}"
    if not again:
        return text
    return (
        f"{text}. Repeated in {again[0].orders} other orders: {len(again)}. Still so in the median over "
        f"these: {sum(run.held for run in again)}"
    )


def _condition(runs: Sequence[StabilityRun], cases: dict[str, Case]) -> str:
    low, high = min(run.condition for run in runs), max(run.condition for run in runs)
    if low == high:
        return f"Condition: only {power(low)} was run."
    ends = [[run for run in runs if run.condition == value] for value in (low, high)]
    growth = dict[str, float | None]()
    for case in dict.fromkeys(run.case for run in runs):
        first, last = (middle(run.classical for run in own if run.case == case) for own in ends)
        growth[case] = last / first if first and last is not None else None
    steepest = max(growth, key=lambda case: growth[case] or 0.0)
    keys = dict.fromkeys((precision_of(case), case.task) for case in cases.values())
    losses = []
    for precision, task in keys:
        both = [
            [
                run.loss
                for run in by_task(own, cases).get((precision, task), ())
                if above_rounding(run, unit_roundoff(precision))
            ]
            for own in ends
        ]
        if all(both):
            told = " to ".join(map(_number, map(middle, both)))
            losses.append(f" Median loss of {precision}, {task_words(task)}: {told}.")
    return (
        f"Condition: from {power(low)} to {power(high)}, as prescribed, the classical error grows "
        f"{_number(middle(growth.values()))} times in the median over the problems. It grows "
        f"{_number(growth[steepest])} times at most ({precision_of(cases[steepest])}, "
        f"{short_name(cases[steepest])}).{''.join(losses)}"
    )


def _number(value: float | None) -> str:
    if value is None or math.isinf(value):
        return "infinitely many"
    if value == 0 or 0.01 <= value < 1000:
        return f"{value:.3g}"
    return brief(value)
