"""K-SVM-L2 with an upper limit C, as K-SVM-L1 has: omega is correct, so the loss is not the other one."""

from __future__ import annotations

import numpy as np
import pytest
from judged import hinted, named
from stepped import kernel_matrix

from sstep_verify import judge
from sstep_verify.adapters import CallableSolver
from sstep_verify.declaration import Declaration
from sstep_verify.diagnosis.candidates import CAPPED
from sstep_verify.diagnosis.other_problems import OTHER_LOSS
from sstep_verify.problems import IndexStream, LinearKernel, Problem, RBFKernel, SquaredHinge
from sstep_verify.verdict import HintKind, Status

SAMPLES, LENGTH = 14, 60


def capped(*, log, omega=True, multiple=1):
    """A K-SVM-L2 whose values have the upper limit C, or a multiple; without its omega it is K-SVM-L1."""

    def solve(problem, blocks, s, a0, steps=None):
        alpha, limit = a0.copy(), multiple * problem.hinge.C
        matrix = problem.signs[:, None] * kernel_matrix(problem) * problem.signs
        matrix += omega * problem.dual.shift * np.eye(problem.samples)
        for place, i in enumerate(blocks[:, 0]):
            alpha[i] = min(max(alpha[i] - (matrix[i] @ alpha - 1) / matrix[i, i], 0.0), limit)
            if steps is not None:
                steps[place] = alpha[i]
        return alpha

    return CallableSolver(solve, Declaration("capped", rbf="difference", log=log))


def verdicts(check, s, **solver):
    for seed in range(6):
        generator = np.random.Generator(np.random.PCG64(seed))
        data, C = generator.standard_normal((SAMPLES, 4)), float(generator.uniform(0.1, 1.0))
        labels = np.where(generator.random(SAMPLES) < 0.5, -1.0, 1.0)
        kernel = LinearKernel() if seed % 2 else RBFKernel(0.3)
        problem = Problem("capped", data, labels, kernel, SquaredHinge(C))
        stream = IndexStream("uniform", SAMPLES, 1, LENGTH, seed=seed)
        tested = capped(log=check == "step-replay", **solver)
        verdict = judge(tested, problem, stream, s, checks=[check])[-1]
        if verdict.status is Status.FAIL:
            yield verdict


@pytest.mark.parametrize("s", [1, 7])
@pytest.mark.parametrize("check", ["step-replay", "window-replay", "trajectory"])
def test_an_upper_limit_that_is_none_is_named(check, s):
    found = [*verdicts(check, s)]
    assert len(found) >= 3
    for verdict in found:
        assert (named(verdict), verdict.requirement) == ([CAPPED.name], "S-1.3")
        assert not {HintKind.PART_OF_RUN, HintKind.AT_LIMITS} & {*hinted(verdict)}


@pytest.mark.parametrize("check", ["step-replay", "window-replay"])
def test_the_other_loss_keeps_its_name(check):
    found = [*verdicts(check, 7, omega=False)]
    assert len(found) >= 3
    assert {(*named(verdict),) for verdict in found} == {(OTHER_LOSS,)}


@pytest.mark.parametrize("s", [1, 7])
def test_a_limit_at_the_step_without_kernel_entries_is_no_factor_on_them(s):
    """2 C = 1/omega is what a step without any kernel entry leads to: correct steps refute that."""
    found = [*verdicts("step-replay", s, multiple=2)]
    assert len(found) >= 3
    assert {(*named(verdict),) for verdict in found} == {()}
