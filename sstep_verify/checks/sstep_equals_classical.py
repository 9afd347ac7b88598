"""Check sstep-equals-classical: s-step and classical runs differ by no more than both may round.

In exact arithmetic the two methods have the same iterates. Each run may leave them by the bound of
trajectory, so the difference of the two is at most the sum: this is the check trajectory at s, with the run
of s = 1 and its bound instead of the exact one. No oracle enters the measured value: both sides come from
the solver. The bound is that of either form against the exact trajectory. Where the classical run certainly
left that, both share a defect, which is left to other checks. A clip of the exact run is then perhaps none
of these, and the bound is an estimate of what steps on the values of these runs may round
(sstep_verify/checks/short/runs.py). Runs of which the check of the steps failed are not decided.
"""

from __future__ import annotations

from collections.abc import Mapping

from sstep_verify.checks.shared.case import Case, Check
from sstep_verify.checks.shared.every_s import judge_every_s, runs_of_every_s
from sstep_verify.checks.short.runs import (
    has_bound,
    short_key,
    short_length,
    short_request,
    short_truth,
)
from sstep_verify.checks.short.verdict import verdict_of
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Verdict

ID = "sstep-equals-classical"


def _requests(case: Case, s: int) -> dict[str, RunRequest]:
    """A short run of an s > 1, and the classical one recorded at the window ends of every s."""
    if not (applies(case, s) and short_length(case)):
        return {}
    return {short_key(each): short_request(case, each) for each in (s, 1)}


def _judge(case: Case, s: int, oracle: Oracle, run: Trajectory, classical: Trajectory) -> list[Verdict]:
    """The verdict on an s-step run; VACUOUS where it would be within the bound without its correction."""
    return [verdict_of(ID, short_truth(case, oracle), s, run, classical)]


def applies(case: Case, s: int) -> bool:
    """Whether a run is an s-step one."""
    return s > 1


def with_classical(s: int) -> tuple[int, ...]:
    """The s of the runs that are compared."""
    return (s, 1)


def runs(case: Case) -> dict[str, RunRequest]:
    """The runs of every s that is judged, by key."""
    return runs_of_every_s(case, _requests)


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Judge the runs of every s by themselves; see `Check.judge`."""
    return judge_every_s(case, trajectories, oracle, _requests, _judge)


CHECK = Check(
    id=ID,
    text=__doc__,
    exact=True,
    needs="a short run of every s > 1, and the classical one recorded at the window ends of all of them",
    planted="the kernel correction left out of the s-step run only",
    runs=runs,
    judge=judge,
    bounds=("bounds/window/svm", "bounds/window/ridge"),
    level=0,
    applies=applies,
    bounded=has_bound,
    relates=with_classical,
)
