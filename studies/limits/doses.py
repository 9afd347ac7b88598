"""Doses of an error in one quantity: where verdicts turn, where they were to, and where rivals do."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from sstep_verify.quantities import quantities_of
from sstep_verify.recurrence.mutation import NONE, left_out
from sstep_verify.scenarios.draws import draw_balanced_scenario
from sstep_verify.verdict import Verdict
from studies.limits.acting import acting_in, is_switch
from studies.limits.judged import JudgedRuns, detection_limit, failed, shown
from studies.limits.trials import JUDGES, DosedRuns
from studies.reporting.sensitivity.limit_outcomes import DosePair, LimitOutcome, LimitUnit

PER_PROBLEM = 4
"""Quantities of a problem that get doses, those tried least before."""

LINEAR = 2.0**-6
"""Largest error certain to show that is tried: beyond it effects are not proportional to doses."""


def measure_doses(unit: LimitUnit) -> LimitOutcome:
    """Give doses to as many pairs of a drawn problem and a quantity that acts in it as wanted.

    Where a verdict is certain to show a switch left out, that is tried as well, in every problem.
    """
    generator = np.random.Generator(np.random.PCG64(unit.seed))
    (precision,) = unit.precisions
    pairs: list[DosePair] = []
    tried = Counter[str]()
    alarms: list[str] = []
    judged = switches = missed = 0
    for _ in range(unit.most):
        if len(pairs) >= unit.wanted:
            break
        samples, s = (int(generator.choice(values)) for values in (unit.samples, unit.s))
        scenario = draw_balanced_scenario(generator, unit.task, unit.kernel, samples, s)
        names = [one.name for one in quantities_of(unit.task, "frozen", s, scenario.block)]
        acting = acting_in(scenario, names)
        runs = JudgedRuns(scenario, precision)
        verdicts = runs.verdicts()
        judged += 1
        if failed(verdicts):
            alarms.append(f"{precision}: {scenario.id}")
            continue
        for name in filter(is_switch, names):
            outcome = _left_out(runs, name) if shown(verdicts, name) else None
            switches += outcome is not None
            missed += outcome is False
        small = [name for name in names if name in acting and not is_switch(name)]
        for name in sorted(small, key=lambda name: tried[name])[:PER_PROBLEM]:
            pair = _pair(runs, verdicts, name)
            if pair is not None and len(pairs) < unit.wanted:
                pairs.append(pair)
                tried[name] += 1
    return LimitOutcome(
        unit,
        pairs=tuple(pairs),
        switches=switches,
        switches_missed=missed,
        judged=judged,
        alarms=tuple(alarms),
    )


def _left_out(runs: JudgedRuns, name: str) -> bool | None:
    """Whether the run fails without a quantity; None if it then is the right run all the same.

    So it may be of a stream of one window: each draw taken one place off, they are the same coordinates.
    """
    (right, wrong) = (runs.made(mutation) for mutation in (NONE, left_out(name)))
    if right is not None and wrong is not None:
        pairs = ((right[key].alphas, wrong[key].alphas) for key in right)
        if all(np.array_equal(one, other) for one, other in pairs):
            return None
    return failed(runs.verdicts(left_out(name)))


def _pair(runs: JudgedRuns, verdicts: list[Verdict], name: str) -> DosePair | None:
    """The trials of one quantity; None where no check says how small an error it would show."""
    told = {
        check: detection_limit([one for one in verdicts if one.check in among], name)
        for check, among in JUDGES.items()
    }
    dosed = DosedRuns(runs, name)
    trials = tuple(dosed.trial(check, size) for check, size in told.items() if size <= LINEAR)
    if not trials:
        return None
    problem: Any = runs.problem
    return DosePair(
        runs.scenario.id,
        runs.scenario.task,
        problem.kernel.name,
        runs.precision,
        name,
        trials,
        dosed.rivals(),
    )
