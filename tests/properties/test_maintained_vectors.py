"""A correct solver may maintain its gradient or residual without declaring it, also where alpha becomes small."""

from __future__ import annotations

import numpy as np
import pytest
from daily import crossed, some

from sstep_verify import Declaration, Status
from sstep_verify.bounds.screen import screen_ridge, screen_svm
from sstep_verify.checks import step_replay, window_replay
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.checks.steps.step_statistics import empty_statistics
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, Ridge, SquaredHinge
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.trajectory import Trajectory
from studies.coverage.cases import planned
from studies.coverage.rules import left_for
from studies.coverage.table import drawn_row
from studies.false_positives.groups import NO_RUN, decided, verdicts_of

WISHED = {"data": "spread", "range": "near 1", "precision": "float64"}
VECTORS = {"svm-l1": "gradient", "svm-l2": "gradient", "krr": "residual"}


@pytest.mark.parametrize(("check", "log"), [(step_replay.ID, "yes"), (window_replay.ID, "no")])
@pytest.mark.parametrize("seed", some(range(24), of=24, first=12))
def test_a_maintained_vector_is_within_the_bound_from_any_start(check, log, seed):
    # From a start vector as large as the box alpha may become much smaller. Sizes of alpha alone fail seed 12.
    generator, judged = np.random.Generator(np.random.PCG64(seed)), 0
    for task, vector in VECTORS.items():
        left, why = left_for(check, {"task": task, "maintained": vector, "initial": "others", "log": log})
        assert not why
        for _ in range(8):
            try:
                plan = planned(generator, drawn_row(generator, left, WISHED))
            except NO_RUN:
                continue
            verdicts, _ = verdicts_of(plan.case, plan.solver, (check,), Oracle(plan.case.problem))
            judged += sum(decided(one) for one in verdicts)
            assert not [one for one in verdicts if one.status in (Status.FAIL, Status.INCONCLUSIVE)]
    assert judged >= 12


LOSSES = {"svm-l1": Hinge(1e9), "svm-l2": SquaredHinge(1e9), "krr": Ridge(10.0)}
M, S, WINDOWS = 12, 4, 90


def maintained(problem: Problem, draws: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """a at the ends of windows of a run that maintains its gradient, or its residual, from step to step."""
    signs = problem.targets if problem.is_svm else np.ones(M)
    kernel = problem.data @ problem.data.T * np.outer(signs, signs)
    if problem.is_svm:
        matrix, right = kernel + problem.hinge.shift * np.eye(M), np.ones(M)
    else:
        matrix, right = kernel / problem.ridge.penalty + M * np.eye(M), problem.targets
    alpha, gradient = alpha.copy(), matrix @ alpha - right
    ends = [alpha.copy()]
    for step, i in enumerate(draws.tolist(), 1):
        new = alpha[i] - gradient[i] / matrix[i, i]
        new = min(max(new, problem.dual.lower), problem.dual.upper) if problem.is_svm else new
        gradient += matrix[i] * (new - alpha[i])
        alpha[i] = new
        ends += [alpha.copy()] * (step % S == 0)
    return np.array(ends)


@pytest.mark.parametrize(("task", "seed"), crossed(VECTORS, range(4), of=3))
def test_a_screen_takes_the_sizes_of_the_bound(task, seed):
    """What it flags and nobody replays is INCONCLUSIVE, also for a correct solver."""
    generator = np.random.Generator(np.random.PCG64(seed))
    data, targets = generator.standard_normal((M, 300)), np.where(generator.random(M) < 0.5, -1.0, 1.0)
    problem = Problem("drawn", data, targets, LinearKernel(), LOSSES[task])
    draws = IndexStream("uniform", M, 1, S * WINDOWS, seed=seed).blocks(0, S * WINDOWS)
    alphas = maintained(problem, draws.ravel(), generator.uniform(0.5, 1.0, M) * 1e8)
    declared, rows = Declaration("maintains a vector"), np.arange(M)
    given = problem, declared, kernel_entries(problem, declared, rows), rows
    screen = screen_svm if problem.is_svm else screen_ridge
    drawn = draws.ravel() if problem.is_svm else draws
    assert (screen(*given, alphas, drawn, S).ratio <= 1).all()
    # A part of the run, whose vector has the roundings of what was before it.
    part = alphas[WINDOWS // 2 :], drawn[S * (WINDOWS // 2) :], S
    assert (screen(*given, *part, largest=np.abs(alphas).max(axis=0)).ratio <= 1).all()
    # By the sizes of alpha at each window's start correct windows are beyond their bound.
    assert (screen(*given, *part).ratio > 1).any()


@pytest.mark.parametrize("weights", [None, 0])
def test_sizes_of_the_run_are_kept_where_no_drift_is_bounded(weights):
    """Of declared weights the drift is bounded by itself, and no size is taken of what alpha was before."""
    generator = np.random.Generator(np.random.PCG64(3))
    data, targets = generator.standard_normal((M, 30)), np.where(generator.random(M) < 0.5, -1.0, 1.0)
    problem = Problem("drawn", data, targets, LinearKernel(), LOSSES["svm-l1"])
    stream = IndexStream("uniform", M, 1, S * WINDOWS, seed=3)
    first = generator.uniform(0.5, 1.0, M) * 1e8
    alphas = maintained(problem, stream.blocks(0, S * WINDOWS).ravel(), first)
    log = generator.uniform(0.0, 1.0, (S * WINDOWS, 1))
    case = Case(
        "drawn", problem, stream, (S,), S * WINDOWS, Declaration("carries", weights=weights, log=True)
    )
    run = Trajectory(s=S, start=0, iterations=np.array([0]), alphas=alphas[:1], log=log)
    judge = StepJudge(case, Oracle(problem))
    drawn = np.isin(np.arange(M), stream.blocks(0, S * WINDOWS))
    for skipped in (0, S * WINDOWS // 2):
        state = judge._first_state(run)
        judge._skip(run, state, 0, skipped)
        tally = empty_statistics(S * WINDOWS - skipped)
        for _ in judge._judge_steps(run, state, tally, skipped, S * WINDOWS):
            pass
        now, columns = np.abs(state.alpha), judge.rows.columns
        expected = now if weights == 0 else np.maximum(first[columns], now)
        np.testing.assert_array_equal(state.bounded[drawn[columns]], expected[drawn[columns]])
