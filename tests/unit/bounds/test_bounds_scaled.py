"""Bounds of recurrences in a over a factor, and of runs of which only a part of a is known."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, LinearKernel, Problem, Ridge, SquaredHinge
from sstep_verify.problems.losses import Dual
from sstep_verify.rounding.block.energy import energy_norm, without_kernel
from sstep_verify.rounding.box import end_error
from sstep_verify.rounding.formulas import formulas_of
from sstep_verify.rounding.kernel.entries import kernel_entries

GENERATOR = np.random.default_rng(8)
DATA = GENERATOR.standard_normal((9, 4))
PLAIN = Declaration("plain", products="rows")
SCALED = formulas_of(PLAIN, scaled=True)


def constants(factor: float, kernel: float, own: float, penalty: float) -> list[tuple[float, Fraction]]:
    """Ways to form a term's constant with a rounded factor, each with what it stands for over that factor."""
    f, K, omega = Fraction(factor), Fraction(kernel), Fraction(own)
    return [
        (factor * kernel, f * K),
        ((1.0 / penalty) * kernel, K / Fraction(penalty)),
        (((1.0 / penalty) * factor) * kernel, f * K / Fraction(penalty)),
        ((factor * own) * 1.0, f * omega),
        (((1.0 / factor) * own) * penalty, omega * Fraction(penalty) / f),
    ]


@pytest.mark.parametrize("loss", [SquaredHinge(0.7), Ridge(0.3)])
def test_every_rounded_constant_lies_within_the_bound_on_its_entry(loss):
    problem = Problem("p", DATA, np.resize([1.0, -1.0], 9), LinearKernel(), loss)
    rows = np.arange(9)
    plain, scaled = (kernel_entries(problem, one, rows) for one in (PLAIN, SCALED))
    more = scaled.solver_error - plain.solver_error
    own = problem.hinge.shift if problem.is_svm else 9 * problem.ridge.penalty
    for _ in range(200):
        factor, penalty = GENERATOR.uniform(0.1, 9, 2).tolist()
        i, j = GENERATOR.integers(9, size=2).tolist()
        for made, exact in constants(factor, plain.values[i, j], own, penalty):
            relative = abs(Fraction(made) - exact) / abs(exact)
            assert relative * abs(Fraction(plain.values[i, j])) <= Fraction(more[i, j])
    off = np.where(np.eye(9, dtype=bool), np.abs(plain.values) + own, np.abs(plain.values))
    assert (more <= 5 * 2.0**-53 * off + 1e-15 * plain.solver_error).all()


def test_the_end_of_a_scaled_box_is_off_by_two_roundings():
    upper, plain = 0.7, Declaration("p")
    error = end_error(Dual(0.0, upper), formulas_of(plain, scaled=True))
    assert end_error(Dual(0.0, upper), plain) == 0.0
    for factor in GENERATOR.uniform(0.1, 9, 300).tolist():
        end = upper / factor
        assert abs(Fraction(end) * Fraction(factor) - Fraction(upper)) <= Fraction(error)
        inverse = upper * (1.0 / factor)
        assert abs(Fraction(inverse) * Fraction(factor) - Fraction(upper)) <= Fraction(error)
    assert error <= 2.0**-51 * upper
    assert end_error(Dual(0.5, np.inf), formulas_of(plain, scaled=True)) == 0.0


def test_a_part_of_a_difference_is_no_longer_than_the_whole():
    problem = Problem("p", DATA, np.ones(9), LinearKernel(), Ridge(0.3))
    entries = kernel_entries(problem, PLAIN, np.arange(9))
    places = np.arange(9)
    for _ in range(50):
        whole = GENERATOR.standard_normal(9)
        part = np.where(GENERATOR.random(9) < 0.5, whole, 0.0)
        least, most = energy_norm(without_kernel(entries), places, part, 9, 0.3)
        assert least <= 3 * np.linalg.norm(part) * (1 + 1e-14)
        assert most <= energy_norm(entries, places, whole, 9, 0.3)[1]


def test_labels_stay_exact_and_the_plain_bound_is_untouched():
    problem = Problem("p", DATA, np.resize([1.0, -1.0], 9), LinearKernel(), Hinge(0.7))
    plain, scaled = (kernel_entries(problem, one, np.arange(9)) for one in (PLAIN, SCALED))
    np.testing.assert_array_equal(plain.values, scaled.values)
    np.testing.assert_array_equal(plain.judge_error, scaled.judge_error)
    assert (scaled.solver_error > plain.solver_error).all()
