"""Errors of K-RR residuals and objectives, by the derivation of bounds/optimum/ridge.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import TINY32, U32, U, gamma, is_bound, length, root

from sstep_verify.bounds.optimum.ridge import distance_bound, ridge_inputs, ridge_values
from sstep_verify.declaration import Declaration
from sstep_verify.problems import LinearKernel, Problem, Ridge
from sstep_verify.rounding.kernel.products import kernel_products

SINGLE = Declaration("single", precision="float32")
DATA = np.array([[2.0, 0.0], [1.0, 1.0]])
ALPHA, TARGETS = [Fraction(1, 4), Fraction(-1, 2)], [Fraction(3), Fraction(1)]
PENALTY, M = Fraction(1, 2), 2
PRODUCTS = [Fraction(0), Fraction(-1, 2)]
"""K = (4, 2; 2, 2), so Ka = (0, -1/2) and r = (3 - 1/2, 1 + 1 + 1)."""

RESIDUAL = [Fraction(5, 2), Fraction(3)]


def problem_of(penalty=PENALTY, targets=TARGETS) -> Problem:
    return Problem("ridge", DATA, np.array(targets, dtype=float), LinearKernel(), Ridge(float(penalty)))


def dot(one, other) -> Fraction:
    return sum((abs(x) * y for x, y in zip(one, other, strict=True)), Fraction())


def errors(products_error, magnitude, judge_error, u, off=(0, 0), change=Fraction(0)) -> tuple:
    """Of residual, primal and dual value in a unit roundoff, of targets that are `off` and a changed lambda."""
    d, size = ([x / PENALTY for x in part] for part in (products_error, magnitude))
    residual = [
        d[i] + gamma(8, u) * (abs(TARGETS[i]) + M * abs(ALPHA[i]) + size[i]) + off[i] for i in range(2)
    ]
    d = [x + change * y for x, y in zip(d, size, strict=True)]
    k = gamma(M + 10, u)
    half = dot(ALPHA, [x + k * y for x, y in zip(d, size, strict=True)]) / 2
    square = Fraction(M, 2) * dot(ALPHA, [abs(a) for a in ALPHA])
    dual = half + dot(ALPHA, off) + k * (dot(TARGETS, [abs(a) for a in ALPHA]) + square)
    e = [d[i] + off[i] + gamma(4, u) * (abs(TARGETS[i]) + size[i]) for i in range(2)]
    misfit = [abs(TARGETS[i] - PRODUCTS[i] / PENALTY) for i in range(2)]
    f = [
        misfit[i] + e[i] + judge_error[i] / PENALTY + gamma(4, U) * (misfit[i] + size[i]) for i in range(2)
    ]
    primal = half + (2 * dot(f, e) + k * dot(f, f) + dot(e, e)) / (2 * M)
    return residual, primal, dual


def test_residual_gap_and_objectives_err_by_what_is_derived():
    problem, alpha = problem_of(), np.array(ALPHA, dtype=float)
    products = kernel_products(problem, SINGLE, alpha)
    of_judge, of_solver, magnitude = (
        [Fraction(x) for x in part]
        for part in (products.judge_error, products.solver_error, products.magnitude)
    )
    found = ridge_values(problem, SINGLE, alpha)
    assert found.entries.tolist() == [float(x) for x in RESIDUAL]
    judge = errors(of_judge, magnitude, of_judge, U)
    solver = errors(of_solver, magnitude, of_judge, U32)
    is_bound(found.errors, judge[0])
    is_bound([found.primal.judge_error, found.dual.judge_error], judge[1:])
    is_bound([found.primal.solver_error, found.dual.solver_error], solver[1:])
    norm, k = length(RESIDUAL), M + 8
    of_norm = length(judge[0]) + gamma(k, U) * norm
    is_bound(found.residual.judge_error, of_norm)
    own = length(solver[0])
    own += gamma(k, U32) * (norm + of_norm + own) + root(M * TINY32)
    is_bound(found.residual.solver_error, own)
    # The gap, ||r||^2 / (2 m): of the square, and three roundings; or of the difference of both objectives.
    square = (2 * (norm + 2 * of_norm) + of_norm) * of_norm + gamma(3, U) * (norm + 3 * of_norm) ** 2
    is_bound(found.gap.judge_error, square / (2 * M))
    reach = norm + of_norm + own
    square = (2 * reach + own) * own + gamma(3, U32) * (reach + own) ** 2
    size = abs(Fraction(found.primal.value)) + abs(Fraction(found.dual.value))
    size += sum(judge[1:]) + sum(solver[1:])
    is_bound(found.gap.solver_error, max(square / (2 * M), sum(solver[1:]) + U32 * size))


def test_a_solver_that_rounds_its_targets_subtracts_others():
    problem = problem_of(targets=[Fraction(3) + Fraction(1, 2**25), Fraction(1)])
    inputs = ridge_inputs(problem, "float32")
    is_bound(inputs.targets, [Fraction(1, 2**25), 0])
    at_zero = ridge_values(problem, SINGLE, np.zeros(2))
    residual = [gamma(8, U32) * (3 + Fraction(1, 2**25)) + Fraction(1, 2**25), gamma(8, U32)]
    norm = root((3 + Fraction(1, 2**25)) ** 2 + 1)
    own = length(residual)
    is_bound(
        at_zero.residual.solver_error,
        own + gamma(M + 8, U32) * (norm + own) + root(M * TINY32),
    )


def test_a_rounded_lambda():
    penalty = Fraction(1) + Fraction(1, 2**25)
    inputs = ridge_inputs(problem_of(penalty), "float32")
    assert inputs.lower == 1.0
    is_bound(inputs.change, Fraction(1, 2**25))
    assert ridge_inputs(problem_of(), "float32").change == 0.0


def test_objectives_of_a_solver_that_rounds_lambda():
    change = Fraction(1, 2**25)
    problem, alpha = problem_of(PENALTY * (1 + change)), np.array(ALPHA, dtype=float)
    products = kernel_products(problem, SINGLE, alpha)
    of_judge, of_solver, magnitude = (
        [Fraction(x) for x in part]
        for part in (products.judge_error, products.solver_error, products.magnitude)
    )
    found = ridge_values(problem, SINGLE, alpha)
    _, *values = errors(of_solver, magnitude, of_judge, U32, change=change)
    # The misfit at hand is made with lambda as given.
    derived = [x * (1 - change) for x in values]
    is_bound([found.primal.solver_error, found.dual.solver_error], derived)


@pytest.mark.parametrize("residual", [3.0, 0.5])
def test_a_residual_over_m_bounds_the_distance(residual):
    is_bound(distance_bound(problem_of(), residual), Fraction(residual) / M)
