"""The box on worked numbers, against its derivation evaluated in fractions.

Kernel entries and the unit roundoffs are put in, as large as nothing real is: every term counts.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from types import SimpleNamespace

import numpy as np
import pytest
from bounds.worked import CHANGE, ROUNDOFF, g, is_bound, root, stored, unit_roundoff

from sstep_verify.bounds import box
from sstep_verify.bounds.kernel.entries import KernelEntries
from sstep_verify.problems import Hinge, LinearKernel, Problem
from sstep_verify.solver import Declaration

M = 3
DATA = np.array([[1.0, 0.5], [0.25, 2.0], [1.5, -1.0]])
FLOAT32 = Declaration("worked", precision="float32")
U, U64 = ROUNDOFF["float32"], ROUNDOFF["float64"]


@pytest.fixture(autouse=True)
def rough(monkeypatch):
    """Rough arithmetic."""
    monkeypatch.setattr(box, "unit_roundoff", unit_roundoff)
    monkeypatch.setattr(box, "stored", stored)


def problem_of(loss):
    return Problem("worked", DATA, np.array([1.0, -1.0, 1.0]), LinearKernel(), loss)


ENTRIES = KernelEntries(
    np.array([[1.25, 0.5, -0.25], [0.5, 4.0, 0.75], [-0.25, 0.75, 3.25]]),
    np.array([[0.02, 0.01, 0.03], [0.01, 0.05, 0.02], [0.03, 0.02, 0.04]]),
    np.array([[0.1, 0.3, 0.2], [0.3, 0.2, 0.1], [0.2, 0.1, 0.4]]),
)


@pytest.mark.parametrize("landing", [0.0, 0.5])
def test_iterations_that_an_l2_run_stays_within_its_size_for(landing, monkeypatch):
    monkeypatch.setattr(box, "unit_roundoff", lambda _: 2.0**-18)
    entries = KernelEntries(ENTRIES.values, ENTRIES.own, ENTRIES.solver / 4096)
    monkeypatch.setattr(box, "kernel_entries", lambda *_: entries)
    monkeypatch.setattr(box, "largest_curvatures", lambda _: np.array([4.0, 1.0, 2.0]))
    # An omega that no loss has beside this C, so that both count.
    loss = SimpleNamespace(C=2.0**24, shift=0.25)
    largest, s, entry, off = Fraction(3, 2), 5, Fraction(4), Fraction(0.4) / 4096
    landing = Fraction(landing) / 64
    omega, rows = Fraction(loss.shift), root(M)
    full = 1 + omega * largest + rows * largest * entry
    full += 2 * s * largest * (entry + omega) + 2 * (entry + omega) * largest
    slope = g(2 * M + 2 * s + 16, Fraction(1, 2**18)) * full + (rows + 2 * s + 2) * largest * off
    gain = 2 * largest * slope + (full + (entry + omega) * landing) * landing
    limit = 3 * M * Fraction(loss.C) / gain

    problem = SimpleNamespace(samples=M, hinge=loss)

    def stays(iterations):
        return box.stays_within(problem, FLOAT32, s, iterations, float(largest), float(landing))

    assert stays(floor(limit * (1 - Fraction(1, 10**6))))
    assert not stays(ceil(limit * (1 + Fraction(1, 10**6))))


def test_how_far_a_frozen_or_added_value_may_leave_the_box():
    factor = g(2 * 3 + 2, U) * 4
    is_bound(box.landing_error(1.5, 3, float(U)), factor * Fraction(3, 2) / (1 - factor))
    assert box.landing_error(1.5, 300, float(U)) == np.inf
    problem = problem_of(Hinge(1.5))
    for rounds, used in ((False, Fraction(3, 2)), (True, Fraction(3, 2) * (1 + CHANGE))):
        beyond = used - Fraction(3, 2)

        def bounds(update, rounds=rounds):
            declaration = Declaration("worked", precision="float32", update=update, data_rounding=rounds)
            return box.box_bounds(problem, declaration, 4, 8, 3)

        assert bounds("in-place") == (0.0, float(beyond))
        low, high = bounds("added")
        assert low == 0.0
        is_bound(high, g(4, U) / (1 - g(4, U)) * used + beyond)
        low, high = bounds("frozen")
        is_bound(low, factor * used / (1 - factor))
        is_bound(high, factor * used / (1 - factor) + beyond)


@pytest.mark.parametrize("products", ["rows", "any"])
def test_corrections_of_a_long_window_may_overflow_where_the_product_with_a_does_not(products):
    problem = Problem("long", 2.0**59 * DATA, np.array([1.0, -1.0, 1.0]), LinearKernel(), Hinge(1.0))
    declared = Declaration("long", precision="float32", products=products)
    assert not box.may_overflow(problem, declared, 1, 1000)
    assert box.may_overflow(problem, declared, 1000, 1000)
    assert not box.may_overflow(problem, declared, 1000, 1)
