"""Errors of K-SVM objectives, by the derivation of bounds/optimum/svm.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import TINY32, U32, U, gamma, is_bound, root

from sstep_verify.bounds.optimum.svm import (
    FLOAT64,
    Evaluated,
    distance_bound,
    largest_curvatures,
    outward,
    seminorm_bound,
    svm_values,
)
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, LinearKernel, PolynomialKernel, Problem, SquaredHinge
from sstep_verify.rounding.arithmetic import ROUND_UP
from sstep_verify.rounding.kernel.products import kernel_products

SINGLE = Declaration("single", precision="float32")
DATA, LABELS = np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([1.0, -1.0])
ALPHA = [Fraction(1, 4), Fraction(1, 2)]
C = 2
MARGINS = [Fraction(0), Fraction(1, 2)]
"""Q = (4, -2; -2, 2), so Qa = (0, 1/2)."""


def problem_of(loss) -> Problem:
    return Problem("objectives", DATA, LABELS, LinearKernel(), loss)


def errors(problem: Problem, products_error, magnitude, judge_error, u, tiny) -> tuple:
    """Of gap, primal and dual value, in a unit roundoff."""
    q, k = problem.hinge.power, gamma(2 * 2 + 16, u)
    omega = Fraction(1, 2 * C) if q == 2 else 0
    own = [d + u * (1 + p) for d, p in zip(products_error, magnitude, strict=True)]
    # What float64 lost of a margin at hand comes to the size of its loss.
    short = [1 - MARGINS[i] + judge_error[i] + u * (1 + magnitude[i]) + own[i] for i in range(2)]
    half = sum(a * d for a, d in zip(ALPHA, products_error, strict=True)) / 2
    square = sum(a * p for a, p in zip(ALPHA, magnitude, strict=True)) / 2
    losses = C * sum(h**q for h in short)
    primal = half + C * sum(q * h ** (q - 1) * e for h, e in zip(short, own, strict=True))
    primal += k * (square + losses)
    squares = omega / 2 * sum(a * a for a in ALPHA)
    dual = half + k * (sum(ALPHA) + square + squares)
    gap = primal + dual + u * (2 * square + losses + sum(ALPHA) + squares)
    return gap, primal, dual


@pytest.mark.parametrize("loss", [Hinge(C), SquaredHinge(C)], ids=["l1", "l2"])
def test_objectives_err_by_their_products_and_sums(loss):
    problem, alpha = problem_of(loss), np.array(ALPHA, dtype=float)
    products = kernel_products(problem, SINGLE, LABELS * alpha)
    of_judge, of_solver, magnitude = (
        [Fraction(x) for x in part]
        for part in (products.judge_error, products.solver_error, products.magnitude)
    )
    found = svm_values(problem, SINGLE, alpha)
    values = (found.gap, found.primal, found.dual)
    judge = errors(problem, of_judge, magnitude, of_judge, U, 0)
    solver = errors(problem, of_solver, magnitude, of_judge, U32, TINY32)
    is_bound([one.judge_error for one in values], judge)
    is_bound([one.solver_error for one in values], solver)
    # The plateau: C u sum |Q||a|.
    is_bound(found.attainable, solver[0] + C * U32 * sum(magnitude))
    is_bound(found.slope_errors, [d + U * (1 + p) for d, p in zip(of_judge, magnitude, strict=True)])
    assert found.slopes.tolist() == [float(p - 1) for p in MARGINS]


def test_what_underflows_meets_alpha_c_or_omega():
    # Of a single sample of zeros and a = 0 all but roundings of the loss is underflow, for a tiny C.
    problem = Problem("zeros", np.zeros((1, 1)), np.ones(1), LinearKernel(), Hinge(2.0**-126))
    found = svm_values(problem, SINGLE, np.array([2.0**100]))
    is_bound(found.dual.solver_error - svm_values(problem, FLOAT64, np.array([2.0**100])).dual.solver_error,
             gamma(2 + 16, U32) * 2**100, Fraction(1, 10**5))  # fmt: skip


def test_an_enclosure_has_both_ends():
    value = Evaluated(3.0, 0.5, 1.0)
    is_bound(value.upper, Fraction(7, 2))
    assert abs(Fraction(value.lower) - Fraction(5, 2)) < Fraction(1, 10**8)
    unknown = Evaluated(3.0, np.inf, 1.0)
    assert (unknown.lower, unknown.upper) == (-np.inf, np.inf)
    assert (outward(2.0), outward(np.nan), outward(np.inf)) == (2.0 * ROUND_UP, np.inf, np.inf)


def test_what_a_gap_says_of_the_distance():
    # sqrt(2 g / omega), omega = 1/4.
    is_bound(distance_bound(problem_of(SquaredHinge(C)), 3.0), root(24))
    is_bound(seminorm_bound(3.0), root(6))
    assert distance_bound(problem_of(Hinge(C)), 3.0) == np.inf
    assert distance_bound(problem_of(SquaredHinge(C)), -1.0) == seminorm_bound(-1.0) == 0.0


def test_the_largest_curvatures():
    is_bound(largest_curvatures(problem_of(Hinge(C))), [4, 2])
    cubes = Problem("cubes", DATA, LABELS, PolynomialKernel(3, 0.5), Hinge(C))
    is_bound(largest_curvatures(cubes), [Fraction(9, 2) ** 3, Fraction(5, 2) ** 3])
