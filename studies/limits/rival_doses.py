"""What rivals say of doses of an error: the smallest that each of them refuses."""

from __future__ import annotations

from functools import partial

import numpy as np

from sstep_verify.problems import Problem
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.adapters.reference import ReferenceSolver
from studies.limits.dosed import dose_of
from studies.limits.judged import JudgedRuns
from studies.limits.trials import first_true
from studies.reporting.sensitivity.limit_outcomes import RivalDose
from studies.rivals import RIVALS, Answers, Rival

SMALLEST = 26
"""Rivals are asked about doses of four to the power of minus this, and up to 1."""


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
