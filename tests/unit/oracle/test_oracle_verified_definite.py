"""Bounds on a smallest eigenvalue: never above the true one, and reached where float64 cannot reach."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sstep_reference.arithmetic import Balls

from sstep_verify.oracle.verify import definite as module
from sstep_verify.oracle.verify.definite import eigenvalue_bounds

ARITHMETIC = Balls(400)
BELOW, ABOVE = Fraction(10**6 - 1, 10**6), Fraction(10**6 + 1, 10**6)


def _balls(rows) -> list[list]:
    return [[ARITHMETIC.number(Fraction(x)) for x in row] for row in rows]


def _rotated(values: list[Fraction]) -> list[list[Fraction]]:
    """A full matrix with exactly these eigenvalues: reflected by ``I - 2 vv'/v'v`` with v = 1, 2, 3, ..."""
    size, v = len(values), range(1, len(values) + 1)
    square = Fraction(sum(x * x for x in v))
    reflection = [[Fraction(i == j) - 2 * v[i] * v[j] / square for j in range(size)] for i in range(size)]
    return [
        [sum(reflection[i][k] * values[k] * reflection[j][k] for k in range(size)) for j in range(size)]
        for i in range(size)
    ]


@pytest.mark.parametrize(
    "least", [Fraction(1), Fraction(1, 10**6), Fraction(1, 10**20), Fraction(1, 10**60)]
)
def test_every_bound_is_below_the_exact_eigenvalue_and_the_last_is_near(least):
    values = [least] + [Fraction(k) for k in range(2, 9)]
    bounds = list(eigenvalue_bounds(ARITHMETIC, _balls(_rotated(values))))
    assert bounds
    assert max(bounds) <= least
    # In Frobenius norms at most the root of the size is lost.
    assert max(bounds) >= least / 3


def test_the_float64_bound_of_a_multiple_of_the_identity_is_below_and_near():
    """A defect of one part in a million in the bound would show here."""
    for size in (1, 7, 60):
        scale = Fraction(3, 7)
        rows = [[scale * (i == j) for j in range(size)] for i in range(size)]
        bound = next(eigenvalue_bounds(ARITHMETIC, _balls(rows)))
        exact = Fraction(float(scale / Fraction(np.sqrt(size))))
        assert exact * BELOW * BELOW * BELOW * BELOW <= bound <= exact * ABOVE
        assert bound <= scale


def test_a_proof_in_float64_is_refused_where_rounding_may_hide_a_null_vector():
    """Both matrices round to the same floats; only one of them is definite."""
    tiny = Fraction(1, 2**70)
    singular, definite = ([[1 + x, 1], [1, 1 / (1 + x) + y]] for x, y in ((tiny, 0), (tiny, tiny)))
    assert list(eigenvalue_bounds(ARITHMETIC, _balls(singular))) == []
    bounds = list(eigenvalue_bounds(ARITHMETIC, _balls(definite)))
    assert 0 < max(bounds) <= tiny


def test_wide_balls_and_overflow_prove_nothing():
    wide = _balls([[2, 0], [0, 2]])
    with ARITHMETIC.working():
        wide[0][0] = wide[0][0].union(ARITHMETIC.number(0))
    assert list(eigenvalue_bounds(ARITHMETIC, wide)) == []
    for size in (Fraction(10) ** 400, Fraction(1, 10**400)):
        bounds = list(eigenvalue_bounds(ARITHMETIC, _balls([[size, 0], [0, size]])))
        assert all(bound <= size for bound in bounds)
    assert module._in_floats(np.eye(2) * 1e-200, np.eye(2) * 1e200) is None


def test_a_wrong_inverse_proves_nothing():
    """The planted defect: R is the inverse of another matrix."""
    values = np.diag([1.0, 1e-3])
    assert module._in_floats(values, np.diag([1.0, 1e3])) is not None
    assert module._in_floats(values, np.diag([1.0, 1.0])) is not None  # d = 0.999: true, and weak
    assert module._in_floats(values, np.diag([1.0, 0.0])) is None
    assert module._in_floats(values, np.diag([1.0, 3e3])) is None
    assert module._in_floats(values, np.diag([1.0, 1.0])) <= Fraction(1, 1000)
