"""What bounds of checks are made of: the roundings of their longest sum, and parts of one cause each."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sstep_verify.bounds.step.clip import clip_constants
from sstep_verify.bounds.step.residual import solve_constants
from sstep_verify.checks import (
    metamorphic_bounded,
    sstep_equals_classical,
    step_replay,
    trajectory,
    window_replay,
)
from sstep_verify.checks.recorded import kernel_entries, residual_gap
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.checks.steps.rows import entries_key, kept_entries
from sstep_verify.oracle.facade import Oracle
from sstep_verify.rounding.arithmetic import norm, sum_roundings, unit_roundoff
from sstep_verify.trajectory import Trajectory

ADDED_UP = (trajectory.CHECK, sstep_equals_classical.CHECK, metamorphic_bounded.CHECK, residual_gap.CHECK)
"""Checks whose bound adds up what all steps of a run may err by, or carries it along."""

MADE_OF_STEPS = (step_replay.CHECK, window_replay.CHECK, *ADDED_UP)
"""Checks whose bound is made of those of steps."""

OF_JUDGE = "the judge's own step"
OF_ENTRIES = "the solver's kernel entries"
OF_SUMS = "the sums of a step and what is stored"

JUDGE = 7
"""Roundings of the judge's own product with a beside one a sample (bounds/step/clip.py)."""


def longest_sum(check: str, case: Case, s: int) -> int:
    """Roundings of a term of the longest sum in a check's bound; 0 where its bound is no single sum's.

    Of a step or window: that of a kernel row's product with a and the corrections, read back from the
    bound's own constant, or the judge's where that is longer and the solver no coarser; of a kernel entry,
    that over the features.
    """
    problem, declared = case.problem, case.declaration
    entries = sum_roundings(problem.features, declared.summation)
    if check == kernel_entries.CHECK:
        return entries
    if check not in MADE_OF_STEPS:
        return 0
    samples, width = problem.samples, min(s, max(case.iterations, 1))
    if problem.is_svm:
        sums = clip_constants(declared, samples, samples, width, problem.dual, judge=False).sums
    else:
        sums = solve_constants(declared, samples, samples, width, case.stream.block, 1.0, judge=False).sums
    # gamma_k = k u / (1 - k u), solved for k.
    solver = round(sums.longest / ((1.0 + sums.longest) * unit_roundoff(declared.precision)))
    judge = samples + JUDGE if declared.precision == "float64" and check == step_replay.CHECK else 0
    return max(solver, judge, entries)


def parts_of_bound(case: Case, run: Trajectory, oracle: Oracle) -> dict[str, float]:
    """Shares of the bound of the step with the largest ratio; none if it is infinite, or a clip decides it.

    The run has a log; the oracle keeps kernel entries.
    """
    judge = StepJudge(case, oracle)
    worst = judge.run(run).worst
    if worst is None:
        return {}

    def size(of: StepJudge) -> float:
        return norm(of.step_bounds(run, worst.window.begin))

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
        OF_JUDGE: 1.0 - solver / whole,
        OF_ENTRIES: (solver - sums) / whole,
        OF_SUMS: sums / whole,
    }
