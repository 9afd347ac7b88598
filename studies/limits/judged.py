"""The verdicts of a user's campaign on a drawn run, made with or without a dose of an error."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

import numpy as np
from sstep_reference import SingularSystemError

from sstep_verify.checks.contract import CHECK as CONTRACT
from sstep_verify.checks.registry import checks_of
from sstep_verify.checks.shared.case import Case, merge_requests
from sstep_verify.checks.step_replay import CHECK as STEPS
from sstep_verify.checks.window_replay import CHECK as WINDOWS
from sstep_verify.declaration import Precision
from sstep_verify.oracle.facade import Oracle
from sstep_verify.recurrence.mutation import NONE, Mutation
from sstep_verify.runs.make import make_run
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.solver import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status, Verdict
from studies.limits.dosed import DosedSolver

Runs = dict[str, Trajectory]
"""By key, as checks ask for them."""


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
        self.initial, self.stream = scenario.initial(), scenario.stream()
        s, length = scenario.s, scenario.iterations
        self._case = Case(
            scenario.id,
            self.problem,
            self.stream,
            (s,),
            length,
            self._solver.declaration,
            points={s: (*range(s, length, s), length)},
            initial=self.initial,
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

    def final(self, mutation: Mutation, s: int) -> np.ndarray:
        """The a that a mutant ends with, in windows of s; of a run that breaks down no numbers."""
        request = RunRequest(self.problem, self.stream, s, self.scenario.iterations, initial=self.initial)
        try:
            return make_run(self._solver.with_dose(mutation), request).final
        except SingularSystemError:
            return np.full(self.problem.samples, np.nan)


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
