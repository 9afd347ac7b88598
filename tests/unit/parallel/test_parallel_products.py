"""Panel products, dense and CSR, and kernel functions, against exact values and against each other."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from sstep_verify.problems import LinearKernel, PolynomialKernel, RBFKernel
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, unit_roundoff
from sstep_verify.solver.panels import few_features, products
from sstep_verify.solver.panels.few_features import few_products
from sstep_verify.solver.panels.panel import (
    Gaussian,
    Identity,
    Power,
    gaussian_exponents,
    kernel_function_of,
    raise_entries,
)
from sstep_verify.solver.panels.products import (
    DenseProducts,
    FewFeatures,
    SparseProducts,
    products_of,
    scatter_columns,
)

U = unit_roundoff("float64")


def plain(function):
    """The function as Python runs it, without the compiler."""
    return getattr(function, "py_func", function)


@pytest.fixture
def data() -> np.ndarray:
    rng = np.random.default_rng(5)
    values = rng.standard_normal((13, 6)) * 10.0 ** rng.integers(-3, 4, size=(13, 6))
    values[rng.random((13, 6)) < 0.4] = 0.0
    values[4] = 0.0
    return values


def exact_products(data: np.ndarray, columns: np.ndarray) -> list[list[Fraction]]:
    rows = [[Fraction(x) for x in row] for row in data.tolist()]
    return [[sum(x * z for x, z in zip(rows[i], row, strict=True)) for row in rows] for i in columns]


COLUMNS = [np.array([3]), np.array([4]), np.array([0, 12, 3, 4, 7])]


FORMS = {
    "CSR": lambda data: SparseProducts(sp.csr_array(data)),
    "BLAS": lambda data: DenseProducts(data, 5),
    "few features": FewFeatures,
}


@pytest.mark.parametrize("columns", COLUMNS, ids=str)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("tile", [1 << 19, 1])
def test_products_are_within_gamma_of_exact(data, columns, form, tile, monkeypatch):
    monkeypatch.setattr(products, "TILE_WORDS", tile)
    local = FORMS[form](data)
    panel = np.full((columns.size, 13), np.nan)
    local.into(panel, columns)
    absolute = np.abs(data)[columns] @ np.abs(data).T
    if form != "CSR":
        some = np.full((columns.size, 5), np.nan)
        local.into(some, columns, 7, 12)
        panel[:, 7:12] = some
    for place, row in enumerate(exact_products(data, columns)):
        for other, value in enumerate(row):
            error = abs(Fraction(float(panel[place, other])) - value)
            # ROUND_UP raises the rounded sum of absolute products to a bound on the exact one.
            assert error <= Fraction(gamma(6, U)) * Fraction(absolute[place, other]) * Fraction(ROUND_UP)


def test_a_panel_larger_than_a_tile_equals_row_by_row_products(data):
    """Integer data: every product is exact, so tiles may not differ at all."""
    whole = np.round(np.random.default_rng(1).standard_normal((40, 3)) * 100)
    local = DenseProducts(whole, 40)
    local._tile = 7
    panel = np.empty((40, 40))
    local.into(panel, np.arange(40))
    assert np.array_equal(panel, whole @ whole.T)


@pytest.mark.parametrize("function", [few_products, plain(few_products)], ids=["compiled", "plain"])
@pytest.mark.parametrize("features", range(1, 14))
def test_products_of_few_features_are_exact_where_nothing_rounds(features, function):
    """Integers: rows that are left of the fours, features that are, and a second tile of samples."""
    rng = np.random.default_rng(features)
    samples, columns = few_features.TILE + 7, np.array([3, 900, 5, 5, 1030, 2, 0])
    whole = rng.integers(-9, 10, (samples, features)).astype(float)
    offset, width = (4, few_features.TILE + 2) if function is few_products else (1010, 18)
    panel = np.full((columns.size, width), np.nan)
    function(np.ascontiguousarray(whole.T), whole, columns, panel, offset)
    assert np.array_equal(panel, whole[columns] @ whole[offset : offset + width].T)


@pytest.mark.parametrize("count", [3, 4, 6])
def test_most_samples_of_wide_data_equal_row_by_row_products(count):
    """More than half of the rows, in any order, are taken from the products of all."""
    wide = np.round(np.random.default_rng(2).standard_normal((6, 96)) * 100)
    assert products.forms_all(wide, count, products.MOST) == (count > 3)
    columns = np.array([5, 0, 3, 1, 4, 2])[:count]
    panel = np.full((count, 6), np.nan)
    DenseProducts(wide, 6).into(panel, columns)
    assert np.array_equal(panel, wide[columns] @ wide.T)
    some = np.full((count, 4), np.nan)
    DenseProducts(wide, 6).into(some, columns, 1, 5)
    assert np.array_equal(some, panel[:, 1:5])


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_squared_norms(data, storage):
    norms = products_of(storage(data), 3).squared_norms()
    for norm, row in zip(norms.tolist(), data.tolist(), strict=True):
        exact = sum(Fraction(x) ** 2 for x in row)
        assert abs(Fraction(norm) - exact) <= Fraction(gamma(6, U)) * exact


def test_storage_and_features_decide_the_products(data):
    assert isinstance(products_of(data, 2), FewFeatures)
    assert isinstance(products_of(np.ones((3, products.FEW_FEATURES)), 2), FewFeatures)
    assert isinstance(products_of(np.ones((3, products.FEW_FEATURES + 1)), 2), DenseProducts)
    assert isinstance(products_of(np.ones((3, 0)), 2), DenseProducts)
    assert isinstance(products_of(sp.csr_array(data), 2), SparseProducts)


def test_plain_scatter_equals_the_compiled_one(data):
    local = SparseProducts(sp.csr_array(data))
    columns = np.arange(13)
    panels = [np.empty((13, 13)), np.empty((13, 13))]
    for panel, function in zip(panels, (scatter_columns, plain(scatter_columns)), strict=True):
        function(*local._rows, *local._columns, columns, panel)
    # A compiler may contract a product and a sum into one rounding; either is within gamma.
    absolute = np.abs(data) @ np.abs(data).T
    assert (np.abs(panels[0] - panels[1]) <= 2 * gamma(6, U) * absolute).all()


def test_kernel_function_choice():
    made = []

    def norms():
        made.append(1)
        return np.ones(4)

    assert isinstance(kernel_function_of(LinearKernel(), 4, norms), Identity)
    assert isinstance(kernel_function_of(PolynomialKernel(), 4, norms), Power)
    assert not made  # norms cost a message; only the RBF kernel needs them
    assert isinstance(kernel_function_of(RBFKernel(), 4, norms), Gaussian)
    assert made == [1]


def test_identity_leaves_the_panel():
    panel = np.arange(6.0).reshape(2, 3)
    Identity().apply(panel, np.array([0, 1]))
    assert np.array_equal(panel, np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("degree", [2, 3, 5])
def test_power_of_integers_is_exact(degree):
    panel = np.arange(-4.0, 4.0).reshape(2, 4)
    expected = (panel + 2.0) ** degree
    Power(degree, 2.0, 4).apply(panel, np.array([0, 1]))
    assert np.array_equal(panel, expected)


@pytest.mark.parametrize("function", [raise_entries, plain(raise_entries)])
def test_raise_entries_compiled_or_not(function):
    panel = np.array([[-1.5, 0.0, 3.0]])
    function(panel, np.empty(3), 3, 0.5)
    assert panel.tolist() == [[-1.0, 0.125, 42.875]]


@pytest.mark.parametrize("function", [gaussian_exponents, plain(gaussian_exponents)])
def test_gaussian_exponents(function):
    # Samples 1 and 2 coincide, but their rounded distance would be negative: it is taken as 0.
    panel = np.array([[6.0, 9.0 + 1e-8, 9.0]])
    function(panel, np.array([2]), 0, np.array([4.0, 9.0, 9.0]), 0.5)
    assert panel.tolist() == [[-0.5, 0.0, 0.0]]


@pytest.mark.parametrize("function", [gaussian_exponents, plain(gaussian_exponents)])
def test_a_share_of_the_samples_has_their_norms_and_its_part_of_the_diagonal(function):
    norms, products = np.array([4.0, 9.0, 16.0]), np.array([[6.0, 9.5, 2.0], [1.0, 2.0, 16.5]])
    whole = products.copy()
    function(whole, np.array([1, 2]), 0, norms, 0.5)
    share = np.ascontiguousarray(products[:, 1:])
    function(share, np.array([1, 2]), 1, norms, 0.5)
    assert share.tolist() == whole[:, 1:].tolist()
    assert share.diagonal().tolist() == [0.0, 0.0]


def test_gaussian_is_one_on_the_diagonal_however_large_the_norms():
    panel = np.array([[1e12 - 1.0, 5.0], [5.0, 1e12 + 7.0]])
    Gaussian(1.0, np.array([1e12, 1e12])).apply(panel, np.array([0, 1]))
    assert np.diag(panel).tolist() == [1.0, 1.0]
    assert panel[0, 1] == panel[1, 0] == 0.0


@pytest.mark.parametrize("count", [2, 5, 9])
def test_runs_of_features_add_up_to_the_whole_product(count, monkeypatch):
    """Whole numbers, so that every sum is exact; so few words at once that features go in several runs."""
    monkeypatch.setattr(products, "GATHERED_LEAST", 12)
    monkeypatch.setattr(products, "GATHERED_MOST", 20)
    data = np.random.Generator(np.random.PCG64(5)).integers(-9, 9, (9, 23)).astype(np.float64)
    columns = np.arange(count)[::-1].copy()
    made = products.DenseProducts(data, count)
    assert made._run < 23
    panel = np.full((count, 9), np.nan)
    made.into(panel, columns)
    assert np.array_equal(panel, data[columns] @ data.T)
