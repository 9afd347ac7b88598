"""Bound of one K-SVM step, by the derivation of bounds/step/clip.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import TINY, TINY32, U32, U, gamma, is_bound

from sstep_verify.bounds.step.clip import clip_constants, entry_errors, stored_bound, unclipped_bound
from sstep_verify.declaration import Declaration
from sstep_verify.problems.losses import Dual
from sstep_verify.rounding.rows import KernelEntries
from sstep_verify.rounding.sums import NOT_FACTORED, Factored

FAR = Dual(0.0, 8.0, -8.0)


def constants(update: str = "in-place", dual: Dual = FAR, *, judge: bool = False, factored=NOT_FACTORED):
    """Of windows of four steps, from an a with five of nine entries."""
    declaration = Declaration("single", precision="float32", update=update)
    return clip_constants(declaration, 9, 5, 4, dual, factored, judge=judge)


def test_constants_of_all_steps():
    alone, both = constants(), constants(judge=True, factored=Factored(3, 2.5, 1.5))
    is_bound(alone.curvature, gamma(3, U32))
    is_bound(both.curvature, gamma(3, U32) + gamma(3, U))
    is_bound(alone.quotient, gamma(2, U32))
    is_bound(both.quotient, gamma(2, U32) + gamma(2, U))
    is_bound(both.underflow_error, TINY32 + TINY)
    # k = p + t + 6, of products from the samples n more; the judge's over all samples.
    is_bound(alone.sums.longest, gamma(5 + 4 + 6, U32))
    is_bound(both.sums.longest, gamma(5 + 4 + 6 + 3, U32) + gamma(9 + 7, U))
    # A product for each entry of a and two for each step, of products from the samples |x| times as many.
    is_bound(alone.sums.underflow, (9 + 2 * 4 + 6) * (TINY32 + TINY))
    is_bound(both.sums.underflow, ((9 + 2 * 4) * (1 + Fraction(5, 2)) + 6 + 3) * (TINY32 + TINY))
    assert (alone.sharp, both.sharp) == (False, True)
    sums = both.sums
    assert (sums.others, sums.judge_others, sums.each, sums.largest) == (6 + 3, 7, 5 + 3, 2.0**126)
    assert (Fraction(sums.u), Fraction(sums.judge_u), alone.sums.judge_u) == (U32, U, 0.0)


def test_a_threshold_and_a_shift_round_more():
    other = constants(dual=Dual(0.5, 0.7, 0.0, 0.25))
    is_bound(other.quotient, gamma(4, U32))
    # Each of the increments but two may meet omega by itself; the threshold is one rounding more.
    is_bound(other.sums.longest, gamma(5 + 4 + 2 + 7, U32))
    is_bound(other.end_error, gamma(3, U32) * Fraction(0.7))


def test_entries_that_the_judge_knows_and_those_it_does_not():
    entries = KernelEntries(np.array([[4.0, -2.0]]), np.array([[0.5, 0.25]]), np.array([[1.0, 0.125]]))
    sizes, errors = entry_errors(entries)
    is_bound(sizes, [[Fraction(11, 2), Fraction(19, 8)]])
    is_bound(errors, [[Fraction(3, 2), Fraction(3, 8)]])
    is_bound(entry_errors(entries, judge=False)[1], [[1, Fraction(1, 8)]])


@pytest.mark.parametrize("knot", [Fraction(0), Fraction(1, 2)])
def test_the_unclipped_value_errs_by_gradient_curvature_quotient_and_difference(knot):
    # From 3 by a quotient of 2 to 1, with eta = 4.
    gradient, entry = Fraction(1, 2**12), Fraction(1, 2**10)
    dual = FAR._replace(threshold=float(4 * knot))
    found = unclipped_bound(constants(dual=dual), float(gradient), 4.0, float(entry), 3.0, 1.0, float(knot))
    off = entry + 4 * gamma(3, U32)
    error = (gradient + (2 + knot) * off) / (4 - off)
    rounded = gamma(4 if knot else 2, U32)
    is_bound(found, error + rounded * (2 + knot + error) + rounded * (1 + knot + error))


def test_a_subnormal_shift_and_a_quotient_that_underflows():
    tiny = constants(dual=Dual(1.0, 8.0, -8.0))
    is_bound(unclipped_bound(tiny, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0), 2 * (TINY32 + TINY))


@pytest.mark.parametrize(("curvature", "holds"), [(2.0**-126 * 1.01, True), (2.0**-126 * 0.99, False)])
def test_a_reciprocal_that_may_overflow_promises_nothing(curvature, holds):
    assert np.isfinite(unclipped_bound(constants(), 0.0, curvature, 0.0, 0.0, 0.0, 0.0)) == holds


ERROR = Fraction(1, 2**10)


def stored(update: str, new: float, *, judge=True, value=1.0, draws=2, moved=3.0, dual=FAR) -> float:
    made = constants(update, dual, judge=judge)
    return stored_bound(made, float(ERROR), draws, moved, value, new, 0.0)


def accumulated(draws: int, size: Fraction) -> Fraction:
    factor = gamma(draws + 1, U32)
    return factor * size / (1 - 2 * draws * factor)


def test_a_free_value_is_stored_in_each_form():
    # From 1 to 5, |a'| and earlier increments together 3.
    is_bound(stored("in-place", 5.0), ERROR)
    is_bound(stored("added", 5.0), ERROR + U32 * (2 * 4 + 1 + 5 + 4 * ERROR))
    apart = accumulated(2, 3 + 4 + ERROR) + accumulated(1, Fraction(3))
    is_bound(stored("frozen", 5.0), ERROR + 2 * apart + U32 * (4 + ERROR))


def test_a_value_on_the_box_is_off_by_the_end():
    end = gamma(3, U32) * Fraction(0.7)
    box = Dual(0.0, 0.7)
    for new, expected in ((5.0, end), (-5.0, 0), (0.25, ERROR)):
        is_bound(stored("in-place", new, dual=box), expected)
    assert stored("added", -5.0, dual=box) == 0.0
    # One that may or may not be clipped is off by both; so is one that an exact step tells nothing of.
    is_bound(stored("in-place", 0.7, dual=box), ERROR + end)
    is_bound(stored("in-place", 5.0, judge=False, dual=box), ERROR + end)
    is_bound(stored("in-place", -0.6999, dual=Dual(0.0, 0.7, -0.7)), ERROR + end)
