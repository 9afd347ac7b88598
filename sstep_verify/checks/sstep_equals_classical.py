"""Check sstep-equals-classical: s-step and classical runs differ by no more than both may round.

In exact arithmetic the two methods have the same iterates. Each run may leave them by bound C, so the
difference of the two is at most the sum: this is the check trajectory at s, with the run of s = 1 and its
bound in the place of the exact one. No oracle enters the measured value: both sides come from the solver.
The bound is nevertheless that of either form against the exact trajectory, so a mistake that both runs
share is left to the check trajectory.
"""

from __future__ import annotations

from collections.abc import Mapping

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.check import Check
from sstep_verify.checks.short.runs import (
    short_key,
    short_length,
    short_points,
    short_request,
    short_truth,
)
from sstep_verify.checks.short.verdict import compared_at, known_of, printed_part, verdict_of
from sstep_verify.oracle.facade import Oracle
from sstep_verify.solver import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Verdict

CHECK = "sstep-equals-classical"

CAUSES = (
    "a correction term of the s-step recurrence is missing or wrong; one of the runs does not follow this "
    "index stream or lost a window; they use other kernel entries, or another precision than declared"
)
ORIGIN = "sum of the bounds of both runs against the exact trajectory (bounds/trajectory/{}.py)"


def runs(case: Case) -> dict[str, RunRequest]:
    """A short run of every s > 1, and the classical one recorded at the window ends of all of them."""
    wide = [s for s in case.s_values if s > 1]
    if not wide or not short_length(case):
        return {}
    return {short_key(s): short_request(case, s) for s in (1, *wide)}


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Compare every s-step run with the classical one.

    Parameters are those of `Check.judge`; the oracle gives the exact kernel.

    Returns
    -------
    list of Verdict
        One per s > 1; VACUOUS where leaving out the kernel correction would have moved the s-step run by
        no more than the bound.
    """
    if not short_length(case):
        return []
    truth = short_truth(case, oracle)
    compared = f"{case.declaration.name} solver, s-step run against its own classical run (s = 1)"
    origin = ORIGIN.format("svm" if case.problem.is_svm else "ridge")
    verdicts = []
    for s in case.s_values:
        if s > 1:
            both = trajectories[short_key(s)], trajectories[short_key(1)]
            points = [compared_at(truth, at, s, *both) for at in short_points(case, s)]
            what = compared + printed_part(known_of(*both))
            verdicts.append(verdict_of(CHECK, case, s, points, what, origin, CAUSES))
    return verdicts


DECLARED = Check(
    id=CHECK,
    text=__doc__,
    needs="a short run of every s > 1, and the classical one recorded at the window ends of all of them",
    planted="the kernel correction left out of the s-step run alone",
    runs=runs,
    judge=judge,
    bounds=("trajectory/svm", "trajectory/ridge"),
    level=0,
    applies=lambda case, s: s > 1,
)
