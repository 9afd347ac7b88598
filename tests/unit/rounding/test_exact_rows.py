"""Kernel rows with bounds: sizes of terms, what underflow costs, a panel that is not symmetric."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from exact_bounds import TINY32, is_bound

from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, LinearKernel, Problem
from sstep_verify.problems.losses import Dual
from sstep_verify.rounding.rows import (
    FactoredProducts,
    KernelEntries,
    compiled_rows,
    factored_products,
    largest_sample_sizes,
    panel_entries,
)

PROBLEM = Problem("two", np.array([[1.0, -2.0], [0.5, 0.25]]), np.ones(2), LinearKernel(), Hinge(1.0))
ENTRIES = KernelEntries(
    np.array([[5.0, -0.125]]), np.array([[0.25, 0.5]]), np.array([[1.0, 2.0]]),
    FactoredProducts(np.array([[5.0, 4.0]]), np.array([3.0]), np.array([2.0, 0.5]), 2),
)  # fmt: skip


def test_products_from_the_samples():
    found = factored_products(PROBLEM, Declaration("any"), np.arange(2), PROBLEM.data)
    assert found is not None
    is_bound(found.sizes, [[5, 1], [1, Fraction(5, 16)]])
    is_bound(found.lengths, [3, Fraction(3, 4)])
    assert (found.heights.tolist(), found.features) == ([2.0, 0.5], 2)
    is_bound(largest_sample_sizes(PROBLEM), [3, 2])
    assert (
        factored_products(PROBLEM, Declaration("rows", products="rows"), np.arange(2), PROBLEM.data) is None
    )


def test_sizes_of_entries_and_of_the_terms_of_their_products():
    is_bound(ENTRIES.magnitude, [[Fraction(25, 4), Fraction(21, 8)]])
    is_bound(ENTRIES.term_sizes, [[Fraction(25, 4), 4]])
    assert (ENTRIES.more_roundings, ENTRIES.heights.tolist()) == (2, [2.0, 0.5])
    alone = ENTRIES.among(np.array([1]))
    is_bound(alone.term_sizes, [[Fraction(21, 8)]])
    assert (alone.more_roundings, alone.heights.tolist()) == (0, [0.0])


def test_products_that_underflow():
    # Seven products: of entries once each; of samples in both features of A'v, which meet |x|, and in <x, A'v>.
    is_bound(ENTRIES.underflow_error(7, "float32"), [(7 * 3 + 7 + 2) * TINY32])
    is_bound(ENTRIES.among(np.arange(2)).underflow_error(7, "float32"), 7 * TINY32)


def test_a_panel_is_off_by_its_asymmetry_and_by_the_rounding_of_a_longer_type():
    panel = np.array([[1.0, 2.0, 8.0], [2.25, 3.0, 9.0]])
    found = panel_entries(panel, np.array([0, 1]))
    is_bound(found.solver_error, [[0, Fraction(1, 4), 0], [Fraction(1, 4), 0, 0]])
    assert not found.judge_error.any()
    wide = panel_entries(panel * (1 + np.longdouble(2) ** -60), np.array([0, 1]))
    is_bound(wide.judge_error, [[Fraction(float(x)) / 2**60 for x in row] for row in panel])


def test_rows_of_a_window():
    dual, bare = Dual(0.0, 1.0, signs=np.array([1.0, -1.0]), linear=3.0), ENTRIES.among(np.arange(2))
    found = compiled_rows(bare, "float32", 4, dual)
    # A product for each of two entries of a, two for each of four steps, and six others.
    is_bound(found.underflow, [(2 + 2 * 4 + 6) * TINY32])
    is_bound(found.terms, [[Fraction(25, 4), Fraction(21, 8)]])
    assert (found.labels.tolist(), found.linear.tolist()) == ([1.0, -1.0], [3.0, 3.0])
    assert compiled_rows(ENTRIES, "float32", 4, dual).heights.tolist() == [2.0, 0.5]
    assert (found.judge_error == bare.judge_error).all()
    assert (found.solver_error == bare.solver_error).all()
