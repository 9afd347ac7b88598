"""Mistakes that one run cannot tell apart are told apart by a further run; those that act seldom are named."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from checks.test_check_window_replay_quantities import with_mistake
from judged import judged, named_case

from sstep_verify import judge
from sstep_verify.adapters import CallableSolver
from sstep_verify.checks import step_replay, trajectory, window_replay
from sstep_verify.declaration import Declaration
from sstep_verify.diagnosis import apart
from sstep_verify.diagnosis.candidates import END, SELDOM
from sstep_verify.diagnosis.factors import M_ON_DIAGONAL
from sstep_verify.diagnosis.other_problems import LAMBDA_LOST, UNLABELLED
from sstep_verify.errors import RefusedError
from sstep_verify.problems import Hinge, IndexStream, Problem, RBFKernel, Ridge, SquaredHinge
from sstep_verify.recurrence.mutation import NONE, Mutation
from sstep_verify.specification import broken_by, decided_by
from sstep_verify.verdict import NAMED, Status

GENERATOR = np.random.Generator(np.random.PCG64(5))
DATA, TARGETS = GENERATOR.standard_normal((9, 4)), GENERATOR.standard_normal(9)
HALF = Problem("half", DATA, TARGETS, RBFKernel(0.3), Ridge(0.5))
"""Where lambda = 1/2, twice lambda and 1 in its place are the same."""

STREAM = IndexStream("uniform", 9, 1, 30, 3)
BOTH = ["penalty left out", LAMBDA_LOST]


def ridge_of(penalty, asked=None):
    """A K-RR that takes another lambda; it notes the problems that it was asked to solve."""

    def solve(problem, blocks, s, a0, log):
        if asked is not None:
            asked.append(problem)
        alpha, m = a0.copy(), problem.samples
        squares = np.square(problem.dense[:, None] - problem.dense[None]).sum(axis=2)
        matrix = np.exp(-problem.kernel.sigma * squares) / penalty(problem.ridge.penalty)
        for place, (i,) in enumerate(blocks):
            alpha[i] += (problem.targets[i] - m * alpha[i] - matrix[i] @ alpha) / (matrix[i, i] + m)
            log[place] = alpha[i]
        return alpha

    return CallableSolver(solve, Declaration("mistaken", rbf="difference", factorisation="lu", log=True))


LAMBDAS = [(lambda penalty: 1.0, BOTH[1]), (lambda penalty: 2 * penalty, BOTH[0])]


@pytest.mark.parametrize(("penalty", "name"), LAMBDAS)
@pytest.mark.parametrize("s", [1, 4])
def test_what_one_run_cannot_tell_apart_a_further_one_does(penalty, name, s):
    (other,) = set(BOTH) - {name}
    verdict = judge(ridge_of(penalty), HALF, STREAM, s)[-1]
    assert verdict.status is Status.FAIL
    assert verdict.evidence[NAMED] == [name]
    assert f"tells them apart: {name} explains it too, not {other}" in verdict.reason
    assert set(verdict.sentences) == set(broken_by(name))
    assert verdict.reason.count("Breaks") == 1


def test_of_the_run_alone_both_are_named_and_nothing_else_of_the_verdict_changes():
    case, tested = named_case(Ridge(0.5), solver=ridge_of(LAMBDAS[0][0]))
    case = replace(case, problem=HALF, stream=STREAM, s_values=(4,), iterations=30, points={})
    alone = judged(step_replay, case, tested)[4]
    assert set(alone.evidence[NAMED]) == set(BOTH)
    assert "further run" not in alone.reason
    more = judge(tested, HALF, STREAM, 4)[-1]
    for field in ("status", "ratio", "measured", "bound", "planned", "executed", "terms"):
        assert getattr(more, field) == getattr(alone, field)


def test_other_labels_are_told_from_a_lost_one():
    def solve(problem, blocks, s, a0, log):
        alpha = a0.copy()
        squares = np.square(problem.dense[:, None] - problem.dense[None]).sum(axis=2)
        matrix = np.exp(-problem.kernel.sigma * squares)
        for place, (i,) in enumerate(blocks):
            alpha[i] = min(max(alpha[i] - (matrix[i] @ alpha - 1) / matrix[i, i], 0), problem.hinge.C)
            log[place] = alpha[i]
        return alpha

    solver = CallableSolver(solve, Declaration("unlabelled", rbf="difference", log=True))
    labels = np.where(np.arange(9) == 4, 1.0, -1.0)
    problem = Problem("labels", DATA, labels, RBFKernel(0.3), Hinge(5.0))
    verdict = judge(solver, problem, STREAM, 1)[-1]
    assert verdict.evidence[NAMED] == [UNLABELLED]


def test_further_runs_are_few_small_and_end_with_the_time_for_them(monkeypatch):
    asked = []
    monkeypatch.setattr(apart, "_said", lambda size, status, before, more, new: more.extend(before) or "")
    judge(ridge_of(LAMBDAS[0][0], asked), HALF, STREAM, 1)
    others = {problem.digest: problem for problem in asked if problem.digest != HALF.digest}
    assert len(others) == apart.RUNS
    assert max(problem.samples for problem in others.values()) <= max(apart.SAMPLES)
    asked.clear()
    monkeypatch.setattr(apart, "SECONDS", 0.0)
    judge(ridge_of(LAMBDAS[0][0], asked), HALF, STREAM, 1)
    assert {problem.digest for problem in asked} == {HALF.digest}


@pytest.mark.parametrize("error", [RefusedError("not mine"), ValueError("not mine")])
def test_a_solver_of_no_other_problem_is_judged_by_its_own_run(error):
    def penalty_of(penalty):
        if penalty != HALF.ridge.penalty:
            raise error
        return 1.0

    verdict = judge(ridge_of(penalty_of), HALF, STREAM, 1)[-1]
    assert verdict.status is Status.FAIL
    assert set(verdict.evidence[NAMED]) == set(BOTH)
    assert "further run" not in verdict.reason


def test_what_further_runs_tell_alike_is_said_once():
    case, tested = named_case(Ridge(0.5), solver=ridge_of(LAMBDAS[0][0]))
    case = replace(case, problem=HALF, stream=STREAM, s_values=(4,), iterations=30, points={})
    alone = judged(step_replay, case, tested)[4]
    right = replace(alone, status=Status.PASS, evidence={})
    more = apart.told_apart(alone, HALF, tested.declaration, lambda problem, stream: [right])
    assert more.reason.count("is no FAIL and tells nothing of this one") == 1
    assert len(more.evidence["further runs"]) == apart.RUNS


def test_a_single_cause_is_asked_about_no_further():
    asked = []
    verdict = judge(ridge_of(lambda penalty: 3 * penalty, asked), HALF, STREAM, 1)[-1]
    assert verdict.status is Status.FAIL
    assert len(verdict.evidence[NAMED]) == 1
    assert {problem.digest for problem in asked} == {HALF.digest}


def test_where_too_few_steps_are_wrong_a_longer_run_tells_the_factor():
    def solve(problem, blocks, s, a0, log):
        alpha = a0.copy()
        squares = np.square(problem.dense[:, None] - problem.dense[None]).sum(axis=2)
        matrix = np.exp(-problem.kernel.sigma * squares) / problem.ridge.penalty
        for place, (i,) in enumerate(blocks):
            product = matrix[i] @ alpha * (1 + 1e-6 * (place % s == 0))
            alpha[i] += (problem.targets[i] - 9 * alpha[i] - product) / (matrix[i, i] + 9)
            log[place] = alpha[i]
        return alpha

    solver = CallableSolver(solve, Declaration("first", rbf="difference", factorisation="lu", log=True))
    verdict = judge(solver, HALF, IndexStream("uniform", 9, 1, 16, 3), 8)[-1]
    assert verdict.status is Status.FAIL
    assert verdict.evidence[NAMED] == ["stale-product off by a factor"]
    assert "fails too: stale-product off by a factor explains it" in verdict.reason


KINDS = [
    (loss, mutation) for mutation in SELDOM[:7] for loss in (Hinge(2.0), SquaredHinge(2.0), Ridge(0.05))
]
KINDS += [(SquaredHinge(2.0), Mutation(SELDOM[-1].name, threshold=1e-3))]
KINDS += [(Hinge(0.7), Mutation(END, upper=1 + Fraction(1, 2**20)))]
KINDS += [(Ridge(0.05), Mutation(M_ON_DIAGONAL, diagonal=Fraction(1, 6)))]


@pytest.mark.parametrize(
    ("loss", "mutation", "check"),
    [(*kind, window_replay) for kind in KINDS]
    + [
        pytest.param(*kind, trajectory, marks=[pytest.mark.nightly] * (place % 4 != 0))
        for place, kind in enumerate(KINDS)
    ],
    ids=lambda one: getattr(one, "name", getattr(one, "CHECK", None)),
)
def test_a_mistake_that_acts_seldom_is_named(loss, mutation, check):
    case, tested = named_case(
        loss, RBFKernel(0.3), block=1 + isinstance(loss, Ridge), solver=with_mistake(mutation),
        s_values=(8,), samples=6,
    )  # fmt: skip
    verdict = judged(check, case, tested)[8]
    assert verdict.status is Status.FAIL
    assert mutation.name in verdict.evidence[NAMED], verdict.reason
    decided = {one.number for one in decided_by(check.CHECK) if loss.task in one.tasks}
    assert decided & set(broken_by(mutation.name)) <= set(verdict.sentences)


def test_m_that_is_wrong_on_the_diagonal_alone_is_told_with_its_size():
    def solve(problem, blocks, s, a0, log):
        alpha, m = a0.copy(), problem.samples
        squares = np.square(problem.dense[:, None] - problem.dense[None]).sum(axis=2)
        matrix = np.exp(-problem.kernel.sigma * squares) / problem.ridge.penalty
        for place, block in enumerate(blocks):
            rest = problem.targets[block] - m * alpha[block] - matrix[block] @ alpha
            system = matrix[np.ix_(block, block)] + (m + 0.25) * np.eye(block.size)
            alpha[block] = log[place] = alpha[block] + np.linalg.solve(system, rest)
        return alpha

    solver = CallableSolver(solve, Declaration("jitter", rbf="difference", factorisation="lu", log=True))
    verdict = judge(solver, HALF, IndexStream("uniform", 9, 3, 30, 3), 4)[-1]
    assert verdict.evidence[NAMED] == [M_ON_DIAGONAL]
    assert f"m on the diagonal alone, delta in [{0.25 / 9:.4g}, {0.25 / 9:.4g}]" in verdict.reason
    assert verdict.sentences[0] == "S-1.4"


def test_a_right_solver_is_asked_about_nothing():
    asked = []
    verdict = judge(ridge_of(lambda penalty: penalty, asked), HALF, STREAM, 4)[-1]
    assert verdict.status is Status.PASS
    assert {problem.digest for problem in asked} == {HALF.digest}
    assert NONE.changes == {}


def test_what_a_further_run_contradicts_is_not_told():
    """That coordinate 0 is never moved looks in the windows replayed as if labels were left out."""
    generator = np.random.Generator(np.random.PCG64(7))
    data, labels = generator.standard_normal((14, 5)), np.where(generator.random(14) < 0.5, -1.0, 1.0)

    def solve(problem, blocks, s, a0):
        alpha, labels = a0.copy(), problem.targets
        squares = np.square(problem.dense[:, None] - problem.dense[None]).sum(axis=2)
        matrix = np.exp(-problem.kernel.sigma * squares) * labels * labels[:, None]
        for i in blocks[blocks > 0]:
            alpha[i] = min(max(alpha[i] - (matrix[i] @ alpha - 1) / matrix[i, i], 0), problem.hinge.C)
        return alpha

    problem = Problem("never", data, labels, RBFKernel(0.2), Hinge(0.7))
    solver = CallableSolver(solve, Declaration("never", rbf="difference"))
    verdict = judge(solver, problem, IndexStream("uniform", 14, 1, 97, seed=1), 8)[-1]
    assert UNLABELLED in verdict.evidence[NAMED]
    assert "fails too, and none of them explains it, so none is told" in verdict.reason
    assert verdict.sentences == ("S-3.1",)
