"""Block solves stay within the bound on their backward error, and the bound is not out of all proportion.

The smallest backward error of a solution x^ is ``||r - G x^||_2 / ||x^||_2`` (Higham 2002, Theorem 7.1 for
the 2-norm and an exact right-hand side); it is computed in rationals.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from sstep_reference import SingularSystemError
from sstep_reference.arithmetic import Float

from sstep_verify.bounds.block.factorisation import factorisation_error
from sstep_verify.errors import InputError
from sstep_verify.numerics.rounding import OUTWARD
from sstep_verify.solver import Declaration
from sstep_verify.solvers.production import ridge_window

TYPES = {"float32": np.float32, "float64": np.float64}


@st.composite
def systems(draw):
    """``A A' + m I`` in a precision, of small or large condition, exactly symmetric or nearly so."""
    precision = draw(st.sampled_from(list(TYPES)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    b = draw(st.integers(1, 8))
    factor = rng.standard_normal((b, draw(st.integers(1, b)))) * 10.0 ** draw(st.integers(-1, 2))
    if draw(st.booleans(), label="rows of different sizes"):
        factor *= 10.0 ** rng.integers(-2, 2, size=(b, 1))
    least = float(draw(st.integers(1, 100)))
    matrix = np.asarray(factor @ factor.T + least * np.eye(b), dtype=TYPES[precision])
    matrix = (matrix + matrix.T) / 2
    held, given = matrix.copy(), 0.0
    if draw(st.booleans(), label="not quite symmetric"):
        held = np.where(rng.random((b, b)) < 0.5, np.nextafter(matrix, TYPES[precision](0)), matrix)
        given = float(np.linalg.norm(np.float64(held) - np.float64(matrix))) * OUTWARD
    # Rounding the matrix to the precision may have taken this much off its smallest eigenvalue.
    least -= float(np.linalg.norm(np.float64(matrix) - factor @ factor.T - least * np.eye(b))) * 2
    rhs = np.asarray(rng.standard_normal(b), dtype=TYPES[precision])
    return precision, matrix, held, given, least, rhs


def exceeds(matrix, x, rhs, bound: float) -> tuple[bool, float]:
    """Whether the backward error with respect to `matrix` certainly exceeds a bound, and the ratio."""
    exact = [[Fraction(float(value)) for value in row] for row in matrix]
    x = [Fraction(float(value)) for value in x]
    residual = [
        Fraction(float(r)) - sum(g * value for g, value in zip(row, x, strict=True))
        for row, r in zip(exact, rhs, strict=True)
    ]
    square = sum(value * value for value in residual)
    allowed = Fraction(bound) ** 2 * sum(value * value for value in x)
    ratio = square / allowed
    scaled = ratio.numerator * 2**200 // ratio.denominator
    return square > allowed, isqrt(scaled) / 2.0**100


def eliminated(precision, matrix, rhs):
    return Float(precision).solve(list(matrix), rhs)


def pivoted(precision, matrix, rhs):
    return np.linalg.solve(matrix, rhs)


def by_cholesky(precision, matrix, rhs):
    """The production solver's own; it reads one triangle, so its system is exactly symmetric."""
    plain = getattr(ridge_window.solve_in_place, "py_func", ridge_window.solve_in_place)
    x = rhs.copy()
    plain(matrix.copy(), x)
    return x


@pytest.mark.parametrize(
    ("name", "solve"), [("ldl", eliminated), ("lu", pivoted), ("cholesky", by_cholesky)]
)
def test_backward_errors_stay_within_their_bound(name, solve):
    ratios: list[float] = []

    @settings(max_examples=300)
    @given(systems())
    def holds(drawn):
        precision, matrix, held, given, least, rhs = drawn
        if name == "cholesky":
            held = np.triu(held) + np.triu(held, 1).T
        declaration = Declaration("tested", precision=precision, factorisation=name)
        bound = factorisation_error(np.abs(np.float64(matrix)), given, least, declaration)
        promised = given + bound < least
        event("promised" if promised else "nothing promised")
        if not promised:
            return
        outside, ratio = exceeds(matrix, solve(precision, held, rhs), rhs, given + bound)
        assert not outside
        ratios.append(ratio)

    holds()
    print(f"{name}: {len(ratios)} systems, ratio max {max(ratios):.3g}, median {np.median(ratios):.3g}")
    assert len(ratios) >= 150
    assert max(ratios) > 1e-2


def test_an_error_of_three_bounds_is_found():
    matrix = np.array([[4.0, 1.0], [1.0, 3.0]])
    declaration = Declaration("tested", factorisation="ldl")
    bound = factorisation_error(matrix, 0.0, 2.0, declaration)
    rhs = np.array([1.0, 2.0])
    x = np.linalg.solve(matrix + 3 * bound * np.eye(2), rhs)
    assert exceeds(matrix, x, rhs, bound)[0]


def test_where_elimination_may_break_down_nothing_is_promised():
    matrix = np.full((4, 4), 1e9) + np.eye(4)
    declaration = Declaration("tested", precision="float32", factorisation="ldl")
    assert np.isinf(factorisation_error(matrix, 0.0, 1.0, declaration))
    with pytest.raises(SingularSystemError):
        Float("float32").solve(list(np.float32(matrix)), np.ones(4, dtype=np.float32))


def test_an_unknown_factorisation_is_named():
    with pytest.raises(InputError, match=r"factorisation 'qr' of the tested solver is unknown"):
        factorisation_error(np.eye(2), 0.0, 1.0, Declaration("tested", factorisation="qr"))
