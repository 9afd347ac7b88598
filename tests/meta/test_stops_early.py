"""A run that stops, and fills the rest of its log with the values it has: nothing moves there to be named."""

from __future__ import annotations

import numpy as np
import pytest
from daily import crossed
from hypothesis import given
from hypothesis import strategies as st
from judged import hinted, named
from stepped import kernel_matrix

from sstep_verify import judge
from sstep_verify.adapters import CallableSolver
from sstep_verify.checks.shared.signs import logged_moves_until
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, RBFKernel, Ridge, SquaredHinge
from sstep_verify.verdict import HintKind, Status

LENGTH = 60


def problem_of(loss, kernel, seed):
    generator = np.random.Generator(np.random.PCG64(seed))
    data, targets = generator.standard_normal((14, 4)), generator.standard_normal(14)
    signs = np.where(np.arange(14) % 3 == 0, 1.0, -1.0)
    return Problem("stops", data, targets if isinstance(loss, Ridge) else signs, kernel, loss)


def stops_after(windows, *, log):
    """A solver that makes so many windows of every run, and nothing after them."""

    def solve(problem, blocks, s, a0, steps=None):
        alpha = a0.copy()
        matrix = kernel_matrix(problem)
        if problem.is_svm:
            matrix = problem.signs[:, None] * matrix * problem.signs
        else:
            matrix = matrix / problem.ridge.penalty + problem.samples * np.eye(problem.samples)
        for place, block in enumerate(blocks):
            if place < windows * s:
                system = matrix[np.ix_(block, block)]
                if problem.is_svm:
                    gradient = matrix[block] @ alpha - 1 + problem.dual.shift * alpha[block]
                    step = alpha[block] - gradient / (system[0] + problem.dual.shift)
                    alpha[block] = np.clip(step, problem.dual.lower, problem.dual.upper)
                else:
                    alpha[block] += np.linalg.solve(system, problem.targets[block] - matrix[block] @ alpha)
            if steps is not None:
                steps[place] = alpha[block]
        return alpha

    return CallableSolver(solve, Declaration("stops", rbf="difference", log=log, factorisation="lu"))


@pytest.mark.parametrize(
    ("log", "check", "loss", "s"),
    crossed(
        [(True, "step-replay"), (False, "window-replay")],
        [Hinge(2.0), SquaredHinge(0.7), Ridge(0.05)],
        [1, 5],
        of=2,
        flat=True,
    ),
)
def test_a_stop_is_a_hint_and_no_defect_of_a_part(log, check, loss, s):
    judged = 0
    for seed, kernel in ((1, LinearKernel()), (2, RBFKernel(0.3)), (3, LinearKernel())):
        problem = problem_of(loss, kernel, seed)
        blocks = IndexStream("uniform", 14, 1 if problem.is_svm else 2, LENGTH, seed=seed)
        for windows in (2, 7):
            verdict = judge(stops_after(windows, log=log), problem, blocks, s, checks=[check])[-1]
            if verdict.status is Status.FAIL:
                judged += 1
                assert (named(verdict), verdict.diagnosed) == ([], False), (seed, windows)
                (first,) = next(one.detail for one in verdict.hints if one.kind is HintKind.STOPPED)
                assert first <= windows * s + 1
    assert judged > 3


def test_a_lost_last_window_keeps_its_name():
    problem = problem_of(Ridge(0.05), LinearKernel(), 4)
    blocks = IndexStream("uniform", 14, 2, LENGTH, seed=4)
    verdict = judge(stops_after(8, log=True), problem, blocks, 7, checks=["step-replay"])[-1]
    assert (named(verdict), verdict.diagnosed) == (["tail-lost"], True)
    assert HintKind.STOPPED not in hinted(verdict)


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(0, 9))
def test_the_last_move_of_a_log_is_found(seed, block, steps):
    generator = np.random.Generator(np.random.PCG64(seed))
    start = generator.integers(0, 2, 5).astype(float)
    draws = np.array([generator.permutation(5)[:block] for _ in range(steps)], dtype=int).reshape(-1, block)
    log, alpha, last = generator.integers(0, 2, draws.shape).astype(float), start.copy(), 0
    for step, (places, values) in enumerate(zip(draws, log, strict=True), 1):
        last = step if (alpha[places] != values).any() else last
        alpha[places] = values
    assert logged_moves_until(start, draws, log) == last
