"""Nothing is promised where an entry overflows, or one over lambda, though what it multiplies is 0."""

from __future__ import annotations

import numpy as np
import pytest
from admissible_runs import by_window_and_steps

from sstep_verify import CallableSolver, Declaration
from sstep_verify.checks.registry import checks_of
from sstep_verify.judging import judge
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, Ridge
from sstep_verify.verdict import Status
from studies.admissible.solver import draw

SMALL, LARGE, PENALTY = 1e-14, 9e18, 1e-34
"""K of the two samples over lambda is 9e38, beyond float32; that of the first with itself is 1e6."""


def dividing_entries_first(problem, blocks, s, a0, log=None):
    """Algorithm 3 in float32 with kernel rows over lambda, from which all else is formed."""
    data, y, a = problem.dense.astype("f4"), problem.targets.astype("f4"), a0.astype("f4")
    m, rows = np.float32(problem.samples), (data @ data.T) / np.float32(problem.ridge.penalty)
    for step, (i,) in enumerate(blocks):
        a[i] += (y[i] - m * a[i] - rows[i] @ a) / (rows[i, i] + m)
        if log is not None:
            log[step] = a[i]
    return a


@pytest.mark.parametrize("log", [True, False])
def test_a_row_that_is_divided_before_it_meets_a_zero_is_not_failed(log):
    stream = IndexStream("cyclic", samples=2, block=1, length=1)
    for large, status in ((1.0, Status.PASS), (LARGE, Status.VACUOUS)):
        problem = Problem(
            "two", np.array([[SMALL], [large]]), np.array([1.0, 2.0]), LinearKernel(), Ridge(PENALTY)
        )
        declared = Declaration("divides", precision="float32", log=log)
        with np.errstate(all="ignore"):
            contract, *others = judge(CallableSolver(dividing_entries_first, declared), problem, stream, 1)
        assert contract.status is status
        assert checks_of(["step-replay" if log else "window-replay"])[0].id == others[0].check
        assert others[0].status is Status.VACUOUS
        assert np.isfinite(others[0].bound) == (large == 1.0)


def test_a_tiny_right_hand_side_does_not_hide_that_a_system_overflows():
    told = by_window_and_steps(*draw(2164426677))
    assert told["window-replay"].status is Status.VACUOUS


def by_the_sign_of_the_gradient(problem, blocks, s, a0, log):
    """Algorithm 1, to which a coordinate without curvature is one whose gradient says where it ends."""
    data, y, a, upper = problem.dense, problem.targets, a0.copy(), problem.hinge.C
    rows = (data @ data.T) * y * y[:, None]
    for step, (i,) in enumerate(blocks):
        gradient = rows[i] @ a - 1.0
        if rows[i, i] > 0.0:
            a[i] = np.clip(a[i] - gradient / rows[i, i], 0.0, upper)
        else:
            a[i] = upper if gradient < 0.0 else 0.0
        log[step] = a[i]
    return a


@pytest.mark.parametrize("large", [1.0, 1e200])
def test_a_row_of_zeros_meets_no_number_once_a_run_has_left_the_range(large):
    stream = IndexStream("cyclic", samples=3, block=1, length=6)
    problem = Problem(
        "three", np.array([[large], [0.5], [0.0]]), np.array([1.0, -1.0, 1.0]), LinearKernel(), Hinge(0.75)
    )
    declared = Declaration("by sign", log=True, products="rows")
    with np.errstate(all="ignore"):
        contract, steps = judge(CallableSolver(by_the_sign_of_the_gradient, declared), problem, stream, 1)
    assert contract.status is (Status.PASS if large == 1.0 else Status.VACUOUS)
    assert steps.status is not Status.FAIL
    assert np.isfinite(steps.bound) == (large == 1.0)
