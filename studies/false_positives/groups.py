"""Ways in which runs of correct solvers are drawn and judged, each with its share of a study.

Those of a share are judged step by step in compiled float64, as a run that logs its steps is, or as a
window in exact arithmetic; those of the design by the check of the cell that they are drawn for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sstep_reference.errors import InvalidInputError
from threadpoolctl import threadpool_limits

from sstep_verify import InputError, RunRequest, Solver, Status, Trajectory, Verdict
from sstep_verify.campaign.verdicts.case import stored_as
from sstep_verify.checks import contract, metamorphic_exact, registry, step_replay, window_replay
from sstep_verify.checks.registry import checks_of
from sstep_verify.checks.shared.case import Case, merge_requests, run_key
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.oracle.facade import Oracle
from sstep_verify.rounding.arithmetic import norm
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.rounding.rows import KernelEntries
from sstep_verify.runs import make_run
from sstep_verify.scenarios.draws import one_of
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.solver.packet import WindowError
from studies.admissible.arithmetic import BY_VALUE
from studies.admissible.solver import draw
from studies.coverage.cases import Planned, planned
from studies.coverage.freedoms import CORES, row_of
from studies.coverage.planted import planted
from studies.coverage.table import STRIDE, design, drawn_row, wanted
from studies.false_positives.solvers import LOGGING, SEEDS, SERIAL, Variant, drawn_problem

NO_RUN = (InputError, InvalidInputError, WindowError, np.linalg.LinAlgError)
"""What a correct solver may raise: a block system that is singular in its precision, an input beyond it."""
BROKEN_DOWN = {error.__name__ for error in NO_RUN}
"""Their names, as `Trajectory.raised` has them."""


def decided(verdict: Verdict) -> bool:
    """Whether anything was compared with a finite bound."""
    return verdict.executed > 0 and verdict.bound < math.inf


@dataclass(frozen=True, eq=False)
class Judged:
    """A run of a correct solver, judged by checks as a user's run is; without verdicts if it made none.

    Its row has the values of all freedoms of solver and case. There are the parts of the bound of its worst
    step where these were looked at; by check and defect, whether the check refused the run with it.
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
        # 1e300 stands for an infinite ratio.
        settled = [one for one in self.verdicts if one.status in (Status.PASS, Status.FAIL)]
        return {one.check: min(one.ratio, 1e300) for one in settled}


def judged_run(
    variant: Variant,
    scenario: Scenario,
    checks: Sequence[str],
    *,
    exact: bool = True,
    parts: bool = False,
    start: bool = True,
) -> Judged:
    """Have a correct solver make the runs that checks need, named besides the contract, and judge them.

    With `exact` step-replay repeats notable steps in exact arithmetic; without it all is compiled
    float64. With `parts` it is looked at what the bound of the worst step is made of; with `start` the
    run begins from the scenario's start vector.
    """
    solver, problem = variant.solver(scenario), scenario.problem()
    problem = replace(problem, data=stored_as(problem.data, variant.storage))
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
    verdicts, run = verdicts_of(case, solver, checks)
    shares = parts_of_bound(case, run) if parts and run and run.log is not None else {}
    return Judged(variant.name, scenario.id, row_of(case, variant.undeclared), verdicts, case, shares)


@np.errstate(all="ignore")
def parts_of_bound(case: Case, run: Trajectory) -> dict[str, float]:
    """Shares of the bound of the step with the largest ratio; none if it is infinite, or a clip decides it.

    The run has a log.
    """
    oracle = Oracle(case.problem)
    judge = StepJudge(case, oracle)
    worst = judge.run(run).worst
    if worst is None:
        return {}

    def size(of: StepJudge) -> float:
        return norm(of.step_bounds(run, worst.window.begin))

    whole, solver = size(judge), size(StepJudge(case, oracle, judge=False))
    if not 0.0 < solver <= whole < np.inf:  # an exact step decides no clip: its bound is another one
        return {}

    def errorless(*arguments: Any) -> KernelEntries:
        entries = kernel_entries(*arguments)
        nothing = np.zeros_like(entries.values)
        return replace(entries, judge_error=nothing, solver_error=nothing)

    sums = size(StepJudge(case, oracle, judge=False, form=errorless))
    return {
        "the judge's own step": 1.0 - solver / whole,
        "the solver's kernel entries": (solver - sums) / whole,
        "the sums of a step and what is stored": sums / whole,
    }


@np.errstate(all="ignore")  # Numbers beyond the range of a type are part of what is drawn.
def verdicts_of(
    case: Case, solver: Solver, named: Sequence[str], oracle: Oracle | None = None
) -> tuple[tuple[Verdict, ...], Trajectory | None]:
    """What checks, besides the contract, say of the runs that they ask for; and the plain run, if fit."""
    first, *checks = checks_of((contract.ID, *named))
    runs: dict[str, Trajectory] = {}
    oracle = oracle or Oracle(case.problem)

    def make(wanted: Iterable[Mapping[str, RunRequest]]) -> bool:
        try:
            for key, request in merge_requests(wanted).items():
                made = runs[key] = make_run(solver, request)
                if made.raised and made.raised.kind in BROKEN_DOWN:
                    return False
        except NO_RUN:
            return False
        return True

    if not make(check.runs(case) for check in (first, *checks)):
        return (), None
    if broken := [
        one for one in registry.verdicts_of(first, case, runs, oracle) if one.status is Status.FAIL
    ]:
        return tuple(broken), None
    if not make(check.continued(case, runs) for check in checks):
        return (), None
    verdicts = [one for check in checks for one in registry.verdicts_of(check, case, runs, oracle)]
    return tuple(verdicts), runs[run_key(case.s_values[0])]


