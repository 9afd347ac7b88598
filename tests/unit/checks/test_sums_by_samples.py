"""What a step makes of the vectors over features, next to the same sums in rationals."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from exact_bounds import U32, U, gamma, is_bound

from sstep_verify.checks.steps.weights import (
    CHANGE,
    DOUBT,
    HIGH,
    LOW,
    MORE_SIZE,
    SIZE,
    form,
    move,
    sample_sums,
    settle,
    weights_of,
    with_vectors,
)
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, LinearKernel, Problem

DATA = np.array([[1.0, -2.0, 0.0, 0.5], [0.0, 0.25, 3.0, 0.0], [-1.5, 0.0, 1.0, 2.0]])
SIGNED, BOUNDED = np.array([0.5, -0.25, 0.0]), np.array([0.75, 0.25, 0.125])
MOVED, AFTER, ADDED, DOUBTED = 1, 0.375, 0.625, 0.0625
"""A coordinate and its signed alpha after a step; what that adds to its size, and to its doubt."""


class Now(NamedTuple):
    """The part of a state that vectors are formed from."""

    signed: np.ndarray
    bounded: np.ndarray


def vectors_of(precision: str, *, judge: bool = True):
    problem = Problem("small", DATA, np.array([1.0, -1.0, 1.0]), LinearKernel(), Hinge(1.0))
    declared = Declaration("forms products", precision=precision, products="any")
    weights = with_vectors(weights_of(problem, declared, np.arange(3), judge=judge), 4, 0, 0)
    form(weights, Now(SIGNED, BOUNDED))
    return weights


def test_vectors_hold_what_moved_and_forget_it_as_the_window_ends():
    weights, sizes = vectors_of("float64"), np.abs(DATA)
    np.testing.assert_array_equal(weights.table[:, HIGH], DATA.T @ SIGNED)
    is_bound(weights.table[:, SIZE], sizes.T @ BOUNDED)
    move(weights, MOVED, SIGNED[MOVED], AFTER, ADDED, DOUBTED)
    change = AFTER - SIGNED[MOVED]
    np.testing.assert_array_equal(weights.table[:, HIGH], DATA.T @ SIGNED + change * DATA[MOVED])
    np.testing.assert_array_equal(weights.table[:, LOW], np.zeros(4))
    for part, per in (
        (CHANGE, change * DATA[MOVED]),
        (MORE_SIZE, ADDED * sizes[MOVED]),
        (DOUBT, DOUBTED * sizes[MOVED]),
    ):
        np.testing.assert_array_equal(weights.table[:, part], per)
    is_bound(weights.total, [BOUNDED.sum(), ADDED])
    settle(weights, MOVED, 0.5)
    is_bound(weights.table[:, SIZE], sizes.T @ np.array([0.75, 0.5, 0.125]))
    assert not weights.table[:, [CHANGE, MORE_SIZE, DOUBT]].any()


@pytest.mark.parametrize(("precision", "u"), [("float64", U), ("float32", U32)])
@pytest.mark.parametrize("judge", [True, False])
def test_sums_of_a_step_are_those_of_its_terms(precision, u, judge):
    weights = vectors_of(precision, judge=judge)
    move(weights, MOVED, SIGNED[MOVED], AFTER, ADDED, DOUBTED)
    signed, bounded = SIGNED.copy(), BOUNDED.copy()
    signed[MOVED], bounded[MOVED] = AFTER, BOUNDED[MOVED] + ADDED
    for i, sample in enumerate(DATA):
        found = sample_sums(weights, i, 2)
        assert (found.product, found.stale) == (sample @ DATA.T @ signed, sample @ DATA.T @ SIGNED)
        entries = [Fraction(x) for x in (np.abs(sample) @ np.abs(DATA).T).tolist()]
        size = sum(entry * Fraction(b) for entry, b in zip(entries, bounded.tolist(), strict=True))
        own = judge * gamma(int(np.count_nonzero(sample)) + 1, U) * size
        is_bound(found.size, size + own)
        is_bound(found.entry_error, gamma(4, u) * size + own)
        is_bound(found.increment_error, entries[MOVED] * Fraction(DOUBTED))
