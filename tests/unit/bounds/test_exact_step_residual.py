"""Bound of one K-RR step, by the derivation of bounds/step/residual.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import TINY, TINY32, U32, U, gamma, is_bound

from sstep_verify.bounds.step.residual import (
    factored,
    ridge_errors,
    solve_constants,
    solve_errors,
    solve_underflow,
)
from sstep_verify.declaration import Declaration
from sstep_verify.rounding.rows import KernelEntries
from sstep_verify.rounding.sums import FROZEN, NOT_FACTORED, SOLVED, Factored

LAMBDA = Fraction(1, 4)


def constants(kind: str = "ldl", update: str = "in-place", *, judge: bool = True, more=NOT_FACTORED):
    """Of windows of four blocks of two, from an a with five of nine entries."""
    declaration = Declaration("single", precision="float32", factorisation=kind, update=update)
    return solve_constants(declaration, 9, 5, 4, 2, float(LAMBDA), more, judge=judge)


def test_constants_of_all_steps():
    both, alone = constants(), constants(judge=False, more=Factored(3, 2.5, 1.5))
    is_bound(both.system, gamma(3, U32))
    is_bound(both.judge, gamma(2 + 10, U))
    assert alone.judge == 0.0
    # k = p + t b + r + 5 of the right-hand side; the judge's own over all samples.
    is_bound(both.sums.longest, gamma(5 + 8 + 4 + 5, U32) + gamma(9 + 2 + 10, U))
    is_bound(alone.sums.longest, gamma(5 + 8 + 4 + 5 + 3, U32))
    others = 3 * 2 * (2 + 3) + 8
    is_bound(both.sums.underflow, (9 + 8 + others) * (TINY32 + TINY))
    is_bound(alone.sums.underflow, ((9 + 8) * (1 + Fraction(5, 2)) + others + 3) * (TINY32 + TINY))
    sums = alone.sums
    assert (sums.others, sums.judge_others, sums.each, sums.largest) == (5 + 3, 2 + 10, 3 + 3, 2.0**126)
    assert (Fraction(sums.u), Fraction(both.sums.judge_u), sums.judge_u) == (U32, U, 0.0)
    assert (both.sums.form, constants(update="frozen").sums.form) == (SOLVED, FROZEN)


@pytest.mark.parametrize(
    ("kind", "solve"),
    [
        ("ldl", gamma(3 * 2 + 12, U32)),
        ("cholesky", gamma(3 * 2 + 4, U32) / (1 - gamma(2 + 2, U32))),
    ],
)
def test_the_product_of_the_factors_and_the_doubt_of_them(kind, solve):
    made = constants(kind)
    is_bound(made.solve, solve)
    is_bound(made.factors.backward, 2 * solve if kind == "ldl" else solve)
    is_bound(made.factors.eliminate, 2 * gamma(2 + 8, U32) if kind == "ldl" else 0)
    is_bound(made.doubt, 2 * (gamma(2 + 8, U32) + gamma(2 + 8, U)))


@pytest.mark.parametrize("judge", [True, False])
def test_errors_of_rows_over_lambda(judge):
    entries = KernelEntries(np.array([[4.0, -2.0]]), np.array([[0.5, 0.25]]), np.array([[1.0, 0.125]]))
    sizes, errors, own = ridge_errors(entries, float(LAMBDA), "float32", judge=judge)
    is_bound(sizes, [[Fraction(11, 2) / LAMBDA, Fraction(19, 8) / LAMBDA]])
    of_judge = [Fraction(1, 2) * judge, Fraction(1, 4) * judge]
    is_bound(errors, [[(1 + of_judge[0]) / LAMBDA, (Fraction(1, 8) + of_judge[1]) / LAMBDA]])
    is_bound(own, [Fraction(1, 2) / LAMBDA])


def test_an_entry_whose_quotient_underflows():
    entries = KernelEntries(np.array([[2.0**-1000, 0.0]]), np.zeros((1, 2)), np.zeros((1, 2)))
    _, errors, _ = ridge_errors(entries, 0.25, "float32")
    is_bound(errors, [[TINY32, 0]])


def test_what_underflows_in_a_step():
    made = constants()
    # b underflow (1 + 1/lambda + T), T twice the trace.
    is_bound(solve_underflow(made, 16.0, 2), 2 * Fraction(made.sums.underflow) * (1 + 4 + 2 * 16))


def test_a_solve_leaves_what_its_factors_say():
    made, system = constants(), np.array([[16.0, 0.0, 0.0], [4.0, 26.0, 0.0], [-8.0, 3.0, 30.0]])
    factor = np.zeros((3, 3))
    assert factored(system, factor)
    # C = (4; 1, 5; -2, 1, 5), whose product with its transpose that is.
    lower = [[4, 0, 0], [1, 5, 0], [-2, 1, 5]]
    np.testing.assert_allclose(factor, np.array(lower).T, rtol=0, atol=1e-15)
    increment, doubt, bound = [1, 2, 3], Fraction(1, 4), np.zeros(3)
    shared = solve_errors(made, factor, np.array(increment, dtype=float), float(doubt), 72.0, bound)
    reach = [sum(abs(lower[row][k]) * increment[row] for row in range(3)) for k in range(3)]
    solve = gamma(3 * 2 + 12, U32)
    is_bound(bound, [solve * sum(abs(lower[i][k]) * reach[k] for k in range(3)) for i in range(3)])
    theta = doubt / (9 - doubt)
    is_bound(shared, 8 * solve * theta * 72)


def test_factors_that_may_be_others_promise_nothing():
    # theta = f / (9 - f) <= 1/8 up to f = 1.
    for doubt, holds in ((0.999, True), (1.001, False)):
        bound = np.zeros(1)
        found = solve_errors(constants(), np.ones((1, 1)), np.ones(1), doubt, 1.0, bound)
        assert np.isfinite(found) == holds
        assert bool(bound[0]) == holds


def test_larger_systems_are_factored_four_pivots_at_a_time():
    generator = np.random.Generator(np.random.PCG64(4))
    lower = np.tril(generator.integers(-2, 3, (11, 11))) + 8.0 * np.eye(11)
    factor = np.zeros((11, 11))
    assert factored(lower @ lower.T, factor)
    np.testing.assert_allclose(np.triu(factor), lower.T, rtol=0, atol=1e-13)
    assert not factored(np.array([[1.0, 0.0], [2.0, 3.0]]), factor[:2, :2].copy())
