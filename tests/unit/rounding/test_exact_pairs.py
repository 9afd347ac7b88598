"""A sum of products that is kept in two numbers, next to the same sum in rationals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import TINY, is_bound

from sstep_verify.rounding.pairs import LARGEST, add_product, exact_product, exact_sum


def number(generator, low: int = -400, high: int = 400) -> float:
    return float(generator.standard_normal() * 2.0 ** generator.integers(low, high))


@pytest.mark.parametrize("seed", range(4))
def test_sum_and_product_with_their_errors_are_exact(seed):
    generator = np.random.Generator(np.random.PCG64(seed))
    for _ in range(500):
        one, other = number(generator), number(generator)
        assert sum(map(Fraction, exact_sum(one, other))) == Fraction(one) + Fraction(other)
        # No part of the product underflows.
        one, other = number(generator, -300, 400), number(generator, -300, 400)
        assert sum(map(Fraction, exact_product(one, other))) == Fraction(one) * Fraction(other)
    product, error = exact_product(LARGEST, -1.0 / LARGEST)
    assert (product, error) == (-1.0, 0.0)


@pytest.mark.parametrize("high", [0.0, 1.0, -3.0])
def test_what_an_addition_may_lose(high):
    new, least, lost = add_product(high, 2.0**-60, 0.75, 2.0**-70, 4.0)
    assert Fraction(new) + Fraction(least) == Fraction(high) + 3 + Fraction(1, 2**60) + Fraction(4, 2**70)
    is_bound(lost, (abs(Fraction(high) + 3) + abs(Fraction(high)) + 3) / 2**103 + 8 * TINY)
    assert abs(least) <= 2.0**-53 * abs(new)


@pytest.mark.parametrize("scale", [0, -300, 300, -1000])
def test_a_maintained_sum_is_within_what_it_lost(scale):
    """Terms grow, cancel and underflow; without the errors of products the sum is off by far more."""
    generator = np.random.Generator(np.random.PCG64(scale % 97))
    for _ in range(40):
        high = low = allowed = plain = 0.0
        exact = Fraction()
        for _ in range(60):
            before, after = number(generator, -40, 40), number(generator, -40, 40)
            if generator.random() < 0.3:
                after = before * (1.0 + 2.0**-50)
            factor = float(generator.standard_normal() * 2.0**scale)
            change, rest = exact_sum(after, -before)
            high, low, lost = add_product(high, low, change, rest, factor)
            allowed, plain = allowed + lost, plain + change * factor
            exact += (Fraction(after) - Fraction(before)) * Fraction(factor)
            error = abs(Fraction(high) + Fraction(low) - exact)
            assert error <= Fraction(allowed)
            assert abs(Fraction(high) - exact) <= Fraction(abs(high)) / 2**53 + Fraction(allowed)
        if scale > -1000:
            assert abs(Fraction(plain) - exact) > 1000 * Fraction(allowed)
