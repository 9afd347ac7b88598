"""The checks of one run name one requirement for one defect, which the check of its steps names."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from small_solvers import callable_of, descend, drawn, kernel_of

from sstep_verify import RBFKernel, judge, verify
from sstep_verify.verdict import NoteKind, Status

SEEDS = [
    pytest.param(seed, marks=[pytest.mark.nightly] * (seed > 0))
    for seed in range(int(os.environ.get("SSTEP_VERIFY_DRAWS", "6")))
]

OWN = {
    "window-replay": {"svm-l1": "S-3.1", "krr": "S-3.2"},
    "trajectory": {"svm-l1": "S-4.1", "krr": "S-4.1"},
}
"""The requirement of a check that names no defect, by task."""


def corrected_too_much(problem, blocks, s, a0, log):
    """Windows whose kernel correction is too large by a millionth."""
    labels = problem.targets if problem.is_svm else np.ones(problem.samples)
    matrix, alpha, m = np.outer(labels, labels) * kernel_of(problem), a0.copy(), problem.samples
    for begin in range(0, len(blocks), s):
        start = alpha.copy()
        for step, block in enumerate(blocks[begin : begin + s], begin):
            rows, before = matrix[block], alpha[block].copy()
            product = rows @ start + (1 + 1e-6) * (rows @ (alpha - start))
            if problem.is_svm:
                moved = before - (product - 1) / rows[0, block]
                alpha[block] = np.clip(moved, 0.0, problem.hinge.C)
            else:
                penalty = problem.ridge.penalty
                system = rows[:, block] / penalty + m * np.eye(block.size)
                right = problem.targets[block] - m * before - product / penalty
                alpha[block] = before + np.linalg.solve(system, right)
            log[step] = alpha[block]
    return alpha


def off_by_an_amount_of_its_own(problem, blocks, s, a0, log):
    """Every new value is too small, by another share in each step."""
    alpha = a0.copy()
    for step, block in enumerate(blocks):
        alpha = descend(problem, blocks[step : step + 1], 1, alpha)
        alpha[block] *= 1 - 1e-6 * (1 + step * step % 7)
        log[step] = alpha[block]
    return alpha


def of_steps(verdict):
    """Whether the requirement is said to be that of another check."""
    return NoteKind.NAMED_BY_STEPS in {one.kind for one in verdict.notes}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("task", ["svm-l1", "krr"])
@pytest.mark.parametrize("check", OWN)
@pytest.mark.parametrize("function", [corrected_too_much, off_by_an_amount_of_its_own])
def test_a_defect_that_the_steps_name_has_one_requirement(seed, task, check, function):
    problem, stream = drawn(seed + 4, task)
    solver = callable_of(log=True, function=function)
    (_, alone) = judge(solver, problem, stream, s=7, checks=(check,))
    if alone.status is not Status.FAIL:
        return
    # By itself it knows only that a step, or the run, is wrong.
    assert (alone.defects, alone.requirement, of_steps(alone)) == ((), OWN[check][task], False)
    (_, steps, other) = judge(solver, problem, stream, s=7, checks=("step-replay", check))
    assert (steps.status, other.status, other.defects) == (Status.FAIL, Status.FAIL, ())
    named = function is corrected_too_much
    assert bool(steps.defects) == of_steps(other) == named
    assert other.requirement == (steps.requirement if named else alone.requirement)
    assert steps.requirement == ("S-3.5" if named else OWN["window-replay"][task])


@pytest.mark.parametrize("seed", SEEDS)
def test_a_kernel_too_narrow_at_every_s_is_no_missing_correction(seed):
    """Off the diagonal it leaves nothing, so that from alpha = 0 a window of all steps lacks its corrections."""

    def too_narrow(problem, blocks, s, a0, log):
        kernel = RBFKernel(problem.kernel.sigma * 10.0 ** (3 + seed))
        alpha = a0.copy()
        for step in range(len(blocks)):
            alpha = descend(replace(problem, kernel=kernel), blocks[step : step + 1], 1, alpha)
            log[step] = alpha[blocks[step]]
        return alpha

    report = verify(
        callable_of(log=True, function=too_narrow), "smoke", tasks=["krr"], kernels=["rbf"], seed=seed
    )
    steps = [one for one in report.results.verdicts if one["check"] == "step-replay"]
    assert {one["status"] for one in steps} == {"FAIL"}
    assert {one["s"] for one in steps} > {1}
    assert not any("Cause" in one["reason"] or "Violates S-3.5" in one["reason"] for one in steps)
