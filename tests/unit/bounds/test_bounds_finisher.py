"""The finisher of a boxed loss: the minimiser of its one-variable problem, monotone, a shift between corners."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstep_verify import CallableSolver, Declaration, Hinge, IndexStream, Problem, RBFKernel, RunRequest
from sstep_verify.bounds.window.svm import svm_window_bound
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import BoxedLoss
from sstep_verify.problems.losses import Dual
from sstep_verify.quantities import SvmSteps
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.rounding.box import Box, end_error, finish, finish_flat, shifts, soft
from sstep_verify.rounding.formulas import Formulas
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.rounding.rows import KernelEntries

U = unit_roundoff("float64")

LARGE = 1e6
GRID = 8
"""Numbers are multiples of 1/GRID, so that none of them is rounded here."""


class Far(BoxedLoss):
    task, labelled, base_task = "far", False, "svm-l1"
    lower = property(lambda self: -self.C)
    threshold = property(lambda self: LARGE)


numbers = st.integers(-40, 40).map(lambda n: n / GRID)
boxes = st.builds(
    lambda lower, upper, knot: (Box(lower, upper, knot), knot),
    st.integers(-24, 0).map(lambda n: n / GRID),
    st.one_of(st.integers(1, 24).map(lambda n: n / GRID), st.just(np.inf)),
    st.integers(0, 16).map(lambda n: n / GRID),
)


@given(boxes, numbers)
def test_it_minimises_the_one_variable_problem(drawn, z):
    box, knot = drawn
    new = finish(box, z, knot)
    points = np.arange(box.lower, min(box.upper, 6.0) + 1 / GRID, 1 / GRID)
    values = 0.5 * (points - z) ** 2 + knot * np.abs(points)
    assert new == points[int(np.argmin(values))]


@given(boxes, numbers, numbers)
def test_it_is_monotone_and_moves_no_further_than_its_argument(drawn, one, other):
    (box, knot), (low, high) = drawn, sorted((one, other))
    assert 0.0 <= finish(box, high, knot) - finish(box, low, knot) <= high - low


@given(boxes, numbers, numbers, st.sampled_from([0.0, 0.25]))
def test_where_it_shifts_it_does_so_for_any_ends_that_near(drawn, one, other, off):
    (box, knot), (low, high) = drawn, sorted((one, other))
    if not shifts(box, low, high, knot, off):
        return
    for near in (box, box._replace(upper=box.upper - off), box._replace(lower=min(box.lower + off, 0.0))):
        assert finish(near, high, knot) - finish(near, low, knot) == high - low


def test_without_curvature_the_linear_term_decides():
    box = Box(-2.0, 3.0, 0.5)
    assert [finish_flat(box, linear) for linear in (0.6, 0.5, 0.0, -0.5, -0.6)] == [
        3.0,
        0.0,
        0.0,
        0.0,
        -2.0,
    ]
    assert finish_flat(Box(0.0, 1.0, 0.0), 1.0) == 1.0


def test_without_a_threshold_the_minimiser_stays_as_it_is_to_the_bit():
    assert np.signbit(soft(-0.0, 0.0))
    assert soft(-1e300, 0.0) == -1e300


def test_the_ends_are_off_where_the_recurrence_is_scaled_alone():
    dual = Dual(0.0, np.inf, -0.3, 0.1)
    assert end_error(dual, Declaration("plain")) == 0.0
    assert 0.6 * U <= end_error(dual, Formulas("scaled", scaled=True)) <= 0.61 * U


@pytest.mark.parametrize("threshold", [0.0, 0.1])
def test_nothing_is_promised_of_other_losses_in_a_scaled_recurrence(threshold):
    class Other(Far):
        threshold = property(lambda self: threshold)

    problem = Problem("other", np.ones((1, 1)), np.array([0.5]), RBFKernel(1.0), Other(1.0))
    scaled = Formulas("scaled", scaled=True)
    assert np.isinf(kernel_entries(problem, scaled, np.arange(1)).solver_error).all()
    hinge = replace(problem, targets=np.ones(1), loss=Hinge(1.0))
    assert np.isfinite(kernel_entries(hinge, scaled, np.arange(1)).solver_error).all()


FAR = Dual(0.0, 2 * LARGE, -2 * LARGE, LARGE, 1.0, np.array([LARGE + 1.0]))
"""From a = 0 with a curvature of 1: the unclipped value is 1e6 + 1, and the new one 1."""


def test_a_window_counts_the_sizes_of_linear_term_and_threshold():
    exact = KernelEntries(np.ones((1, 1)), np.zeros((1, 1)), np.zeros((1, 1)))
    one = np.ones(1)
    steps = SvmSteps(np.zeros(1, dtype=np.int64), np.zeros(1), one, (LARGE + 1) * one, (LARGE + 1) * one)
    bound = svm_window_bound(exact, np.arange(1), np.zeros(1), steps, FAR, Declaration("any"))
    # 7 roundings of the sum, of both sizes; 4 of quotient and difference each, and 3 of the curvature.
    assert (7 * 2 + 4 * (2 + 2) + 3 * 2) * LARGE * U <= bound.radius[0] <= 43 * LARGE * U


def test_a_step_counts_them_too():
    problem = Problem("far", np.ones((1, 1)), np.array([LARGE + 1]), RBFKernel(1.0), Far(2 * LARGE))
    stream = IndexStream("uniform", samples=1, block=1, length=1, seed=0)

    def solve(problem, blocks, s, a0, log):
        log[:] = 1.0
        return np.ones(1)

    run = CallableSolver(solve, Declaration("any", rbf="difference", log=True)).run(
        RunRequest(problem, stream, 1, 1, log=True)
    )
    case = Case("far", problem, stream, (1,), 1, Declaration("any", rbf="difference", log=True))
    (bound,) = StepJudge(case, Oracle(problem), judge=False).step_bounds(run, 0)
    # And what the one entry of the kernel, in the curvature, may be off by.
    (entry,) = kernel_entries(problem, case.declaration, np.arange(1)).solver_error[0] / U
    assert (7 * 2 + 4 * (2 + 2) + (3 + entry) * 2) * LARGE * U <= bound <= 53 * LARGE * U
