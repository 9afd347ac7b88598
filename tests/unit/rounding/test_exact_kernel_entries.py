"""Errors of kernel entries and their products, by the derivations of rounding/kernel."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import TINY, TINY32, U32, U, gamma, is_bound

from sstep_verify.declaration import LIBRARY_ULPS, Declaration
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.rounding.formulas import Formulas, formulas_of
from sstep_verify.rounding.kernel.entries import kernel_entries, own_entries, sample_entries, scaled_entries
from sstep_verify.rounding.kernel.products import kernel_products

SINGLE, DOUBLE = Declaration("single", precision="float32"), Declaration("double")
UNITS = {"float32": U32, "float64": U}
DATA = np.array([[1.0, -2.0, 0.5], [0.5, 0.25, 1.0]])


def problem_of(kernel, loss=None, data=DATA) -> Problem:
    return Problem("small", data, np.resize([1.0, -1.0], len(data)), kernel, loss or Hinge(1.0))


def sizes_of(row, other) -> Fraction:
    """``<|x|, |z|>``."""
    return sum((abs(Fraction(x) * Fraction(z)) for x, z in zip(row, other, strict=True)), Fraction())


def product_of(row, other) -> Fraction:
    return sum((Fraction(x) * Fraction(z) for x, z in zip(row, other, strict=True)), Fraction())


PAIRS = [(one, other) for one in DATA.tolist() for other in DATA.tolist()]


def per_pair(function) -> list:
    found = [function(one, other) for one, other in PAIRS]
    return [found[:2], found[2:]]


@pytest.mark.parametrize("declaration", [SINGLE, DOUBLE])
def test_linear_entries_err_by_gamma_n(declaration):
    found = kernel_entries(problem_of(LinearKernel()), declaration, np.arange(2))
    for errors, u in ((found.solver_error, UNITS[declaration.precision]), (found.judge_error, U)):
        is_bound(errors, per_pair(lambda x, z, u=u: gamma(3, u) * sizes_of(x, z)))
    products = found.factored
    assert products is not None
    is_bound(products.sizes, per_pair(sizes_of))
    is_bound(products.lengths, [Fraction(7, 2), Fraction(7, 4)])
    assert (products.heights.tolist(), products.features) == ([2.0, 1.0], 3)


@pytest.mark.parametrize("declaration", [SINGLE, DOUBLE])
def test_entries_of_samples_with_themselves_err_by_gamma_n(declaration):
    data = np.array([*DATA, np.zeros(3), np.full(3, 2.0**-100)])
    found = own_entries(problem_of(LinearKernel(), data=data), declaration, data)
    pairs = [(row, row) for row in data.tolist()]
    np.testing.assert_array_equal(found.values[:, 0], [float(product_of(*pair)) for pair in pairs])
    for errors, u, tiny in (
        (found.solver_error, UNITS[declaration.precision], TINY32 if declaration is SINGLE else TINY),
        (found.judge_error, U, TINY),
    ):
        sizes = [sizes_of(*pair) for pair in pairs]
        is_bound(errors[:, 0], [gamma(3, u) * size + 3 * tiny * (size > 0) for size in sizes])


def test_products_of_samples_that_underflow_cost_one_number_each():
    data = np.full((1, 3), 2.0**-100)
    found = kernel_entries(problem_of(LinearKernel(), data=data), SINGLE, np.arange(1))
    is_bound(found.solver_error, [[3 * TINY32 + gamma(3, U32) * 3 / 2**200]])


@pytest.mark.parametrize("declaration", [SINGLE, DOUBLE])
@pytest.mark.parametrize("degree", [2, 3, 12])
def test_polynomial_entries_propagate_the_error_of_their_base(declaration, degree):
    found = kernel_entries(problem_of(PolynomialKernel(degree, 0.5)), declaration, np.arange(2))

    def error(x, z, u, relative):
        base = gamma(3 + 1, u) * (sizes_of(x, z) + Fraction(1, 2))
        size = abs(product_of(x, z) + Fraction(1, 2))
        return degree * base * (size + base) ** (degree - 1) + relative * (size + base) ** degree

    u = UNITS[declaration.precision]
    relative = max(gamma(degree - 1, u), 2 * LIBRARY_ULPS * u)
    is_bound(found.solver_error, per_pair(lambda x, z: error(x, z, u, relative)))
    is_bound(found.judge_error, per_pair(lambda x, z: error(x, z, U, gamma(degree - 1, U))))


def test_powers_that_underflow_cost_their_ulps_of_the_smallest_number():
    data = np.array([[2.0**-50]])
    found = kernel_entries(problem_of(PolynomialKernel(3, 0.0), data=data), SINGLE, np.arange(1))
    is_bound(found.solver_error, [[3 * LIBRARY_ULPS * TINY32]])


@pytest.mark.parametrize("rbf", ["difference", "norm-expansion"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_rbf_entries_err_by_their_exponent_and_by_exp(precision, rbf):
    declaration = Declaration("rbf", precision=precision, rbf=rbf)
    found = kernel_entries(problem_of(RBFKernel(0.25)), declaration, np.arange(2))

    def error(x, z, u, expanded):
        distance = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(x, z, strict=True))
        size = sizes_of(x, x) + sizes_of(z, z) + 2 * sizes_of(x, z) if expanded else distance
        exponent = float(gamma(3 + 6, u) * size / 4)
        entry = math.exp(-float(distance) / 4)
        return Fraction(entry * (math.expm1(exponent) + 2 * LIBRARY_ULPS * float(u) * math.exp(exponent)))

    u = U32 if precision == "float32" else U
    is_bound(found.solver_error, per_pair(lambda x, z: error(x, z, u, rbf == "norm-expansion")))
    is_bound(found.judge_error, per_pair(lambda x, z: error(x, z, U, False)))


def test_rbf_entries_of_far_samples_err_by_ulps_of_the_smallest_number():
    data = np.array([[0.0], [64.0]])
    declaration = Declaration("far", precision="float32", rbf="difference")
    found = kernel_entries(problem_of(RBFKernel(1.0), data=data), declaration, np.arange(1))
    is_bound(found.solver_error[0, 1:], [LIBRARY_ULPS * TINY32])
    is_bound(found.judge_error[0, 1:], [LIBRARY_ULPS * TINY], Fraction(1, 4))  # Four of them, and a half.


def test_numbers_on_the_way_to_an_entry():
    rows = np.arange(2)
    entries, linear = sample_entries(LinearKernel(), DATA, rows, SINGLE)
    is_bound(linear, per_pair(sizes_of))
    is_bound(entries.solver_error, per_pair(lambda x, z: gamma(3, U32) * sizes_of(x, z)))
    is_bound(entries.judge_error, per_pair(lambda x, z: gamma(3, U) * sizes_of(x, z)))
    _, power = sample_entries(PolynomialKernel(3, 0.5), DATA, rows, DOUBLE)
    is_bound(power, per_pair(lambda x, z: (sizes_of(x, z) + Fraction(1, 2)) ** 3), Fraction(20))
    _, expanded = sample_entries(RBFKernel(1.0), DATA, rows, DOUBLE)
    is_bound(expanded, per_pair(lambda x, z: sizes_of(x, x) + sizes_of(z, z) + 2 * sizes_of(x, z)))


@pytest.mark.parametrize(("loss", "own"), [(SquaredHinge(2.0), 0.25), (Ridge(0.5), 1.0), (Hinge(1.0), 0.0)])
def test_a_factor_rounds_entries_and_diagonal_four_times(loss, own):
    """Omega on the diagonal of a K-SVM, m lambda on that of a K-RR."""
    problem, formulas = problem_of(LinearKernel(), loss), Declaration("rows", "float32", products="rows")
    plain = kernel_entries(problem, formulas, np.arange(2))
    errors = plain.solver_error.tolist()
    for found in (
        scaled_entries(plain, problem, np.arange(2), "float32"),
        kernel_entries(problem, formulas_of(formulas, scaled=True), np.arange(2)),
    ):
        derived = [
            [
                Fraction(errors[i][j])
                + gamma(4, U32) * (Fraction(plain.magnitude[i, j]) + Fraction(own) * (i == j))
                for j in range(2)
            ]
            for i in range(2)
        ]
        is_bound(found.solver_error, derived)
        assert (found.judge_error == plain.judge_error).all()


# --- products ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("declaration", [SINGLE, DOUBLE])
@pytest.mark.parametrize("kernel", [LinearKernel(), PolynomialKernel(2, 0.5)])
def test_products_err_by_their_sums_and_their_entries(kernel, declaration):
    problem, vector, u = problem_of(kernel), [2.0, -0.5], UNITS[declaration.precision]
    entries = kernel_entries(problem, declaration, np.arange(2))
    found = kernel_products(problem, declaration, np.array(vector))

    def by_rows(matrix) -> list[Fraction]:
        return [sizes_of(row, vector) for row in matrix.tolist()]

    magnitude = by_rows(entries.magnitude)
    is_bound(found.magnitude, magnitude)
    of_judge = by_rows(entries.judge_error)
    is_bound(found.judge_error, [e + gamma(2, U) * m for e, m in zip(of_judge, magnitude, strict=True)])
    formed = [gamma(2, u) * m for m in magnitude]
    if kernel.linear:
        # A (A' v): two products and sums for each of three features, then three.
        weights = [sizes_of(column, vector) for column in DATA.T.tolist()]
        formed = [gamma(2 + 3, u) * sizes_of(row, weights) for row in DATA.tolist()]
    of_solver = by_rows(entries.solver_error)
    is_bound(found.solver_error, [e + f for e, f in zip(of_solver, formed, strict=True)])


def test_products_of_a_solver_that_holds_other_samples():
    x = Fraction(1) + Fraction(3, 2**25)  # to float32 1 + 2^-23, so 2^-25 too large
    data = np.array([[float(x)]])
    held, found = (
        Fraction(1) + Fraction(1, 2**23),
        kernel_products(problem_of(LinearKernel(), data=data), SINGLE, np.ones(1)),
    )
    rounded = gamma(1, U32) * held**2
    is_bound(found.solver_error, [rounded + held**2 - x**2 + gamma(1 + 1, U32) * held**2])
    as_given = Formulas("as given", precision="float32", as_given=True)
    assert kernel_products(problem_of(LinearKernel(), data=data), as_given, np.ones(1)).solver_error > 0


def test_products_that_underflow_cost_one_number_each():
    data = np.array([[1.0], [0.0]])
    polynomial = kernel_products(problem_of(PolynomialKernel(2, 0.0), data=data), SINGLE, np.zeros(2))
    is_bound(polynomial.solver_error, [2 * TINY32] * 2)
    is_bound(polynomial.judge_error, [2 * TINY] * 2)
    # Two products of A'v, which x multiplies, and one of <x, A'v>.
    linear = kernel_products(problem_of(LinearKernel(), data=data), SINGLE, np.zeros(2))
    is_bound(linear.solver_error, [(2 + 1) * TINY32, TINY32 * 2])
