"""Distances of a replay whose end is known up to an error: their ends are never inside the exact ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sstep_verify.oracle.replay import _apart


@pytest.mark.parametrize("seed", range(10))
def test_ends_are_rounded_outwards(seed):
    generator = np.random.Generator(np.random.PCG64(seed))
    for _ in range(100):
        low = generator.uniform(1, 2, 3) * 2.0 ** generator.integers(-1074, 1000)
        high, off = low * generator.uniform(1, 2), float(low[0] * generator.uniform(0, 1))
        below, above = _apart(low, high, off)
        for i in range(3):
            assert Fraction(below[i]) <= max(Fraction(low[i]) - Fraction(off), Fraction(0))
            assert Fraction(above[i]) >= Fraction(high[i]) + Fraction(off)


def test_what_is_exact_stays_exact():
    below, above = _apart(np.zeros(2), np.zeros(2), 0.0)
    assert not below.any()
    assert not above.any()
