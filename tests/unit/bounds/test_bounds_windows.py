"""Window bounds and kernel entry bounds on cases small enough to see through."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sstep_verify.bounds.screen import screen_svm
from sstep_verify.bounds.window.ridge import ridge_window_errors
from sstep_verify.bounds.window.svm import svm_window_bound
from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.problems import Hinge, LinearKernel, PolynomialKernel, Problem, RBFKernel, Ridge
from sstep_verify.problems.losses import Dual
from sstep_verify.quantities import RidgeSteps, SvmSteps
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, smallest_subnormal, unit_roundoff
from sstep_verify.rounding.kernel.entries import KernelEntries, kernel_entries
from sstep_verify.rounding.right_hand_side import CarriedTerms

IN_PLACE = Declaration("in place")
FROZEN = Declaration("frozen", update="frozen")
U = unit_roundoff("float64")


def entries_of(matrix, error=0.0) -> KernelEntries:
    matrix = np.array(matrix, dtype=float)
    return KernelEntries(matrix, np.zeros_like(matrix), np.broadcast_to(error, matrix.shape).astype(float))


def svm_bound(matrix, draws, value, unclipped, upper=1.0, shift=0.0, declaration=IN_PLACE, error=0.0):
    """Bound of a window whose distinct coordinates are all samples, from a = 0."""
    matrix = np.array(matrix, dtype=float)
    unclipped = np.array(unclipped, dtype=float)
    increments = np.clip(unclipped, 0.0, upper) - value
    steps = SvmSteps(np.array(draws), np.array(value, dtype=float), increments, unclipped, unclipped)
    m = matrix.shape[0]
    return svm_window_bound(
        entries_of(matrix, error), np.arange(m), np.zeros(m), steps, Dual(shift, upper), declaration
    )


def test_unit_roundoffs_and_gamma():
    assert unit_roundoff("float64") == 2.0**-53
    assert unit_roundoff("float32") == 2.0**-24
    assert smallest_subnormal("float32") == 2.0**-149
    assert smallest_subnormal("longdouble") == smallest_subnormal("float64") == 2.0**-1074
    assert gamma(2, 0.25) == 1.0
    assert gamma(4, 0.25) == gamma(5, 0.25) == np.inf
    with pytest.raises(InputError, match=r"'half' is unknown; known: float32, float64, longdouble"):
        unit_roundoff("half")


def test_a_certainly_clipped_step_allows_no_error_in_place():
    bound = svm_bound(np.eye(2), [0, 1], [0.0, 0.0], [5.0, -5.0])
    assert bound.radius.tolist() == [0.0, 0.0]
    assert bound.undecided == 0


def test_a_frozen_vector_may_miss_the_box_by_its_additions():
    bound = svm_bound(np.eye(2), [0, 1], [0.0, 0.0], [5.0, -5.0], declaration=FROZEN)
    assert 0 < bound.radius[0] < 16 * U
    assert bound.radius[1] == 0.0  # nothing was ever added to it


def test_a_tie_at_the_upper_end_needs_no_decision():
    """K_ii = C: the exact new value lies on the box, so a computed one may be clipped or not."""
    bound = svm_bound(np.eye(1), [0], [0.0], [1.0])
    assert bound.undecided == 1
    assert 0 < bound.radius[0] < 32 * U


def test_errors_that_cancel_in_the_recurrence_cancel_in_the_bound():
    """The first step's error reaches the third by two ways of opposite sign: -0.25 + 0.5 * 0.5 = 0."""
    matrix = [[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]]
    first_row_only = [[1e-6] * 3, [0.0] * 3, [0.0] * 3]
    bound = svm_bound(
        matrix, [0, 1, 2], [0.0, 0.0, 0.0], [0.5, 0.5, 0.5], upper=np.inf, error=first_row_only
    )
    assert bound.radius[0] > 1e-7
    assert bound.radius[1] > 0.4 * bound.radius[0]
    assert bound.radius[2] < 64 * U  # its own roundings; with the signs lost it would be half of the first


def test_a_step_without_curvature_lands_on_the_box():
    bound = svm_bound(np.zeros((1, 1)), [0, 0], [0.0, 1.0], [1.0, 1.0])
    assert bound.radius.tolist() == [0.0]


