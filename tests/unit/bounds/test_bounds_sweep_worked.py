"""One window of a sweep on worked numbers, against the derivation evaluated in fractions.

The functions run as plain Python, with unit roundoffs as large as nothing real is, so that every term counts.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from bounds.worked import dot, exact, g, is_bound

from sstep_verify.bounds.sweep import svm_window
from sstep_verify.bounds.sweep.svm_window import Arithmetic, Begun, Box
from sstep_verify.bounds.sweep.swept import HIGH, LOW

U, TINY = Fraction(1, 2048), Fraction(1, 8192)
SAMPLES = 6
BOX = Box(0.25, 1.0, 1 / 128, 1 / 256)
PLAIN = ("_least_curvature", "_local", "_combined", "_clipped", "_gamma")


@pytest.fixture(autouse=True)
def rough(monkeypatch):
    """Plain functions that see rough arithmetic."""
    monkeypatch.setattr(svm_window, "U", float(U))
    monkeypatch.setattr(svm_window, "TINY", float(TINY))
    for name in PLAIN:
        monkeypatch.setattr(svm_window, name, plain(getattr(svm_window, name)))


def plain(function):
    return getattr(function, "py_func", function)


def begun_of(stale, start) -> Begun:
    signed = np.array([[2.0, 0.5, -0.25], [0.5, 1.5, 0.375], [-0.25, 0.375, 1.75]])
    own = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 1.0], [3.0, 1.0, 2.0]]) / 4096
    given = np.array([[3.0, 1.0, 2.0], [1.0, 2.0, 4.0], [2.0, 4.0, 1.0]]) / 1024
    sizes = np.abs(signed) + own + given
    return Begun(
        signed, sizes, own, given, np.array(stale), np.abs(stale) + 0.25, np.array([1.0, 2.0, 3.0]) / 4096,
        np.array([3.0, 1.0, 2.0]) / 1024, np.array(start), 4,
        2 * sizes, 3 * np.abs(stale) + 0.25, np.array([0.5, 1.0, 1.5]),
    )  # fmt: skip


def solver_of(frozen: bool, cap: int = 9) -> Arithmetic:
    return Arithmetic(1 / 512, 1 / 4096, cap, frozen, 2 if frozen else 0, 3)


def least_curvature(begun, i, u):
    eta, own, given = (Fraction(one[i, i]) for one in (begun.signed, begun.own, begun.given))
    eta += Fraction(BOX.shift)
    slack = own + g(2, U) * eta
    return eta - slack - given - own - (g(3, u) + g(3, U)) * eta - Fraction(BOX.shift_error), slack


def local_error(begun, i, solver, point, moved, made, lost):
    """What judge and solver err by together in one step."""
    value, unclipped, spread, radius, least = map(Fraction, point)
    u, omega, omega_off = Fraction(solver.u), Fraction(BOX.shift), Fraction(BOX.shift_error)
    own, given, sizes = exact(begun.own[i]), exact(begun.given[i]), exact(begun.sizes[i])
    moved = [Fraction(one) for one in moved]
    diagonal = abs(Fraction(begun.signed[i, i])) + own[i] + given[i] + omega
    held = abs(Fraction(begun.start[i])) + moved[i]
    constant = 1 + (omega * (1 + u) + omega_off) * held
    terms = Fraction(begun.stale_size[i]) + dot(sizes, moved) + constant
    quotient = abs(value) + abs(unclipped)
    error = (
        g(begun.support + made + 6, U) * terms
        + Fraction(begun.stale_own[i])
        + dot(own, moved)
        + lost * TINY
    )
    error = (error + quotient * (own[i] + g(3, U) * diagonal)) / least
    judge = error + g(2, U) * (quotient + 2 * error + abs(unclipped))
    new = abs(unclipped) + judge
    quotient = abs(value) + new + spread + radius
    # The solver's terms are those of products formed from the samples.
    terms = Fraction(begun.stale_reach[i]) + dot(exact(begun.reach[i]), moved) + constant
    roundings = min(begun.support, solver.cap) + solver.more + made + 6
    error = g(roundings, u) * terms + Fraction(begun.stale_given[i]) + dot(given, moved) + omega_off * held
    error += (lost * (1 + Fraction(begun.lengths[i])) + solver.more) * Fraction(solver.least)
    error = (error + quotient * (given[i] + g(3, u) * diagonal + omega_off)) / least
    return judge + error + g(2, u) * (quotient + 2 * error + new + spread)


def window(begun, order, solver):
    """The judge's end, the radius of a correct solver, and which ends of the box were met."""
    count, u, upper = len(begun.start), Fraction(solver.u), Fraction(BOX.upper)
    now, start = exact(begun.start), [abs(one) for one in exact(begun.start)]
    gained, radius, moved, drawn = ([Fraction(0)] * count for _ in range(4))
    signs: list[list[Fraction]] = [[] for _ in range(count)]
    symbols: list[Fraction] = []
    made, met, lost = 0, 0, SAMPLES + 2 * len(order) + 6
    for i in order:
        eta = Fraction(begun.signed[i, i]) + Fraction(BOX.shift)
        least, slack = least_curvature(begun, i, u)
        row = exact(begun.signed[i])
        unclipped = (
            now[i] - (Fraction(begun.stale[i]) + dot(row, gained) - 1 + Fraction(BOX.shift) * now[i]) / eta
        )
        spread = sum(Fraction(begun.sizes[i, j]) * radius[j] for j in range(count) if j != i) / least
        local = local_error(
            begun, i, solver, (now[i], unclipped, spread, radius[i], least), moved, made, lost
        )
        used = len(symbols)
        local += (dot(exact(begun.own[i]), radius) + slack * spread) / least + g(
            count + used + 4, max(u, U)
        ) * spread
        follows = [-sum(row[j] * signs[j][k] for j in range(count) if j != i and k < len(signs[j])) / eta
                   for k in range(used)]  # fmt: skip
        apart = dot(map(abs, follows), symbols) + local
        off = Fraction(BOX.upper_error)
        if apart <= unclipped <= upper - off - apart:
            share = local
        else:
            follows = [Fraction(0)] * used
            share = (
                Fraction(0)
                if unclipped + apart <= 0
                else off
                if unclipped - apart >= upper + off
                else min(apart, upper) + off
            )
        met |= LOW if unclipped < 0 else HIGH if unclipped > upper else 0
        updated = min(max(unclipped, Fraction(0)), upper)
        change, before = updated - now[i], radius[i]
        now[i], gained[i] = updated, gained[i] + change
        fresh = share + solver.stores * g(drawn[i] + 2, u) * (start[i] + moved[i])
        if solver.frozen:
            fresh += u * (abs(change) + before + 2 * (fresh + dot(map(abs, follows), symbols)))
        signs[i] = follows
        if fresh:
            symbols.append(fresh)
            signs[i] = [*follows, Fraction(1)]
        radius[i] = sum(
            (abs(one) * symbol for one, symbol in zip(signs[i], symbols, strict=False)), Fraction(0)
        )
        step = abs(change) + before + radius[i]
        moved[i], made, drawn[i] = moved[i] + step, made + (step > 0), drawn[i] + 1
    if solver.frozen:
        for place in range(count):
            whole = start[place] + moved[place]
            radius[place] += g(1, u) * (whole + radius[place]) + g(drawn[place] + 2, u) * whole
    return now, radius, met


