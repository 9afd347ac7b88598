"""Bounds of one replayed window on worked numbers, against their derivations evaluated in fractions.

Steps, kernel entries and unit roundoffs are put in, as large as nothing real is, so that every term counts.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from bounds.worked import (
    CARRIED,
    ENTRIES,
    OWN,
    PLACES,
    ROUNDOFF,
    SOLVER,
    START,
    TINY,
    VALUES,
    M,
    dot,
    exact,
    g,
    is_bound,
    unit_roundoff,
)

from sstep_verify.bounds.kernel import bounded
from sstep_verify.bounds.kernel.entries import KernelEntries
from sstep_verify.bounds.kernel.factored import FactoredProducts
from sstep_verify.bounds.window import svm_propagation
from sstep_verify.bounds.window.svm_propagation import SvmPropagation
from sstep_verify.solver import Declaration

U, U64 = ROUNDOFF["float32"], ROUNDOFF["float64"]
SHIFT, UPPER, SHIFT_ERROR, UPPER_ERROR = map(Fraction, (1 / 4, 1.0, 1 / 128, 1 / 256))


@pytest.fixture(autouse=True)
def rough(monkeypatch):
    monkeypatch.setattr(svm_propagation, "unit_roundoff", unit_roundoff)
    monkeypatch.setattr(
        svm_propagation, "smallest", lambda name: float(TINY) if name == "float32" else 2.0**-1074
    )
    monkeypatch.setattr(bounded, "smallest", lambda _: float(TINY))
    monkeypatch.setattr(svm_propagation, "box_errors", lambda *_: (float(UPPER_ERROR), float(SHIFT_ERROR)))


def declared(update="in-place", **options):
    return Declaration("worked", precision="float32", update=update, summation="any", **options)


def steps_of(order, targets):
    """Steps with given unclipped values."""
    value, now = [], np.abs(START[PLACES])
    increment = []
    for i, target in zip(order, targets, strict=True):
        value.append(now[i])
        updated = min(max(target, 0.0), float(UPPER))
        increment.append(updated - now[i])
        now[i] = updated
    targets = np.array(targets)
    return SimpleNamespace(
        draws=np.array(order), value=np.array(value), increment=np.array(increment),
        lower=targets - 1 / 512, upper=targets + 1 / 512,
    )  # fmt: skip


class Propagation:
    """The derivation of bounds/window/svm.py, step by step."""

    def __init__(self, steps, update, carried):
        self.steps, self.update, self.carried = steps, update, carried
        count = len(PLACES)
        self.magnitude = [[abs(Fraction(VALUES[i, p])) + Fraction(OWN[i, p]) + Fraction(SOLVER[i, p])
                           for p in range(M)] for i in range(count)]  # fmt: skip
        a = [abs(one) for one in exact(START)]
        self.start = [a[p] for p in PLACES]
        drawn = len(steps.draws)
        self.underflow = (M + drawn + drawn + 6) * TINY
        if carried is None:
            self.stale = [dot(row, a) for row in self.magnitude]
            self.stale_off = [dot(exact(SOLVER[i]), a) for i in range(count)]
            self.roundings = sum(one != 0 for one in a)
        else:
            self.stale, self.stale_off = exact(carried.size), exact(carried.error)
            self.roundings = carried.roundings
        self.moved, self.rounded, self.radius = ([Fraction(0)] * count for _ in range(3))
        self.drawn, self.made, self.undecided = [0] * count, 0, 0
        self.signs: list[list[Fraction]] = [[] for _ in range(count)]
        self.symbols: list[Fraction] = []

    def among(self, i):
        return [self.magnitude[i][p] for p in PLACES]

    def solver(self, i):
        return [Fraction(SOLVER[i, p]) for p in PLACES]

    def terms(self, i):
        reach, carried = self.among(i), self.carried
        if carried is not None and carried.products is not None:
            reach = [max(a, b) for a, b in zip(exact(carried.products[i]), reach, strict=True)]
        constant, own = Fraction(1), self.start[i] + self.moved[i]
        if carried is not None and carried.whole:
            constant, own = Fraction(0), self.moved[i]
        return self.stale[i] + dot(reach, self.moved) + constant + (SHIFT * (1 + U) + SHIFT_ERROR) * own

    def local(self, step, i, spread, least):
        roundings, stored = self.roundings + self.made, dot(self.among(i), self.rounded)
        if self.carried is not None:
            roundings += self.made + self.drawn[i]
            stored += SHIFT * (1 + U) * self.rounded[i] * self.carried.whole
        gradient = g(roundings + 6, U) * self.terms(i) + self.stale_off[i] + dot(self.solver(i), self.moved)
        gradient += stored + self.underflow + SHIFT_ERROR * (self.start[i] + self.moved[i])
        off = self.solver(i)[i] + g(3, U) * (self.among(i)[i] + SHIFT) + SHIFT_ERROR
        new = max(abs(Fraction(self.steps.lower[step])), abs(Fraction(self.steps.upper[step])))
        quotient = abs(Fraction(self.steps.value[step])) + new + spread + self.radius[i]
        error = (gradient + quotient * off) / least
        return error + g(2, U) * (quotient + error) + g(2, U) * (new + spread + error) + TINY

    def landing(self, i):
        return g(self.drawn[i] + 2, U) * (self.start[i] + self.moved[i]) * (self.update == "frozen")

    def advance(self, step):
        i, count, rough = int(self.steps.draws[step]), len(PLACES), max(U, U64)
        eta = Fraction(VALUES[i, PLACES[i]]) + SHIFT
        slack = Fraction(OWN[i, PLACES[i]]) + g(2, rough) * eta
        least = eta - slack - self.solver(i)[i] - g(3, U) * eta - SHIFT_ERROR
        others = [j for j in range(count) if j != i]
        spread = sum(self.among(i)[j] * self.radius[j] for j in others) / least
        own = [Fraction(OWN[i, p]) for p in PLACES]
        used = len(self.symbols)
        local_ = self.local(step, i, spread, least) + (dot(own, self.radius) + slack * spread) / least
        local_ += g(count + used + 4, rough) * spread
        follows = [-sum(Fraction(VALUES[i, PLACES[j]]) * self.signs[j][k] for j in others if k < len(self.signs[j])) / eta
                   for k in range(used)]  # fmt: skip
        apart = dot(map(abs, follows), self.symbols) + local_
        low, high = Fraction(self.steps.lower[step]), Fraction(self.steps.upper[step])
        zero = False
        if low - apart >= 0 and high + apart <= UPPER - UPPER_ERROR:
            fresh = local_
        else:
            follows, zero = [Fraction(0)] * used, high + apart <= 0
            beyond = low - apart >= UPPER + UPPER_ERROR
            fresh = Fraction(0) if zero else UPPER_ERROR if beyond else min(apart, UPPER) + UPPER_ERROR
            self.undecided += not zero and not beyond
        before, change = self.radius[i], abs(Fraction(self.steps.increment[step]))
        fresh += self.landing(i)
        moved = change + before + 2 * (fresh + dot(map(abs, follows), self.symbols))
        if self.update == "frozen":
            fresh += U * moved
        if self.update == "added" and not zero:
            rounding = g(2, U) * (abs(Fraction(self.steps.value[step])) + before + 2 * moved)
            fresh += rounding
            self.rounded[i] += rounding
        self.signs[i] = follows
        if fresh:
            self.symbols.append(fresh)
            self.signs[i] = [*follows, Fraction(1)]
        self.radius[i] = sum(
            (abs(a) * b for a, b in zip(self.signs[i], self.symbols, strict=False)), Fraction(0)
        )
        length = change + before + self.radius[i]
        self.moved[i] += length
        self.made += length > 0
        self.drawn[i] += 1

    def result(self):
        if self.update != "frozen":
            return self.radius
        sums = zip(self.radius, self.start, self.moved, strict=True)
        return [r + g(1, U) * (a + moved + r) + self.landing(i) for i, (r, a, moved) in enumerate(sums)]


WINDOWS = {
    "free": ([0, 1, 0, 2, 1, 0], [0.5, 0.625, 0.25, 0.5, 0.375, 0.5]),
    "clipped": ([2, 0, 1, 2, 0], [1.75, -1.5, 0.5, 0.25, 2.5]),
    "undecided": ([1, 2, 0, 1], [0.0, 1.0, 0.01, 0.5]),
}


@pytest.mark.parametrize(
    ("update", "carried", "window"), list(product(["in-place", "added", "frozen"], CARRIED, WINDOWS))
)
def test_the_radius_of_a_svm_window(update, carried, window):
    steps = steps_of(*WINDOWS[window])
    found = SvmPropagation(
        ENTRIES, PLACES, START, steps, float(SHIFT), float(UPPER), declared(update), CARRIED[carried]
    )
    wanted = Propagation(steps, update, CARRIED[carried])
    for step in range(len(steps.draws)):
        found.advance(step)
        wanted.advance(step)
        for one, derived in zip(found._radius, wanted.radius, strict=True):
            is_bound(one, derived)
    result = found.result()
    for one, derived in zip(result.radius, wanted.result(), strict=True):
        is_bound(one, derived)
    assert result.undecided == wanted.undecided


def test_a_window_that_may_overflow_has_no_radius(monkeypatch):
    steps = steps_of(*WINDOWS["free"])
    for limit, bounded_ in ((3.0, True), (1.75, False)):
        monkeypatch.setattr(svm_propagation, "largest_normal", lambda _, limit=limit: limit)
        found = SvmPropagation(ENTRIES, PLACES, START, steps, float(SHIFT), float(UPPER), declared())
        found.advance(0)
        assert np.isfinite(found.result().radius).all() == bounded_


@pytest.mark.parametrize("carried", ["nothing", "weights"])
def test_terms_are_no_smaller_than_the_weights_formed_from_the_samples(carried):
    heights = np.array([50.0, 20.0, 40.0, 30.0, 10.0])
    entries = KernelEntries(VALUES, OWN, SOLVER, FactoredProducts(np.abs(VALUES), np.ones(3), heights, 2))
    steps = steps_of(*WINDOWS["free"])
    found = SvmPropagation(
        entries, PLACES, START, steps, float(SHIFT), float(UPPER), declared(), CARRIED[carried]
    )
    found._moved[:] = [0.5, 0.25, 0.125]
    moved = heights[PLACES] @ found._moved
    begun = heights @ np.abs(START) if carried == "nothing" else 0.0
    assert found._terms(1) == pytest.approx(begun + moved, rel=1e-12)
