"""Ranges of reported values, by the derivation of bounds/optimum/reported.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import U32, U, gamma, is_bound

from sstep_verify.bounds.optimum.reported import may_overflow, predictions, relative_error, written_gap
from sstep_verify.bounds.optimum.svm import FLOAT64, svm_values
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, LinearKernel, Problem, Ridge, SquaredHinge
from sstep_verify.rounding.kernel.products import kernel_products

SINGLE = Declaration("single", precision="float32")
DATA, LABELS = np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([1.0, -1.0])
ALPHA = np.array([0.25, 0.5])


def problem_of(loss, data=DATA) -> Problem:
    return Problem("reported", data, LABELS, LinearKernel(), loss)


def test_predictions_of_a_ksvm_err_by_their_products():
    problem = problem_of(Hinge(2.0))
    products = kernel_products(problem, SINGLE, LABELS * ALPHA)
    found = predictions(problem, SINGLE, ALPHA)
    is_bound([one.judge_error for one in found], products.judge_error)
    is_bound([one.solver_error for one in found], products.solver_error)


def test_those_of_a_ridge_by_a_quotient_and_lambda_too():
    problem, penalty = problem_of(Ridge(0.5)), Fraction(1, 2)
    products = kernel_products(problem, SINGLE, ALPHA)
    found = predictions(problem, SINGLE, ALPHA)
    for errors, own, u in (
        ([one.judge_error for one in found], products.judge_error, U),
        ([one.solver_error for one in found], products.solver_error, U32),
    ):
        derived = [
            (Fraction(d) + gamma(2, u) * Fraction(p)) / penalty
            for d, p in zip(own, products.magnitude, strict=True)
        ]
        is_bound(errors, derived)


def test_a_relative_value_errs_by_both_and_rounds_once():
    # |r| f + e + 2 u |r| (|d| + f).
    ratio, whole, e, f = Fraction(3, 4), Fraction(8), Fraction(1, 2**20), Fraction(1, 2**18)
    found = relative_error(-0.75, 8.0, float(e), float(f), "float32")
    is_bound(found, ratio * f + e + 2 * U32 * ratio * (whole + f))


@pytest.mark.parametrize("power", [1, 2])
def test_the_gap_of_a_vector_that_was_rounded(power):
    problem = problem_of(Hinge(2.0) if power == 1 else SquaredHinge(2.0))
    rounding, omega = [Fraction(1, 2**10), Fraction(1, 2**12)], Fraction(power - 1, 4)
    found = written_gap(
        problem, ALPHA, np.array(rounding, dtype=float), svm_values(problem, FLOAT64, ALPHA)
    )
    # Q = (4, -2; -2, 2), Qa = (0, 1/2), e = |Q| r.
    products = [Fraction(0), Fraction(1, 2)]
    moved = [4 * rounding[0] + 2 * rounding[1], 2 * (rounding[0] + rounding[1])]
    smooth = sum(
        r * (2 * abs(p - 1) + 1 + omega * Fraction(a) + e + omega / 2 * r)
        for r, p, a, e in zip(rounding, products, ALPHA, moved, strict=True)
    )
    missing = [1 - p for p in products]
    losses = 2 * sum((h + e) ** power - h**power for h, e in zip(missing, moved, strict=True))
    is_bound(found, smooth + losses)


@pytest.mark.parametrize("loss", [Hinge(2.0), SquaredHinge(2.0), Ridge(0.5)], ids=lambda loss: loss.task)
def test_no_number_on_the_way_is_larger_than_all_terms_together(loss):
    def terms(scale: float) -> float:
        """Of data whose inner products are so many times those here."""
        a = [0.25, 0.5]
        p = [scale * 2.0, scale * 1.5]
        if loss.boxed:
            omega, c = loss.shift, loss.C
            parts = [
                x + x * y + (1 + omega) * x * x + (1 + c) * (1 + y) ** 2 for x, y in zip(a, p, strict=True)
            ]
        else:
            q = [y / 0.5 for y in p]
            parts = [
                y + (1 + y + z + 2 * x) * x + (1 + z + 2 * x) ** 2 for x, y, z in zip(a, p, q, strict=True)
            ]
        return sum(parts)

    low, high = 1.0, 2.0**100
    for _ in range(200):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if 2 * terms(middle) <= 2.0**126 else (low, middle)
    for share, overflows in ((0.999, False), (1.001, True)):
        problem = problem_of(loss, DATA * (low * share) ** 0.5)
        assert may_overflow(problem, SINGLE, ALPHA) == overflows
