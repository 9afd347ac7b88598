"""Mistakes of a K-RR that corrects a residual by rows of K/lambda + m I are named, with a log and without."""

from __future__ import annotations

import numpy as np
import pytest
from daily import crossed
from judged import named
from stepped import kernel_matrix

from sstep_verify import judge
from sstep_verify.adapters import CallableSolver
from sstep_verify.declaration import Declaration
from sstep_verify.problems import IndexStream, LinearKernel, Problem, RBFKernel, Ridge
from sstep_verify.verdict import Status

GENERATOR = np.random.Generator(np.random.PCG64(17))
DATA, TARGETS = GENERATOR.standard_normal((24, 4)), GENERATOR.standard_normal(24)
PARTS = {
    "corrected-by-newest-increment-only": lambda t, steps: range(max(t - 1, 0), t),
    "newest-increment-lost": lambda t, steps: range(t - 1),
    "corrected-by-first-increment-only": lambda t, steps: range(min(t, 1)),
    "first-increment-lost": lambda t, steps: range(1, t),
    "only-last-step-corrected": lambda t, steps: range(t) if t == steps - 1 else range(0),
    "last-step-uncorrected": lambda t, steps: range(t) if t < steps - 1 else range(0),
}


def solver_of(log, *, terms=lambda t, steps: range(t), sign=1.0, stored=1.0):
    """A K-RR whose residual is corrected by some earlier steps, with a sign, and that stores with another."""

    def solve(problem, blocks, s, a0, steps=None):
        y, m, alpha = problem.targets, problem.samples, a0.copy()
        matrix = kernel_matrix(problem) / problem.ridge.penalty + m * np.eye(m)
        for begin in range(0, len(blocks), s):
            window, made = blocks[begin : begin + s], []
            residuals = [y[block] - matrix[block] @ alpha for block in window]
            for t, block in enumerate(window):
                residual = residuals[t]
                for j in terms(t, len(window)):
                    residual = residual - sign * matrix[np.ix_(block, window[j])] @ made[j]
                made.append(np.linalg.solve(matrix[np.ix_(block, block)], residual))
                alpha[block] += stored * made[-1]
                if steps is not None:
                    steps[begin + t] = alpha[block]
        return alpha

    return CallableSolver(solve, Declaration("residual", rbf="difference", log=log, factorisation="lu"))


def verdict_of(solver, s, block, kernel, penalty=0.05):
    problem = Problem("residual", DATA, TARGETS, kernel, Ridge(penalty))
    return judge(solver, problem, IndexStream("uniform", 24, block, 160, seed=2), s)[-1]


PLACES = [
    (True, 1, LinearKernel()),
    (True, 3, RBFKernel(0.3)),
    (False, 1, RBFKernel(0.3)),
    (False, 3, LinearKernel()),
]
EVERYWHERE = pytest.mark.parametrize(("log", "block", "kernel"), PLACES)


@EVERYWHERE
@pytest.mark.parametrize("s", [1, 8])
def test_increments_that_are_subtracted_are_named_and_no_factor(s, log, block, kernel):
    verdict = verdict_of(solver_of(log, stored=-1.0), s, block, kernel)
    assert (verdict.status, verdict.requirement) == (Status.FAIL, "S-3.2")
    assert named(verdict) == ["increments subtracted"]


@EVERYWHERE
def test_a_correction_with_the_wrong_sign_is_named(log, block, kernel):
    verdict = verdict_of(solver_of(log, sign=-1.0), 8, block, kernel)
    assert (verdict.status, verdict.requirement) == (Status.FAIL, "S-3.5")
    assert named(verdict) == ["correction with the wrong sign"]


@pytest.mark.parametrize(("log", "block", "kernel", "name"), crossed(PLACES, PARTS, of=2, flat=True))
def test_a_part_of_the_correction_is_named(name, log, block, kernel):
    verdict = verdict_of(solver_of(log, terms=PARTS[name]), 8, block, kernel)
    assert (verdict.status, verdict.requirement) == (Status.FAIL, "S-3.5")
    assert named(verdict) == [name]


@pytest.mark.parametrize(
    ("log", "block", "kernel", "wrong"),
    crossed(
        PLACES,
        [{"sign": -0.9}, {"stored": -0.9}, {"terms": lambda t, steps: range(t % 3)}],
        of=2,
        flat=True,
    ),
)
def test_other_mistakes_have_none_of_these_names(wrong, log, block, kernel):
    verdict = verdict_of(solver_of(log, **wrong), 8, block, kernel)
    assert verdict.status is Status.FAIL
    of_residual = {*PARTS, "increments subtracted", "correction with the wrong sign"}
    assert not of_residual & {*named(verdict)}


@EVERYWHERE
def test_a_correct_residual_passes(log, block, kernel):
    assert verdict_of(solver_of(log), 8, block, kernel).status is Status.PASS
