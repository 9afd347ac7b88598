"""Doses of an error in one quantity of a run: where the verdict of a check turns, and what rivals say."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial

import numpy as np

from sstep_verify.checks.step_replay import CHECK as STEPS
from sstep_verify.checks.window_replay import CHECK as WINDOWS
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.adapters.reference import ReferenceSolver
from sstep_verify.verdict import SEEN, Status
from studies.limits.dosed import dose_of
from studies.limits.judged import JudgedRuns, Runs
from studies.reporting.sensitivity.limit_outcomes import DoseTrial, RivalDose
from studies.rivals import RIVALS, Answers, Rival

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

RESOLVED = 8
"""Roundoffs from which on doses can be told apart: a factor next to 1 holds multiples of two."""

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
        self._finals: dict[tuple[int | None, int], np.ndarray] = {}

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

    def answers(self, rival: Rival, place: int | None) -> Answers:
        """What a rival looks at of a dose of four to the power of the place; None: of no error."""
        runs, s = self._runs, self._runs.scenario.s
        own = self._final(place, 1) if rival.asks_own else None
        return Answers(
            runs.problem, runs.precision, s, self._final(place, s), self._trusted[0], own, self._trusted[1]
        )

    def _final(self, place: int | None, s: int) -> np.ndarray:
        if (place, s) not in self._finals:
            relative = 0.0 if place is None else 4.0**place
            mutation, _ = dose_of(self._quantity, relative, self._runs.precision)
            self._finals[place, s] = self._runs.final(mutation, s)
        return self._finals[place, s]

    def rivals(self) -> tuple[RivalDose, ...]:
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

    @cached_property
    def _trusted(self) -> tuple[np.ndarray, ...]:
        """The final a of the classical method by the reference, in the precision and in longdouble."""
        runs = self._runs
        request = RunRequest(runs.problem, runs.stream, 1, runs.scenario.iterations, initial=runs.initial)
        solvers = (ReferenceSolver(kind, "classical") for kind in (runs.precision, "longdouble"))
        return tuple(np.asarray(one.run(request).final, dtype=np.float64) for one in solvers)
