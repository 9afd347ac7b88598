"""Defects that have an effect seldom are named; of two that end a run alike both are; no further run is made."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from checks.test_check_window_replay_quantities import with_mistake
from daily import crossed
from judged import hinted, judged, named, named_case

from sstep_verify import judge
from sstep_verify.adapters import CallableSolver
from sstep_verify.checks import trajectory, window_replay
from sstep_verify.checks.registry import verdicts_of
from sstep_verify.declaration import Declaration
from sstep_verify.diagnosis.candidates import SELDOM
from sstep_verify.diagnosis.factors import M_ON_DIAGONAL
from sstep_verify.diagnosis.other_problems import LAMBDA_LOST
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Hinge, IndexStream, Problem, RBFKernel, Ridge, SquaredHinge
from sstep_verify.recurrence.mutation import Mutation
from sstep_verify.specification import broken_by, decided_by
from sstep_verify.verdict import HintKind, Status

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
    [
        pytest.param(*kind, window_replay, marks=[pytest.mark.nightly] * (place % 3 != place // 3 % 3))
        for place, kind in enumerate(KINDS[:-2])
    ]
    + [(*kind, window_replay) for kind in KINDS[-2:]]
    + [
        pytest.param(*kind, trajectory, marks=[pytest.mark.nightly] * (place % 8 != 0))
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


def test_m_that_is_wrong_on_the_diagonal_alone_is_reported_with_its_size():
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


def in_some_windows(spoiled, problem, log=True):
    """A solver of a problem that goes wrong in every third window: ``spoiled`` says how."""

    def solve(problem, blocks, s, a0, log=None):
        alpha, signs = a0.copy(), problem.signs
        for begin in range(0, len(blocks), s):
            wrong = spoiled if begin // s % 3 == 1 else ""
            data = problem.dense[:, : 2 if wrong == "features" else None]
            squares = np.square(data[:, None] - data[None]).sum(axis=2)
            matrix = np.exp(-problem.kernel.sigma * squares) * signs[:, None] * signs
            at_start = alpha.copy()
            for place, block in enumerate(blocks[begin : begin + s], begin):
                product = matrix[block] @ (at_start if wrong == "correction" else alpha)
                if problem.is_svm:
                    (i,) = block
                    g, eta = product[0] - 1.0, matrix[i, i]
                    new = min(max(alpha[i] - g / eta, 0.0), problem.hinge.upper)
                else:
                    penalty, m = problem.ridge.penalty, problem.samples
                    system = matrix[np.ix_(block, block)] / penalty + m * np.eye(block.size)
                    rest = problem.targets[block] - m * alpha[block] - product / penalty
                    new = alpha[block] + np.linalg.solve(system, rest)
                alpha[block] = new * (1 + 1e-6) if wrong == "noise" else new
                if log is not None:
                    log[place] = alpha[block]
        return alpha

    def without_log(problem, blocks, s, a0):
        return solve(problem, blocks, s, a0)

    way = Declaration("in some windows", rbf="difference", factorisation="lu", log=log)
    return CallableSolver(solve if log else without_log, way)


@pytest.mark.parametrize(
    ("loss", "log", "spoiled", "number"),
    crossed(
        [Ridge(0.5), Hinge(2.0)],
        [True, False],
        [("features", "S-1.8"), ("correction", "S-3.5"), ("noise", "")],
        of=3,
        flat=True,
    ),
    ids=str,
)
def test_a_defect_of_some_windows_names_its_requirement(loss, spoiled, number, log):
    labels = np.where(TARGETS > 0, 1.0, -1.0)
    problem = Problem("half", DATA, labels if isinstance(loss, Hinge) else TARGETS, RBFKernel(0.3), loss)
    stream = IndexStream("uniform", 9, 1 + isinstance(loss, Ridge), 48, 3)
    verdict = judge(in_some_windows(spoiled, problem, log), problem, stream, 4)[-1]
    assert verdict.status is Status.FAIL
    assert verdict.requirement == (number or ("S-3.1" if problem.is_svm else "S-3.2"))
    assert len(verdict.defects) == bool(number)
    assert (HintKind.PART_OF_RUN in hinted(verdict)) == bool(number)


@pytest.mark.parametrize("loss", [Ridge(0.05), SquaredHinge(2.0)], ids=str)
def test_a_last_step_that_windows_of_several_lose_is_named_where_single_steps_are_correct(loss):
    case, tested = named_case(
        loss, RBFKernel(0.3), solver=with_mistake(Mutation("boundary-off-by-one", boundary=0)),
        s_values=(1, 8), samples=6,
    )  # fmt: skip
    correct = with_mistake(Mutation("nothing"))
    runs = {
        key: (correct if request.s == 1 else tested).run(request)
        for key, request in window_replay.CHECK.runs(case).items()
    }
    one, several = verdicts_of(window_replay.CHECK, case, runs, Oracle(case.problem))
    assert one.status is Status.PASS
    assert (several.status, several.requirement) == (Status.FAIL, "S-3.12")
    assert named(several) == ["window-boundary left out"]
