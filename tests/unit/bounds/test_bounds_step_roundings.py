"""Roundings of a sum in any order: no tree of additions exceeds what the sorted sizes allow, and one attains it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sstep_verify.bounds.step.clip import clip_constants
from sstep_verify.bounds.step.residual import solve_constants
from sstep_verify.declaration import Declaration
from sstep_verify.problems.losses import Dual
from sstep_verify.rounding.sums import Factored, sorted_sum_error, sum_error

U = 2.0**-53
SUMS = clip_constants(Declaration("any"), 9, 9, 4, Dual(0.0, 1.0), judge=False).sums._replace(u=U)
"""Of steps that are compared with exact ones."""


def is_bound(found, derived) -> None:
    """The derived number, but for float64 roundings and rounding outwards."""
    found = Fraction(float(found))
    assert derived * (1 - Fraction(1, 10**14)) <= found <= derived * (1 + Fraction(1, 10**6)), (
        float(found),
        float(derived),
    )


def depths(leaves: int) -> set[tuple[int, ...]]:
    """Depths of the leaves of every binary tree, descending."""
    if leaves == 1:
        return {(0,)}
    return {
        tuple(sorted((depth + 1 for depth in (*left, *right)), reverse=True))
        for part in range(1, leaves // 2 + 1)
        for left in depths(part)
        for right in depths(leaves - part)
    }


@pytest.mark.parametrize("leaves", range(2, 9))
def test_no_tree_has_deeper_leaves_for_any_sizes_and_a_chain_has_these(leaves):
    generator = np.random.Generator(np.random.PCG64(leaves))
    roundings = SUMS._replace(others=0, each=0)
    for _ in range(20):
        sizes = generator.integers(0, 100, leaves) * 2.0 ** generator.integers(-8, 8, leaves)
        largest = sorted(sizes, reverse=True)
        worst = max(
            sum(Fraction(depth) * Fraction(size) for depth, size in zip(tree, largest, strict=True))
            for tree in depths(leaves)
        )
        padded = np.concatenate([sizes, np.zeros(3)])
        found = sorted_sum_error(roundings, leaves - 1, 0, padded)
        is_bound(found, worst * Fraction(U) / (1 - (leaves - 1) * Fraction(U)))
        assert found <= sum_error(roundings, leaves - 1, 0, 0) * sizes.sum() * (1 + 1e-15)


def test_what_is_no_addition_counts_for_every_term():
    # Ten roundings: five that every term goes through leave five additions.
    roundings = SUMS._replace(others=6, each=5)
    found = sorted_sum_error(roundings, 2, 2, np.array([0.0, 1.0, 8.0, 2.0]))
    is_bound(found, Fraction(U) / (1 - 10 * Fraction(U)) * (10 * 8 + 10 * 2 + 9 * 1))


def test_sums_are_sorted_only_next_to_exact_steps_and_where_a_product_is_one_sum():
    for judge, factored, ordered in (
        (True, Factored(), False),
        (False, Factored(), True),
        (False, Factored(7, 2.5), False),
    ):
        declaration = Declaration("any")
        svm = clip_constants(declaration, 9, 9, 4, Dual(0.0, 1.0), factored, judge=judge).sums
        ridge = solve_constants(declaration, 9, 9, 4, 2, 1.0, factored, judge=judge).sums
        assert (svm.ordered, ridge.ordered) == (ordered, ordered)
        # Additions: of p and t products, 1 and the shift; of p and q products, y and two products with m.
        assert svm.others - svm.each == 1
        assert ridge.others - ridge.each == 2
