"""What is wrong about a stored step is enclosed: a residual, or the distance of a clipped value."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Hinge, LinearKernel, PolynomialKernel, Problem, Ridge


@pytest.mark.parametrize("bits", [64, 192])
def test_the_residual_of_a_block_is_enclosed(bits):
    generator = np.random.Generator(np.random.PCG64(3))
    data, alpha = generator.standard_normal((7, 3)), generator.standard_normal(7)
    problem = Problem(
        name="residual",
        data=data,
        targets=generator.standard_normal(7),
        kernel=PolynomialKernel(2, 0.5),
        loss=Ridge(0.3),
    )
    draws = np.array([4, 1, 6])
    lower, upper = Oracle(problem).step_error(problem, alpha, alpha, draws, bits)
    for place, i in enumerate(draws.tolist()):
        products = (
            sum(Fraction(x) * Fraction(y) for x, y in zip(data[i], row, strict=True)) for row in data
        )
        kernel = ((product + Fraction(1, 2)) ** 2 for product in products)
        left = Fraction(problem.targets[i]) - 7 * Fraction(alpha[i])
        left -= sum(value * Fraction(a) for value, a in zip(kernel, alpha, strict=True)) / Fraction(0.3)
        assert Fraction(lower[place]) <= abs(left) <= Fraction(upper[place])
        assert upper[place] - lower[place] <= 1e-12 * upper[place]


@pytest.mark.parametrize("stored", [0.4, 0.7, 0.2])
def test_the_distance_of_a_clipped_value_is_enclosed(stored):
    data = np.array([[1.0, 0.5], [-0.25, 2.0], [0.75, 0.75]])
    labels, before = np.array([1.0, -1.0, 1.0]), np.array([0.5, 0.25, 0.125])
    problem = Problem(name="step", data=data, targets=labels, kernel=LinearKernel(), loss=Hinge(0.7))
    after = before.copy()
    after[2] = stored
    products = [sum(Fraction(x) * Fraction(z) for x, z in zip(data[2], row, strict=True)) for row in data]
    slope = sum(Fraction(y * a) * p for y, a, p in zip(labels, before, products, strict=True)) - 1
    exact = min(max(Fraction(before[2]) - slope / products[2], Fraction(0)), Fraction(0.7))
    (lower,), (upper,) = Oracle(problem).step_error(problem, before, after, np.array([2]), 192)
    assert Fraction(lower) <= abs(Fraction(stored) - exact) <= Fraction(upper)
    assert upper - lower <= 1e-12
