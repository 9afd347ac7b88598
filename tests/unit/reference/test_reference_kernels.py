"""Kernel columns: the right function in every arithmetic, one value by whatever way it is asked for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sstep_reference.kernels as module
from sstep_reference import (
    Balls,
    Float,
    Gram,
    InvalidInputError,
    Kernel,
    Mpmath,
    Rational,
    UnsupportedOperationError,
    exact_fraction,
)

DATA = np.array([[1.0, -2.0, 0.5], [0.0, 0.0, 0.0], [3.0, 0.25, -1.0], [1.0, -2.0, 0.5]])
EVERY = [Float("float32"), Float("float64"), Float("longdouble"), Mpmath(256), Balls(256), Rational()]
every = pytest.mark.parametrize("arithmetic", EVERY, ids=lambda a: a.name)


def exact_entry(name: str, i: int, j: int) -> Fraction:
    """Linear or polynomial (d = 3, c = 1/2) kernel of DATA, in plain fractions."""
    product = sum(
        Fraction(x) * Fraction(z) for x, z in zip(DATA[i].tolist(), DATA[j].tolist(), strict=True)
    )
    return product if name == "linear" else (Fraction(1, 2) + product) ** 3


@every
@pytest.mark.parametrize("name", ["linear", "polynomial"])
def test_dyadic_kernels_are_exact_in_every_arithmetic(arithmetic, name):
    # The data are multiples of 1/4 below 2^4, so every entry has at most 24 bits: no float rounds.
    kernel = Kernel(arithmetic, DATA, name, degree=3, offset=0.5)
    for i in range(4):
        column = kernel.column(i)
        assert [exact_fraction(x) for x in column] == [exact_entry(name, r, i) for r in range(4)]


@every
@pytest.mark.parametrize("name", ["linear", "polynomial", "rbf"])
def test_entry_column_columns_and_matrix_agree(arithmetic, name):
    name = "linear" if name == "rbf" and isinstance(arithmetic, Rational) else name  # exp is irrational
    kernel = Kernel(arithmetic, DATA, name, degree=2, sigma=0.5)
    columns = [list(kernel.column(i)) for i in range(4)]
    panel = [list(c) for c in kernel.columns([2, 0, 2])]
    matrix = kernel.matrix()
    rows = matrix.tolist() if isinstance(arithmetic, Balls) else [list(row) for row in matrix]

    def same(x, y):
        return x.overlaps(y) if isinstance(arithmetic, Balls) else x == y

    assert all(
        same(x, y)
        for p, c in zip(panel, (2, 0, 2), strict=True)
        for x, y in zip(p, columns[c], strict=True)
    )
    for i in range(4):
        assert all(same(rows[i][j], columns[j][i]) for j in range(4))
        assert all(same(x, y) for x, y in zip(kernel.column(i), columns[i], strict=True))
        assert all(same(kernel.column(j)[i], columns[j][i]) for j in range(4))


def test_rbf_balls_contain_the_value_to_many_more_digits():
    balls, digits = Balls(128), Mpmath(2000)
    generator = np.random.default_rng(7)
    data = generator.standard_normal((6, 5)) * 3
    data[4] = data[1]
    ours, theirs = (Kernel(a, data, "rbf", sigma=0.3) for a in (balls, digits))
    for i in range(6):
        for ball, value in zip(ours.column(i), theirs.column(i), strict=True):
            middle, radius = exact_fraction(ball.mid()), exact_fraction(ball.rad())
            truth = exact_fraction(value)
            assert abs(middle - truth) <= radius + truth / 2**1900  # 2000 bits, a dozen roundings
        assert exact_fraction(ours.column(i)[i]) == 1


@pytest.mark.parametrize("name", ["float32", "float64", "longdouble"])
def test_float_rbf_is_one_on_the_diagonal_and_on_duplicates(name):
    kernel = Kernel(Float(name), DATA, "rbf", sigma=1)
    assert all(kernel.column(i)[i] == 1 for i in range(4))
    assert kernel.column(3)[0] == 1
    assert kernel.column(0).dtype == Float(name).dtype


@every
def test_labels_multiply_the_kernel(arithmetic):
    kernel = Kernel(arithmetic, DATA, "polynomial", degree=2, offset=0.5)
    labels = [1, -1, -1, 1]
    signed = kernel.labelled(np.array(labels, dtype=float))
    assert kernel.labelled(labels) is signed
    for i in range(4):
        for j in range(4):
            expected = exact_fraction(kernel.column(j)[i]) * labels[i] * labels[j]
            assert exact_fraction(signed.column(j)[i]) == expected
    assert kernel.labelled([1, 1, 1, 1]) is not signed


@every
def test_a_gram_matrix_serves_its_columns(arithmetic):
    gram = Gram(arithmetic, [[2, 1], [1, 3]])
    assert [float(x) for x in gram.column(1)] == [1.0, 3.0]
    gram.matrix()
    assert [float(x) for x in gram.column(0)] == [2.0, 1.0]


def test_the_column_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(module, "CACHED_NUMBERS", 8)
    kernel = Kernel(Float(), DATA, "linear")
    first = kernel.column(0)
    assert kernel.column(0) is first
    for i in (1, 2, 3):
        kernel.column(i)
    assert len(kernel._cache) == 2
    again = kernel.column(0)
    assert again is not first
    assert (again == first).all()


def test_rational_rbf_is_refused():
    with pytest.raises(UnsupportedOperationError, match="RBF"):
        Kernel(Rational(), DATA, "rbf").column(0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "cubic"}, "known: linear, polynomial, rbf"),
        ({"name": "polynomial", "degree": 1}, "degree = 1"),
        ({"name": "polynomial", "degree": 2.5}, "degree = 2.5"),
        ({"name": "polynomial", "offset": -1}, "offset = -1"),
        ({"name": "rbf", "sigma": 0}, "sigma = 0"),
        ({"name": "linear", "data": [[1.0], [1.0, 2.0]]}, "lengths"),
        ({"name": "linear", "data": []}, "m >= 1"),
    ],
)
def test_unusable_kernels_are_refused(arguments, words):
    data, name = arguments.pop("data", DATA), arguments.pop("name")
    with pytest.raises(InvalidInputError, match=words):
        Kernel(Float(), data, name, **arguments)


@pytest.mark.parametrize(("matrix", "words"), [([[1, 2], [3, 1]], "entry"), ([[1, 2]], "entries")])
def test_unusable_gram_matrices_are_refused(matrix, words):
    with pytest.raises(InvalidInputError, match=words):
        Gram(Rational(), matrix)


def test_unusable_labels_and_columns_are_refused():
    kernel = Kernel(Float(), DATA, "linear")
    for labels in ([1, -1, 1], [1, -1, 0, 1], [1, 2, 1, 1]):
        with pytest.raises(InvalidInputError, match="-1 or"):
            kernel.labelled(labels)
    for i in (-1, 4):
        with pytest.raises(InvalidInputError, match=r"0\.\.3"):
            kernel.column(i)


def test_a_polynomial_kernel_without_parameters_is_the_cube():
    kernel = Kernel(Rational(), [[2, 1], [3, -1]], "polynomial")
    assert [kernel.column(0)[0], kernel.column(1)[0], kernel.column(1)[1]] == [5**3, 5**3, 10**3]
