"""How near correct runs come to their bounds: quantiles, and what bounds are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

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
from studies.report.sensitivity.alarms import TightnessRow

ADDED_UP = (trajectory.CHECK, sstep_equals_classical.CHECK, metamorphic_bounded.CHECK, residual_gap.CHECK)
"""Checks whose bound adds up what all steps of a run may err by, or carries it along."""

WANTED = 0.02
"""Median of the ratio times the length of the longest sum below which a sharper derivation is wanted.

An error bound of a sum of k terms grows with k; errors that add up like a random walk with its square root,
so that ratios fall as k grows without a fault of the derivation. Runs in which no quantity of a step acts,
many of them without any rounding, are left out.
"""

QUANTILES = {"least": 0.0, "lower": 0.25, "median": 0.5, "upper": 0.75, "ninety_ninth": 0.99}
"""Those of a row, by its fields."""


def longest_sum(check: str, case: Case) -> int:
    """Roundings of a term of the longest sum in a check's bound; 0 where its bound is no single sum's.

    Of a step or window: that of a kernel row's product with a and the corrections, read back from the
    bound's own constant, or the judge's where that is longer and the solver no coarser; of a kernel entry,
    that over the features.
    """
    problem, declared = case.problem, case.declaration
    entries = sum_roundings(problem.features, declared.summation)
    if check == kernel_entries.CHECK:
        return entries
    if check not in (step_replay.CHECK, window_replay.CHECK, *ADDED_UP):
        return 0
    samples, width = problem.samples, min(case.s_values[0], max(case.iterations, 1))
    if problem.is_svm:
        sums = clip_constants(declared, samples, samples, width, problem.dual, judge=False).sums
    else:
        sums = solve_constants(declared, samples, samples, width, case.stream.block, 1.0, judge=False).sums
    # gamma_k = k u / (1 - k u), solved for k.
    solver = round(sums.longest / ((1.0 + sums.longest) * unit_roundoff(declared.precision)))
    # Roundings of the judge's own product with a beside one a sample (bounds/step/clip.py).
    judge = samples + 7 if declared.precision == "float64" and check == step_replay.CHECK else 0
    return max(solver, judge, entries)


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
    exact = Oracle(case.problem)
    entries = kept_entries(oracle, case.problem, case.declaration)
    nothing = np.zeros_like(entries.values)
    exact.kept(
        entries_key(case.declaration), lambda: replace(entries, judge_error=nothing, solver_error=nothing)
    )
    sums = size(StepJudge(case, exact, judge=False))
    return {
        "the judge's own step": 1.0 - solver / whole,
        "the solver's kernel entries": (solver - sums) / whole,
        "the sums of a step and what is stored": sums / whole,
    }


def tightness_row(
    of: str, found: Sequence[tuple[float, int, bool]], shares: Mapping[str, Sequence[float]]
) -> TightnessRow:
    """The row of a check, task, kernel and precision, with a space between them.

    Of each verdict there is its ratio, the roundings of the longest sum in its bound, and whether all
    quantities of a step acted; of some bounds the shares of their parts.
    """
    ratios = np.array([ratio for ratio, _, _ in found])
    acted, lengths = (np.array([one[place] for one in found if one[2]]) for place in (0, 1))
    single = lengths.size > 0 and bool(lengths.all())
    product = float(np.median(acted * lengths)) if single else None
    medians = {name: float(np.median(held)) for name, held in shares.items()}
    largest = max(medians, key=lambda name: medians[name], default="")
    dominates = f"{largest}, {medians[largest]:.0%}" if largest else ""
    quantiles: Any = {
        name: float(np.quantile(acted, part)) if acted.size else None for name, part in QUANTILES.items()
    }
    check, task, kernel, precision = of.split()
    # Of fewer than 20 verdicts a median says too little.
    return TightnessRow(
        *(check, task, kernel, precision),
        runs=ratios.size,
        acted=acted.size,
        **quantiles,
        most=float(ratios.max()),
        length=float(np.median(lengths)) if single else None,
        product=product,
        wanted=product is not None and acted.size >= 20 and product < WANTED,
        dominates="the errors of all steps, added up" if check in ADDED_UP else dominates,
    )
