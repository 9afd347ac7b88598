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

from sstep_verify.bounds.step.residual import factored, solve_constants, solve_errors
from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.rounding.arithmetic import ROUND_UP
from sstep_verify.rounding.block.factorisation import solve_bound
from sstep_verify.solver import ridge_window
from studies.admissible.arithmetic import by_orthogonal

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
        given = float(np.linalg.norm(np.float64(held) - np.float64(matrix))) * ROUND_UP
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


def orthogonal(place):
    return lambda precision, matrix, rhs: by_orthogonal(matrix, rhs, place)


ORTHOGONAL = [("orthogonal", orthogonal(place)) for place in range(5)]
"""By QR, eigendecomposition, SVD, least squares and pseudoinverse."""


@pytest.mark.parametrize("draws", [40, pytest.param(300, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    ("name", "solve"), [("ldl", eliminated), ("lu", pivoted), ("cholesky", by_cholesky), *ORTHOGONAL]
)
def test_backward_errors_stay_within_their_bound(name, solve, draws):
    ratios: list[float] = []

    @settings(max_examples=draws)
    @given(systems())
    def holds(drawn):
        precision, matrix, held, given, least, rhs = drawn
        if name in ("cholesky", "orthogonal"):  # an eigendecomposition reads one triangle
            held = np.triu(held) + np.triu(held, 1).T
        declaration = Declaration("tested", precision=precision, factorisation=name)
        bound = solve_bound(np.abs(np.float64(matrix)), given, least, declaration).error
        promised = given + bound < least
        event("promised" if promised else "nothing promised")
        if not promised:
            return
        outside, ratio = exceeds(matrix, solve(precision, held, rhs), rhs, given + bound)
        assert not outside
        ratios.append(ratio)

    holds()
    print(f"{name}: {len(ratios)} systems, ratio max {max(ratios):.3g}, median {np.median(ratios):.3g}")
    assert len(ratios) >= draws // 2
    assert max(ratios) > (1e-2 if name != "orthogonal" else 1e-4)


@pytest.mark.parametrize("place", range(5))
def test_orthogonal_solves_of_ill_conditioned_systems_stay_within_their_bound(place):
    """Conditions up to where small singular values could be cut off, beyond which nothing is promised."""
    rng, ratios, refused = np.random.Generator(np.random.PCG64(place)), [], 0
    for number in range(150):
        b, exponent = int(rng.integers(2, 9)), rng.uniform(0, 16)
        left = np.linalg.qr(rng.standard_normal((b, b)))[0]
        sizes = np.sort(10.0 ** rng.uniform(0, exponent, b))
        sizes[[0, -1]] = 1.0, 10.0**exponent
        matrix = left @ np.diag(sizes) @ left.T
        matrix = (matrix + matrix.T) / 2 + 10.0**exponent * 2.0**-48 * np.eye(b)
        rhs = matrix @ rng.standard_normal(b) if number % 2 else rng.standard_normal(b)
        declaration = Declaration("tested", factorisation="orthogonal")
        bound = solve_bound(np.abs(matrix), 0.0, 1.0, declaration).error
        if not bound < 1.0:
            refused += not bound < np.inf
            continue
        outside, ratio = exceeds(matrix, by_orthogonal(matrix, rhs, place), rhs, bound)
        assert not outside
        ratios.append(ratio)
    assert len(ratios) >= 50
    assert refused >= 10
    assert max(ratios) > 1e-5


def entries_left(matrix, x, rhs) -> np.ndarray:
    """What a solution leaves of each right-hand side, exact and then rounded."""
    exact = [[Fraction(float(value)) for value in row] for row in matrix]
    x = [Fraction(float(value)) for value in x]
    products = (sum(g * value for g, value in zip(row, x, strict=True)) for row in exact)
    return np.array([float(abs(Fraction(float(r)) - one)) for one, r in zip(products, rhs, strict=True)])


def entries_allowed(name, precision, matrix, x, given, least) -> np.ndarray | None:
    """What it may leave of each by the judge's own factors; None where they say nothing."""
    block, sizes = len(x), np.abs(np.float64(x))
    declaration = Declaration("tested", precision=precision, factorisation=name)
    constants = solve_constants(declaration, 8, 8, 1, block, 1.0)
    constants = constants._replace(factors=constants.factors._replace(modulus=least))
    factor, bound = np.zeros((2, block, block)), np.zeros(block)
    system, trace = np.float64(matrix), float(np.trace(matrix)) * ROUND_UP
    assert factored(system, factor[0])
    shared = solve_errors(constants, factor[0], sizes, 2 * given + constants.doubt * trace, trace, bound)
    length = float(np.linalg.norm(sizes)) * ROUND_UP
    return None if shared == np.inf else (bound + (shared + given) * length) * ROUND_UP


@pytest.mark.parametrize("draws", [100, pytest.param(300, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(("name", "solve"), [("ldl", eliminated), ("cholesky", by_cholesky)])
def test_what_a_solution_leaves_of_each_entry_stays_within_what_the_factors_allow(name, solve, draws):
    ratios: list[float] = []
    gained: list[float] = []

    @settings(max_examples=draws)
    @given(systems())
    def holds(drawn):
        precision, matrix, held, given, least, rhs = drawn
        if name == "cholesky":
            held = np.triu(held) + np.triu(held, 1).T
        declaration = Declaration("tested", precision=precision, factorisation=name)
        by_trace = solve_bound(np.abs(np.float64(matrix)), given, least, declaration).error
        if not given + by_trace < least:
            return
        x = solve(precision, held, rhs)
        allowed = entries_allowed(name, precision, matrix, x, given, least)
        event("by the factors" if allowed is not None else "by the trace")
        if allowed is None:
            return
        left = entries_left(matrix, x, rhs)
        assert (left <= allowed).all()
        ratios.append(float(np.max(left / np.where(allowed > 0.0, allowed, 1.0))))
        length = float(np.linalg.norm(np.float64(x)))
        if length and not given and len(x) > 1:
            gained.append(by_trace * length / float(np.linalg.norm(allowed)))

    holds()
    print(
        f"{name}: {len(ratios)} systems, ratio max {max(ratios):.3g}, median gain {np.median(gained):.3g}"
    )
    assert len(ratios) >= draws // 2
    assert max(ratios) > 2e-2
    assert np.median(gained) > 1.0


def test_a_larger_error_of_one_entry_is_beyond_what_the_factors_allow():
    matrix, rhs = np.array([[400.0, 1.0], [1.0, 3.0]]), np.array([1.0, 2.0])
    x = np.linalg.solve(matrix, rhs)
    allowed = entries_allowed("ldl", "float64", matrix, x, 0.0, 2.0)
    wrong = np.linalg.solve(matrix, [rhs[0], rhs[1] + 3.0 * allowed[1]])
    assert (entries_left(matrix, x, rhs) <= allowed).all()
    assert entries_left(matrix, wrong, rhs)[1] > allowed[1]
    # The bound by the trace is that of the largest pivot, for all entries alike.
    by_trace = solve_bound(matrix, 0.0, 2.0, Declaration("tested", factorisation="ldl")).error
    assert not exceeds(matrix, wrong, rhs, by_trace)[0]


def test_an_error_of_three_bounds_is_found():
    matrix = np.array([[4.0, 1.0], [1.0, 3.0]])
    declaration = Declaration("tested", factorisation="ldl")
    bound = solve_bound(matrix, 0.0, 2.0, declaration).error
    rhs = np.array([1.0, 2.0])
    x = np.linalg.solve(matrix + 3 * bound * np.eye(2), rhs)
    assert exceeds(matrix, x, rhs, bound)[0]


def test_where_elimination_may_break_down_nothing_is_promised():
    matrix = np.full((4, 4), 1e9) + np.eye(4)
    declaration = Declaration("tested", precision="float32", factorisation="ldl")
    assert np.isinf(solve_bound(matrix, 0.0, 1.0, declaration).error)
    with pytest.raises(SingularSystemError):
        Float("float32").solve(list(np.float32(matrix)), np.ones(4, dtype=np.float32))


def test_an_unknown_factorisation_is_named():
    with pytest.raises(InputError, match=r"factorisation 'qr' of the tested solver is unknown"):
        Declaration("tested", factorisation="qr")
