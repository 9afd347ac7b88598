"""Tolerances that peers state, and the box, on worked numbers, against their derivations evaluated in fractions.

Kernel entries and the unit roundoffs are put in, as large as nothing real is: every term counts.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from types import SimpleNamespace

import numpy as np
import pytest
from bounds.worked import CHANGE, ROUNDOFF, dot, exact, g, is_bound, root, size, stored, unit_roundoff

from sstep_verify.bounds import box, stated_tolerance
from sstep_verify.bounds.kernel.entries import KernelEntries
from sstep_verify.problems import Hinge, LinearKernel, Problem, Ridge, SquaredHinge
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
    monkeypatch.setattr(stated_tolerance, "U", float(U64))


def problem_of(loss):
    return Problem("worked", DATA, np.array([1.0, -1.0, 1.0]), LinearKernel(), loss)


ENTRIES = KernelEntries(
    np.array([[1.25, 0.5, -0.25], [0.5, 4.0, 0.75], [-0.25, 0.75, 3.25]]),
    np.array([[0.02, 0.01, 0.03], [0.01, 0.05, 0.02], [0.03, 0.02, 0.04]]),
    np.array([[0.1, 0.3, 0.2], [0.3, 0.2, 0.1], [0.2, 0.1, 0.4]]),
)


@pytest.mark.parametrize("loss", [Hinge(2.0), SquaredHinge(2.0)])
def test_the_gap_that_coordinate_descent_states(loss, monkeypatch):
    monkeypatch.setattr(stated_tolerance, "_entries", lambda _: ENTRIES)
    tolerance, passes, n, C, q = Fraction(1, 8), 2, 2, Fraction(loss.C), loss.power
    found = stated_tolerance.coordinate_descent_gap(problem_of(loss), float(tolerance), passes)
    sizes = [
        [abs(Fraction(v)) + Fraction(o) for v, o in zip(*rows, strict=True)]
        for rows in zip(ENTRIES.values, ENTRIES.own, strict=True)
    ]
    curvature = [
        Fraction(ENTRIES.values[i, i]) - Fraction(ENTRIES.own[i, i]) + Fraction(loss.shift)
        for i in range(M)
    ]
    lengths = [root(sizes[i][i]) * (1 + g(4, U64)) for i in range(M)]
    weights = root(2 * C * M)
    drift = 6 * passes * M * U64 * weights
    weights += drift
    hinges = [1 + one * weights for one in lengths]
    reach = C if q == 1 else 2 * C * max(hinges)
    worst = shifted = Fraction(0)
    for i in range(M):
        moved = sum(sizes[i][j] * (tolerance / curvature[j] + 4 * U64 * reach) for j in range(M))
        gradient = tolerance + moved + lengths[i] * (drift + g(n + 4, U64) * weights) + 4 * U64
        worst += C * gradient**q
        shift = lengths[i] * drift
        shifted += C * (shift if q == 1 else 2 * hinges[i] * shift + shift**2)
    is_bound(found, (worst + shifted + weights * drift + drift**2) * (1 + g(M + 16, U64)))


@pytest.mark.parametrize("loss", [Hinge(2.0), SquaredHinge(2.0)])
def test_the_loss_that_a_box_qp_states(loss, monkeypatch):
    monkeypatch.setattr(stated_tolerance, "_entries", lambda _: ENTRIES)
    alpha, optimum = np.array([0.5, -0.125, 1.5]), np.array([0.25, 0.0, 1.25])
    told = {"primal": 0.25, "dual": 0.125, "gap": 0.5}
    found = stated_tolerance.box_qp_loss(problem_of(loss), alpha, optimum, told)
    a, primal = [abs(one) for one in exact(alpha)], Fraction(1, 4)
    uncertain, slope = [], Fraction(M)
    for i in range(M):
        row = [
            abs(Fraction(ENTRIES.values[i, j]))
            + Fraction(ENTRIES.own[i, j])
            + Fraction(loss.shift) * (i == j)
            for j in range(M)
        ]
        off = [
            Fraction(ENTRIES.solver[i, j]) + Fraction(ENTRIES.own[i, j]) + g(M + 8, U64) * row[j]
            for j in range(M)
        ]
        uncertain.append(dot(off, a) + g(M + 8, U64))
        slope += dot(row, [one + primal for one in a])
    dual, gap = Fraction(1, 8) + max(uncertain), Fraction(1, 2) + 2 * dot(a, uncertain)
    total = gap + dual * (2 * sum(a) + sum(exact(optimum))) + primal * slope
    is_bound(found, total * (1 + g(2 * M + 16, U64)))


def test_the_distance_of_a_direct_solver(monkeypatch):
    monkeypatch.setattr(stated_tolerance, "_entries", lambda _: ENTRIES)
    alpha, penalty = np.array([0.5, -0.125, 1.5]), Fraction(1, 2)
    found = stated_tolerance.cholesky_distance(problem_of(Ridge(0.5)), alpha)
    factor = M * g(3 * M + 1, U64) / (1 - M * g(M + 1, U64))
    rows, errors = [], []
    for i in range(M):
        row = [
            abs(Fraction(ENTRIES.values[i, j]))
            + Fraction(ENTRIES.solver[i, j])
            + Fraction(ENTRIES.own[i, j])
            for j in range(M)
        ]
        errors.append(sum(map(Fraction, ENTRIES.solver[i])) + g(2, U64) * penalty * M + U64 * row[i])
        rows.append(sum(row) + penalty * M * (1 + g(2, U64)))
    perturbed = (factor * max(rows) + max(errors)) / (penalty * M)
    is_bound(found, (perturbed + U64) * size(alpha) * (1 + g(M + 8, U64)))


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
    full = 1 + omega * largest + rows * largest * entry + 2 * (entry + omega) * largest
    slope = g(2 * M + 2 * s + 16, Fraction(1, 2**18)) * full + (rows + 2) * largest * off
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
