"""The arithmetic objects: exact conversion, enclosure, and one behaviour behind one interface."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sstep_reference import (
    Balls,
    Float,
    InvalidInputError,
    Mpmath,
    Rational,
    SingularSystemError,
    UnsupportedOperationError,
    exact_fraction,
)

EVERY = [Float("float32"), Float("float64"), Float("longdouble"), Mpmath(256), Balls(256), Rational()]
EXACT = [Mpmath(2200), Balls(64), Rational()]  # 2200 bits hold every float64 and every sum of a few
every = pytest.mark.parametrize("arithmetic", EVERY, ids=lambda a: a.name)
finite = st.floats(allow_nan=False, allow_infinity=False)
small = st.fractions(-50, 50, max_denominator=12)


def encloses(ball, value: Fraction) -> bool:
    """Whether a ball contains a rational, decided in rationals."""
    middle, radius = exact_fraction(ball.mid()), exact_fraction(ball.rad())
    return abs(middle - value) <= radius


@pytest.mark.parametrize("arithmetic", EXACT, ids=lambda a: a.name)
@given(finite)
def test_a_float64_is_converted_exactly(arithmetic, x):
    assert exact_fraction(arithmetic.number(x)) == Fraction(x)
    assert exact_fraction(arithmetic.vector(np.array([x]))[0]) == Fraction(x)
    assert float(arithmetic.number(x)) == x


@pytest.mark.parametrize("arithmetic", EXACT, ids=lambda a: a.name)
@pytest.mark.parametrize(
    "x", [3, np.int64(-7), 2**200 + 1, np.float32(0.1), np.longdouble(1) / 3, Fraction(5, 8)]
)
def test_other_dyadic_numbers_are_converted_exactly(arithmetic, x):
    assert exact_fraction(arithmetic.number(x)) == exact_fraction(x)


@given(st.fractions(max_denominator=10**6))
def test_rationals_are_exact_or_enclosed(x):
    assert exact_fraction(Rational().number(x)) == x
    assert encloses(Balls(64).number(x), x)


@given(finite)
def test_float64_keeps_every_float64(x):
    assert Float().number(x) == x
    assert type(Float().number(x)) is np.float64


@given(st.fractions(-(10**6), 10**6), st.sampled_from(["float32", "float64", "longdouble"]))
def test_a_rational_is_rounded_to_a_nearest_float(x, name):
    arithmetic = Float(name)
    rounded = arithmetic.number(x)
    error = abs(exact_fraction(rounded) - x)
    for way in (-math.inf, math.inf):
        neighbour = np.nextafter(rounded, arithmetic.type(way))
        assert error <= abs(exact_fraction(neighbour) - x)


@every
@pytest.mark.parametrize("x", [math.nan, math.inf, "1", None, 1j, np.float64("nan"), np.longdouble("inf")])
def test_what_is_no_finite_number_is_refused(arithmetic, x):
    with pytest.raises(InvalidInputError, match="finite"):
        arithmetic.number(x)


def test_a_ball_of_positive_radius_has_no_exact_value():
    with pytest.raises(InvalidInputError, match="midpoint"):
        exact_fraction(Balls(64).number(Fraction(1, 3)))


def test_a_number_beyond_the_range_is_refused():
    with pytest.raises(InvalidInputError, match="float32"):
        Float("float32").number(1e39)
    with pytest.raises(InvalidInputError, match="float64"):
        Float().number(10**400)


@every
def test_a_vector_can_be_set_and_copied(arithmetic):
    v = arithmetic.vector([1, 2, 3])
    w = v.copy()
    w[1] = arithmetic.number(-5)
    assert [float(x) for x in v] == [1.0, 2.0, 3.0]
    assert [float(x) for x in w] == [1.0, -5.0, 3.0]
    assert len(w) == 3
    again = arithmetic.vector(w)
    again[0] = arithmetic.number(9)
    assert float(w[0]) == 1.0
    assert float(arithmetic.dot(v, w)) == 0.0
    w[1] = arithmetic.number(1)  # after a dot product, so a kept row form would be stale
    assert float(arithmetic.dot(w, v)) == 12.0
    assert all(arithmetic.is_zero(x) for x in arithmetic.zeros(2))


def test_picked_products_are_added_one_by_one_in_order_in_every_arithmetic():
    """In floating point to the bit; a vector that is longer than the places is used up to there."""
    generator = np.random.default_rng(0)
    vectors, v = generator.normal(size=(3, 5)), generator.normal(size=40)
    places = generator.integers(0, 5, size=30).tolist()
    for arithmetic in EVERY:
        rows, factors = [arithmetic.vector(row) for row in vectors], arithmetic.vector(v)
        with arithmetic.working():
            found = arithmetic.picked_products(rows, places, factors)
            assert arithmetic.picked_products(rows, [], factors) == [arithmetic.number(0)] * 3
            for row, total in zip(rows, found, strict=True):
                expected = arithmetic.number(0)
                for place, x in zip(places, factors, strict=False):
                    expected = expected + row[place] * x
                assert type(total) is type(expected)
                assert total == expected or arithmetic.name.startswith("balls")


@every
def test_clip_with_and_without_an_upper_end(arithmetic):
    number, zero = arithmetic.number, arithmetic.number(0)
    clipped = [arithmetic.clip(number(x), zero, number(2)) for x in (-1, 0, 1, 2, 3)]
    assert [float(x) for x in clipped] == [0.0, 0.0, 1.0, 2.0, 2.0]
    assert float(arithmetic.clip(number(3), zero, None)) == 3.0
    assert arithmetic.is_zero(arithmetic.clip(number(-3), zero, None))


@given(*[st.fractions(-4, 4, max_denominator=9)] * 4)
def test_a_straddling_ball_is_clipped_to_the_union(low, high, x, upper):
    balls, upper = Balls(64), abs(upper)
    with balls.working():
        ball = balls.number(low).union(balls.number(high)).union(balls.number(x))
    clipped = balls.clip(ball, balls.number(0), balls.number(upper))
    for point in (low, high, x):
        assert encloses(clipped, min(max(point, Fraction(0)), upper))


def test_an_indeterminate_ball_is_clipped_to_the_whole_box():
    balls = Balls(64)
    with balls.working():
        nothing_known = balls.number(1) / balls.number(0)
    clipped = balls.clip(nothing_known, balls.number(0), balls.number(3))
    assert encloses(clipped, Fraction(0))
    assert encloses(clipped, Fraction(3))
    assert not balls.clip(nothing_known, balls.number(0), None).is_finite()


def test_comparisons_of_balls_are_certain_ones():
    balls = Balls(64)
    third = balls.number(Fraction(1, 3))
    with balls.working():
        difference = third - third
    assert encloses(difference, Fraction(0))
    assert not balls.is_zero(difference)
    assert not balls.at_most(difference, balls.number(0))
    assert balls.at_most(third, balls.number(1))
    assert balls.is_zero(balls.number(0))


@given(st.lists(st.tuples(small, small), min_size=1, max_size=8))
def test_a_ball_dot_product_contains_the_rational_one(pairs):
    rational, balls = Rational(), Balls(64)
    exact, enclosed = (
        a.dot(a.vector([p for p, _ in pairs]), a.vector([q for _, q in pairs])) for a in (rational, balls)
    )
    assert encloses(enclosed, exact_fraction(exact))


@given(
    st.lists(st.lists(small, min_size=3, max_size=3), min_size=3, max_size=3),
    st.lists(small, min_size=3, max_size=3),
)
def test_solve_is_exact_in_rationals_and_enclosed_in_balls(B, rhs):
    matrix = [
        [sum(B[i][k] * B[j][k] for k in range(3)) + (5 if i == j else 0) for j in range(3)]
        for i in range(3)
    ]
    rational, balls = Rational(), Balls(128)
    x = [
        exact_fraction(v)
        for v in rational.solve([rational.vector(r) for r in matrix], rational.vector(rhs))
    ]
    assert [sum(matrix[i][j] * x[j] for j in range(3)) for i in range(3)] == rhs
    enclosed = balls.solve([balls.vector(r) for r in matrix], balls.vector(rhs))
    assert all(encloses(ball, value) for ball, value in zip(enclosed, x, strict=True))


@every
def test_solve_leaves_its_input_and_refuses_a_singular_system(arithmetic):
    matrix, rhs = [arithmetic.vector([2, 1]), arithmetic.vector([1, 2])], arithmetic.vector([3, 3])
    solution = arithmetic.solve(matrix, rhs)
    assert [float(x) for x in solution] == [1.0, 1.0]
    assert [float(x) for row in matrix for x in row] == [2.0, 1.0, 1.0, 2.0]
    assert [float(x) for x in rhs] == [3.0, 3.0]
    with pytest.raises(SingularSystemError):
        arithmetic.solve([arithmetic.vector([1, 1]), arithmetic.vector([1, 1])], rhs)


@given(st.fractions(-30, 30, max_denominator=64))
def test_the_exponential_ball_contains_the_value_to_many_more_digits(x):
    balls, digits = Balls(64), Mpmath(1024)
    ball, value = balls.exp(balls.number(x)), exact_fraction(digits.exp(digits.number(x)))
    middle, radius = exact_fraction(ball.mid()), exact_fraction(ball.rad())
    # The 1024-bit value is within 2^-1000 of itself of the truth; the ball is far wider, or exact (x = 0).
    assert abs(middle - value) <= radius + value / 2**1000


def test_the_exponential_of_a_rational_is_refused():
    with pytest.raises(UnsupportedOperationError, match="Balls or Mpmath"):
        Rational().exp(Rational().number(1))


@every
def test_power_multiplies(arithmetic):
    assert [float(arithmetic.power(arithmetic.number(-3), d)) for d in (1, 2, 3)] == [
        -3.0,
        9.0,
        -27.0,
    ]


def test_precisions_live_side_by_side():
    import flint
    import mpmath

    before = flint.ctx.prec, mpmath.mp.prec
    narrow, wide = Balls(40), Balls(400)
    assert narrow.number(Fraction(1, 3)).rad() > wide.number(Fraction(1, 3)).rad()
    with wide.working():
        inner = wide.number(1) / 3
        assert narrow.dot(narrow.vector([Fraction(1, 3)]), narrow.vector([1])).rad() > inner.rad()
        assert (wide.number(1) / 3).rad() == inner.rad()
    assert len(str(Mpmath(400).number(Fraction(1, 3)))) > len(str(Mpmath(40).number(Fraction(1, 3))))
    assert (flint.ctx.prec, mpmath.mp.prec) == before


@pytest.mark.parametrize(
    "make", [lambda: Float("int64"), lambda: Float("float16"), lambda: Balls(8), lambda: Mpmath(1)]
)
def test_unusable_number_systems_are_refused(make):
    with pytest.raises(InvalidInputError):
        make()
