"""Three plain sentences on what a stability campaign shows, computed from its data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from sstep_verify.reporting.case import Case
from sstep_verify.reporting.panels import TASK_WORDS
from sstep_verify.reporting.stability_document import StabilityRun
from sstep_verify.reporting.stability_summary import (
    ROUNDOFF,
    form_of,
    middle,
    power,
    precision_of,
    short_name,
)

SAME = 2.0
"""Factor within which two medians are called alike: a word of the sentences, no gate."""

Losses = list[float | None]


def sentences(runs: Sequence[StabilityRun], cases: Iterable[Case]) -> tuple[str, ...]:
    """Say how large the loss is, whether it grows with s, and whether the condition matters.

    Parameters
    ----------
    runs : sequence of StabilityRun
        All runs.
    cases : iterable of Case
        Their cases.

    Returns
    -------
    tuple of str
        Three, or none if there is no s-step run.
    """
    known = {case.id: case for case in cases}
    if not any(len(run.s) > 1 for run in runs):
        return ()
    return (_size(runs, known), _growth(runs), _condition(runs, known))


def _size(runs: Sequence[StabilityRun], cases: dict[str, Case]) -> str:
    losses = _losses(runs)
    broken = sum(loss is None for loss in losses)
    tasks = {task: [run for run in runs if cases[run.case].task == task] for task in TASK_WORDS}
    medians = ", ".join(
        f"{_number(middle(_losses(own)))} for {TASK_WORDS[task]}" for task, own in tasks.items() if own
    )
    count = f"{len(losses):,}".replace(",", "\u202f")
    text = (
        f"Size: the error of {count} s-step runs at their last iteration is {_number(middle(losses))} "
        f"times that of the classical method in the median ({medians})"
    )
    if broken:
        text += f"; {broken} runs broke down"
    top, place = max(
        ((run, k) for run in runs for k in range(1, len(run.s)) if run.loss[k] is not None),
        key=lambda item: item[0].loss[item[1]] or 0.0,
        default=(None, 0),
    )
    if top is None:
        return text + "."
    case = cases[top.case]
    unit = ROUNDOFF[precision_of(case)]
    return (
        f"{text}, and {_number(top.loss[place])} times at most: {precision_of(case)}, {form_of(case)}, "
        f"{short_name(case)}, condition {power(top.condition)}, s = {top.s[place]}, where s-step is "
        f"{_number(_units(top.error[place], unit))} and classical {_number(_units(top.error[0], unit))} "
        "unit roundoffs from the exact result."
    )


def _growth(runs: Sequence[StabilityRun]) -> str:
    common = sorted(set.intersection(*(set(run.s[1:]) for run in runs)))
    if len(common) < 2:
        return "Growth with s: fewer than two values of s are common to all problems."
    first, last = common[0], common[-1]
    medians = [middle(_losses_at(runs, s)) for s in (first, last)]
    worst = [_largest(_losses_at(runs, s)) for s in (first, last)]
    text = (
        f"Growth with s: from s = {first} to s = {last} the median loss factor goes from "
        f"{_number(medians[0])} to {_number(medians[1])} and the largest from {_number(worst[0])} to "
        f"{_number(worst[1])}, so in the median it {_trend(medians[0], medians[1], 'over that range')}"
    )
    whole = [run.loss[-1] for run in runs]
    return (
        f"{text}; with the whole run in one window (s = H) the median is {_number(middle(whole))} and the "
        f"largest {_number(_largest(whole))}."
    )


def _condition(runs: Sequence[StabilityRun], cases: dict[str, Case]) -> str:
    low, high = min(run.condition for run in runs), max(run.condition for run in runs)
    if low == high:
        return f"Condition: only {power(low)} was run."
    ends = [[run for run in runs if run.condition == value] for value in (low, high)]
    losses = [middle(_losses(own)) for own in ends]
    growth = {
        case: _ratio(*(middle(run.error[0] for run in own if run.case == case) for own in ends))
        for case in dict.fromkeys(run.case for run in runs)
    }
    steepest = max(growth, key=lambda case: growth[case] or 0.0)
    case = cases[steepest]
    medians: dict[tuple[str, float], float | None] = {
        key: middle(_losses(run for run in runs if (run.case, run.condition) == key))
        for key in dict.fromkeys((run.case, run.condition) for run in runs)
    }
    top = max(medians, key=lambda key: math.inf if (found := medians[key]) is None else found)
    return (
        f"Condition: from {power(low)} to {power(high)} the classical error grows "
        f"{_number(middle(growth.values()))} times in the median over the problems and "
        f"{_number(growth[steepest])} times at most ({precision_of(case)}, {short_name(case)}), while the "
        f"median loss factor goes from {_number(losses[0])} to {_number(losses[1])}: it "
        f"{_trend(losses[0], losses[1], 'whatever the condition')}, so in the median s-step shares the "
        f"errors of an ill-conditioned problem {_share(losses[0], losses[1])}; the highest median of "
        f"one problem at one condition is {_number(medians[top])} ({precision_of(cases[top[0]])}, "
        f"{form_of(cases[top[0]])}, {short_name(cases[top[0]])}, condition {power(top[1])})."
    )


def _losses(runs: Iterable[StabilityRun]) -> Losses:
    """Loss factors of all s-step runs."""
    return [loss for run in runs for loss in run.loss[1:]]


def _losses_at(runs: Iterable[StabilityRun], s: int) -> Losses:
    """Loss factors of the runs of one s."""
    return [run.loss[run.s.index(s)] for run in runs]


def _largest(losses: Losses) -> float | None:
    return max((loss for loss in losses if loss is not None), default=None)


def _trend(first: float | None, last: float | None, meanwhile: str) -> str:
    change = _ratio(first, last)
    if change is None:
        return "cannot be told"
    if change > SAME:
        return f"grows {_number(change)} times"
    if change < 1 / SAME:
        return f"falls {_number(1 / change)} times"
    return f"stays within a factor of two {meanwhile}"


def _share(first: float | None, last: float | None) -> str:
    change = _ratio(first, last)
    return "and adds to them" if change is None or change > SAME else "and does not add to them"


def _ratio(first: float | None, last: float | None) -> float | None:
    return last / first if first and last is not None else None


def _units(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit


def _number(value: float | None) -> str:
    if value is None:
        return "infinitely many"
    if value == 0 or 0.01 <= value < 1000:
        return f"{value:.3g}"
    return f"{value:.2g}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
