"""Numbers at two precisions: their radius covers what is wrong, and their comparisons are certain."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from sstep_reference import SingularSystemError, dcd_ksvm
from sstep_reference.arithmetic import Mpmath, exact_fraction
from sstep_reference.kernels import Kernel

from sstep_verify.oracle.balls.exact_kernel import interval, magnitude_interval, root_interval
from sstep_verify.oracle.two_precisions import GUARD_BITS, Evaluated, TwoPrecisions

BITS = 192
TWO = TwoPrecisions(BITS)
TRUTH = Mpmath(2000)


ABOUT_ONE = 233 * TWO.from_fraction(Fraction(1, 233))
"""1, to within a radius at both precisions."""


def holds(found: Evaluated, exact) -> bool:
    """Whether a number differs from one of 2000 bits by no more than its radius."""
    apart = abs(exact_fraction(found.high) - exact_fraction(exact))
    return apart <= exact_fraction(TRUTH.number(found.radius())) * (1 + Fraction(1, 2**40))


def test_its_halves_are_those_of_the_reference_at_either_precision():
    generator = np.random.default_rng(4)
    data, labels = generator.standard_normal((8, 3)), np.sign(generator.standard_normal(8)).tolist()
    draws = generator.integers(8, size=30).tolist()
    ends = [
        dcd_ksvm(one, Kernel(one, data, "rbf", sigma=0.5), labels, [0.0] * 8, draws, loss="svm-l2", C=0.7)
        for one in (TWO, TWO.low, TWO.high, TRUTH)
    ]
    for found, low, high, exact in zip(*ends, strict=True):
        assert (found.low, found.high) == (low, high)
        assert holds(found, exact)
        assert found.radius() < 2.0 ** (GUARD_BITS + 20 - BITS)
    assert any(found.error for found in ends[0])


def test_an_exponential_is_off_by_its_last_bits_and_by_its_argument():
    third = TWO.from_fraction(Fraction(-1, 3))
    found = TWO.exp(third)
    assert holds(found, TRUTH.exp(TRUTH.from_fraction(Fraction(-1, 3))))
    guarded = 2.0 ** (GUARD_BITS - BITS)
    assert float(found.error / found.high) == pytest.approx(guarded)
    assert TWO.exp(TWO.number(0)).radius() == 0
    again = TWO.exp(-found)
    assert float(again.error / again.high) == pytest.approx(guarded * (1 + float(found.high)))
    assert float(TWO.exp(TWO.number(-1e9)).error) == 0.0  # smaller than float64 has, and not 0
    assert TWO.exp(TWO.number(-1e9)).error > 0


@pytest.mark.parametrize(
    ("operation", "factor"),
    [
        (lambda x, y: x + y, lambda x, y: x + y),
        (lambda x, y: x - y, lambda x, y: x + y),
        (lambda x, y: x * y, lambda x, y: 2 * x * y),
        (lambda x, y: x / y, lambda x, y: 2 * x / y),
        (lambda x, y: TWO.dot([x, x], [y, y]), lambda x, y: 4 * x * y),
        (lambda x, y: x.sqrt() + 0 * y, lambda x, y: math.sqrt(x)),
        (lambda x, y: x**2 + 0 * y, lambda x, y: 2 * x * x),
        (lambda x, y: 1 / x + 0 * y, lambda x, y: 1 / x),
    ],
)
def test_what_exponentials_are_off_by_is_carried_to_first_order(operation, factor):
    x, y = TWO.exp(TWO.number(-2)), TWO.exp(TWO.number(0.5))
    error = float(operation(x, y).error) / 2.0 ** (GUARD_BITS - BITS)
    assert error >= 0.499 * factor(float(x), float(y))
    assert error <= 1.001 * (factor(float(x), float(y)) + float(y))


def test_comparisons_hold_only_where_they_are_certain():
    assert [ABOUT_ONE < 1, ABOUT_ONE > 1, ABOUT_ONE <= 1, ABOUT_ONE >= 1] == [False] * 4
    assert ABOUT_ONE.overlaps(TWO.number(1))
    half = ABOUT_ONE / 2
    assert half < 0.6 < ABOUT_ONE
    assert not half.overlaps(TWO.number(0.6))
    assert half <= TWO.number(0.6)
    assert half.mid() >= half.lower()
    assert (half - half).is_zero()
    assert not (ABOUT_ONE - 1).is_zero()


def test_its_ends_are_reported_as_those_of_a_ball():
    found = TWO.exp(TWO.number(1)) * 2.0**200
    low, high = interval(found)
    assert low < math.e * 2.0**200 < high
    assert magnitude_interval(-found) == magnitude_interval(found)
    assert magnitude_interval(found - found)[0] == 0.0
    assert root_interval(TWO.number(2))[0] <= math.sqrt(2) <= root_interval(TWO.number(2))[1]
    union = TWO.number(-1).union(TWO.number(3))
    assert (float(union), float(union.rad()), float(abs(TWO.number(-3)))) == (1.0, 2.0, 3.0)
    assert repr(union) == "Evaluated(1.0, radius 2)"
    assert float(TWO.number(1).max(TWO.number(2))) == 2.0


def test_nothing_is_known_after_a_division_by_what_may_be_0():
    unknown = ABOUT_ONE / 0
    for value in (1 / (ABOUT_ONE - 1), unknown, 1 - unknown * 0, unknown / ABOUT_ONE, TWO.exp(unknown)):
        assert not value.is_finite()
        assert magnitude_interval(value) == (0.0, math.inf)
        assert value.overlaps(TWO.number(7))
    clipped = TWO.clip(unknown, TWO.number(0), TWO.number(2))
    assert interval(clipped) == pytest.approx((0.0, 2.0))
    assert not TWO.clip(unknown, TWO.number(0), None).is_finite()


def test_a_certain_clip_is_exact():
    zero, one, value = TWO.number(0), TWO.number(1), TWO.exp(TWO.number(1))
    assert TWO.clip(value, zero, one) is one
    assert TWO.clip(-value, zero, one) is zero
    assert TWO.clip(value, zero, None).error == value.error
    assert TWO.clip(ABOUT_ONE, zero, one).overlaps(one)


@pytest.mark.parametrize("kernel", [{"name": "linear"}, {"name": "rbf", "sigma": 0.5}], ids=str)
def test_a_system_is_solved_at_either_precision(kernel):
    data, name = np.random.default_rng(1).standard_normal((4, 6)), kernel["name"]
    rest = {key: value for key, value in kernel.items() if key != "name"}
    solutions = []
    for arithmetic in (TWO, TRUTH):
        columns = Kernel(arithmetic, data, name, **rest).columns(range(4))
        solutions.append(arithmetic.solve(columns, arithmetic.vector([1.0, 2.0, 3.0, 4.0])))
    assert all(holds(found, exact) for found, exact in zip(*solutions, strict=True))
    same = TWO.vector([1.0, 1.0])
    with pytest.raises(SingularSystemError):
        TWO.solve([same, same], same)
