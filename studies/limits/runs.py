"""A drawn run with or without doses of an error: the verdicts of a user's campaign, and what rivals say."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from functools import cache, cached_property

import numpy as np
from sstep_reference import SingularSystemError

from sstep_verify.adapters.reference import ReferenceSolver
from sstep_verify.checks.contract import CHECK as CONTRACT
from sstep_verify.checks.registry import checks_of
from sstep_verify.checks.shared.case import Case, merge_requests
from sstep_verify.checks.step_replay import CHECK as STEPS
from sstep_verify.checks.window_replay import CHECK as WINDOWS
from sstep_verify.declaration import Precision
from sstep_verify.oracle.facade import Oracle
from sstep_verify.recurrence.mutation import NONE, Mutation
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.runs.make import make_run
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.solver import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import SEEN, Status, Verdict
from studies.limits.outcomes import DoseTrial, RivalDose
from studies.limits.solver import DosedSolver, dose_of
from studies.rivals import RIVALS, Answers, Rival

Runs = dict[str, Trajectory]
"""By key, as checks ask for them."""

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


class JudgedRuns:
    """Runs of one drawn problem in one precision, and the verdicts on them.

    Every window end is recorded, and all else is as campaigns have it.

    Parameters
    ----------
    scenario : Scenario
        The drawn problem.
    precision : {"float32", "float64"}
        Precision of the solver.
    """

    def __init__(self, scenario: Scenario, precision: Precision):
        self.scenario, self.problem, self.precision = scenario, scenario.problem(), precision
        self._solver, self._oracle = DosedSolver(self.problem, precision), Oracle(self.problem)
        self._checks = {check.id: check for check in checks_of((CONTRACT, STEPS, WINDOWS))}
        s, length = scenario.s, scenario.iterations
        self._case = Case(
            scenario.id,
            self.problem,
            scenario.stream(),
            (s,),
            length,
            self._solver.declaration,
            points={s: (*range(s, length, s), length)},
            initial=scenario.initial(),
            diagnose=False,
        )

    def made(self, mutation: Mutation = NONE) -> Runs | None:
        """The run of a mutant, by the keys of all checks; None where it breaks down."""
        solver = self._solver.with_dose(mutation)
        wanted = merge_requests(check.runs(self._case) for check in self._checks.values())
        try:
            return {key: make_run(solver, request) for key, request in wanted.items()}
        except SingularSystemError:  # by a large error a block system is no longer positive definite
            return None

    def verdict(self, check: str, runs: Runs) -> Verdict:
        """The verdict of one check."""
        (verdict,) = self._checks[check].judge(self._case, runs, self._oracle)
        return verdict

    def verdicts(self, mutation: Mutation = NONE) -> list[Verdict]:
        """The verdicts on the run of a mutant: of one that the contract refuses only that, of none none."""
        runs = self.made(mutation)
        if runs is None:
            return []
        contract = self.verdict(CONTRACT, runs)
        others = () if contract.status is Status.FAIL else (STEPS, WINDOWS)
        return [contract, *(self.verdict(check, runs) for check in others)]

    def request(self, s: int) -> RunRequest:
        """The plain run in windows of s."""
        case = self._case
        return RunRequest(self.problem, case.stream, s, case.iterations, initial=case.initial)

    def final(self, mutation: Mutation, s: int) -> np.ndarray:
        """The a that a mutant ends with, in windows of s; of a run that breaks down no numbers."""
        try:
            return make_run(self._solver.with_dose(mutation), self.request(s)).final
        except SingularSystemError:
            return np.full(self.problem.samples, np.nan)

    @cached_property
    def trusted(self) -> tuple[np.ndarray, ...]:
        """The final a of the classical method by the reference, in the precision and in longdouble."""
        solvers = (ReferenceSolver(kind, "classical") for kind in (self.precision, "longdouble"))
        return tuple(np.asarray(one.run(self.request(1)).final, dtype=np.float64) for one in solvers)


def failed(verdicts: Collection[Verdict]) -> bool:
    """Whether one of the verdicts is FAIL; where there is none, the run broke down."""
    return not verdicts or any(one.status is Status.FAIL for one in verdicts)


def detection_limit(verdicts: Iterable[Verdict], quantity: str) -> float:
    """Smallest relative error of a quantity that one of the verdicts was certain to show."""
    return min(
        (term.detection_limit for one in verdicts for term in one.terms if term.name == quantity),
        default=math.inf,
    )


def shown(verdicts: Iterable[Verdict], quantity: str) -> bool:
    """Whether one of the verdicts was certain to show the quantity left out."""
    return any(term.seen for one in verdicts for term in one.terms if term.name == quantity)


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
    """Runs of one problem with doses of an error in one quantity, each made and judged once."""

    def __init__(self, runs: JudgedRuns, quantity: str):
        self._runs, self._quantity = runs, quantity
        self._made, self._final = cache(runs.made), cache(runs.final)
        self._fails = cache(self._fails_uncached)

    def _dose(self, relative: float) -> tuple[Mutation, float]:
        """The mutation, and the dose that is made of the one asked for."""
        return dose_of(self._quantity, relative, self._runs.precision)

    def _fails_uncached(self, check: str, mutation: Mutation) -> bool:
        runs = self._made(mutation)
        return runs is None or self._runs.verdict(check, runs).status is Status.FAIL

    def failed(self, check: str, relative: float) -> bool:
        """Whether a check's verdict on a dose is FAIL."""
        return self._fails(check, self._dose(relative)[0])

    def trial(self, check: str, certain: float) -> DoseTrial:
        """Find the dose at which a check's verdict turns, given the error that it was certain to show."""

        def dose(place: int) -> float:
            return self._dose(certain * 2.0 ** (place / PARTS))[1]

        def turned(place: int) -> bool:
            return any(self.failed(one, certain * 2.0 ** (place / PARTS)) for one in JUDGES[check])

        place = first_true(-OCTAVES * PARTS, ABOVE * PARTS, turned)
        # Rounded to a factor the dose may be a little below what is certain to show.
        large = [octave * PARTS for octave in range(ABOVE + 1) if dose(octave * PARTS) >= certain]
        return DoseTrial(
            check,
            predicted=certain / SEEN,
            found=None if place is None else dose(place),
            resolved=certain >= RESOLVED * unit_roundoff(self._runs.precision),
            certain=len(large),
            missed=sum(not turned(one) for one in large),
        )

    def accepts(self, rival: Rival, relative: float) -> bool | None:
        """Whether a rival takes a dose for right."""
        runs, s, (mutation, _) = self._runs, self._runs.scenario.s, self._dose(relative)
        own = self._final(mutation, 1) if rival.asks_own else None
        trusted, exact = runs.trusted
        final = self._final(mutation, s)
        return rival.accepts(Answers(runs.problem, runs.precision, s, final, trusted, own, exact))

    def rivals(self) -> tuple[RivalDose, ...]:
        """The smallest dose that each rival refuses, to a factor of four."""
        told = []
        for rival in RIVALS:

            def refused(place: int, rival: Rival = rival) -> bool:
                return self.accepts(rival, 4.0**place) is False

            right = self.accepts(rival, 0.0)
            if right is not None:
                place = first_true(-SMALLEST, 0, refused) if right else None
                told.append(RivalDose(rival.name, not right, None if place is None else 4.0**place))
        return tuple(told)
