"""What the bound of a step is made of: the parts that vanish where one of its causes is taken away."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.checks.steps.rows import entries_key, kept_entries
from sstep_verify.oracle.facade import Oracle
from sstep_verify.rounding.arithmetic import norm
from sstep_verify.trajectory import Trajectory

JUDGE = "the judge's own step"
ENTRIES = "the solver's kernel entries"
SUMS = "the sums of a step and what is stored"


def parts_of_bound(case: Case, trajectory: Trajectory, oracle: Oracle) -> dict[str, float]:
    """Shares of the bound of the step with the largest ratio; none if it is infinite, or a clip decides it.

    Parameters
    ----------
    case : Case
        The case.
    trajectory : Trajectory
        A run with a log.
    oracle : Oracle
        Keeps kernel entries.
    """
    judge = StepJudge(case, oracle)
    worst = judge.run(trajectory).worst
    if worst is None:
        return {}

    def size(of: StepJudge) -> float:
        return norm(of.step_bounds(trajectory, worst.window.begin))

    whole, solver = size(judge), size(StepJudge(case, oracle, judge=False))
    if not 0.0 < solver <= whole < np.inf:  # an exact step decides no clip: its bound is another one
        return {}
    exact = Oracle(case.problem)
    entries = kept_entries(oracle, case.problem, case.declaration)
    nothing = np.zeros_like(entries.values)
    exact.kept(
        entries_key(case.declaration), lambda: replace(entries, judge_error=nothing, solver_error=nothing)
    )
    sums = size(StepJudge(case, exact, judge=False))
    return {
        JUDGE: 1.0 - solver / whole,
        ENTRIES: (solver - sums) / whole,
        SUMS: sums / whole,
    }