@pytest.mark.parametrize("i", [0, 1, 2])
def test_the_curvature_of_either_party_is_at_least_this(i):
    begun = begun_of([0.5, 0.0, 1.0], [0.25, 0.5, 0.0])
    for found, derived in zip(
        plain(svm_window._least_curvature)(begun, i, BOX, 1 / 512),
        least_curvature(begun, i, Fraction(1, 512)),
        strict=True,
    ):
        assert float(found) == pytest.approx(float(derived), rel=1e-12)


@pytest.mark.parametrize(("i", "cap"), list(product([0, 1, 2], [2, 9])))
def test_what_both_parties_err_by_in_a_step(i, cap):
    begun, solver = begun_of([0.5, 0.0, 1.0], [0.25, 0.5, 0.0]), solver_of(False, cap)
    given = (solver, (0.25, -0.75, 0.125, 0.0625, 1.5), np.array([0.5, 0.25, 0.125]), 2, 16)
    is_bound(svm_window._local(begun, i, BOX, *given), local_error(begun, i, *given))


@pytest.mark.parametrize(
    ("unclipped", "share", "follows"),
    [(0.5, 0.01, True), (0.06, 0.01, True), (-0.06, 0.0, False), (0.04, 0.05 + 1 / 256, False),
     (0.97, 0.05 + 1 / 256, False), (1.06, 1 / 256, False), (0.94, 0.01, True)],
)  # fmt: skip
def test_what_a_clip_leaves_of_an_error(unclipped, share, follows):
    assert svm_window._clipped(unclipped, 0.05, 0.01, BOX) == (pytest.approx(share, rel=1e-12), follows)


def test_an_undecided_clip_leaves_no_more_than_the_box():
    assert svm_window._clipped(0.5, 7.0, 0.01, BOX) == (1.0 + 1 / 256, False)


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("stale", [[0.5, 0.0, 0.5], [0.25, -3.0, 4.0], [-0.75, 0.9, 1.1]])
@pytest.mark.parametrize("order", [[0, 1, 2], [0, 1, 0, 2, 1, 0], [2, 2, 1, 0, 0]])
def test_a_window(stale, order, frozen):
    begun, solver = begun_of(stale, [0.25, 0.5, 0.0]), solver_of(frozen)
    now, radius, met = plain(svm_window.judged_window)(begun, np.array(order), BOX, solver, SAMPLES)
    wanted, bounds, events = window(begun, order, solver)
    np.testing.assert_allclose(now, np.array(wanted, dtype=np.float64), rtol=1e-12, atol=1e-14)
    for one, derived in zip(radius, bounds, strict=True):
        is_bound(one, derived)
    assert met == events
