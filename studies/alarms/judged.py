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
from sstep_verify.production.messages.packet import WindowError
from sstep_verify.runs.make import make_run
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.solver import RunRequest, Solver
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status, Verdict
from studies.alarms.solvers import Variant, stored_as
from studies.alarms.tightness import parts_of_bound
from studies.coverage.freedoms import row_of

LARGEST = 1e300
"""Stands for an infinite ratio."""

NO_RUN = (InputError, InvalidInputError, WindowError, np.linalg.LinAlgError)
"""What a correct solver may raise: a block system that is singular in its precision, an input beyond it."""
BROKEN_DOWN = {error.__name__ for error in NO_RUN}
"""Their names, as `Trajectory.raised` has them."""


def decided(verdict: Verdict) -> bool:
    """Whether anything was held against a finite bound."""
    return verdict.executed > 0 and verdict.bound < math.inf


@dataclass(frozen=True, eq=False)
class Judged:
    """A run of a correct solver.

    Parameters
    ----------
    variant, problem : str
        What ran.
    row : dict of str to str
        Values of all freedoms of solver and case; empty where the solver made no run.
    verdicts : tuple of Verdict
        What was said; none where the solver made no run.
    case : Case or None
        What was judged.
    shares : dict of str to float
        Parts of the bound of its worst step; empty where it was not looked at.
    planted : dict of str to bool
        By check and defect, whether the check refused the run with that defect.
    """

    variant: str
    problem: str
    row: dict[str, str] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    case: Case | None = None
    shares: dict[str, float] = field(default_factory=dict)
    planted: dict[str, bool] = field(default_factory=dict)

    @property
    def ratios(self) -> dict[str, float]:
        """Ratio of each check that decided the run; VACUOUS and INCONCLUSIVE decide nothing."""
        settled = [one for one in self.verdicts if one.status in (Status.PASS, Status.FAIL)]
        return {one.check: min(one.ratio, LARGEST) for one in settled}


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
    case = Case(
        scenario.id,
        problem,
        scenario.stream(),
        (scenario.s,),
        scenario.iterations,
        solver.declaration,
        replay_limit=1 << 24 if exact else 0,
        initial=scenario.initial() if start else None,
    )
    # Numbers beyond the range of a type are part of what is drawn.
    with np.errstate(all="ignore"):
        verdicts, run = verdicts_of(case, solver, checks_of((CONTRACT, *checks)), Oracle(problem))
        shares = parts_of_bound(case, run, Oracle(problem)) if parts and run and run.log is not None else {}
    return Judged(variant.name, scenario.id, row_of(case), verdicts, case, shares)


def verdicts_of(
    case: Case, solver: Solver, checks: Sequence[Check], oracle: Oracle
) -> tuple[tuple[Verdict, ...], Trajectory | None]:
    """What checks, the contract first, say of the runs that they ask for; and the plain run, if fit."""
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
        return tuple(broken), None
    if not make(check.continued(case, runs) for check in checks[1:]):
        return (), None
    verdicts = [one for check in checks[1:] for one in check.judge(case, runs, oracle)]
    return tuple(verdicts), runs[run_key(case.s_values[0])]
