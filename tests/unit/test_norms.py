"""One norm: true at every scale, and no other is taken of numbers that a user may have scaled."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import sstep_verify
from sstep_verify.rounding.arithmetic import gamma, norm, norm_lower, norm_upper

ROOT = Path(sstep_verify.__file__).parent
ALLOWED = {
    "rounding/arithmetic.py": "the norm itself",
    "solver/training/monitor.py": "the solver's own, scaled by a power of two",
    "oracle/verify/definite.py": "shares no code with a search; of no use where squares may underflow",
    "oracle/search/low_rank.py": "a search, of numbers that are scaled already",
}


@pytest.mark.parametrize("seed", range(20))
def test_it_encloses_the_norm_of_drawn_vectors(seed):
    generator = np.random.Generator(np.random.PCG64(seed))
    for _ in range(20):
        vector = generator.standard_normal(generator.integers(1, 40))
        vector = (
            vector * 2.0 ** generator.integers(-1074, 1020) * 2.0 ** -generator.integers(0, 60, vector.size)
        )
        square = sum(Fraction(x) ** 2 for x in vector.tolist())
        assert Fraction(norm_lower(vector)) ** 2 <= square <= Fraction(norm_upper(vector)) ** 2
        error = Fraction(gamma(vector.size + 5, 2.0**-53)) * Fraction(norm(vector)) + Fraction(1, 2**1075)
        low = max(Fraction(norm(vector)) - error, Fraction(0))
        assert low**2 <= square <= (Fraction(norm(vector)) + error) ** 2


def test_what_is_no_number_has_no_least_norm():
    assert (norm(np.array([1.0, np.nan])), norm_lower(np.array([1.0, np.nan]))) == (np.inf, 0.0)
    largest = np.full(4, np.finfo(np.float64).max)
    assert (norm_upper(largest), norm_upper(np.zeros(3)), norm_upper(np.zeros(0))) == (np.inf, 0.0, 0.0)
    assert norm_lower(largest) <= np.finfo(np.float64).max


def test_no_raw_norm_is_taken_elsewhere():
    found = {
        str(path.relative_to(ROOT)): line
        for path in sorted(ROOT.rglob("*.py"))
        for line in path.read_text("utf-8").splitlines()
        if re.search(r"linalg\.norm\(", line)
    }
    assert set(found) == set(ALLOWED)
