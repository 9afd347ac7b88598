"""Bound D: values by hand, what a gap and a residual prove, where nothing is promised."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify.bounds.optimum import ridge as optimum_ridge
from sstep_verify.bounds.optimum import svm as optimum_svm
from sstep_verify.bounds.residual_gap import DriftBound, Segment
from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.rounding.arithmetic import ROUND_UP
from sstep_verify.rounding.kernel.products import kernel_products

FLOAT64 = Declaration("any")
FLOAT32 = Declaration("any", precision="float32")

DATA = np.array([[2.0, 0.0], [0.0, 1.0]])
LABELS = np.array([1.0, -1.0])


def _svm(loss, kernel=None, data=DATA, labels=LABELS):
    return Problem("by hand", data, labels, kernel or LinearKernel(), loss)


def test_gap_and_objectives_by_hand():
    # Q = diag(4, 1), a = (1/4, 1/2): Qa = (1, 1/2), half square 1/4, one margin short by 1/2.
    alpha = np.array([0.25, 0.5])
    hinge = optimum_svm.svm_values(_svm(Hinge(2.0)), FLOAT64, alpha)
    assert (hinge.primal.value, hinge.dual.value, hinge.gap.value) == (0.25 + 2 * 0.5, 0.75 - 0.25, 0.75)
    squared = optimum_svm.svm_values(_svm(SquaredHinge(2.0)), FLOAT64, alpha)
    own = 0.25 * (0.25**2 + 0.5**2) / 2
    assert (squared.primal.value, squared.dual.value) == (0.25 + 2 * 0.25, 0.5 - own)
    for values in (hinge, squared):
        for value in (values.gap, values.primal, values.dual):
            assert 0 < value.judge_error <= value.solver_error
            assert value.lower < value.value < value.upper
        assert values.attainable > values.gap.solver_error


def test_residual_and_gap_by_hand():
    # M = diag(4, 1)/2 + 2 I = diag(4, 2.5), y = (1, -1), a = (1, 0): r = (-3, -1).
    values = optimum_ridge.ridge_values(_svm(Ridge(2.0)), FLOAT64, np.array([1.0, 0.0]))
    np.testing.assert_array_equal(values.entries, [-3.0, -1.0])
    assert values.residual.value == np.sqrt(10.0)
    assert abs(values.gap.value - 2.5) <= values.gap.judge_error
    assert optimum_ridge.distance_bound(_svm(Ridge(2.0)), 3.0) == 1.5 * ROUND_UP


def test_the_error_of_float32_is_half_a_billion_times_larger():
    alpha = np.array([0.25, 0.5])
    wide, narrow = (optimum_svm.svm_values(_svm(Hinge(2.0)), d, alpha) for d in (FLOAT64, FLOAT32))
    assert (
        2.0**29 < narrow.gap.solver_error / wide.gap.solver_error < 2.0**29 * 1.001
    )  # gamma_k is a little above k u
    assert (
        narrow.gap.judge_error < 2 * wide.gap.judge_error
    )  # the error of the value at hand is float64's in both


def test_a_gap_bounds_the_distance_where_the_dual_is_strongly_convex():
    assert optimum_svm.distance_bound(_svm(Hinge(2.0)), 1.0) == np.inf
    # omega = 1/4: sqrt(2 * 2 / (1/4)) = 4.
    assert optimum_svm.distance_bound(_svm(SquaredHinge(2.0)), 2.0) == 4.0 * ROUND_UP
    assert optimum_svm.seminorm_bound(2.0) == 2.0 * ROUND_UP


def test_uniqueness_is_decided_and_said():
    alpha = np.array([0.25, 1.0])
    problem = _svm(Hinge(2.0))
    assert "2 free" in optimum_svm.uniqueness(problem, optimum_svm.svm_values(problem, FLOAT64, alpha))
    # At the upper end with a large gradient both ways nothing is free.
    tight = _svm(Hinge(2.0**-20))
    held = optimum_svm.svm_values(tight, FLOAT64, np.full(2, 2.0**-20))
    assert "every coordinate is held" in optimum_svm.uniqueness(tight, held)
    twins = _svm(Hinge(2.0), data=np.ones((2, 2)), labels=np.ones(2))
    open_ = optimum_svm.svm_values(twins, FLOAT64, np.array([0.25, 0.25]))
    assert "not proved unique" in optimum_svm.uniqueness(twins, open_)
    squared = _svm(SquaredHinge(2.0), data=np.ones((2, 2)), labels=np.ones(2))
    assert "strongly convex" in optimum_svm.uniqueness(
        squared, optimum_svm.svm_values(squared, FLOAT64, alpha)
    )


@pytest.mark.parametrize("kernel", [LinearKernel(), PolynomialKernel(3, 0.25), RBFKernel(0.5)])
def test_the_largest_curvature_is_at_least_the_diagonal(kernel):
    problem = _svm(Hinge(1.0), kernel)
    diagonal = {"linear": [4.0, 1.0], "polynomial": [4.25**3, 1.25**3], "rbf": [1.0, 1.0]}[kernel.name]
    found = optimum_svm.largest_curvatures(problem)
    assert (found >= diagonal).all()
    assert (found <= np.array(diagonal) * ROUND_UP**6).all()


def test_entries_beyond_the_float64_range_promise_nothing():
    problem = _svm(Hinge(1.0), PolynomialKernel(3), data=DATA * 1e150)
    values = optimum_svm.svm_values(problem, FLOAT64, np.array([0.5, 0.5]))
    assert values.gap.judge_error == values.gap.solver_error == values.attainable == np.inf
    ridge = Problem("large", DATA * 1e150, LABELS, PolynomialKernel(3), Ridge(1.0))
    assert optimum_ridge.ridge_values(ridge, FLOAT64, np.array([0.5, 0.5])).residual.judge_error == np.inf


def test_a_parameter_that_float32_loses_promises_nothing():
    assert optimum_svm.svm_values(_svm(Hinge(1e-60)), FLOAT32, np.zeros(2)).gap.solver_error == np.inf
    for penalty in (1e-60, 1e60):
        values = optimum_ridge.ridge_values(_svm(Ridge(penalty)), FLOAT32, np.ones(2))
        assert values.residual.solver_error == np.inf > values.residual.judge_error
    lost = DriftBound(_svm(Ridge(1e-60)), FLOAT32)
    segment = Segment(np.zeros(2), *np.zeros((2, DATA.shape[1])), np.zeros((3, 1), dtype=np.int64))
    assert not np.isfinite(lost.after(segment)).any()


def test_products_in_row_blocks_are_those_of_the_whole(monkeypatch):
    generator = np.random.default_rng(0)
    problem = _svm(Hinge(1.0), data=generator.standard_normal((7, 3)), labels=np.ones(7))
    vector = generator.standard_normal(7)
    whole = kernel_products(problem, FLOAT64, vector)
    monkeypatch.setattr("sstep_verify.rounding.rows.ENTRIES_AT_ONCE", 14)
    parts = kernel_products(problem, FLOAT64, vector)
    assert (np.abs(whole.values - parts.values) <= whole.judge_error + parts.judge_error).all()
    assert (parts.judge_error > 0).all()


def test_drift_grows_with_the_steps_and_not_without_them():
    problem = _svm(Hinge(1.0))
    bound = DriftBound(problem, FLOAT64)
    begin, (weights, drift) = np.zeros(2), np.zeros((2, DATA.shape[1]))
    found = [
        bound.after(Segment(begin, weights, drift, np.zeros((steps, 1), dtype=np.int64)))
        for steps in (1, 100)
    ]
    assert (found[0] > 0).all()
    assert (found[0] < found[1]).all()
    assert (bound.initial(begin) == 0).all()
    assert (bound.initial(np.ones(2)) > 0).all()


def test_weights_of_another_kernel_are_refused():
    for loss in (Hinge(1.0), Ridge(1.0)):
        with pytest.raises(InputError, match="only a linear kernel"):
            DriftBound(_svm(loss, PolynomialKernel(3)), FLOAT64)
