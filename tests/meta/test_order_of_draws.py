"""Draws that a solver makes in another order in its windows, or draws it leaves out, keep their own names."""

from __future__ import annotations

import numpy as np
import pytest
from judged import named
from stepped import kernel_matrix

from sstep_verify import judge
from sstep_verify.adapters import CallableSolver
from sstep_verify.declaration import Declaration
from sstep_verify.diagnosis.candidates import REVERSED_WINDOWS, SMALL
from sstep_verify.problems import Hinge, IndexStream, Problem, RBFKernel, Ridge, SquaredHinge
from sstep_verify.verdict import Status

SAMPLES, LENGTH = 12, 60
LOSSES = [Hinge(1.0), SquaredHinge(1.0), Ridge(0.05)]


def drawn(loss, seed=5):
    generator = np.random.Generator(np.random.PCG64(seed))
    data, targets = generator.standard_normal((SAMPLES, 4)), generator.standard_normal(SAMPLES)
    if not isinstance(loss, Ridge):
        targets = np.where(targets > 0, 1.0, -1.0)
    stream = IndexStream("uniform", SAMPLES, 1 + isinstance(loss, Ridge), LENGTH, 3)
    return Problem("drawn", data, targets, RBFKernel(0.3), loss), stream


def made_from(other, *, log):
    """Right classical steps, whose draws are made of those of the stream and s by `other`."""

    def solve(problem, blocks, s, a0, steps=None):
        alpha, matrix = a0.copy(), problem.signs[:, None] * kernel_matrix(problem) * problem.signs
        for place, block in enumerate(other(blocks, s)):
            if problem.is_svm:
                (i,) = block
                matrix_ii = matrix[i, i] + problem.dual.shift
                gradient = matrix[i] @ alpha - 1 + problem.dual.shift * alpha[i]
                alpha[i] = min(max(alpha[i] - gradient / matrix_ii, 0.0), problem.dual.upper)
            else:
                penalty, m = problem.ridge.penalty, problem.samples
                system = matrix[np.ix_(block, block)] / penalty + m * np.eye(block.size)
                rest = problem.targets[block] - m * alpha[block] - matrix[block] @ alpha / penalty
                alpha[block] += np.linalg.solve(system, rest)
            if steps is not None:
                steps[place] = alpha[blocks[place]]
        return alpha

    def without_log(problem, blocks, s, a0):
        return solve(problem, blocks, s, a0)

    way = Declaration("other draws", rbf="difference", factorisation="lu", log=log)
    return CallableSolver(solve if log else without_log, way)


def reversed_windows(blocks, s):
    return np.concatenate([blocks[begin : begin + s][::-1] for begin in range(0, len(blocks), s)])


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_windows_that_are_made_from_their_last_draw_on_are_named(loss):
    problem, stream = drawn(loss)
    verdict = judge(made_from(reversed_windows, log=False), problem, stream, 4)[-1]
    assert verdict.status is Status.FAIL
    assert (named(verdict), verdict.requirement) == ([REVERSED_WINDOWS], "S-2.2")


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_draws_of_windows_alone_are_in_another_order(loss):
    problem, stream = drawn(loss)
    verdicts = judge(made_from(lambda blocks, s: blocks[::-1], log=False), problem, stream, 4)
    assert verdicts[-1].status is Status.FAIL
    assert all(REVERSED_WINDOWS not in named(verdict) for verdict in verdicts)


@pytest.mark.parametrize("place", [17, LENGTH - 5])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_step_that_is_made_twice_for_the_next_one_leaves_out_no_small_steps(loss, place):
    """It moves its coordinate by rounding alone, and that of the next step not at all; smaller ones move."""

    def again(blocks, s):
        return np.concatenate([blocks[:place], blocks[place - 1 : place], blocks[place + 1 :]])

    problem, stream = drawn(loss)
    for s in (1, 4):
        for log in (True, False):
            verdicts = judge(made_from(again, log=log), problem, stream, s)
            assert all(SMALL not in named(verdict) for verdict in verdicts)
