"""Block steps and solves of K-RR on worked numbers, against their derivations evaluated in fractions.

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
    SOLVER,
    START,
    TINY,
    VALUES,
    M,
    dot,
    exact,
    g,
    is_bound,
    root,
    size,
    unit_roundoff,
)

from sstep_verify.bounds.block import factorisation, local
from sstep_verify.bounds.kernel import bounded
from sstep_verify.solver import Declaration


@pytest.fixture(autouse=True)
def rough(monkeypatch):
    for module in (local, factorisation):
        monkeypatch.setattr(module, "unit_roundoff", unit_roundoff)
        monkeypatch.setattr(module, "smallest", lambda _: float(TINY))
    monkeypatch.setattr(
        factorisation, "cholesky_error", lambda b, u: float(g(3 * b + 4, u) / (1 - g(b + 2, u)))
    )
    monkeypatch.setattr(bounded, "smallest", lambda _: float(TINY))


def declared(update="in-place", **options):
    return Declaration("worked", precision="float32", update=update, summation="any", **options)


SYSTEM = np.array([[9.0, 1.0], [1.0, 8.0]])


@pytest.mark.parametrize(("name", "given"), list(product(["cholesky", "ldl", "lu"], [0.0, 0.125])))
def test_the_backward_error_of_a_block_solve(name, given, monkeypatch):
    monkeypatch.setattr(factorisation, "unit_roundoff", lambda _: 2.0**-14)
    monkeypatch.setattr(factorisation, "smallest", lambda _: 2.0**-16)
    u, tiny, trace, off = Fraction(1, 2**14), Fraction(1, 2**16), Fraction(17), Fraction(given)
    factors = 2 * (trace + root(2) * off)
    if name == "lu":
        factors = 2 * (1 + u) ** 4 * (9 + off)
    lost = 4 * (2 + factors) * tiny
    derived = {
        "cholesky": g(10, u) / (1 - g(4, u)) * (trace + root(2) * off) + lost,
        "ldl": 2 * g(18, u) * trace + lost,
        "lu": g(12, u) * 3 * factors + lost,
    }[name]
    declaration = declared(factorisation=name)
    is_bound(factorisation.factorisation_error(SYSTEM, given, 8.0, declaration), derived)
    is_bound(factorisation.solve_lost(SYSTEM, given, declaration), 4 * (1 + 6 * factors) * tiny)


@pytest.mark.parametrize(
    ("update", "increments", "carried"),
    list(product(["in-place", "frozen"], ["summed", "separate"], CARRIED)),
)
def test_the_local_errors_of_block_steps(update, increments, carried, monkeypatch):
    monkeypatch.setattr(local, "unit_roundoff", lambda _: 2.0**-12)
    monkeypatch.setattr(factorisation, "unit_roundoff", lambda _: 2.0**-12)
    u, penalty, modulus, change = Fraction(1, 2**12), Fraction(1, 2), Fraction(5), Fraction(1, 16)
    targets, held = np.array([1.0, 2.0, -1.5, 0.5, 1.0]), CARRIED[carried]
    steps = SimpleNamespace(
        draws=np.array([[0, 1], [1, 2], [0, 2]]),
        increments=np.array([[0.25, -0.125], [0.5, 0.25], [-0.25, 0.125]]),
    )
    declaration = declared(update, increments=increments)
    found = local.RidgeLocalErrors(
        ENTRIES, PLACES, START, targets, steps, float(penalty), declaration, held
    )
    if held is not None and held.products is not None:
        assert (found._stale >= held.size / float(penalty)).all()
    a, count, drawn = [abs(one) for one in exact(START)], 3, 6
    magnitude = [[(abs(Fraction(VALUES[i, p])) + Fraction(OWN[i, p]) + Fraction(SOLVER[i, p])) / penalty
                  for p in range(M)] for i in range(count)]  # fmt: skip
    solver = [[Fraction(SOLVER[i, p]) / penalty + TINY for p in range(M)] for i in range(count)]
    underflow = (M + drawn) * TINY / penalty + (M + drawn + 16) * TINY
    inner = [[row[p] for p in PLACES] for row in magnitude]
    off = [[row[p] for p in PLACES] for row in solver]
    products = inner
    if held is None:
        stale, stale_off = [dot(row, a) for row in magnitude], [dot(row, a) for row in solver]
        roundings = sum(one != 0 for one in a)
    else:
        stale, stale_off, roundings = exact(held.size), exact(held.error), held.roundings
        if held.products is not None:
            stale, stale_off = [one / penalty for one in stale], [one / penalty for one in stale_off]
            products = [[max(b / penalty, x) for b, x in zip(exact(row), other, strict=True)]
                        for row, other in zip(held.products, inner, strict=True)]  # fmt: skip
    moved, rounded, times = [Fraction(0)] * 3, [Fraction(0)] * 3, [0] * 3
    start, y = [a[p] for p in PLACES], [abs(one) for one in exact(targets[PLACES])]
    for made, (draws, increment) in enumerate(zip(steps.draws, steps.increments, strict=True)):
        step = found.advance(float(modulus), float(change))
        reach = [start[i] + moved[i] for i in draws]
        system = [[inner[i][j] + M * (i == j) for j in draws] for i in draws]
        given = size([off[i][j] for i in draws for j in draws]) + g(3, u) * size(
            [x for row in system for x in row]
        )
        trace = system[0][0] + system[1][1]
        factors = 2 * (trace + root(2) * given)
        solve = g(10, u) / (1 - g(4, u)) * (trace + root(2) * given) + 4 * (2 + factors) * TINY
        corrections = sum(one > 0 for one in times) if increments == "summed" else 2 * made
        corrections += max(times)
        if held is not None:
            corrections = made * 5
        residual = []
        for i in draws:
            terms, error = stale[i] + dot(products[i], moved), stale_off[i] + dot(off[i], moved) + underflow
            if update != "frozen":
                error += dot(inner[i], rounded)
            terms += M * moved[i] if held is not None and held.whole else y[i] + M * (start[i] + moved[i])
            if held is not None:
                error += dot(inner[i], rounded) + M * rounded[i]
            residual.append(
                error + g(roundings + corrections + 8, u) * terms + 4 * (1 + 6 * factors) * TINY
            )
        for one, derived in zip(step.residual, residual, strict=True):
            is_bound(one, derived)
        is_bound(step.solve, solve)
        numerator = size(residual) + (given + solve) * (size(increment) + change)
        distance = numerator / (modulus - given - solve)
        is_bound(step.length, distance)
        for k, i in enumerate(draws):
            length = abs(Fraction(increment[k])) + change + distance
            is_bound(step.size[k], length)
            is_bound(step.rounding[k], u * (reach[k] + length))
            moved[i] += length
            rounded[i] += u * (reach[k] + length)
            times[i] += 1
            for n, j in enumerate(draws):
                is_bound(step.entries[k, n], off[i][j] + g(3, u) * system[k][n])
    for i, one in enumerate(found.landing()):
        if update == "frozen":
            is_bound(one, g(times[i] + 1, u) * (start[i] + moved[i]))
        else:
            assert one == 0.0
