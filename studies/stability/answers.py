"""The questions of a stability campaign, answered from its runs for each precision and task.

How the loss grows with s, where s-step is more than `TENFOLD` times worse than classical, and which s is
safe for which u * condition. All rest on loss factors at the last iteration, where an error below one unit
roundoff counts as one, and on the noise of a scenario: what other orders of samples and features do to its
classical error. A factor within the noise of its own scenario says nothing of s-step.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from itertools import takewhile

import numpy as np

from sstep_verify.report.case import Case
from sstep_verify.report.plain import DIGITS, grouped
from sstep_verify.rounding.arithmetic import unit_roundoff
from studies.report.stability.document import (
    TENFOLD,
    Answer,
    Growth,
    SafeBand,
    StabilityRun,
    exceeds,
    extreme,
    middle,
    precision_of,
)

BAND = 2
"""Width of a band of u * condition, in decades."""

CONFIDENCE = 0.95
"""Of the intervals that are quoted."""

Exponent = tuple[float | None, float | None, float | None]
"""A fitted exponent of s and the ends of its confidence interval; None of too few points."""

Known = dict[str, Case]
Runs = Sequence[StabilityRun]


def answers(runs: Runs, cases: Iterable[Case]) -> tuple[Answer, ...]:
    """Answer the questions for each precision and task with an s-step run, in the order of the runs."""
    known = {case.id: case for case in cases}
    return tuple(_answer(*key, own, known) for key, own in by_task(runs, known).items())


def _answer(precision: str, task: str, runs: Runs, known: Known) -> Answer:
    unit = unit_roundoff(precision)
    # Without a classical run there is nothing to lose on.
    judged = [run for run in runs if run.classical is not None]
    worse = (run for run in judged if exceeds(run.loss, TENFOLD))
    return Answer(
        precision,
        task,
        growth(runs, known, unit),
        len(judged),
        extreme([run.loss for run in judged]),
        extreme([run.largest_loss for run in judged]),
        tuple(sorted(worse, key=lambda run: -math.inf if run.loss is None else -run.loss)),
        safe_bands(judged, unit),
    )


def by_task(runs: Runs, cases: Known) -> dict[tuple[str, str], list[StabilityRun]]:
    """The s-step runs by precision and task."""
    stepped = (run for run in runs if run.s > 1)
    return grouped(stepped, lambda run: (precision_of(cases[run.case]), cases[run.case].task))


def above_rounding(run: StabilityRun, roundoff: float) -> bool:
    """Whether the classical error is at least that of rounding the exact vector, or broke down."""
    # Errors are kept to so many digits.
    return run.classical is None or run.classical >= float(f"{roundoff:.{DIGITS}g}")


def growth(runs: Runs, cases: Known, roundoff: float) -> Growth:
    """Mean exponent of s in the loss factor, over the scenarios that can be told from rounding."""
    counted = [run for run in runs if above_rounding(run, roundoff)]
    scenarios = grouped(
        counted,
        lambda run: (cases[run.case].kernel, cases[run.case].block, run.condition, run.seed),
    )
    losses = grouped(filter(_finite, counted), lambda run: run.s)
    largest = [(s, max(float(run.loss or 0) for run in losses[s])) for s in sorted(losses)]
    exponent, low, high = mean_exponent(scenarios.values())
    noises = {run.scenario: run.noise for run in counted}
    known = [noise for noise in noises.values() if noise is not None]
    return Growth(
        len(scenarios),
        len({run.scenario for run in runs}) - len(noises),
        exponent,
        low,
        high,
        None if exponent is None else (largest[-1][0] / largest[0][0]) ** exponent,
        *fitted_exponent(largest),
        middle(known),
        max(known, default=None),
    )


def mean_exponent(scenarios: Iterable[Runs]) -> Exponent:
    """Mean over two scenarios or more of the exponent of s in the loss, with Student's interval.

    The runs of a scenario may be in several forms; those with fewer than two finite factors of s-step
    runs are left out.
    """
    from scipy import stats  # Slow to import, and needed where something is fitted.

    slopes = []
    for runs in scenarios:
        forms = grouped(filter(_finite, runs), lambda run: run.scenario).values()
        fitted = [
            stats.linregress(np.log([run.s for run in own]), np.log([run.loss or 0 for run in own])).slope
            for own in forms
            if len(own) > 1
        ]
        if fitted:
            slopes.append(float(np.mean(fitted)))
    if len(slopes) < 2:
        return None, None, None
    return _interval(float(np.mean(slopes)), stats.sem(slopes), len(slopes) - 1)


def fitted_exponent(pairs: Sequence[tuple[int, float]]) -> Exponent:
    """Exponent of s in factors by linear regression of the logarithms, with the interval of its slope.

    None of fewer than three points.
    """
    from scipy import stats  # Slow to import, and needed where something is fitted.

    if len(pairs) < 3:
        return None, None, None
    fit = stats.linregress(*np.log(pairs).T)
    return _interval(fit.slope, fit.stderr, len(pairs) - 2)


def _interval(value: float, error: float, freedom: int) -> Exponent:
    """An exponent with Student's interval of its standard error."""
    from scipy import stats  # Slow to import, and needed where something is fitted.

    half = stats.t.ppf((1 + CONFIDENCE) / 2, freedom) * error
    return float(value), float(value - half), float(value + half)


def _finite(run: StabilityRun) -> bool:
    """Whether it is an s-step run with a loss factor, which has a logarithm."""
    return run.s > 1 and bool(run.loss)


def safe_bands(runs: Runs, roundoff: float) -> tuple[SafeBand, ...]:
    """For each band of u * condition with runs in it, the s up to which no run in it loses."""
    bands = grouped(
        runs,
        lambda run: math.floor(math.log10(roundoff * (run.attained or run.condition)) / BAND),
    )
    return tuple(_band(place, own) for place, own in sorted(bands.items()))


def _band(place: int, runs: list[StabilityRun]) -> SafeBand:
    steps = dict(sorted(grouped(runs, lambda run: run.s).items()))
    floor = max((run.noise for run in runs if run.noise is not None), default=None)
    return SafeBand(
        low=10.0 ** (BAND * place),
        high=10.0 ** (BAND * (place + 1)),
        scenarios=len({run.scenario for run in runs}),
        noise=floor,
        s=tuple(steps),
        largest=tuple(extreme([run.loss for run in own]) for own in steps.values()),
        beyond=tuple(sum(run.beyond for run in own) for own in steps.values()),
        within_noise=_up_to(steps, {run.s for run in runs if exceeds(run.loss, floor)}),
        within_ten=_up_to(steps, {run.s for run in runs if exceeds(run.loss, TENFOLD) and run.held}),
    )


def _up_to(steps: Iterable[int], outside: Collection[int]) -> int:
    """Largest s before the first that is outside; 1, the classical method, if that is the first of all."""
    return max(takewhile(lambda s: s not in outside, steps), default=1)
