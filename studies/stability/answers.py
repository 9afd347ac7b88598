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

from sstep_verify.measures import loss_factor
from sstep_verify.report.case import Case
from sstep_verify.report.plain import DIGITS, grouped
from sstep_verify.rounding.arithmetic import unit_roundoff
from studies.report.stability.document import TENFOLD, Answer, Growth, SafeBand, StabilityRun, WorseRun
from studies.report.stability.summary import extreme, in_units, middle, precision_of

BAND = 2
"""Width of a band of u * condition, in decades."""

CONFIDENCE = 0.95
"""Of the intervals that are quoted."""

Exponent = tuple[float | None, float | None, float | None]
"""A fitted exponent of s and the ends of its confidence interval; None of too few points."""

Known = dict[str, Case]


def answers(runs: Iterable[StabilityRun], cases: Iterable[Case]) -> tuple[Answer, ...]:
    """Answer the questions for each precision and task with an s-step run, in the order of the runs."""
    known = {case.id: case for case in cases}
    found = []
    for (precision, task), own in by_task(runs, known).items():
        unit, judged = unit_roundoff(precision), _judged(own)
        found.append(
            Answer(
                precision,
                task,
                growth(own, known, unit),
                sum(len(run.s) - 1 for run in judged),
                extreme([loss for run in judged for loss in run.loss[1:]]),
                extreme([loss for run in judged for loss in run.largest_loss[1:]]),
                worse_runs(judged, unit),
                safe_bands(judged, unit),
            )
        )
    return tuple(found)


def by_task(runs: Iterable[StabilityRun], cases: Known) -> dict[tuple[str, str], list[StabilityRun]]:
    """Runs with an s-step run by precision and task."""
    stepped = (run for run in runs if len(run.s) > 1)
    return grouped(stepped, lambda run: (precision_of(cases[run.case]), cases[run.case].task))


def above_rounding(run: StabilityRun, roundoff: float) -> bool:
    """Whether the classical error is at least that of rounding the exact vector, or broke down."""
    # Errors are kept to so many digits.
    return run.error[0] is None or run.error[0] >= float(f"{roundoff:.{DIGITS}g}")


def growth(runs: Sequence[StabilityRun], cases: Known, roundoff: float) -> Growth:
    """Mean exponent of s in the loss factor, over the scenarios that can be told from rounding."""
    counted = [run for run in runs if above_rounding(run, roundoff)]
    scenarios = grouped(
        counted,
        lambda run: (cases[run.case].kernel, cases[run.case].block, run.condition, run.seed),
    )
    losses = grouped((pair for run in counted for pair in finite_losses(run)), lambda pair: pair[0])
    largest = [(s, max(loss for _, loss in losses[s])) for s in sorted(losses)]
    exponent, low, high = mean_exponent(scenarios.values())
    noises = [run.noise for run in counted if run.noise is not None]
    return Growth(
        len(scenarios),
        len(runs) - len(counted),
        exponent,
        low,
        high,
        None if exponent is None else (largest[-1][0] / largest[0][0]) ** exponent,
        *fitted_exponent(largest),
        middle(noises),
        max(noises, default=None),
    )


def mean_exponent(scenarios: Iterable[Sequence[StabilityRun]]) -> Exponent:
    """Mean over two scenarios or more of the exponent of s in the loss, with Student's interval.

    The runs of a scenario may be in several forms; those with fewer than two finite factors of s-step
    runs are left out.
    """
    from scipy import stats  # Slow to import, and needed where something is fitted.

    fitted = [
        [stats.linregress(*np.log(pairs).T).slope for pairs in map(finite_losses, runs) if len(pairs) > 1]
        for runs in scenarios
    ]
    slopes = [float(np.mean(forms)) for forms in fitted if forms]
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


def finite_losses(run: StabilityRun) -> list[tuple[int, float]]:
    """Values of s > 1 with their loss factors, where there is one."""
    return [(s, loss) for s, loss in zip(run.s, run.loss, strict=True) if s > 1 and loss]


def worse_runs(runs: Iterable[StabilityRun], roundoff: float) -> tuple[WorseRun, ...]:
    """The s-step runs with a loss factor above `TENFOLD`, the largest first; one that broke down leads."""
    found = [
        WorseRun(
            run.case,
            run.condition,
            run.attained,
            run.seed,
            run.s[place],
            in_units(run.error[place], roundoff),
            in_units(run.error[0], roundoff),
            run.loss[place],
            run.noise,
            _exceeds(run.loss[place], run.noise),
            *_again(run, run.s[place], roundoff),
        )
        for run in runs
        for place in range(1, len(run.s))
        if _exceeds(run.loss[place], TENFOLD)
    ]
    return tuple(sorted(found, key=lambda one: -_size(one.loss)))


def safe_bands(runs: Iterable[StabilityRun], roundoff: float) -> tuple[SafeBand, ...]:
    """For each band of u * condition with runs in it, the s up to which no run in it loses."""
    bands = grouped(
        runs,
        lambda run: math.floor(math.log10(roundoff * (run.attained or run.condition)) / BAND),
    )
    return tuple(_band(place, bands[place], roundoff) for place in sorted(bands))


def _band(place: int, runs: list[StabilityRun], roundoff: float) -> SafeBand:
    pairs = [
        (s, (loss, run.noise)) for run in runs for s, loss in zip(run.s[1:], run.loss[1:], strict=True)
    ]
    losses = {s: [one for _, one in own] for s, own in grouped(pairs, lambda pair: pair[0]).items()}
    steps = sorted(losses)
    floor = max((run.noise for run in runs if run.noise is not None), default=None)
    outside_noise = {s for s in steps if any(_exceeds(loss, floor) for loss, _ in losses[s])}
    held = {worse.s for worse in worse_runs(runs, roundoff) if worse.held}
    return SafeBand(
        low=10.0 ** (BAND * place),
        high=10.0 ** (BAND * (place + 1)),
        scenarios=len(runs),
        noise=floor,
        s=tuple(steps),
        largest=tuple(extreme([loss for loss, _ in losses[s]]) for s in steps),
        beyond=tuple(sum(_exceeds(loss, own) for loss, own in losses[s]) for s in steps),
        within_noise=_up_to(steps, outside_noise),
        within_ten=_up_to(steps, held),
    )


def _up_to(steps: Sequence[int], outside: Collection[int]) -> int:
    """Largest s before the first that is outside; 1, the classical method, if that is the first of all."""
    return max(takewhile(lambda s: s not in outside, steps), default=1)


def _judged(runs: Iterable[StabilityRun]) -> list[StabilityRun]:
    """Runs beside a classical run that did not break down: without one there is nothing to lose on."""
    return [run for run in runs if run.error[0] is not None]


def _exceeds(loss: float | None, limit: float | None) -> bool:
    """Whether a factor exceeds a limit; a run that broke down exceeds any, an unknown noise is none."""
    return _size(loss) > (1.0 if limit is None else limit)


def _size(loss: float | None) -> float:
    return math.inf if loss is None else loss


def _again(run: StabilityRun, s: int, roundoff: float) -> tuple[int, float | None]:
    """Orders in which a run was made again, and the loss factor of the median errors over them."""
    look = next((look for look in run.again if look.s == s), None)
    if look is None:
        return 0, None
    error, classical = (math.inf if value is None else value for value in (look.error, look.classical))
    return look.orders, loss_factor(error, classical, roundoff)
