"""Cost of rounding a solver's input to float32: none for what it holds, known for the given problem."""

from __future__ import annotations

import numpy as np
import pytest
from sstep_reference.arithmetic import Float

from sstep_verify.bounds.optimum.reported import predictions
from sstep_verify.bounds.window.ridge import ridge_window_errors
from sstep_verify.bounds.window.svm import svm_window_bound
from sstep_verify.declaration import Declaration
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.problems import LinearKernel, PolynomialKernel, Problem, RBFKernel, Ridge
from sstep_verify.problems.losses import Dual
from sstep_verify.quantities import RidgeSteps, SvmSteps
from sstep_verify.rounding.arithmetic import magnitudes, rounded_problem, stored
from sstep_verify.rounding.formulas import Formulas
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.rounding.kernel.products import kernel_products

SAMPLES = 6
ROUNDED = Declaration("rounded", precision="float32", rbf="difference")
UNSAID = Formulas("unsaid", precision="float32", rbf="difference", as_given=True)
KERNELS = [LinearKernel(), PolynomialKernel(3, 0.1), RBFKernel(0.1)]


def problem_of(kernel, data=None) -> Problem:
    data = np.random.default_rng(8).standard_normal((SAMPLES, 1)) if data is None else data
    return Problem("small", data, np.ones(SAMPLES), kernel, Ridge(1.0))


def errors_of(problem: Problem, allowed: np.ndarray) -> np.ndarray:
    """Errors of the reference's float32 entries over what is allowed, shape (m, m)."""
    from sstep_reference.arithmetic import Balls

    single, balls = exact_kernel(problem, Float("float32")), exact_kernel(problem, Balls(256))
    found = np.empty((SAMPLES, SAMPLES))
    with balls.arithmetic.working():
        for i in range(SAMPLES):
            for j, entry in enumerate(balls.column(i)):
                error = (balls.arithmetic.number(single.column(i)[j]) - entry).abs_lower()
                found[i, j] = float(error / float(allowed[i, j])) if allowed[i, j] else 0.0
    return found


def off(problem: Problem, declaration: Declaration) -> np.ndarray:
    """What single entries may be off by, of the given problem: products with unit vectors, (m, m)."""
    columns = np.eye(SAMPLES)
    return np.stack([kernel_products(problem, declaration, one).solver_error for one in columns], axis=1)


@pytest.mark.parametrize("kernel", KERNELS)
def test_entries_of_a_held_problem_stay_within_their_bound(kernel):
    held = rounded_problem(problem_of(kernel), ROUNDED)
    assert errors_of(held, kernel_entries(held, ROUNDED, np.arange(SAMPLES)).solver_error).max() <= 1.0


@pytest.mark.parametrize("kernel", KERNELS)
def test_products_of_the_given_problem_allow_for_rounded_data(kernel):
    problem = problem_of(kernel)
    assert errors_of(problem, off(problem, ROUNDED)).max() <= 1.0


def test_entries_of_rounded_data_exceed_the_bound_that_does_not_know():
    problem = problem_of(LinearKernel())  # one feature: nothing but the data is rounded more than once
    assert errors_of(problem, kernel_entries(problem, UNSAID, np.arange(SAMPLES)).solver_error).max() > 1.0


@pytest.mark.parametrize("kernel", [LinearKernel(), PolynomialKernel(3, 0.5), RBFKernel(0.25)])
def test_what_float32_holds_costs_nothing(kernel):
    data = np.float64(np.float32(np.random.default_rng(8).standard_normal((SAMPLES, 3))))
    problem = problem_of(kernel, data)
    assert np.array_equal(off(problem, ROUNDED), off(problem, UNSAID))


@pytest.mark.parametrize(
    ("kernel", "scale"),
    [(LinearKernel(), 1e300), (PolynomialKernel(2, 1e39), 1.0), (RBFKernel(1e-60), 1.0)],
)
def test_where_the_input_leaves_the_range_nothing_is_promised(kernel, scale):
    problem = problem_of(kernel, np.full((SAMPLES, 2), scale))
    assert rounded_problem(problem, ROUNDED) is None
    assert np.isinf(off(problem, ROUNDED)).all()


def test_a_value_clipped_at_the_end_of_the_box_is_exact():
    held = rounded_problem(problem_of(LinearKernel(), np.eye(SAMPLES)), ROUNDED)
    entries, upper = kernel_entries(held, ROUNDED, np.arange(1)), float(np.float32(0.3))
    steps = SvmSteps(*(np.array(x) for x in ([0], [0.0], [upper], [5.0], [5.0])))
    arguments = entries, np.arange(1), np.zeros(SAMPLES), steps, Dual(0.0, upper)
    assert svm_window_bound(*arguments, ROUNDED).radius == 0


def test_a_shift_that_becomes_infinite_in_float32_promises_nothing():
    entries = kernel_entries(problem_of(LinearKernel(), np.eye(SAMPLES)), ROUNDED, np.arange(1))
    steps = SvmSteps(*(np.array(x) for x in ([0], [0.0], [0.3], [0.3], [0.3])))
    shifted = svm_window_bound(entries, np.arange(1), np.zeros(SAMPLES), steps, Dual(1e60, np.inf), ROUNDED)
    assert np.isinf(shifted.radius).all()


def ridge_bound(declaration, penalty: float, target: float) -> float:
    entries = kernel_entries(problem_of(LinearKernel(), np.eye(SAMPLES)), declaration, np.arange(1))
    steps = RidgeSteps(np.array([[0]]), np.array([[0.01]]))
    targets = np.full(SAMPLES, target)
    return ridge_window_errors(
        entries, np.arange(1), np.zeros(SAMPLES), targets, steps, penalty, declaration
    ).norm


def test_targets_and_regularisation_beyond_the_range_promise_nothing():
    for penalty, target in ((1e-60, 0.1), (1e60, 0.1), (0.1, 1e60)):
        assert np.isinf(ridge_bound(ROUNDED, penalty, target))
        assert np.isfinite(ridge_bound(Declaration("double"), max(penalty, 0.1), target))


def test_stored_is_what_the_precision_holds():
    values = np.array([0.1, 0.5, 1e300, 1e-300])
    assert stored(values, "float32").tolist() == [float(np.float32(0.1)), 0.5, np.inf, 0.0]
    assert stored(values, "float64") is values
    assert stored(values, "longdouble") is values


def test_magnitudes_of_a_longdouble_are_never_below_it():
    one = np.longdouble(1)
    vector = np.array([one, np.nextafter(one, 2 * one), -np.nextafter(one, 0 * one), np.longdouble(0)])
    found = magnitudes(vector)
    assert found.dtype == np.float64
    assert (found >= np.abs(vector)).all()
    assert (np.nextafter(found, 0)[:3] < np.abs(vector[:3])).all()
    assert found[0] == 1.0
    assert found[3] == 0.0


@pytest.mark.parametrize("penalty", [1e-60, 1e-44])
def test_nothing_is_promised_of_predictions_whose_lambda_float32_does_not_hold(penalty):
    problem = Problem("lost", np.array([[0.0], [1e-30]]), np.ones(2), LinearKernel(), Ridge(penalty))
    values = predictions(problem, Declaration("single", precision="float32"), np.ones(2))
    assert [value.solver_error for value in values] == [np.inf, np.inf]
    far = Problem("far", np.array([[1e100]]), np.ones(1), LinearKernel(), Ridge(1e-150))
    assert predictions(far, Declaration("double"), np.ones(1))[0].solver_error == np.inf
