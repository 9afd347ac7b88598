"""A run of a correct solver, judged by checks as a user's run is, and what each of them said."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from sstep_reference.errors import InvalidInputError

from sstep_verify.checks.contract import CHECK as CONTRACT
from sstep_verify.checks.registry import checks_of
from sstep_verify.checks.shared.case import Case, merge_requests, run_key
from sstep_verify.checks.shared.check import Check
from sstep_verify.errors import InputError
from sstep_verify.oracle.facade import Oracle
from sstep_verify.parallel.packet import WindowError
from sstep_verify.runs.make import make_run
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.solver import RunRequest, Solver
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status, Verdict
from studies.alarms.bounds import longest_sum, parts_of_bound
from studies.alarms.problems import stored_as
from studies.alarms.variants import Variant
from studies.coverage.freedoms import declared_values, planned_values

LARGEST = 1e300
"""Stands for an infinite ratio."""

NO_RUN = (InputError, InvalidInputError, WindowError, np.linalg.LinAlgError)
"""What a correct solver may raise: a block system that is singular in its precision, an input beyond it."""
BROKEN_DOWN = {error.__name__ for error in NO_RUN}
"""Their names, as `Trajectory.raised` has them."""


@dataclass(frozen=True)
class Comparison:
    """What one check said of a run.

    Parameters
    ----------
    check : str
        Its id.
    status : Status
        Of its verdict.
    ratio : float
        Measured / bound.
    decided : bool
        Whether anything was held against a finite bound.
    acted : bool
        Whether an error in every core quantity of a step would have shown.
    reason : str
        Its reason.
    length : int
        Roundings of the longest sum in the bound; 0 where it is no single sum's.
    seen : tuple of str
        Quantities and planted defects that were certain to show.
    """

    check: str
    status: Status
    ratio: float
    decided: bool
    acted: bool
    reason: str
    length: int = 0
    seen: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judged:
    """A run of a correct solver.

    Parameters
    ----------
    variant, problem, task, kernel, precision : str
        What ran.
    comparisons : tuple of Comparison
        What was said; none where the solver made no run.
    shares : dict of str to float
        Parts of the bound of its worst step; empty where it was not looked at.
    row : dict of str to str
        Values of all freedoms of solver and case; empty where they were not read.
    planted : dict of str to bool
        By check and defect, whether the check refused the run with that defect.
    """

    variant: str
    problem: str
    task: str
    kernel: str
    precision: str
    comparisons: tuple[Comparison, ...]
    shares: dict[str, float] = field(default_factory=dict)
    row: dict[str, str] = field(default_factory=dict)
    planted: dict[str, bool] = field(default_factory=dict)

    @property
    def ratios(self) -> dict[str, float]:
        """Ratio of each check that decided the run; VACUOUS and INCONCLUSIVE decide nothing."""
        settled = [one for one in self.comparisons if one.status in (Status.PASS, Status.FAIL)]
        return {one.check: min(one.ratio, LARGEST) for one in settled}


def compared(case: Case, s: int, verdict: Verdict) -> Comparison:
    """A verdict as a comparison."""
    decided = verdict.executed > 0 and verdict.bound < math.inf
    length = longest_sum(verdict.check, case, s)
    acted = verdict.status is Status.PASS
    seen = tuple(term.name for term in verdict.terms if term.status is Status.PASS)
    return Comparison(
        verdict.check, verdict.status, verdict.ratio, decided, acted, verdict.reason, length, seen
    )


def judged_run(
    variant: Variant,
    scenario: Scenario,
    checks: Sequence[str],
    *,
    exact: bool = True,
    parts: bool = False,
    start: bool = True,
) -> Judged:
    """Have a correct solver make the runs that checks need, named beside the contract, and judge them.

    With `exact` step-replay repeats notable steps in exact arithmetic; without it all is compiled
    float64. With `parts` it is looked at what the bound of the worst step is made of; with `start` the
    run begins from the scenario's start vector.
    """
    solver, problem = variant.solver(scenario), stored_as(scenario.problem(), variant.storage)
    declared, s = solver.declaration, scenario.s
    limit = 1 << 24 if exact else 0
    initial = scenario.initial() if start else None
    case = Case(
        scenario.id,
        problem,
        scenario.stream(),
        (s,),
        scenario.iterations,
        declared,
        replay_limit=limit,
        initial=initial,
    )
    # Numbers beyond the range of a type are part of what is drawn.
    with np.errstate(all="ignore"):
        told, run = told_of(case, solver, checks_of((CONTRACT, *checks)), Oracle(problem))
        looked = parts and run is not None and run.log is not None
        shares = parts_of_bound(case, run, Oracle(problem)) if looked and run is not None else {}
    return Judged(
        variant.name,
        scenario.id,
        scenario.task,
        scenario.kernel.name,
        declared.precision,
        told,
        shares,
        declared_values(declared) | planned_values(case, s, "spread", wide=False, written="binary"),
    )


def told_of(
    case: Case, solver: Solver, checks: Sequence[Check], oracle: Oracle
) -> tuple[tuple[Comparison, ...], Trajectory | None]:
    """What checks, the contract first, say of the runs that they ask for; and the plain run, if fit."""
    (s,) = case.s_values
    runs: dict[str, Trajectory] = {}

    def make(wanted: Iterable[Mapping[str, RunRequest]]) -> bool:
        try:
            for key, request in merge_requests(wanted).items():
                made = runs[key] = make_run(solver, request)
                if made.raised and made.raised.kind in BROKEN_DOWN:
                    return False
        except NO_RUN:
            return False
        return True

    if not make(check.runs(case) for check in checks):
        return (), None
    broken = [one for one in checks[0].judge(case, runs, oracle) if one.status is Status.FAIL]
    if broken:
        return tuple(compared(case, s, one) for one in broken), None
    if not make(check.continued(case, runs) for check in checks[1:]):
        return (), None
    verdicts = [one for check in checks[1:] for one in check.judge(case, runs, oracle)]
    return tuple(compared(case, s, one) for one in verdicts), runs[run_key(s)]
