"""Where a whole run leaves alpha at its start, every defect of that kind looks alike: none is named."""

from __future__ import annotations

import numpy as np
import pytest
from judged import hinted, named
from stepped import kernel_matrix

from sstep_verify import judge
from sstep_verify.adapters import CallableSolver
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, RBFKernel, Ridge
from sstep_verify.verdict import HintKind, Status

GENERATOR = np.random.Generator(np.random.PCG64(23))
DATA, TARGETS = GENERATOR.standard_normal((18, 4)), GENERATOR.standard_normal(18)
BLOCKS = IndexStream("uniform", 18, 2, 60, seed=2)


def ridge(*, log, targets=0.0, stored=1.0):
    """A K-RR whose targets, and whose increments as they are stored, are multiplied by a factor."""

    def solve(problem, blocks, s, a0, steps=None):
        m, alpha = problem.samples, a0.copy()
        matrix = kernel_matrix(problem) / problem.ridge.penalty + m * np.eye(m)
        for begin in range(0, len(blocks), s):
            change = np.zeros(m)
            for place, block in enumerate(blocks[begin : begin + s], begin):
                rest = targets * problem.targets[block] - matrix[block] @ (alpha + change)
                change[block] += np.linalg.solve(matrix[np.ix_(block, block)], rest)
                if steps is not None:
                    steps[place] = alpha[block] + change[block]
            alpha += stored * change
        return alpha

    return CallableSolver(solve, Declaration("still", rbf="difference", log=log, factorisation="lu"))


def svm_that_returns_its_start(problem, blocks, s, a0):
    """A K-SVM that makes no step."""
    return a0.copy()


@pytest.mark.parametrize("s", [1, 8])
@pytest.mark.parametrize("kernel", [LinearKernel(), RBFKernel(0.3)], ids=["linear", "rbf"])
@pytest.mark.parametrize(
    ("log", "check"), [(True, "step-replay"), (False, "window-replay"), (False, "trajectory")]
)
def test_targets_left_out_are_a_hint_and_no_lost_value(log, check, kernel, s):
    problem = Problem("still", DATA, TARGETS, kernel, Ridge(0.05))
    verdict = judge(ridge(log=log), problem, BLOCKS, s, checks=[check])[-1]
    assert (verdict.check, verdict.status) == (check, Status.FAIL)
    assert (named(verdict), verdict.diagnosed) == ([], False)
    assert HintKind.NOTHING_MOVED in hinted(verdict)


@pytest.mark.parametrize("check", ["window-replay", "trajectory"])
def test_a_lost_value_without_a_log_is_the_same_hint(check):
    problem = Problem("still", DATA, TARGETS, LinearKernel(), Ridge(0.05))
    solver = ridge(log=False, targets=1.0, stored=0.0)
    verdict = judge(solver, problem, BLOCKS, 8, checks=[check])[-1]
    assert (verdict.status, named(verdict)) == (Status.FAIL, [])
    assert HintKind.NOTHING_MOVED in hinted(verdict)


def test_a_lost_value_with_a_log_is_named():
    problem = Problem("still", DATA, TARGETS, LinearKernel(), Ridge(0.05))
    solver = ridge(log=True, targets=1.0, stored=0.0)
    verdict = judge(solver, problem, BLOCKS, 8, checks=["step-replay"])[-1]
    assert named(verdict) == ["write-back left out"]
    assert HintKind.NOTHING_MOVED not in hinted(verdict)


def test_a_box_has_the_same_hint():
    problem = Problem("still", DATA, np.where(TARGETS < 0, -1.0, 1.0), LinearKernel(), Hinge(1.0))
    solver = CallableSolver(svm_that_returns_its_start, Declaration("still"))
    verdict = judge(solver, problem, IndexStream("uniform", 18, 1, 60, seed=2), 8)[-1]
    assert (verdict.status, named(verdict)) == (Status.FAIL, [])
    assert HintKind.NOTHING_MOVED in hinted(verdict)


def test_a_run_that_moves_has_no_such_hint():
    problem = Problem("still", DATA, TARGETS, LinearKernel(), Ridge(0.05))
    verdict = judge(ridge(log=False, targets=0.5), problem, BLOCKS, 8)[-1]
    assert verdict.status is Status.FAIL
    assert HintKind.NOTHING_MOVED not in hinted(verdict)
