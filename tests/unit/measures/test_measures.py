"""Measures against exact rational values and against each other."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from sstep_reference import Kernel, Rational
from sstep_reference.arithmetic import Mpmath, exact_fraction
from sstep_reference.errors import InvalidInputError

from sstep_verify.errors import InputError
from sstep_verify.measures import GapMeasure, drift, relative_error
from sstep_verify.numerics import KernelSums, kernel_matrix
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
    kernels,
)
from sstep_verify.rounding.arithmetic import gamma, unit_roundoff

U = unit_roundoff("float64")


def _problem(kernel, loss) -> Problem:
    """Small integers: kernel, products and objectives are exact in float64 but for the last division."""
    data = np.random.default_rng(0).integers(-3, 4, (9, 2)).astype(float)
    return Problem("integers", data, np.where(np.arange(9) % 2 == 0, 1.0, -1.0), kernel, loss)


def _exact_values(problem: Problem, alpha: np.ndarray) -> tuple[Fraction, Fraction]:
    """Primal and dual value by their definitions, in rationals."""
    kernel = exact_kernel(problem, Rational())
    assert isinstance(kernel, Kernel)
    m = problem.samples
    a, y = [Fraction(x) for x in alpha.tolist()], [Fraction(x) for x in problem.targets.tolist()]
    K = [[exact_fraction(kernel.column(j)[i]) for j in range(m)] for i in range(m)]
    if problem.is_svm:
        products = [sum(y[i] * K[i][j] * y[j] * a[j] for j in range(m)) for i in range(m)]
        C, power = Fraction(problem.loss.C), problem.loss.power
        omega = Fraction(0) if power == 1 else 1 / (2 * C)
        square = sum(x * q for x, q in zip(a, products, strict=True)) / 2
        primal = square + C * sum(max(Fraction(0), 1 - q) ** power for q in products)
        return primal, sum(a) - square - omega / 2 * sum(x * x for x in a)
    penalty = Fraction(problem.loss.penalty)
    products = [sum(K[i][j] * a[j] for j in range(m)) / penalty for i in range(m)]
    square = sum(x * q for x, q in zip(a, products, strict=True)) / 2
    primal = square + sum((t - q) ** 2 for t, q in zip(y, products, strict=True)) / (2 * m)
    dual = sum(t * x for t, x in zip(y, a, strict=True)) - square - Fraction(m, 2) * sum(x * x for x in a)
    return primal, dual


@pytest.mark.parametrize("kernel", [LinearKernel(), PolynomialKernel(2, 1.0)], ids=lambda k: k.name)
@pytest.mark.parametrize("loss", [Hinge(1.0), SquaredHinge(0.5), Ridge(0.25)], ids=str)
@pytest.mark.parametrize("eighths", [0, 1, 7])
@pytest.mark.parametrize("whole", [True, False])
def test_values_and_gap_are_those_of_the_definitions(kernel, loss, eighths, whole, monkeypatch):
    monkeypatch.setattr("sstep_verify.numerics.ROWS", 4)
    problem = _problem(kernel, loss)
    alpha = np.arange(9) % 3 * eighths / 16
    primal, dual = _exact_values(problem, alpha)
    found = GapMeasure(problem, KernelSums(problem, whole=whole))(alpha)
    # Products of small dyadic numbers are exact; what rounds is a division by 2 m (K-RR) and one sum.
    allowed = Fraction(gamma(2, U)) * (abs(primal) + abs(dual))
    assert abs(Fraction(found.primal) - primal) <= allowed
    assert abs(Fraction(found.dual) - dual) <= allowed
    assert abs(Fraction(found.gap) - (primal - dual)) <= allowed
    assert found.gap >= 0


@pytest.mark.parametrize(("loss", "optimum"), [(Hinge(1.0), 1.0), (SquaredHinge(0.5), 0.5)], ids=str)
def test_a_small_gap_keeps_its_digits(loss, optimum):
    """One sample, Q = 1: at a = a* - 2^-40 the gap, 2^-80 or twice that, is exact; the values round."""
    problem = Problem("one", np.array([[1.0]]), np.array([1.0]), LinearKernel(), loss)
    alpha = np.array([optimum - 2.0**-40])
    primal, dual = _exact_values(problem, alpha)
    found = GapMeasure(problem)(alpha)
    assert Fraction(found.gap) == primal - dual > 0
    assert found.primal - found.dual != found.gap


def test_attainable_gap_is_its_formula():
    problem = _problem(LinearKernel(), Hinge(2.0))
    alpha = np.full(9, 0.5)
    expected = 2.0 * U * float((np.abs(kernel_matrix(problem)) * 0.5).sum())
    measure = GapMeasure(problem)
    assert measure.attainable(alpha) == expected
    panels = KernelSums(problem, whole=False)
    assert GapMeasure(problem, panels).attainable(alpha) == expected
    assert panels.largest_off_diagonal() == KernelSums(problem).largest_off_diagonal()
    off_diagonal = kernel_matrix(problem) * (1 - np.eye(9))
    assert panels.largest_off_diagonal() == np.abs(off_diagonal).max()
    with pytest.raises(InputError, match="a K-SVM is needed"):
        GapMeasure(_problem(LinearKernel(), Ridge()), panels).attainable(alpha)


@pytest.mark.parametrize("kernel", [LinearKernel(), PolynomialKernel(3, 0.5), RBFKernel(0.7)], ids=str)
@pytest.mark.parametrize("rows", [3, 512])
def test_the_kernel_matrix_is_the_reference_kernel_up_to_rounding(kernel, rows, monkeypatch):
    monkeypatch.setattr("sstep_verify.numerics.ROWS", rows)
    data = np.random.default_rng(3).standard_normal((11, 4)) + 5.0
    problem = Problem("shifted", data, np.ones(11), kernel, Ridge())
    matrix = kernel_matrix(problem)
    reference = exact_kernel(problem, Mpmath(200))
    exact = np.array([[float(reference.column(j)[i]) for j in range(11)] for i in range(11)])
    # Sums of absolute products, raised to the degree; for RBF every exponent is at most 4 |x|^2.
    size = np.abs(data) @ np.abs(data).T
    if isinstance(kernel, PolynomialKernel):
        allowed = gamma(3 * (4 + 3), U) * (size + 0.5) ** 3
    else:
        allowed = gamma(4 + 12, U) * np.maximum(1.0, 4 * 0.7 * size.max()) * np.ones((11, 11))
        allowed = np.maximum(allowed, gamma(4, U) * size)
    assert (np.abs(matrix - exact) <= allowed).all()
    sums = KernelSums(problem, whole=False)
    assert (np.abs(np.array([sums.product(unit) for unit in np.eye(11)]) - exact) <= allowed).all()
    assert np.array_equal(matrix, matrix.T)


@dataclass
class Recorded:
    iterations: np.ndarray
    alphas: np.ndarray


def test_drift_at_common_iterations():
    mine = Recorded(np.array([0, 4, 8]), np.array([[0.0, 0.0], [3.0, 4.5], [1.0, 1.0]]))
    exact = Recorded(np.array([0, 3, 4]), np.array([[0.0, 0.0], [9.0, 9.0], [3.0, 4.0]]))
    assert drift(mine, exact) == {0: 0.0, 4: 0.1}


def test_drift_from_an_exact_zero_is_infinite():
    found = drift(Recorded(np.array([1]), np.ones((1, 2))), Recorded(np.array([1]), np.zeros((1, 2))))
    assert found == {1: np.inf}


def test_relative_error():
    assert relative_error(np.array([3.0, 4.5]), np.array([3.0, 4.0])) == 0.1
    assert relative_error(np.zeros(2), np.zeros(2)) == 0.0
    assert relative_error(np.ones(2), np.zeros(2)) == np.inf


@pytest.mark.parametrize("whole", [True, False])
def test_a_kernel_that_is_not_known_here_is_no_linear_one(whole):
    @dataclass(frozen=True)
    class Sigmoid(kernels.Kernel):
        name = "sigmoid"

    problem = _problem(LinearKernel(), Hinge(1.0))
    object.__setattr__(problem, "kernel", Sigmoid())
    with pytest.raises(InvalidInputError, match="kernel 'sigmoid' is unknown"):
        KernelSums(problem, whole=whole).product(np.ones(9))
