"""What a run is judged against: the problem as the declared precision holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.check import Check
from sstep_verify.checks.shared.finding import unbounded
from sstep_verify.checks.shared.outcome import verdict_on
from sstep_verify.oracle.facade import Oracle
from sstep_verify.rounding.held import held_problem
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status, Verdict

BEYOND = (
    "A number of the data, a target or a parameter is beyond the range of this precision, in which the "
    "solver holds it, so nothing is promised of its runs."
)


def on_held(check: Check) -> Check:
    """The check, which judges runs on the problem that their solver held (rounding/held.py)."""
    if check.given:
        return check

    def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
        held = held_problem(case.problem, case.declaration)
        if held is None:
            return [_beyond(check.id, case, s) for s in case.s_values if check.applies(case, s)]
        if held is case.problem:
            return check.judge(case, trajectories, oracle)
        truth = oracle.kept(f"held {held.digest}", lambda: Oracle(held))
        found = check.judge(replace(case, problem=held), trajectories, truth)
        return [replace(verdict, problem=case.problem.label) for verdict in found]

    return replace(check, judge=judge)


def _beyond(check: str, case: Case, s: int) -> Verdict:
    """The verdict on a run whose solver cannot hold its problem."""
    return verdict_on(
        check, case, s, Status.VACUOUS, unbounded(""), BEYOND, units="", planned=0, executed=0
    )