def test_where_the_curvature_drowns_in_its_error_nothing_is_promised():
    """What a solver computes there may be subnormal, its reciprocal infinite, and 0 times that no number."""
    matrix = [[1e-9, 1e-12], [1e-12, 1.0]]
    bound = svm_bound(matrix, [0, 1], [0.0, 0.0], [0.5, 0.5], upper=1.0, error=1e-6)
    assert np.isinf(bound.radius[0])
    known = svm_bound(matrix, [0, 1], [0.0, 0.0], [0.5, 0.5], upper=1.0, error=1e-12)
    assert known.radius[0] <= ROUND_UP**2


def test_where_the_box_is_unbounded_so_is_the_bound():
    bound = svm_bound([[1e-9, 0.0], [0.0, 1.0]], [0, 1], [0.0, 0.0], [0.5, 0.5], upper=np.inf, error=1e-6)
    assert np.isinf(bound.radius).all()


def test_bounds_grow_with_the_unit_roundoff():
    single = Declaration("single", precision="float32")
    matrix, steps = [[2.0, 1.0], [1.0, 2.0]], ([0, 1, 0], [0.0, 0.0, 0.5], [0.5, 0.25, 0.375])
    double_radius = svm_bound(matrix, *steps).radius
    single_radius = svm_bound(matrix, *steps, declaration=single).radius
    ratio = single_radius / double_radius
    assert (ratio > 2.0**28).all()
    assert (ratio < 2.0**30).all()


def test_a_quotient_that_underflows_costs_the_smallest_number_of_the_type():
    single = Declaration("single", precision="float32", weights=0)
    matrix, alone = np.array([[2.0**100]]), np.arange(1)
    carried = CarriedTerms(np.array([2.0**-60]), np.zeros(1), 0, np.zeros((1, 1)))
    steps = SvmSteps(alone, np.zeros(1), np.full(1, 2.0**-160), *np.full((2, 1), 2.0**-160))
    dual = Dual(0.0, 1.0, linear=np.zeros(1))
    bound = svm_window_bound(entries_of(matrix), alone, np.zeros(1), steps, dual, single, carried)
    assert 2.0**-160 <= bound.radius[0] <= 2.0**-140  # float32 has no number between 0 and 2**-149


def test_large_entries_of_w_that_a_sample_does_not_meet_cost_its_gradient_nothing():
    """Products formed from samples round relative to |x_i|'|x_l|; an entry of A'a is no term of them."""
    data = np.array([[1.0, 0.0], [0.0, 2.0**60]])
    problem = Problem("apart", data, np.ones(2), LinearKernel(), Hinge(4.0))
    entries = kernel_entries(problem, Declaration("any", products="any"), np.arange(1))
    steps = SvmSteps(np.arange(1), np.zeros(1), np.ones(1), np.ones(1), np.ones(1))
    arguments = (np.arange(1), np.array([0.0, 1.0]), steps, Dual(0.0, 4.0), IN_PLACE)
    assert entries.heights[1] == 2.0**60
    assert 0.0 < svm_window_bound(entries, *arguments).radius[0] < 32 * U
    # Too large for any number of the type, it leaves the gradient undefined: infinity times 0.
    large = replace(entries, factored=replace(entries.factored, heights=np.array([1.0, 1e308])))
    assert np.isinf(svm_window_bound(large, *arguments).radius).all()


def test_an_entry_that_may_be_infinite_spoils_a_step_from_zero_too():
    """Infinity times 0 is no number: a solver that forms the product with a whole row has none to clip."""
    steps = [0], [0.0], [0.5]
    assert np.isfinite(svm_bound([[1.0, 2.0], [2.0, 1.0]], *steps).radius).all()
    assert np.isinf(svm_bound([[1.0, np.inf], [np.inf, 1.0]], *steps).radius).all()
    error = np.array([[0.0, np.inf], [np.inf, 0.0]])
    assert np.isinf(svm_bound([[1.0, 2.0], [2.0, 1.0]], *steps, error=error).radius).all()


def test_the_judges_steps_promise_nothing_beyond_the_range_of_the_solver():
    problem = Problem("large", np.full((2, 1), 1e18), np.ones(2), LinearKernel(), Hinge(1e5))
    single = Declaration("single", precision="float32", products="rows")
    entries, alphas = kernel_entries(problem, single, np.arange(2)), np.zeros((2, 2))
    for start, promised in ((1e-40, True), (1e4, False)):
        alphas[:] = 0.0, start
        screened = screen_svm(
            problem, single, entries, np.arange(2), alphas, np.zeros(1, dtype=np.int64), 1
        )
        assert np.isfinite(screened.bound[0]) == promised


