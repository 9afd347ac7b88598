"""The largest number of a block step on worked numbers, against fractions."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from bounds.worked import g, root, size

from sstep_verify.bounds import largest_number
from sstep_verify.problems import LinearKernel, Problem, RBFKernel, Ridge, SquaredHinge
from sstep_verify.solver import Declaration

M, BLOCK, S, U = 3, 2, 4, Fraction(1, 2**12)


@pytest.mark.parametrize("solve", [1 / 16, 1.0])
def test_the_largest_number_and_the_error_of_a_block_step(solve, monkeypatch):
    monkeypatch.setattr(largest_number, "unit_roundoff", lambda _: float(U))
    monkeypatch.setattr(largest_number, "_entry", lambda _: (2.0, 3.0))
    monkeypatch.setattr(largest_number, "_entry_error", lambda *_: 1 / 1024)
    seen = []
    monkeypatch.setattr(
        largest_number, "factorisation_error", lambda *given: (seen.append(given), solve)[1]
    )
    targets, penalty, largest = np.array([1.0, -1.0, 0.5]), Fraction(1, 2), Fraction(3, 2)
    problem = Problem("worked", np.eye(3), targets, LinearKernel(), Ridge(0.5))
    found = largest_number._RidgeStep(problem, Declaration("worked"), S, BLOCK, float(largest), 30)
    drawn, entry, off = 2 * S * BLOCK, Fraction(2), Fraction(1, 1024)
    right = size(targets) + M * largest + 2 * (M + drawn) * entry * largest / penalty
    error = g(30, U) * right + 2 * (M + drawn) * largest * off / penalty
    given = BLOCK * (off / penalty + 3 * U * (entry / penalty + M))
    system, told, modulus, _ = seen[0]
    assert system.tolist() == [[7.0, 4.0], [4.0, 7.0]]
    assert told == pytest.approx(float(given), rel=1e-12)
    assert modulus == M
    moved, step = given + Fraction(solve), 2 * root(BLOCK) * (right + error) / M
    assert moved <= Fraction(M, 2)
    factors = 2 * (14 + root(BLOCK) * given)  # twice the trace of the system and of what is off
    inner = 4 * BLOCK**2 * factors * (right + error + step)
    assert found.largest == pytest.approx(float(inner), rel=1e-12)
    local = (root(BLOCK) * error + moved * step) / M + U * root(BLOCK) * (largest + step)
    assert found.local == pytest.approx(float(local), rel=1e-12)


def test_products_that_are_divided_by_lambda_last_are_numbers_too():
    sizes = []
    for penalty in (0.5, 2.0**100):
        problem = Problem("worked", 2.0**50 * np.eye(3), np.ones(3), LinearKernel(), Ridge(penalty))
        sizes.append(largest_number._RidgeStep(problem, Declaration("worked"), S, BLOCK, 1.0, 30).largest)
    # K a is 2^100, whatever it is divided by.
    assert min(sizes) >= 2.0**100


def test_a_system_that_may_be_singular_has_no_largest_number(monkeypatch):
    problem = Problem("worked", np.eye(3), np.ones(3), LinearKernel(), Ridge(0.5))
    for solve, finite in ((1.4, True), (1.6, False)):
        monkeypatch.setattr(largest_number, "factorisation_error", lambda *_, solve=solve: solve)
        found = largest_number._RidgeStep(problem, Declaration("worked"), S, BLOCK, 1.0, 30)
        assert np.isfinite(found.largest) == np.isfinite(found.local) == finite


@pytest.mark.parametrize("start", [[0.5, 0.25, 0.0], [-0.5, 0.25, -2.0]])
def test_the_largest_value_of_an_l2_run_by_where_it_begins(start, monkeypatch):
    monkeypatch.setattr(largest_number, "_entry", lambda _: (2.0, 3.0))
    monkeypatch.setattr(largest_number, "stays_within", lambda *_: True)
    problem = Problem("worked", np.eye(3), np.array([1.0, -1.0, 1.0]), LinearKernel(), SquaredHinge(2.0))
    found = largest_number.largest_value(problem, Declaration("worked"), S, 1, 10, np.array(start))
    omega, entry, a = Fraction(1, 4), Fraction(2), [Fraction(one) for one in start]
    outside = [-one for one in a if one < 0]
    # The objective where it begins, and what the first step on each negative entry may gain but for its
    # gradient's share of a, which grows with A.
    rise = (M * entry + omega) / 2 * sum(one * one for one in a) + sum(outside)
    rise += sum(one * (1 + omega * one) + (entry + omega) / 2 * one * one for one in outside)
    most = Fraction(float(found))
    left = omega / 2 * most**2 - root(M) * most
    right = rise + 3 * M / (2 * omega) + sum(outside) * root(M) * entry * most
    assert left >= right * (1 - Fraction(1, 10**6))
    assert left <= right * (1 + Fraction(1, 10**6))


@pytest.mark.parametrize(("rbf", "clamped", "promised"), [
    ("norm-expansion", False, False), ("norm-expansion", True, True), ("difference", False, True),
])  # fmt: skip
def test_a_distance_below_0_by_rounding_may_make_an_entry_infinite(rbf, clamped, promised):
    problem = Problem("apart", np.full((2, 1), 1e-11), np.ones(2), RBFKernel(1e166), SquaredHinge(1.0))
    declared = Declaration("mine", rbf=rbf, clamped=clamped)
    found = largest_number.largest_number(problem, declared, S, 1, 1.0)
    assert np.isfinite(found) == promised
    of_blocks = replace(problem, loss=Ridge(1.0))
    assert promised or np.isinf(largest_number.largest_number(of_blocks, declared, S, 1, 1.0))
