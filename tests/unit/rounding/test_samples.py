"""Samples dense or by their entries that are not 0: the same numbers, within the bounds of their sums."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from sstep_verify.rounding import samples
from sstep_verify.rounding.arithmetic import gamma, unit_roundoff

U = unit_roundoff("float64")


def drawn(seed, m=7, n=9):
    """Sparse samples with an empty one, a repeated one and an explicit zero; some of its rows."""
    generator = np.random.Generator(np.random.PCG64(seed))
    data = generator.standard_normal((m, n)) * (generator.random((m, n)) < 0.4)
    data *= 2.0 ** generator.integers(-30, 30, size=(m, 1))
    data[1], data[4] = 0.0, data[3]
    sparse = sp.csr_array(data)
    if sparse.nnz:
        sparse.data[0] = 0.0
        data = sparse.toarray()
    return data, sparse, generator.permutation(m)[: generator.integers(1, m + 1)]


@pytest.mark.parametrize("seed", range(40))
def test_both_forms_are_near_the_exact_numbers(seed):
    data, sparse, rows = drawn(seed)
    exact = [[Fraction(x) for x in row] for row in data.tolist()]
    bound = Fraction(gamma(data.shape[1] + 2, U))
    for held in (data, sparse):
        products, sizes = samples.inner_products(held, rows), samples.absolute_products(held, rows)
        distances, shared = samples.squared_distances(held, rows), samples.sharing(held, rows)
        norms, (lengths, heights) = samples.squared_norms(held), samples.sample_sizes(held)
        for place, i in enumerate(rows.tolist()):
            for other, z in enumerate(exact):
                pairs = list(zip(exact[i], z, strict=True))
                size = sum(abs(a * b) for a, b in pairs)
                distance = sum((a - b) ** 2 for a, b in pairs)
                assert abs(Fraction(products[place, other]) - sum(a * b for a, b in pairs)) <= bound * size
                assert abs(Fraction(sizes[place, other]) - size) <= bound * size
                assert abs(Fraction(distances[place, other]) - distance) <= bound * distance
                assert shared[place, other] == any(a and b for a, b in pairs)
        for i, sample in enumerate(exact):
            assert abs(Fraction(norms[i]) - sum(a * a for a in sample)) <= bound * sum(
                a * a for a in sample
            )
            assert abs(Fraction(lengths[i]) - sum(map(abs, sample))) <= bound * sum(map(abs, sample))
            assert heights[i] == max(map(abs, map(float, sample)))


def test_a_sample_is_at_no_distance_from_itself():
    for seed in range(10):
        data, sparse, _ = drawn(seed)
        every = np.arange(len(data))
        for held in (data, sparse):
            distances = samples.squared_distances(held, every)
            assert not distances.diagonal().any()
            assert distances[3, 4] == distances[4, 3] == 0.0
