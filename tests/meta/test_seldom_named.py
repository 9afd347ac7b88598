"""Defects that have an effect seldom are named; of two that end a run alike both are; no further run is made."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from checks.test_check_window_replay_quantities import with_mistake
from judged import judged, named, named_case

from sstep_verify import judge
from sstep_verify.adapters import CallableSolver
from sstep_verify.checks import trajectory, window_replay
from sstep_verify.declaration import Declaration
from sstep_verify.diagnosis.candidates import SELDOM
from sstep_verify.diagnosis.factors import M_ON_DIAGONAL
from sstep_verify.diagnosis.other_problems import LAMBDA_LOST
from sstep_verify.problems import Hinge, IndexStream, Problem, RBFKernel, Ridge, SquaredHinge
from sstep_verify.recurrence.mutation import Mutation
from sstep_verify.specification import broken_by, decided_by
from sstep_verify.verdict import Status

GENERATOR = np.random.Generator(np.random.PCG64(5))
DATA, TARGETS = GENERATOR.standard_normal((9, 4)), GENERATOR.standard_normal(9)
HALF = Problem("half", DATA, TARGETS, RBFKernel(0.3), Ridge(0.5))
"""Where lambda = 1/2, twice lambda and 1 in its place are the same."""

STREAM = IndexStream("uniform", 9, 1, 30, 3)
BOTH = ["penalty left out", LAMBDA_LOST]


def ridge_of(penalty, asked):
    """A K-RR that takes another lambda; it notes the problems that it was asked to solve."""

    def solve(problem, blocks, s, a0, log):
        asked.append(problem)
        alpha, m = a0.copy(), problem.samples
        squares = np.square(problem.dense[:, None] - problem.dense[None]).sum(axis=2)
        matrix = np.exp(-problem.kernel.sigma * squares) / penalty(problem.ridge.penalty)
        for place, (i,) in enumerate(blocks):
            alpha[i] += (problem.targets[i] - m * alpha[i] - matrix[i] @ alpha) / (matrix[i, i] + m)
            log[place] = alpha[i]
        return alpha

    return CallableSolver(solve, Declaration("mistaken", rbf="difference", factorisation="lu", log=True))


@pytest.mark.parametrize("penalty", [lambda penalty: 1.0, lambda penalty: 2 * penalty])
@pytest.mark.parametrize("s", [1, 4])
def test_of_two_defects_that_end_a_run_alike_both_are_named_and_no_other_problem_is_solved(penalty, s):
    asked = []
    verdict = judge(ridge_of(penalty, asked), HALF, STREAM, s)[-1]
    assert verdict.status is Status.FAIL
    assert set(named(verdict)) == set(BOTH)
    assert {problem.digest for problem in asked} == {HALF.digest}


KINDS = [
    (loss, mutation) for mutation in SELDOM[:7] for loss in (Hinge(2.0), SquaredHinge(2.0), Ridge(0.05))
]
KINDS += [(SquaredHinge(2.0), Mutation(SELDOM[-1].name, threshold=1e-3))]
KINDS += [(Ridge(0.05), Mutation(M_ON_DIAGONAL, diagonal=Fraction(1, 6)))]


@pytest.mark.parametrize(
    ("loss", "mutation", "check"),
    [(*kind, window_replay) for kind in KINDS]
    + [
        pytest.param(*kind, trajectory, marks=[pytest.mark.nightly] * (place % 4 != 0))
        for place, kind in enumerate(KINDS)
    ],
    ids=lambda one: getattr(one, "name", getattr(one, "ID", None)),
)
def test_a_mistake_that_acts_seldom_is_named(loss, mutation, check):
    case, tested = named_case(
        loss, RBFKernel(0.3), block=1 + isinstance(loss, Ridge), solver=with_mistake(mutation),
        s_values=(8,), samples=6,
    )  # fmt: skip
    verdict = judged(check, case, tested)[8]
    assert verdict.status is Status.FAIL
    assert mutation.name in named(verdict)
    decided = {one.number for one in decided_by(check.ID) if loss.task in one.tasks}
    assert decided & set(broken_by(mutation.name)) <= set(verdict.requirements)


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
    (defect,) = verdict.defects
    assert defect.names == (M_ON_DIAGONAL,)
    assert defect.factor == pytest.approx(1 + 0.25 / 9, rel=1e-12)
    assert verdict.requirement == "S-1.4"
