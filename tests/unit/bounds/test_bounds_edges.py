"""Underflow, overflow and declared forms in the bounds themselves."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp
from sstep_reference import SingularSystemError
from sstep_reference.arithmetic import Float

from sstep_verify.bounds.box import stays_within
from sstep_verify.bounds.overflow import largest_number, largest_value
from sstep_verify.bounds.step.clip import clip_constants
from sstep_verify.bounds.window.ridge import ridge_window_errors
from sstep_verify.bounds.window.svm import svm_arithmetic
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
from sstep_verify.quantities import RidgeSteps
from sstep_verify.rounding.arithmetic import (
    MOST_TERMS,
    gamma,
    largest_normal,
    norm_upper,
    smallest_subnormal,
)
from sstep_verify.rounding.block.factorisation import solve_bound
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.rounding.right_hand_side import Quotient, right_hand_sides
from sstep_verify.rounding.rows import KernelEntries


@pytest.mark.parametrize("field", ["precision", "update", "products", "rbf", "factorisation"])
def test_an_unknown_value_of_a_declaration_is_named(field):
    with pytest.raises(InputError, match=rf"{field} 'odd' of the mine solver is unknown; known: \w+"):
        Declaration("mine", **{field: "odd"})


@pytest.mark.parametrize(("field", "value"), [("ranks", 0), ("weights", -1), ("weights", True)])
def test_a_count_of_a_declaration_out_of_range_is_named(field, value):
    with pytest.raises(InputError, match=f"{field} = {value} of the mine solver, but it must be >="):
        Declaration("mine", **{field: value})


def test_reciprocals_up_to_the_largest_normal_are_normal():
    for precision, kind in (("float32", np.float32), ("float64", np.float64)):
        limit = kind(largest_normal(precision))
        assert 1 / limit == np.finfo(kind).smallest_normal
        assert np.isfinite(limit * kind(2))


@pytest.mark.parametrize("scale", [2.0**-1060, 2.0**-600, 1.0, 2.0**600])
def test_a_length_is_no_smaller_than_the_exact_one(scale):
    vector = np.random.default_rng(1).standard_normal(9) * scale
    square = sum(Fraction(value) ** 2 for value in vector.tolist())
    found = Fraction(norm_upper(vector))
    assert square <= found**2 <= square * (1 + Fraction(1, 2**20)) + Fraction(vector.size, 2**1060)
    assert norm_upper(np.zeros(3)) == 0.0


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_block_solves_that_underflow_stay_within_what_they_may_lose(precision):
    """Residual of eliminations with right-hand sides near the smallest number, in rationals."""
    kind, rng = {"float32": np.float32, "float64": np.float64}[precision], np.random.default_rng(2)
    declaration = Declaration("tested", precision=precision, factorisation="ldl")
    tiny, without = smallest_subnormal(precision), 0
    for _ in range(200):
        size = int(rng.integers(1, 5))
        factor = rng.standard_normal((size, size)) * 2.0 ** rng.integers(-2, 3)
        matrix = np.asarray(factor @ factor.T + 3 * np.eye(size), dtype=kind)
        matrix = np.tril(matrix) + np.tril(matrix, -1).T
        right = np.asarray(rng.integers(-40, 40, size) * 1.0, dtype=kind) * kind(tiny)
        try:
            x = Float(precision).solve(list(matrix), right)
        except SingularSystemError:
            continue
        exact = np.abs(matrix.astype(np.float64))
        error, _, lost = solve_bound(exact, 0.0, 2.0, declaration)
        square = norm = Fraction(0)
        for row, value in zip(matrix, right, strict=True):
            parts = (Fraction(float(g)) * Fraction(float(one)) for g, one in zip(row, x, strict=True))
            square += (Fraction(float(value)) - sum(parts)) ** 2
        norm = sum(Fraction(float(one)) ** 2 for one in x)
        # (|a| + |b|)^2 <= 2 a^2 + 2 b^2
        assert square <= 2 * Fraction(error) ** 2 * norm + 2 * Fraction(lost) ** 2
        without += square > Fraction(error) ** 2 * norm
    assert without > 50  # rounding alone explains none of these


def ridge_bound(scale: float, penalty: float = 0.25) -> float:
    rng = np.random.default_rng(5)
    data, targets = rng.standard_normal((6, 3)), rng.standard_normal(6) * scale
    problem, places = Problem("p", data, targets, LinearKernel(), Ridge(penalty)), np.array([0, 3])
    declaration = Declaration("tested", products="rows")
    steps = RidgeSteps(np.array([[0, 1], [1, 0]]), np.array([[0.1, 0.2], [0.01, -0.02]]) * scale)
    entries = kernel_entries(problem, declaration, places)
    return ridge_window_errors(entries, places, np.zeros(6), targets, steps, penalty, declaration).norm


@pytest.mark.parametrize("exponent", [-900, -560, 300])
def test_the_ridge_bound_scales_with_the_targets(exponent):
    assert ridge_bound(2.0**exponent) == pytest.approx(ridge_bound(1.0) * 2.0**exponent, rel=2**-20, abs=0)


def test_the_ridge_bound_does_not_fall_below_what_underflow_loses():
    assert ridge_bound(2.0**-1074) >= smallest_subnormal("float64")


@pytest.mark.parametrize("penalty", [2.0**-1030, 2.0**1023])
def test_a_penalty_whose_reciprocal_is_not_normal_promises_nothing(penalty):
    assert ridge_bound(1.0, penalty) == np.inf


@pytest.mark.parametrize(
    ("kernel", "scale", "promised"),
    [
        (LinearKernel(), 2.0**60, True),
        (LinearKernel(), 2.0**64, False),
        (PolynomialKernel(3), 2.0**18, True),
        (PolynomialKernel(3), 2.0**21, False),
        (RBFKernel(1e-30), 2.0**64, False),
    ],
)
def test_entries_that_may_overflow_have_no_bound(kernel, scale, promised):
    data = np.array([[1.0, 0.5], [0.25, -1.0]]) * scale
    problem = Problem("big", data, np.ones(2), kernel, Ridge(1.0))
    declaration = Declaration("single", precision="float32")
    entries = kernel_entries(problem, declaration, np.arange(2))
    assert np.isfinite(entries.solver_error).all() == promised


@pytest.mark.parametrize("kernel", [LinearKernel(), RBFKernel(1.0)])
def test_nothing_is_promised_where_a_bound_would_sum_more_terms_than_it_is_raised_for(kernel):
    for features, promised in ((MOST_TERMS - 1, True), (MOST_TERMS, False)):
        problem = Problem("wide", np.eye(2, features), np.array([1.0, -1.0]), kernel, Hinge(1.0))
        entries = kernel_entries(problem, Declaration("any"), np.arange(2))
        assert np.isfinite(entries.magnitude).all() == promised
    hashed = sp.csr_array(np.eye(2, MOST_TERMS))  # What is not stored is no term.
    problem = Problem("hashed", hashed, np.array([1.0, -1.0]), kernel, Hinge(1.0))
    assert np.isfinite(kernel_entries(problem, Declaration("any"), np.arange(2)).magnitude).all()
    dual, known = problem.dual, KernelEntries(*np.zeros((3, 2, 2)))
    for drawn, promised in ((MOST_TERMS - 1, True), (MOST_TERMS, False)):
        counts = (
            clip_constants(Declaration("any"), 2, 2, drawn, dual).sums.others,
            svm_arithmetic(known, drawn, dual, Declaration("any")).others,
            right_hand_sides(
                known, np.arange(2), np.ones(2), drawn, Declaration("any"), Quotient()
            ).roundings,
        )
        assert [gamma(count, 2.0**-53) < np.inf for count in counts] == [promised] * 3


@pytest.mark.parametrize(
    ("precision", "distances"),
    [("float32", np.linspace(87.4, 103.9, 300)), ("float64", np.linspace(708.4, 745.0, 300))],
)
def test_subnormal_results_of_exp_stay_within_their_bound(precision, distances):
    """One feature, so that the distance is exact: what is left is the error of exp."""
    kind = {"float32": np.float32, "float64": np.float64}[precision]
    data = np.concatenate([[0.0], np.float64(np.sqrt(distances).astype(np.float16))])[:, None]
    problem = Problem("apart", data, np.ones(data.size), RBFKernel(1.0), Ridge(1.0))
    declaration = Declaration("exp", precision=precision, rbf="difference")
    bound = kernel_entries(problem, declaration, np.array([0])).solver_error[0]
    with np.errstate(under="ignore"):
        computed = np.exp(-(data[:, 0].astype(kind) ** 2))
    with mpmath.workprec(200):
        for x, value, most in zip(data[:, 0], computed, bound, strict=True):
            error = abs(mpmath.exp(-(mpmath.mpf(x) ** 2)) - mpmath.mpf(float(value)))
            assert error <= most
    assert ((computed > 0) & (computed < np.finfo(kind).smallest_normal)).sum() > 50


def test_an_entry_of_two_rows_without_a_common_feature_is_exactly_zero():
    data = np.array([[1.0, 0.5], [0.25, 2.0], [0.0, 0.0]])
    problem = Problem("apart", data, np.ones(3), PolynomialKernel(3, 0.0), Ridge(1.0))
    entries = kernel_entries(problem, Declaration("any"), np.arange(3))
    assert (entries.solver_error[2] == 0.0).all()
    assert (entries.judge_error[2] == 0.0).all()
    assert (entries.solver_error[:2, :2] > 0.0).all()


@pytest.mark.parametrize("products", ["rows", "any"])
def test_corrections_of_a_long_window_may_overflow_where_the_product_with_a_does_not(products):
    data = 2.0**59 * np.array([[1.0, 0.5], [0.25, 2.0], [1.5, -1.0]])
    problem = Problem("long", data, np.array([1.0, -1.0, 1.0]), LinearKernel(), Hinge(1.0))
    declared = Declaration("long", precision="float32", products=products)
    holds = (largest_number(problem, declared, s, 1, 1.0) < np.finfo(np.float32).max for s in (1, 1000))
    assert list(holds) == [True, False]


@pytest.mark.parametrize(("rbf", "promised"), [("norm-expansion", False), ("difference", True)])
def test_a_distance_below_0_by_rounding_may_make_an_entry_infinite(rbf, promised):
    problem = Problem("apart", np.full((2, 1), 1e-11), np.ones(2), RBFKernel(1e166), SquaredHinge(1.0))
    declared = Declaration("mine", rbf=rbf)
    assert np.isfinite(largest_number(problem, declared, 4, 1, 1.0)) == promised
    of_blocks = replace(problem, loss=Ridge(1.0))
    assert promised or np.isinf(largest_number(of_blocks, declared, 4, 1, 1.0))


def test_the_corrections_of_a_window_count_in_what_rounding_gains():
    """Their sizes are summed, not only their roundings: a window of 500 steps gains by 500 times as much."""
    problem = Problem("four", np.eye(4), np.array([1.0, -1.0, 1.0, 1.0]), LinearKernel(), SquaredHinge(1.0))

    def most(s: int) -> int:
        """Iterations, as a power of two, for which a stays within its size."""
        holds = (stays_within(problem, Declaration("any"), s, 2**power, 12.0, 0.0) for power in range(70))
        return sum(holds)

    assert most(1) - most(512) >= 7 + 5, "2^7 for the sizes, 2^5 for the roundings"


@pytest.mark.parametrize("start", [[0.5, 0.25, 0.0], [-0.5, 0.25, -2.0]])
def test_an_l2_run_that_begins_outside_the_box_may_grow_by_its_first_steps_on_negative_entries(start):
    m, loss = 3, SquaredHinge(2.0)
    problem = Problem("outside", np.eye(m), np.array([1.0, -1.0, 1.0]), LinearKernel(), loss)
    found = largest_value(problem, Declaration("any"), 4, 1, 10, np.array(start))
    # The equation of the docstring, with k = 1: what the objective is at the start, and what the first step on
    # each negative entry may gain, of which the gradient's share of a grows with A.
    omega, negative = loss.shift, [-one for one in start if one < 0]
    rise = (sum(map(abs, start)) ** 2 + omega * sum(one**2 for one in start)) / 2 + sum(negative)
    rise += sum(one * (1 + omega * one) + (1 + omega) / 2 * one**2 for one in negative)
    left = omega / 2 * found**2 - m**0.5 * found
    assert left == pytest.approx(rise + 3 * m / (2 * omega) + sum(negative) * m**0.5 * found, rel=1e-6)