def ridge_bound(matrix, steps: RidgeSteps, penalty=1.0, declaration=IN_PLACE, error=0.0) -> float:
    m = len(matrix)
    entries = entries_of(matrix, error)
    return ridge_window_errors(
        entries, np.arange(m), np.zeros(m), np.ones(m), steps, penalty, declaration
    ).norm


def test_ridge_bound_sums_over_blocks_and_is_larger_where_a_is_frozen():
    one = RidgeSteps(np.array([[0, 1]]), np.array([[0.3, 0.3]]))
    two = RidgeSteps(np.array([[0, 1], [0, 1]]), np.array([[0.3, 0.3], [0.0, 0.0]]))
    matrix = [[1.0, 0.5], [0.5, 1.0]]
    assert 0 < ridge_bound(matrix, one) < ridge_bound(matrix, two) < 3 * ridge_bound(matrix, one)
    assert ridge_bound(matrix, one) < ridge_bound(matrix, one, declaration=FROZEN)


def test_ridge_bound_is_infinite_where_the_system_may_be_singular():
    steps = RidgeSteps(np.array([[0, 1]]), np.array([[0.3, 0.3]]))
    assert np.isinf(ridge_bound([[1e30, 1e30], [1e30, 1e30]], steps))


def small_problem(kernel, scale=1.0) -> Problem:
    data = np.array([[1.0, 2.0], [2.0, -1.0], [0.0, 0.0], [1.0, 2.0]]) * scale
    return Problem("small", data, np.ones(4), kernel, Ridge(1.0))


ALL = np.arange(4)


def test_entries_that_share_no_feature_are_exact():
    data = np.array([[1e-200, 0.0], [0.0, 1e-200]])
    problem = Problem("apart", data, np.ones(2), LinearKernel(), Ridge(1.0))
    entries = kernel_entries(problem, IN_PLACE, np.arange(2))
    assert entries.solver_error[0, 1] == 0.0
    assert entries.solver_error[0, 0] > 0.0  # the square underflows


@pytest.mark.parametrize("form", ["norm-expansion", "difference"])
def test_rbf_entry_bounds_are_finite_far_apart(form):
    problem = small_problem(RBFKernel(1.0), 1e20)
    entries = kernel_entries(problem, Declaration("far", rbf=form), ALL)
    assert np.isfinite(entries.values).all()
    assert np.isfinite(entries.judge_error).all()
    if form == "difference":
        assert np.isfinite(entries.solver_error).all()
    else:
        # Of a sample's distance to itself all digits may cancel: any value may come out, unless a negative
        # one is taken as 0, which nobody promises.
        assert entries.solver_error[0, 0] == np.inf
        assert entries.solver_error[0, 1] < np.finfo(float).smallest_normal  # far beyond what may cancel


def test_difference_form_is_sharper_where_norms_cancel():
    data = np.array([[1e6, 1e6], [1e6 + 1, 1e6]])
    problem = Problem("offset", data, np.ones(2), RBFKernel(1.0), Ridge(1.0))
    expansion = kernel_entries(problem, Declaration("one"), np.arange(2)).solver_error[0, 1]
    difference = kernel_entries(problem, Declaration("two", rbf="difference"), np.arange(2)).solver_error[
        0, 1
    ]
    assert difference < 64 * U
    assert expansion > 1e6 * difference


@pytest.mark.parametrize(("degree", "roundings"), [(2, 8), (9, 8), (10, 9), (30, 29)])
def test_a_power_errs_by_what_pow_or_the_products_err_by_whichever_is_more(degree, roundings):
    data = np.array([[2.0], [2.0]])  # all else in an entry is exact, but for the sum with the offset
    problem = Problem("exact", data, np.ones(2), PolynomialKernel(degree, 0.0), Ridge(1.0))
    entries = kernel_entries(problem, IN_PLACE, np.arange(2))
    least = gamma(roundings, U) + 2 * degree * U
    assert (entries.solver_error >= least * entries.values).all()
    assert (entries.solver_error <= 1.001 * least * entries.values).all()


def test_entries_at_some_rows():
    entries = kernel_entries(small_problem(LinearKernel()), IN_PLACE, ALL)
    part = entries.at(np.array([2, 0]))
    assert np.array_equal(part.values, entries.values[[2, 0]])
    assert np.array_equal(part.solver_error, entries.solver_error[[2, 0]])
    assert (part.magnitude >= np.abs(part.values)).all()
