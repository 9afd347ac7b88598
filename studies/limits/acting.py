"""Detectable errors of drawn runs in which a quantity acts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from sstep_verify.quantities import quantities_of
from sstep_verify.recurrence.mutation import off_by
from sstep_verify.scenarios.descent import acting_terms
from sstep_verify.scenarios.draws import draw_balanced_scenario
from sstep_verify.scenarios.scenario import Scenario
from studies.limits.judged import JudgedRuns, detection_limit, failed, shown
from studies.reporting.sensitivity.limit_outcomes import ActingRuns, LimitOutcome, LimitUnit

ITERATIONS = {"svm-l1": 203, "svm-l2": 203, "krr": 103}
"""Iterations of a run from a = 0, as campaign ci has them: what a solver's own integration can afford."""


@dataclass
class Found:
    """Of one quantity: problems drawn, those in which it acts, and per precision what their runs showed."""

    draws: int = 0
    acted: int = 0
    detection_limit: dict[str, list[float]] = field(default_factory=dict)
    seen: dict[str, int] = field(default_factory=dict)


def is_switch(quantity: str) -> bool:
    """Whether a quantity is there or not, so that it has no small error."""
    return off_by(quantity, Fraction(0)) is None


def acting_in(scenario: Scenario, names: Iterable[str]) -> frozenset[str]:
    """Those of some quantities that act in a scenario, whatever anybody could see of them.

    A relative change of them shows at the end of some window, by 1 % at least of the most that any window
    of the run moves a; of a switch, leaving it out does.
    """
    return acting_terms(
        scenario.problem(), scenario.stream(), scenario.s, scenario.initial(), frozenset(names), of_run=True
    )


def measure_limits(unit: LimitUnit) -> LimitOutcome:
    """Draw problems until each quantity acted in as many runs as wanted, or no more may be drawn.

    Whether a quantity acts is decided before anything is judged (`descent.acting_terms`). A quantity
    that acted often enough is looked at no longer: its runs are the first ones drawn. The unit is one
    of limits: one stratum in one precision or more.
    """
    generator = np.random.Generator(np.random.PCG64(unit.seed))
    (samples,), (s,) = unit.samples, unit.s
    found = {one.name: Found() for one in quantities_of(unit.task, "frozen", s, 2)}
    alarms: list[str] = []
    judged = 0
    for _ in range(unit.most):
        looked = [name for name, one in found.items() if one.acted < unit.wanted]
        if not looked:
            break
        drawn = draw_balanced_scenario(generator, unit.task, unit.kernel, samples, s, ("zero",))
        scenario = replace(drawn, iterations=ITERATIONS[unit.task])
        acting = acting_in(scenario, looked)
        for name in looked:
            found[name].draws += 1
            found[name].acted += name in acting
        for precision in unit.precisions if acting else ():
            judged += 1
            verdicts = JudgedRuns(scenario, precision).verdicts()
            if failed(verdicts):
                alarms.append(f"{precision}: {scenario.id}")
            for name in acting:
                found[name].detection_limit.setdefault(precision, []).append(
                    detection_limit(verdicts, name)
                )
                seen = found[name].seen.get(precision, 0)
                found[name].seen[precision] = seen + shown(verdicts, name)
    acted = tuple(
        ActingRuns(
            name,
            precision,
            is_switch(name),
            one.draws,
            one.acted,
            tuple(
                value if math.isfinite(value) else None for value in one.detection_limit.get(precision, ())
            ),
            one.seen.get(precision, 0),
        )
        for name, one in found.items()
        for precision in unit.precisions
    )
    return LimitOutcome(unit, acting=acted, judged=judged, alarms=tuple(alarms))
