"""Doses of an error in one quantity: where verdicts turn, where they were to, and where rivals do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sstep_verify.defects.mutation import NONE, left_out
from sstep_verify.numerics.rounding import unit_roundoff
from sstep_verify.power.limits.acting import acting_in, is_switch
from sstep_verify.power.limits.dosed import dose_of
from sstep_verify.power.limits.judged import STEPS, WINDOWS, JudgedRuns, Runs, detectable, failed, shown
from sstep_verify.power.rivals import RIVALS, Answers, Rival
from sstep_verify.problems import Problem
from sstep_verify.quantities import quantities_of
from sstep_verify.reporting.sensitivity.limit_outcomes import (
    DosePair,
    DoseTrial,
    LimitOutcome,
    LimitUnit,
    RivalDose,
)
from sstep_verify.scenarios.draws import draw_balanced_scenario
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.adapters.reference import ReferenceSolver
from sstep_verify.verdict import SEEN, Status, Verdict

EITHER = "either"
"""Name of the two checks together: a campaign is red if one of them is."""

JUDGES = {STEPS: (STEPS,), WINDOWS: (WINDOWS,), EITHER: (STEPS, WINDOWS)}
"""What is tried by itself, and the checks that it consists of."""

OCTAVES = 6
"""Doses go from what is certain to show over two to this power..."""

ABOVE = 2
"""...to that times two to this power."""

PARTS = 4
"""Parts of an octave in which the dose is found at which a verdict turns."""

LINEAR = 2.0**-6
"""Largest error certain to show that is tried: beyond it effects are not proportional to doses."""

RESOLVED = 8
"""Roundoffs from which on doses can be told apart: a factor next to 1 holds multiples of two."""

PER_PROBLEM = 4
"""Quantities of a problem that get doses, those tried least before."""

SMALLEST = 26
"""Rivals are asked about doses of four to the power of minus this, and up to 1."""


def first_true(low: int, high: int, holds: Callable[[int], bool]) -> int | None:
    """Smallest integer in low..high for which `holds`, by bisection; None if not even the highest one.

    What holds for an integer is taken to hold for all larger ones.
    """
    if not holds(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


class DosedRuns:
    """Runs of one problem with doses of an error in one quantity, each made and judged once.

    Parameters
    ----------
    runs : JudgedRuns
        The problem and what judges it.
    quantity : str
        The quantity that is off.
    """

    def __init__(self, runs: JudgedRuns, quantity: str):
        self._runs, self._quantity = runs, quantity
        self._made: dict[float, Runs | None] = {}
        self._failed: dict[tuple[str, float], bool] = {}

    def dose(self, relative: float) -> float:
        """The dose that is made of the one asked for."""
        return dose_of(self._quantity, relative, self._runs.precision)[1]

    def failed(self, check: str, relative: float) -> bool:
        """Whether a check's verdict on a dose is FAIL."""
        mutation, dose = dose_of(self._quantity, relative, self._runs.precision)
        if dose not in self._made:
            self._made[dose] = self._runs.made(mutation)
        runs = self._made[dose]
        if runs is None:
            return True
        if (check, dose) not in self._failed:
            self._failed[check, dose] = self._runs.verdict(check, runs).status is Status.FAIL
        return self._failed[check, dose]

    def trial(self, check: str, certain: float) -> DoseTrial:
        """Find the dose at which a check's verdict turns, given the error that it was certain to show."""

        def dose(place: int) -> float:
            return self.dose(certain * 2.0 ** (place / PARTS))

        def turned(place: int) -> bool:
            return any(self.failed(one, certain * 2.0 ** (place / PARTS)) for one in JUDGES[check])

        place = first_true(-OCTAVES * PARTS, ABOVE * PARTS, turned)
        # Rounded to a factor the dose may be a little below what is certain to show.
        large = [octave * PARTS for octave in range(ABOVE + 1) if dose(octave * PARTS) >= certain]
        return DoseTrial(
            self._runs.scenario.id,
            self._runs.precision,
            self._quantity,
            check,
            predicted=certain / SEEN,
            found=None if place is None else dose(place),
            resolved=certain >= RESOLVED * unit_roundoff(self._runs.precision),
            certain=len(large),
            missed=sum(not turned(one) for one in large),
        )


class RivalRuns:
    """What rivals say of doses of an error in one quantity of one problem.

    Parameters
    ----------
    runs : JudgedRuns
        The problem.
    quantity : str
        The quantity that is off.
    """

    def __init__(self, runs: JudgedRuns, quantity: str):
        self._runs, self._quantity = runs, quantity
        self._trusted, self._exact = (
            _reference(runs, precision) for precision in (runs.precision, "longdouble")
        )
        self._finals: dict[tuple[int | None, int], np.ndarray] = {}

    def answers(self, rival: Rival, place: int | None) -> Answers:
        """What a rival looks at of a dose of four to the power of the place; None: of no error."""
        runs, s = self._runs, self._runs.scenario.s
        own = self._final(place, 1) if rival.asks_own else None
        return Answers(
            runs.problem, runs.precision, s, self._final(place, s), self._trusted, own, self._exact
        )

    def _final(self, place: int | None, s: int) -> np.ndarray:
        if (place, s) not in self._finals:
            relative = 0.0 if place is None else 4.0**place
            mutation, _ = dose_of(self._quantity, relative, self._runs.precision)
            self._finals[place, s] = self._runs.final(mutation, s)
        return self._finals[place, s]

    def doses(self) -> tuple[RivalDose, ...]:
        """The smallest dose that each rival refuses, to a factor of four."""
        told = []
        for rival in RIVALS:
            right = rival.accepts(self.answers(rival, None))
            if right is not None:
                place = first_true(-SMALLEST, 0, partial(self._refused, rival)) if right else None
                told.append(RivalDose(rival.name, not right, None if place is None else 4.0**place))
        return tuple(told)

    def _refused(self, rival: Rival, place: int) -> bool:
        return rival.accepts(self.answers(rival, place)) is False


def _reference(runs: JudgedRuns, precision: str) -> np.ndarray:
    """The final a of the classical method by the reference, in float64."""
    solver = ReferenceSolver(precision, "classical")
    problem: Problem = runs.problem
    request = RunRequest(problem, runs.stream, 1, runs.scenario.iterations, initial=runs.initial)
    return np.asarray(solver.run(request).final, dtype=np.float64)


def measure_doses(unit: LimitUnit) -> LimitOutcome:
    """Give doses to as many pairs of a drawn problem and a quantity that acts in it as wanted.

    Where a verdict is certain to show a switch left out, that is tried as well, in every problem.

    Parameters
    ----------
    unit : LimitUnit
        A unit of doses, of one precision.
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
        check: detectable([one for one in verdicts if one.check in among], name)
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
        RivalRuns(runs, name).doses(),
    )
