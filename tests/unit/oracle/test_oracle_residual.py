"""Residuals at a stored vector are enclosed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import PolynomialKernel, Problem, Ridge


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
    lower, upper = Oracle(problem).residual(problem, alpha, draws, bits)
    for place, i in enumerate(draws.tolist()):
        products = (
            sum(Fraction(x) * Fraction(y) for x, y in zip(data[i], row, strict=True)) for row in data
        )
        kernel = ((product + Fraction(1, 2)) ** 2 for product in products)
        left = Fraction(problem.targets[i]) - 7 * Fraction(alpha[i])
        left -= sum(value * Fraction(a) for value, a in zip(kernel, alpha, strict=True)) / Fraction(0.3)
        assert Fraction(lower[place]) <= abs(left) <= Fraction(upper[place])
        assert upper[place] - lower[place] <= 1e-12 * upper[place]
