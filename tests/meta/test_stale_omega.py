"""An omega that is stale, or has a sign in some steps, is named as such, and not as another mistake."""

from __future__ import annotations

import numpy as np
import pytest
from judged import hinted, named
from stepped import kernel_matrix

from sstep_verify import judge
from sstep_verify.adapters import CallableSolver
from sstep_verify.declaration import Declaration
from sstep_verify.diagnosis.candidates import OWN_OMEGA
from sstep_verify.problems import IndexStream, LinearKernel, Problem, RBFKernel, SquaredHinge
from sstep_verify.verdict import HintKind, Status

SAMPLES = 12


def solve(problem, blocks, s, a0, log):
    alpha, shift = a0.copy(), problem.dual.shift
    matrix = problem.signs[:, None] * kernel_matrix(problem) * problem.signs
    for place, i in enumerate(blocks[:, 0]):
        if place % s == 0:
            start = alpha.copy()
        gradient = matrix[i] @ alpha - 1 + shift * start[i]
        alpha[i] = log[place] = max(alpha[i] - gradient / (matrix[i, i] + shift), 0.0)
    return alpha


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("C", [1.0, 2.0])
def test_a_stale_omega_is_named_alone(C, seed):
    """With an RBF kernel every K_ii is 1, so that a factor 1 - omega on own increments makes the same steps."""
    generator = np.random.Generator(np.random.PCG64(seed))
    labels = np.where(generator.random(SAMPLES) < 0.5, -1.0, 1.0)
    data = generator.standard_normal((SAMPLES, 4))
    problem = Problem("drawn", data, labels, RBFKernel(0.3), SquaredHinge(C))
    stream = IndexStream("uniform", SAMPLES, 1, 120, seed)
    solver = CallableSolver(solve, Declaration("stale omega", rbf="difference", log=True))
    verdict = judge(solver, problem, stream, 6, checks=["step-replay"])[-1]
    assert verdict.status is Status.FAIL
    assert (named(verdict), verdict.requirement) == ([OWN_OMEGA.name], "S-3.7")


def with_label(problem, blocks, s, a0, log):
    alpha, labels, shift = a0.copy(), problem.signs, problem.dual.shift
    matrix = labels[:, None] * kernel_matrix(problem) * labels
    for place, i in enumerate(blocks[:, 0]):
        gradient = matrix[i] @ alpha - 1 + labels[i] * shift * alpha[i]
        alpha[i] = log[place] = max(alpha[i] - gradient / (matrix[i, i] + shift), 0.0)
    return alpha


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("s", [1, 4])
def test_a_factor_that_correct_steps_refute_is_of_a_part_of_the_run(s, seed):
    """The label of the drawn coordinate multiplies omega: where it is 1 steps are correct."""
    generator = np.random.Generator(np.random.PCG64(seed))
    labels = np.where(generator.random(SAMPLES) < 0.5, -1.0, 1.0)
    data = generator.standard_normal((SAMPLES, 4))
    problem = Problem("drawn", data, labels, LinearKernel(), SquaredHinge(0.3))
    stream = IndexStream("uniform", SAMPLES, 1, 60, seed)
    solver = CallableSolver(with_label, Declaration("omega with a label", log=True))
    verdict = judge(solver, problem, stream, s, checks=["step-replay"])[-1]
    assert verdict.status is Status.FAIL
    assert verdict.defects
    assert HintKind.PART_OF_RUN in hinted(verdict)
