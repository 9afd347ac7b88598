"""Balls over sparse samples: the same enclosures from the entries that are not 0."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sstep_reference import Kernel
from sstep_reference.arithmetic import Balls
from sstep_reference.arithmetic.balls import BallTable, SparseBallTable


@st.composite
def sparse_samples(draw):
    """Samples of which at most a quarter of the entries are not 0, empty ones and large ones among them."""
    m, n = draw(st.integers(1, 9)), draw(st.integers(4, 12))
    data = np.zeros((m, n))
    places = draw(st.lists(st.tuples(st.integers(0, m - 1), st.integers(0, n - 1)), max_size=m * n // 4))
    for place in places:
        data[place] = draw(st.floats(-8, 8)) * 2.0 ** draw(st.integers(-40, 40))
    return data


@given(sparse_samples())
def test_products_and_distances_enclose_the_exact_ones(data):
    balls = Balls(64)
    table = balls.table(data)
    assert isinstance(table, SparseBallTable)
    assert [[float(x) for x in row] for row in balls.samples(table)] == data.tolist()
    exact = [[Fraction(x) for x in row] for row in data.tolist()]
    for i, sample in enumerate(exact):
        products, distances = balls.products(table, i), balls.squared_distances(table, i)
        for other, product, distance in zip(exact, products, distances, strict=True):
            pairs = list(zip(sample, other, strict=True))
            assert product.contains(balls.from_fraction(sum((x * z for x, z in pairs), Fraction(0))))
            assert distance.contains(
                balls.from_fraction(sum(((x - z) ** 2 for x, z in pairs), Fraction(0)))
            )


@pytest.mark.parametrize(
    ("name", "parameters"), [("linear", {}), ("polynomial", {}), ("rbf", {"sigma": 0.5})]
)
def test_a_kernel_over_either_table_has_overlapping_columns_as_tight(name, parameters):
    generator = np.random.Generator(np.random.PCG64(7))
    data = generator.standard_normal((12, 20)) * (generator.random((12, 20)) < 0.2)
    kernels = [Kernel(Balls(96), given, name, **parameters) for given in (data, data.tolist())]
    assert [type(kernel._table) for kernel in kernels] == [SparseBallTable, BallTable]
    for i in range(12):
        for sparse, dense in zip(*(kernel.column(i) for kernel in kernels), strict=True):
            assert sparse.overlaps(dense)
            assert float(sparse.rad()) <= 2 * float(dense.rad()) + 2.0**-90 * abs(float(dense))
