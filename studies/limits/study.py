"""The study of detection limits: its units of work, and what each measures.

A unit draws problems until each quantity acted in as many runs as wanted, or gives doses of errors to pairs
of a drawn problem and a quantity that acts in it.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from sstep_verify.declaration import Precision
from sstep_verify.problems.losses import TASKS
from sstep_verify.quantities import quantities_of
from sstep_verify.recurrence.mutation import NONE, left_out
from sstep_verify.scenarios.descent import acting_terms
from sstep_verify.scenarios.draws import KERNEL_NAMES, draw_balanced_scenario
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.verdict import Verdict
from studies.limits.runs import JUDGES, JudgedRuns, detection_limit, failed, is_switch, shown
from studies.report.sensitivity.limits import (
    OURS,
    ActingRuns,
    DoseTrial,
    LimitOutcome,
    LimitUnit,
    RivalDose,
)

PRECISIONS: tuple[Precision, ...] = ("float64", "float32")

SIZES = ((16, 4), (64, 32))
"""Values of m and s of the strata."""


def units(seed: int = 0, *, small: bool = False) -> list[LimitUnit]:
    """Limits per task, kernel, m and s, in float32 for one kernel; doses per task, kernel and precision.

    Every unit has a seed of its own, made from that of the study and its id. A small study has only one
    stratum of each K-SVM, and a few pairs of each task, for half a minute.
    """
    kernels, sizes = (("rbf",), SIZES[:1]) if small else (KERNEL_NAMES, SIZES)
    samples, widths = zip(*sizes, strict=True)
    precisions = PRECISIONS[:1] if small else PRECISIONS
    # Pairs of problem and quantity that get doses: 306 in all; problems drawn for them, or for 59 acting
    # runs per quantity, the fewest of which there is a limit.
    pairs, drawn = (3, 60) if small else (17, 120)
    found = [
        # A bound in float32 is that in float64 times the ratio of the roundoffs: one kernel shows it.
        LimitUnit("limits", task, kernel, (m,), (s,), precisions[: 1 + (kernel == "rbf")], 0, 59, drawn)
        for task in (TASKS[:2] if small else TASKS)
        for kernel in kernels
        for m, s in sizes
    ]
    found += [
        LimitUnit("doses", task, kernel, samples, widths, (precision,), 0, pairs, drawn)
        for task in TASKS
        for kernel in kernels
        for precision in precisions
    ]
    digests = [hashlib.sha256(f"{seed} {unit.id}".encode()).digest() for unit in found]
    own = [int.from_bytes(digest[:6], "big") for digest in digests]
    return [replace(unit, seed=one) for unit, one in zip(found, own, strict=True)]


def run(unit: LimitUnit) -> LimitOutcome:
    """Measure a unit, in this process; the same outcome every time."""
    return measure_limits(unit) if unit.kind == "limits" else measure_doses(unit)


def acting_in(scenario: Scenario, names: Iterable[str]) -> frozenset[str]:
    """Those of some quantities that act in a scenario, whatever anybody could see of them.

    `descent.acting_terms` states when a quantity acts.
    """
    return acting_terms(
        scenario.problem(), scenario.stream(), scenario.s, scenario.initial(), frozenset(names)
    )


def measure_limits(unit: LimitUnit) -> LimitOutcome:
    """Draw problems until each quantity acted in as many runs as wanted, or no more may be drawn.

    Whether a quantity acts is decided before anything is judged (`descent.acting_terms`). A quantity
    that acted often enough is looked at no longer: its runs are the first ones drawn. The unit is one
    of limits: one stratum in one precision or more.
    """
    generator = np.random.Generator(np.random.PCG64(unit.seed))
    (samples,), (s,) = unit.samples, unit.s
    names = [one.name for one in quantities_of(unit.task, "frozen", s, 2)]
    draws, seen = Counter[str](), Counter[tuple[str, str]]()
    limits = defaultdict[tuple[str, str], list[float | None]](list)
    alarms: list[str] = []
    judged = 0
    for _ in range(unit.most):
        # In each precision as many runs act.
        looked = [name for name in names if len(limits[name, unit.precisions[0]]) < unit.wanted]
        if not looked:
            break
        drawn = draw_balanced_scenario(generator, unit.task, unit.kernel, samples, s, ("zero",))
        # As the longest of campaign ci: what a solver's own integration can afford.
        scenario = replace(drawn, iterations=103 if unit.task == "krr" else 203)
        acting = acting_in(scenario, looked)
        draws.update(looked)
        for precision in unit.precisions if acting else ():
            judged += 1
            verdicts = JudgedRuns(scenario, precision).verdicts()
            if failed(verdicts):
                alarms.append(f"{precision}: {scenario.id}")
            for name in acting:
                limit = detection_limit(verdicts, name)
                limits[name, precision].append(limit if math.isfinite(limit) else None)
                seen[name, precision] += shown(verdicts, name)
    runs = tuple(
        ActingRuns(name, precision, draws[name], tuple(limits[key]), seen[key])
        for name in names
        for precision in unit.precisions
        for key in [(name, precision)]
    )
    return LimitOutcome(unit, acting=runs, judged=judged, alarms=tuple(alarms))


def measure_doses(unit: LimitUnit) -> LimitOutcome:
    """Give doses to as many pairs of a drawn problem and a quantity that acts in it as wanted.

    Where a verdict is certain to show a switch left out, that is tried as well, in every problem.
    """
    generator = np.random.Generator(np.random.PCG64(unit.seed))
    (precision,) = unit.precisions
    trials, rivals = list[DoseTrial](), list[RivalDose]()
    tried = Counter[str]()
    alarms: list[str] = []
    switches: list[bool] = []
    judged = 0
    for _ in range(unit.most):
        if tried.total() >= unit.wanted:
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
        for name in names:
            if is_switch(name) and shown(verdicts, name) and not _same_without(runs, name):
                switches.append(failed(runs.verdicts(left_out(name))))
        small = [name for name in names if name in acting and not is_switch(name)]
        # Four of a problem, those tried least before.
        for name in sorted(small, key=lambda name: tried[name])[:4]:
            if tried.total() < unit.wanted and (found := _trials(runs, verdicts, name)):
                # A campaign is red if either check is.
                trials += found
                rivals += [RivalDose(OURS, precision, name, False, found[-1].found), *runs.rivals(name)]
                tried[name] += 1
    return LimitOutcome(
        unit,
        trials=tuple(trials),
        rivals=tuple(rivals),
        switches=len(switches),
        switches_missed=switches.count(False),
        judged=judged,
        alarms=tuple(alarms),
    )


def _same_without(runs: JudgedRuns, name: str) -> bool:
    """Whether without a quantity the run is the right one all the same.

    So it may be of a stream of one window: each draw taken one place off, they are the same coordinates.
    """
    (right, wrong) = (runs.made(mutation) for mutation in (NONE, left_out(name)))
    if right is None or wrong is None:
        return False
    return all(np.array_equal(right[key].alphas, wrong[key].alphas) for key in right)


def _trials(runs: JudgedRuns, verdicts: list[Verdict], name: str) -> list[DoseTrial]:
    """The trials of one quantity, the last by either check; of checks that say how small an error shows."""
    told = {
        check: detection_limit([one for one in verdicts if one.check in among], name)
        for check, among in JUDGES.items()
    }
    # Largest error certain to show that is tried: beyond it effects are not proportional to doses.
    return [runs.trial(name, check, size) for check, size in told.items() if size <= 2.0**-6]
