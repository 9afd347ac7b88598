"""A log that holds values of the ends of windows, of a run whose windows are all correct."""

from __future__ import annotations

import numpy as np
import pytest
from judged import hinted
from stepped import kernel_matrix

from sstep_verify import judge
from sstep_verify.adapters import CallableSolver
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, Ridge, SquaredHinge
from sstep_verify.verdict import HintKind, Status

SAMPLES = 12


def descent(*, late_log, stale=1.0):
    """Steps one behind the other, whose log is of the window's end if it is late; products have a factor."""

    def solve(problem, blocks, s, a0, log):
        alpha, matrix = a0.copy(), kernel_matrix(problem)
        if problem.is_svm:
            matrix = problem.signs[:, None] * matrix * problem.signs
            matrix += problem.dual.shift * np.eye(SAMPLES)
        else:
            matrix = matrix / problem.ridge.penalty + SAMPLES * np.eye(SAMPLES)
        for begin in range(0, len(blocks), s):
            window = blocks[begin : begin + s]
            for place, block in enumerate(window, begin):
                gradient = stale * (matrix[block] @ alpha)
                if problem.is_svm:
                    new = alpha[block] - (gradient - 1) / matrix[block, block]
                    alpha[block] = np.clip(new, problem.dual.lower, problem.dual.upper)
                else:
                    system = matrix[np.ix_(block, block)]
                    alpha[block] += np.linalg.solve(system, problem.targets[block] - gradient)
                log[place] = alpha[block]
            if late_log:
                log[begin : begin + s] = alpha[window]
        return alpha

    return CallableSolver(solve, Declaration("logs", log=True, factorisation="lu"))


def failed(solver, loss, seed):
    generator = np.random.Generator(np.random.PCG64(seed))
    data, targets = generator.standard_normal((SAMPLES, 4)), generator.standard_normal(SAMPLES)
    targets = targets if isinstance(loss, Ridge) else np.where(targets < 0, -1.0, 1.0)
    problem = Problem("logs", data, targets, LinearKernel(), loss)
    stream = IndexStream("uniform", SAMPLES, 2 if isinstance(loss, Ridge) else 1, 64, seed=seed)
    found = judge(solver, problem, stream, 8, checks=["step-replay", "window-replay", "trajectory"])
    return {one.check: one for one in found if one.s == 8}


@pytest.mark.parametrize("loss", [Hinge(1.0), SquaredHinge(0.7), Ridge(0.05)], ids=lambda loss: loss.task)
@pytest.mark.parametrize("seed", range(3))
def test_windows_that_are_correct_point_to_the_log(loss, seed):
    found = failed(descent(late_log=True), loss, seed)
    assert [check for check, one in found.items() if one.status is Status.FAIL] == ["step-replay"]
    assert not found["step-replay"].defects
    assert HintKind.WINDOWS_CORRECT in hinted(found["step-replay"])


@pytest.mark.parametrize("loss", [Hinge(1.0), SquaredHinge(0.7), Ridge(0.05)], ids=lambda loss: loss.task)
@pytest.mark.parametrize("late_log", [False, True])
def test_windows_that_are_faulty_do_not(loss, late_log):
    found = failed(descent(late_log=late_log, stale=1.37), loss, 4)
    assert found["step-replay"].status is Status.FAIL
    assert HintKind.WINDOWS_CORRECT not in hinted(found["step-replay"])
