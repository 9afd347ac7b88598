"""K-RR optima: enclosed, as narrow as float64 allows, and the same by mpmath and by the reference kernel."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sstep_reference.arithmetic import Balls, Mpmath, exact_fraction

from sstep_verify.errors import InputError
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.oracle.balls.kernel_balls import BallKernel
from sstep_verify.oracle.certificate import certify
from sstep_verify.oracle.certificate.optimum import (
    RidgeOptimum,
    ridge_optimum,
)
from sstep_verify.oracle.evaluated import closed_form
from sstep_verify.oracle.search import ridge as search
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
)
from sstep_verify.problems.data.datasets import load

TARGET = 2.0**-52
"""Relative error aimed at."""

KERNELS = [LinearKernel(), PolynomialKernel(3, 0.5), RBFKernel(0.7)]


def _problem(kernel, penalty=1.0, m=23, n=4, seed=3, scale=1.0) -> Problem:
    generator = np.random.default_rng(seed)
    data = generator.standard_normal((m, n)) * scale
    return Problem("random", data, generator.standard_normal(m), kernel, Ridge(penalty))


def by_mpmath(problem: Problem, digits: int) -> list:
    """The solution in closed form, in mpmath."""
    return closed_form(problem, Mpmath(4 * digits))


def _distance_squared(optimum: RidgeOptimum, exact: list) -> Fraction:
    pairs = zip(optimum.alpha.tolist(), exact, strict=True)
    return sum(((Fraction(one) - exact_fraction(other)) ** 2 for one, other in pairs), Fraction(0))


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("penalty", [1.0, 1e-3, 1e-8])
def test_encloses_the_mpmath_solution(kernel, penalty):
    problem = _problem(kernel, penalty)
    optimum = ridge_optimum(problem)
    assert _distance_squared(optimum, by_mpmath(problem, 80)) <= Fraction(optimum.error) ** 2
    assert optimum.relative <= TARGET


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_a_wrong_solution_is_outside_its_enclosure(kernel):
    problem = _problem(kernel)
    optimum = ridge_optimum(problem)
    moved = RidgeOptimum(optimum.alpha * (1 + 2.0**-50), optimum.error, optimum.how)
    assert _distance_squared(moved, by_mpmath(problem, 80)) > Fraction(moved.error) ** 2


def test_where_float64_has_no_factor_the_whole_system_is_solved_in_balls():
    problem = _problem(PolynomialKernel(4), 1e-3, n=3, scale=1e6)
    optimum = ridge_optimum(problem)
    assert optimum.relative <= TARGET
    assert "whole system" in optimum.how
    assert _distance_squared(optimum, by_mpmath(problem, 200)) <= Fraction(optimum.error) ** 2


def test_without_the_dense_fallback_the_error_is_still_a_bound(monkeypatch):
    for module in (search, certify):
        monkeypatch.setattr(module, "DENSE_SAMPLES", 0)
    problem = _problem(PolynomialKernel(4), 1e-3, n=3, scale=1e6)
    optimum = ridge_optimum(problem)
    assert optimum.relative > TARGET
    assert _distance_squared(optimum, by_mpmath(problem, 200)) <= Fraction(optimum.error) ** 2


def test_zero_targets_have_the_solution_zero():
    problem = Problem("zero", np.eye(3), np.zeros(3), LinearKernel(), Ridge(1.0))
    optimum = ridge_optimum(problem)
    assert not optimum.alpha.any()
    assert optimum.error < np.finfo(np.float64).tiny


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="svm_optimum"):
        ridge_optimum(Problem("svm", np.eye(2), np.array([1.0, -1.0]), LinearKernel(), Hinge()))


@pytest.mark.parametrize("kernel", [*KERNELS, PolynomialKernel(2)], ids=str)
@pytest.mark.parametrize("entries", [7, 60, 1 << 18])
def test_the_ball_kernel_is_the_reference_kernel(kernel, entries, monkeypatch):
    monkeypatch.setattr("sstep_verify.oracle.balls.kernel_balls.ENTRIES_AT_ONCE", entries)
    arithmetic = Balls(128)
    problem = _problem(kernel, m=17)
    balls, reference = BallKernel(problem, arithmetic), exact_kernel(problem, arithmetic).matrix()
    matrix = balls.matrix()
    vectors = type(matrix)(17, 2, [arithmetic.number(k % 7) for k in range(34)])
    product = balls.product(vectors)
    with arithmetic.working():
        expected = reference * vectors
        for i in range(17):
            assert all(matrix[i, j].overlaps(reference[i, j]) for j in range(17))
            assert all(product[i, k].overlaps(expected[i, k]) for k in range(2))
            assert all(product[i, k].rel_accuracy_bits() > 90 for k in range(2))


@pytest.mark.parametrize("name", [pytest.param("bodyfat", marks=pytest.mark.nightly), "bodyfat_scale"])
def test_bodyfat_is_known_to_every_digit_of_float64(data_directory, name):
    data = load(name, directory=data_directory)
    for kernel in (LinearKernel(), PolynomialKernel(), RBFKernel()):
        for penalty in (1.0, 1e-3):
            problem = Problem(name, data.data, data.targets, kernel, Ridge(penalty))
            assert ridge_optimum(problem).relative <= TARGET