@dataclass(frozen=True)
class Group:
    """A way to draw, make and judge runs, with `piece` runs a unit: some seconds.

    Its share of the runs of a study is 0 for those of the design, which are counted apart; `core` is the
    processor kind by which matrices are multiplied, one of `CORES`.
    """

    judged: Callable[[np.random.Generator, int], Judged]
    share: float
    piece: int
    core: str = ""


def by_steps(generator: np.random.Generator, number: int) -> Judged:
    """Every step of a logged run, in compiled float64; of some runs notable steps exactly as well."""
    variant = LOGGING[number % len(LOGGING)]
    scenario = drawn_problem(generator, variant)
    exact = generator.random() < 1 / 8
    # Of so many runs judged step by step one is looked at for what its bound is made of.
    return judged_run(variant, scenario, (step_replay.ID,), exact=exact, parts=number % 20 == 0)


def with_blas_threads(generator: np.random.Generator, number: int) -> Judged:
    """Every step of a run whose products are large enough for BLAS to share out to threads."""
    variant, threads = one_of(generator, SERIAL), one_of(generator, (1, 2))
    scenario = drawn_problem(generator, variant)
    samples, features = int(generator.integers(128, 257)), int(generator.integers(64, 161))
    scenario = replace(scenario, samples=samples, features=features, s=max(scenario.s, 16), iterations=40)
    with threadpool_limits(limits=threads, user_api="blas"):
        made = judged_run(variant, scenario, (step_replay.ID,), exact=False)
    return replace(made, variant=f"{made.variant}, BLAS threads {threads}")


def in_admissible_orders(generator: np.random.Generator, number: int) -> Judged:
    """A window of a solver of single IEEE operations, over the whole exponent range, and its steps."""
    solver, case = draw(int(generator.integers(SEEDS)))
    verdicts, _ = verdicts_of(case, solver, (window_replay.ID, step_replay.ID))
    name = f"order {solver.order} {case.declaration.precision} {case.declaration.update}"
    return Judged(name, case.problem.name, row_of(case, solver.undeclared, wide=True), verdicts, case)


def of_a_design(generator: np.random.Generator, number: int) -> Judged:
    """A run for a cell of the coverage table, judged by the cell's check; every other is a simple one."""
    (check, left, _), rows = wanted(number), design()[0]
    # What is wished of every other run of the design, for checks decide more of such runs.
    wish = rows[number % len(rows)] | (
        {"data": "spread", "range": "near 1", "precision": "float64", "iterations": "whole windows"}
        if number % 2
        else {}
    )
    row = drawn_row(generator, left, wish)
    with np.errstate(all="ignore"):
        try:
            plan = planned(generator, row)
        except NO_RUN:
            return Judged("none", "")
        order = plan.drawn.order if plan.drawn else ""
        by_value = check == metamorphic_exact.ID and order in BY_VALUE
        oracle = Oracle(plan.case.problem)
        verdicts, _ = verdicts_of(plan.case, plan.solver, () if by_value else (check,), oracle)
        refused: dict[str, bool] = {}
        # Of so many runs of the design one is made again with defects.
        for one in verdicts if number % 4 == 0 else ():
            refused |= _refused(one, plan, oracle, generator) if one.status is Status.PASS else {}
    name = f"{plan.solver.declaration.name} {row['exchange']} {row['precision']} {row['update']}"
    return Judged(name, f"row {number}", plan.row, verdicts, plan.case, planted=refused)


def _refused(
    verdict: Verdict, plan: Planned, oracle: Oracle, generator: np.random.Generator
) -> dict[str, bool]:
    """Whether a check refuses the run that it passed once there is a defect; empty if it cannot say."""
    defect, wrong = planted(verdict, plan, generator)
    again = {
        each.status for made in wrong for each in verdicts_of(plan.case, made, (verdict.check,), oracle)[0]
    }
    # A wrong run takes other ways, on which the defect may not act.
    settled = again & {Status.PASS, Status.FAIL}
    return {f"{verdict.check}: {defect}": Status.FAIL in again} if settled else {}


GROUPS = {
    "steps": Group(by_steps, 0.54, 1000),
    "legal orders": Group(in_admissible_orders, 0.45, 1000),
    "BLAS threads": Group(with_blas_threads, 0.01, 200),
    **{f"design {core}".strip(): Group(of_a_design, 0.0, STRIDE, core) for core in CORES},
}
"""The groups, by name; the shares of those that have one add up to one."""
