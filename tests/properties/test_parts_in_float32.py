"""A part of a step in float32 is suspected where it explains the steps; of a defect in float64 it is not."""

from __future__ import annotations

import os

import numpy as np
import pytest
from small_solvers import callable_of, drawn, kernel_of

from sstep_verify import judge
from sstep_verify.verdict import HintKind, Status

SEEDS = [
    pytest.param(seed, marks=[pytest.mark.nightly] * (seed > 1))
    for seed in range(int(os.environ.get("SSTEP_VERIFY_DRAWS", "6")))
]

PARTS = ("kernel", "gradient", "increment", "data")


def rounded(values):
    """Values of float32, held in float64."""
    return np.asarray(values).astype(np.float32).astype(np.float64)


def solver(part="", omitted=False, factor=1.0, steps=None):
    """A classical solver that rounds one part of a step to float32, or has a defect in some steps."""

    def solve(problem, blocks, s, a0, log):
        exact = kernel_of(problem)
        labels, m = problem.targets if problem.is_svm else np.ones(problem.samples), problem.samples
        kernel, alpha = rounded(exact) if part == "kernel" else exact, a0.copy()
        if part == "data":
            kernel = _of_rounded_data(problem)
        for step, block in enumerate(blocks):
            off = factor if steps is None or step in steps else 1.0
            if problem.is_svm:
                row = labels[block] * labels * kernel[block[0]]
                gradient, system = np.array([row @ alpha - off]), row[block][None]
            else:
                penalty = problem.ridge.penalty
                system = kernel[np.ix_(block, block)] / penalty + m * np.eye(block.size)
                held = 0.0 if omitted else m * alpha[block]
                gradient = kernel[block] @ alpha / penalty + held - off * problem.targets[block]
            if part == "gradient":
                gradient = rounded(gradient)
            increment = -np.linalg.solve(system, gradient) if system.any() else np.full(1, np.inf)
            if part == "increment":
                increment = rounded(increment)
            value = alpha[block] + increment
            alpha[block] = np.clip(value, 0.0, problem.hinge.C) if problem.is_svm else value
            log[step] = alpha[block]
        return alpha

    return callable_of(log=True, function=solve)


def _of_rounded_data(problem):
    data = rounded(problem.dense)
    if problem.kernel.linear:
        return data @ data.T
    return np.exp(-problem.kernel.sigma * np.square(data[:, None] - data[None]).sum(axis=2))


def suspected(function, seed, task):
    """The verdict on a drawn run, and whether a part is suspected in float32."""
    problem, stream = drawn(seed + 4, task)
    verdict = judge(function, problem, stream, s=1)[-1]
    return verdict, [one.detail for one in verdict.hints if one.kind is HintKind.PARTS_IN_FLOAT32]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("task", ["svm-l1", "krr"])
@pytest.mark.parametrize("part", PARTS)
def test_a_part_in_float32_is_suspected(seed, task, part):
    verdict, hints = suspected(solver(part), seed, task)
    assert verdict.status is Status.FAIL
    over = float(verdict.evidence["steps_over_bound"])
    assert hints == [] if verdict.defects else [(over, 60.0)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("task", "defect"),
    [
        ("krr", {"omitted": True}),
        ("svm-l1", {"factor": 1 + 1e-9}),
        ("krr", {"factor": 1 + 1e-9, "steps": (7, 40)}),
        ("svm-l1", {"factor": 1 + 1e-9, "steps": (7, 40)}),
    ],
)
def test_a_defect_in_float64_is_not(seed, task, defect):
    verdict, hints = suspected(solver(**defect), seed, task)
    assert (verdict.status, hints) == (Status.FAIL, [])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("task", ["svm-l1", "krr"])
def test_a_small_error_of_the_correction_is_not(seed, task):
    problem, stream = drawn(seed + 4, task)
    verdict = judge(callable_of(log=True, correction=1 + 1e-9), problem, stream, s=5)[-1]
    assert verdict.status is Status.FAIL
    assert HintKind.PARTS_IN_FLOAT32 not in {one.kind for one in verdict.hints}
