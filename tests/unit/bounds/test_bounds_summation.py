"""Constants of a declared order of summation: derived counts, smaller than for any order, and met by runs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.problems import LinearKernel, PolynomialKernel, Problem, RBFKernel, Ridge
from sstep_verify.rounding.arithmetic import gamma, stale_roundings, sum_roundings, unit_roundoff
from sstep_verify.rounding.kernel.entries import kernel_entries

SIZES = [1, 2, 3, 7, 8, 9, 64, 100, 1000]


def pairwise(terms: list, add):
    """Sum, and the largest number of additions above a term."""
    level, depth = list(terms), 0
    while len(level) > 1:
        even = len(level) // 2 * 2
        level = [add(level[i], level[i + 1]) for i in range(0, even, 2)] + level[even:]
        depth += 1
    return level[0], depth


def test_counts():
    assert sum_roundings(1000, "any") == 1000
    assert sum_roundings(1000, "pairwise") == 11
    assert sum_roundings(1024, "pairwise") == 11
    assert sum_roundings(1025, "pairwise") == 12
    assert sum_roundings(1000, "blocked:32") == 32 + 32
    assert sum_roundings(10, "blocked:128") == 10
    assert stale_roundings(3, 1000, 16, "pairwise") == 3
    assert stale_roundings(500, 1000, 16, "pairwise") == 11
    assert stale_roundings(500, 1000, 16, "any") == 500


@pytest.mark.parametrize("size", SIZES)
def test_the_count_is_that_of_the_tree(size):
    assert pairwise([0] * size, lambda x, y: 0)[1] + 1 <= sum_roundings(size, "pairwise") <= size


@pytest.mark.parametrize("order", ["", "blocked", "blocked:0", "blocked:x", "blocked:-3", "kahan"])
def test_unknown_orders_are_refused(order):
    with pytest.raises(InputError, match="known: any, pairwise, blocked:K"):
        sum_roundings(10, order)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("summation", ["pairwise", "blocked:8"])
def test_inner_products_that_sum_so_stay_below_the_smaller_bound(size, summation):
    generator, worst = np.random.default_rng(size), Fraction(0)
    for _ in range(20):
        x, z = (generator.standard_normal(size).astype(np.float32) for _ in range(2))
        products = x * z
        if summation == "pairwise":
            found = pairwise(list(products), lambda one, other: one + other)[0]
        else:
            blocks = [np.add.accumulate(products[i : i + 8])[-1] for i in range(0, size, 8)]
            found = np.add.accumulate(np.array(blocks, dtype=np.float32))[-1]
        pairs = [Fraction(float(a)) * Fraction(float(b)) for a, b in zip(x, z, strict=True)]
        bound = Fraction(gamma(sum_roundings(size, summation), unit_roundoff("float32")))
        allowed = bound * sum(abs(pair) for pair in pairs)
        assert abs(Fraction(float(found)) - sum(pairs)) <= allowed
        worst = max(worst, abs(Fraction(float(found)) - sum(pairs)) / allowed)
    assert worst > 0


@pytest.mark.parametrize("kernel", [LinearKernel(), PolynomialKernel(3, 1.0), RBFKernel(0.01)])
@pytest.mark.parametrize("rbf", ["norm-expansion", "difference"])
def test_kernel_entries_of_a_declared_order_are_known_better(kernel, rbf):
    data = np.random.default_rng(1).standard_normal((6, 200))
    problem = Problem("wide", data, np.ones(6), kernel, Ridge(1.0))
    rows = np.arange(6)
    loose = kernel_entries(problem, Declaration("any", rbf=rbf), rows)
    sharp = kernel_entries(problem, Declaration("pairs", rbf=rbf, summation="pairwise"), rows)
    between = ~np.eye(6, dtype=bool)
    assert (sharp.solver_error[between] < loose.solver_error[between]).all()
    assert (sharp.judge_error == loose.judge_error).all()
