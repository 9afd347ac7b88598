"""Terms and errors of right-hand sides, by the derivation of rounding/right_hand_side.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import TINY32, is_bound

from sstep_verify.declaration import Declaration
from sstep_verify.problems import LinearKernel, Problem, Ridge
from sstep_verify.rounding.right_hand_side import (
    CarriedSamples,
    CarriedTerms,
    Quotient,
    carried_terms,
    quotients,
    right_hand_sides,
)
from sstep_verify.rounding.rows import FactoredProducts, KernelEntries

SINGLE = Declaration("single", precision="float32")
LAMBDA = Fraction(1, 4)
QUOTIENT = Quotient(0.25, 2.0**-149)
VALUES, ERRORS = [[5, 1, -2], [1, 3, Fraction(1, 2)]], [[1, 2, 3], [4, 5, 6]]
SIZES = [Fraction(1), Fraction(0), Fraction(3)]
"""Bounds on |a|, of which two are not 0."""


def rows(unit: Fraction, factored: FactoredProducts | None = None) -> KernelEntries:
    """Rows of the first two samples, off by so many units for a solver; for the judge exact."""
    values = np.array(VALUES, dtype=np.float64)
    return KernelEntries(values, np.zeros((2, 3)), np.array(ERRORS) * float(unit), factored)


def summed(matrix) -> list[Fraction]:
    """Products of rows with the sizes of a."""
    return [sum((Fraction(x) * a for x, a in zip(row, SIZES, strict=True)), Fraction()) for row in matrix]


def test_a_product_with_entries_and_its_corrections():
    unit = Fraction(1, 2**30)
    right = right_hand_sides(rows(unit), np.arange(2), np.array(SIZES, dtype=float), 2, SINGLE, QUOTIENT)
    used = [
        [(abs(Fraction(x)) + e * unit) / LAMBDA for x, e in zip(row, errors, strict=True)]
        for row, errors in zip(VALUES, ERRORS, strict=True)
    ]
    is_bound(right.size, summed(used))
    is_bound(right.error, [x * unit / LAMBDA for x in summed(ERRORS)])
    is_bound(right.entries, [row[:2] for row in used])
    is_bound(right.terms, [row[:2] for row in used])
    is_bound(right.errors, [[e * unit / LAMBDA for e in row[:2]] for row in ERRORS])
    is_bound(right.largest, [max(row) for row in used])
    assert (right.roundings, right.weights, right.heights.tolist()) == (2, 0.0, [0.0, 0.0])


def test_what_underflows_of_it():
    right = right_hand_sides(
        rows(Fraction()), np.arange(2), np.array(SIZES, dtype=float), 2, SINGLE, QUOTIENT
    )
    # Products with three entries of a and with two increments, before the division; a quotient of each and of
    # 16 others; and a quotient of each entry, which a multiplies.
    is_bound(right.error, [(5 / LAMBDA + 5 + 16 + sum(SIZES)) * TINY32] * 2)
    is_bound(right.errors, [[TINY32] * 2] * 2)


def test_a_product_with_samples_has_their_terms():
    factored = FactoredProducts(np.full((2, 3), 8.0), np.ones(2), np.array([2.0, 1.0, 4.0]), 7)
    right = right_hand_sides(
        rows(Fraction(), factored), np.arange(2), np.array(SIZES, dtype=float), 2, SINGLE, QUOTIENT
    )
    is_bound(right.size, [8 / LAMBDA * 4] * 2)
    is_bound(right.terms, [[8 / LAMBDA] * 2] * 2)
    is_bound(right.largest, [8 / LAMBDA] * 2)
    is_bound(right.weights, 2 * 1 + 4 * 3)
    assert (right.roundings, right.heights.tolist()) == (2 + 7, [2.0, 1.0])


def test_a_product_with_maintained_weights_has_the_terms_of_these():
    carried = CarriedTerms(np.array([3.0, 5.0]), np.array([0.5, 0.25]), 9, np.array([[6.0, 0.5]] * 2))
    right = right_hand_sides(
        rows(Fraction()), np.arange(2), np.array(SIZES, dtype=float), 2, SINGLE, QUOTIENT, carried
    )
    is_bound(right.size, [3 / LAMBDA, 5 / LAMBDA])
    is_bound(right.error, [Fraction(1, 2) / LAMBDA, Fraction(1, 4) / LAMBDA])
    is_bound(right.terms, [[6 / LAMBDA, 1 / LAMBDA], [6 / LAMBDA, 3 / LAMBDA]])
    assert (right.roundings, right.weights) == (9, 0.0)
    is_bound(carried.at(np.array([1])).size, [5])


@pytest.mark.parametrize("size", [1.0, 0.125])
def test_rows_over_lambda(size):
    entries = KernelEntries(*np.array([[[-3.0]], [[0.5]], [[0.25]]]) * size)
    sizes, errors, terms = quotients(entries, QUOTIENT)
    for found in (sizes, terms):
        is_bound(found, [[Fraction(15, 4) / LAMBDA * Fraction(size)]])
    is_bound(errors, [[Fraction(size)]])


PROBLEM = Problem("weights", np.array([[1.0, -2.0], [0.5, 0.25]]), np.ones(2), LinearKernel(), Ridge(0.25))


def test_samples_that_meet_maintained_weights():
    samples = CarriedSamples(PROBLEM, SINGLE, np.array([0, 1]))
    is_bound(samples.products, [[5, 1], [1, Fraction(5, 16)]])
    drift = np.array([0.5, 0.25])
    is_bound(samples.error(drift, 3), [1, Fraction(5, 16)])
    # Two products of <x, w>, and those of three updates of every feature.
    is_bound(samples.error(np.zeros(2), 3), [(2 + 3 * 3) * TINY32, (2 + 3 * Fraction(3, 4)) * TINY32])
    terms = samples.terms(np.array([3.0, 4.0]), drift, 3)
    is_bound(terms.size, [11, Fraction(5, 2)])
    is_bound(terms.error, [1, Fraction(5, 16)])
    is_bound(terms.products, [[5, 1], [1, Fraction(5, 16)]])
    assert terms.roundings == 2


def test_weights_that_a_window_starts_from_are_taken_as_they_are():
    terms = carried_terms(PROBLEM, SINGLE, np.array([1, 0]), 3, np.array([-3.0, 4.0]))
    is_bound(terms.size, [Fraction(5, 2), 11])
    is_bound(terms.error, [(2 + 3 * Fraction(3, 4)) * TINY32, (2 + 3 * 3) * TINY32])
    is_bound(terms.products, [[Fraction(5, 16), 1], [1, 5]])
    assert terms.roundings == 2
