"""Decimals of certificates and of test vectors lie on the side that keeps the statement true."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sstep_verify.oracle.balls.decimals import lower_decimal, nearest_decimal, upper_decimal
from sstep_verify.vectors.allowed import bound_of


@pytest.mark.parametrize("seed", range(4))
def test_ends_enclose_and_bounds_are_no_smaller(seed):
    drawn = np.random.Generator(np.random.PCG64(seed))
    for value in (10.0 ** drawn.uniform(-200, 200, 100)).tolist():
        for exact in (Fraction(value) / 3, -Fraction(value) / 7):
            assert Fraction(lower_decimal(exact)) <= exact <= Fraction(upper_decimal(exact))
            assert abs(Fraction(nearest_decimal(exact, 30)) - exact) <= abs(exact) / 10**29
        assert value <= bound_of(value) <= 1.01 * value
