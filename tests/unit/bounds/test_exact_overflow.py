"""Largest numbers of correct runs, by the derivation of bounds/overflow.py."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import U32, gamma, is_bound, length, root

from sstep_verify.bounds.overflow import increments_error, largest_number, largest_value
from sstep_verify.declaration import Declaration
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.rounding.block.factorisation import solve_bound
from sstep_verify.rounding.kernel.entries import kernel_entries

ROWS = Declaration("rows", precision="float32", products="rows", factorisation="cholesky")
DATA, TARGETS = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), [1.0, -1.0, 1.0]
M, P, S = 3, 4, 5
"""Samples, largest squared norm, steps of a window."""

A = Fraction(8)
DELTA = gamma(2, U32) * P
"""What the largest entry is off by."""


def problem_of(loss, kernel=None) -> Problem:
    return Problem("largest", DATA, np.array(TARGETS), kernel or LinearKernel(), loss)


def of_step(loss, kernel=None) -> float:
    return largest_number(problem_of(loss, kernel), ROWS, S, 1, float(A))


def test_numbers_of_a_ksvm_step():
    # |K| = (4, 2, 0; 2, 2, 1; 0, 1, 1): the first row sums up to 6, and 2 s more of its largest are 40.
    row = 4 + 2 + 2 * S * 4
    is_bound(of_step(Hinge(0.5)), 2 * (1 + row * A))
    # L2: omega a and its corrections, and the quotient by omega.
    omega = Fraction(1, 8)
    is_bound(of_step(SquaredHinge(4.0)), 2 * 8 * (1 + ((1 + 2 * S) * omega + row) * A))


def test_by_cauchy_and_schwarz_where_that_is_less():
    # Entries of 1 and off-diagonal ones below: 1 in every entry is less than the row with its errors.
    found = largest_number(problem_of(Hinge(0.5), PolynomialKernel(2, 1.0)), ROWS, S, 1, float(A))
    assert found <= 2 * (1 + (M + 2 * S) * 25 * A) * (1 + Fraction(1, 10**6))
    is_bound(found, 2 * (1 + (25 + 9 + 1 + 2 * S * 25) * A))


def test_parameters_and_numbers_for_an_entry_count():
    is_bound(of_step(Hinge(1e9)), 2 * 10**9)
    problem = problem_of(Hinge(1.0), RBFKernel(1e9))
    found = largest_number(problem, replace(ROWS, rbf="difference"), S, 1, float(A))
    is_bound(found, 2 * 4 * 10**9 * P)


def test_an_entry_of_a_negative_distance_is_larger_than_one():
    problem, E = problem_of(Hinge(1.0), RBFKernel(2.0**10)), 4 * 2**10 * P
    sizes = kernel_entries(problem, ROWS, np.arange(3)).magnitude
    row = max(sum(map(Fraction, one)) + 2 * S * Fraction(max(one)) for one in sizes.tolist())
    larger = Fraction(math.exp(gamma((2 + 2) + M + 2 * S + 1 + 16, U32) * E))
    exponent = Fraction(2 * E)
    is_bound(largest_number(problem, ROWS, S, 1, 2.0**20), 2 * larger * (1 + row * 2**20))
    is_bound(largest_number(problem, ROWS, S, 1, 1.0), exponent)


def block_step(b: int, penalty: Fraction, largest: Fraction) -> tuple[Fraction, Fraction, Fraction]:
    """``4 b^2 T (R + rho + ||D||)``, R, and what increments are off by."""
    drawn = M + 2 * S * b
    R = length(TARGETS) + M * largest + 2 * drawn * P * largest / penalty
    N = (2 + 2) + M + 2 * S * b + b + 16
    rho = gamma(N, U32) * R + 2 * drawn * largest * DELTA / penalty
    D = 2 * root(b) * (R + rho) / M
    system = np.full((b, b), float(P / penalty)) + M * np.eye(b)
    given = b * (DELTA / penalty + 3 * U32 * (P / penalty + M))
    solve = solve_bound(system, float(given), M, ROWS)
    moved = given + Fraction(solve.error)
    inner = 4 * b**2 * Fraction(solve.largest) * (R + rho + D)
    local = (root(b) * rho + moved * D) / M + U32 * root(b) * (largest + D)
    return inner, R, local


@pytest.mark.parametrize("b", [1, 2])
def test_numbers_of_a_block_step_and_what_its_increments_are_off_by(b):
    inner, R, local = block_step(b, Fraction(1, 2), A)
    problem = problem_of(Ridge(0.5))
    is_bound(largest_number(problem, ROWS, S, b, float(A)), 2 * inner)
    is_bound(increments_error(problem, ROWS, S, b, float(A)), local)
    assert inner > R


def test_the_division_by_lambda_may_come_last():
    penalty = Fraction(2**20)
    _, R, _ = block_step(1, penalty, A)
    is_bound(largest_number(problem_of(Ridge(2.0**20)), ROWS, S, 1, float(A)), 2 * 2 * penalty * R)


def test_values_of_an_l1_run_are_clipped():
    for start, derived in (([0.0] * 3, 2 * Fraction(1, 2)), ([0.0, -3.0, 1.0], 2 * 3)):
        is_bound(largest_value(problem_of(Hinge(0.5)), ROWS, S, 1, 10, np.array(start)), derived)


def test_values_of_an_l2_run():
    # 2 C (sqrt(m) + sqrt(4 m)) from a = 0.
    found = largest_value(problem_of(SquaredHinge(0.5)), ROWS, S, 1, 10, np.zeros(3))
    is_bound(found, 3 * root(M))


@pytest.mark.parametrize(("draws", "whole"), [(None, 1), ([[0, 0, 0, 1]], 2)])
def test_values_of_a_ridge_run(draws, whole):
    """Twice what the M-norm allows, F times as much where a block holds a coordinate three times."""
    problem, start = problem_of(Ridge(0.5)), np.array([1.0, 2.0, 2.0])
    double = replace(ROWS, precision="float64")
    found = largest_value(problem, double, S, 4, 10, start, None if draws is None else np.array(draws))
    over_m = P / Fraction(1, 2) + 1
    is_bound(found, 2 * whole * (2 * length(TARGETS) / M + (root(over_m) + 1) * 3))


def test_a_ridge_run_of_too_many_steps_has_no_bound():
    problem, near = problem_of(Ridge(0.5)), 2 * length(TARGETS) / M
    _, _, local = block_step(1, Fraction(1, 2), 2 * near)
    highest = M * (P / Fraction(1, 2) + 1)
    steps = root(M) * near / (root(highest) * local)
    for count, holds in (
        (int(steps * Fraction(99, 100)), True),
        (int(steps * Fraction(101, 100)) + 1, False),
    ):
        found = largest_value(problem, ROWS, S, 1, count, np.zeros(3))
        assert np.isfinite(found) == holds
