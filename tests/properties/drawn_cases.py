"""A drawn scenario as a case of window-replay that replays every window of its run."""

from __future__ import annotations

from dataclasses import replace

from sstep_verify.checks import window_replay
from sstep_verify.checks.shared.case import Case
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import Solver
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Verdict


def case_of(scenario: Scenario, solver: Solver, windows: int | None = None) -> Case:
    """The case, with as many sampled windows as asked for; all of them if nothing is asked."""
    s, length = scenario.s, scenario.iterations
    ends = (*range(s, length, s), length)
    return Case(
        scenario.id,
        scenario.problem(),
        scenario.stream(),
        (s,),
        length,
        solver.declaration,
        points={s: ends},
        windows=len(ends) if windows is None else windows,
    )


def run_of(scenario: Scenario, case: Case, solver: Solver) -> dict[str, Trajectory]:
    """The run that window-replay asks for, from the scenario's start vector."""
    return {
        key: solver.run(replace(request, initial=scenario.initial()))
        for key, request in window_replay.runs(case).items()
    }


def judged(scenario: Scenario, solver: Solver) -> Verdict:
    """The verdict of window-replay on every window of a solver's run."""
    case = case_of(scenario, solver)
    (verdict,) = window_replay.judge(case, run_of(scenario, case, solver), Oracle(case.problem))
    return verdict
