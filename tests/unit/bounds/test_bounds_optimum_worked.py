"""Bound D on worked numbers, against their derivations evaluated in fractions.

Products, their errors and the unit roundoffs are put in, as large as nothing real is: every term counts.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from bounds.worked import CHANGE, ROUNDOFF, dot, exact, g, is_bound, size, stored, unit_roundoff

from sstep_verify.bounds.kernel.products import KernelProducts
from sstep_verify.bounds.optimum import ridge, svm, written
from sstep_verify.problems import Hinge, LinearKernel, Problem, Ridge, SquaredHinge
from sstep_verify.solver import Declaration

M = 3
DATA = np.array([[1.0, 0.5], [0.25, 2.0], [1.5, -1.0]])
PRODUCTS = KernelProducts(
    *map(np.array, ([1.25, -0.5, 0.25], [2.0, 1.5, 1.0], [0.02, 0.03, 0.01], [0.1, 0.2, 0.15]))
)
FLOAT32 = Declaration("worked", precision="float32")
U, U64 = ROUNDOFF["float32"], ROUNDOFF["float64"]


@pytest.fixture(autouse=True)
def rough(monkeypatch):
    """Rough arithmetic, and products that are given."""
    for module in (ridge, svm, written):
        monkeypatch.setattr(module, "unit_roundoff", unit_roundoff)
    for module in (ridge, svm):
        monkeypatch.setattr(module, "stored", stored)
    for module in (ridge, svm, written):
        monkeypatch.setattr(module, "kernel_products", lambda *_: PRODUCTS)


def problem_of(loss, targets=(1.0, -1.0, 1.0)):
    return Problem("worked", DATA, np.array(targets), LinearKernel(), loss)


def test_residual_gap_and_objectives_of_ridge():
    penalty, alpha, targets = Fraction(1, 2), np.array([0.5, -0.25, 0.125]), (1.5, -1.0, 0.75)
    found = ridge.ridge_values(problem_of(Ridge(0.5), targets), FLOAT32, alpha)
    p, magnitude = exact(PRODUCTS.values), exact(PRODUCTS.magnitude)
    y, a = exact(targets), exact(alpha)
    absolute, sizes = [abs(v) for v in a], [abs(t) + M * abs(v) for t, v in zip(y, a, strict=True)]
    entries = [t - v / penalty - M * x for t, v, x in zip(y, p, a, strict=True)]
    # Lambda rounded up: the exact one is the smaller.
    own, solver = (
        [e / penalty + g(8, u) * (s + k / penalty) + abs(t) * change
         for e, s, k, t in zip(exact(errors), sizes, magnitude, y, strict=True)]
        for errors, u, change in ((PRODUCTS.own, U64, 0), (PRODUCTS.solver, U, CHANGE))
    )  # fmt: skip
    assert found.entries.tolist() == [float(one) for one in entries]
    for one, error in zip(found.errors, own, strict=True):
        is_bound(one, error)
    norm = size(entries)
    mine = size(own) + g(M + 8, U64) * norm
    is_bound(found.residual.own, mine)
    is_bound(found.residual.solver, size(solver) + g(M + 8, U) * (norm + mine + size(solver)))
    gaps = []
    for error, u in ((Fraction(found.residual.own), U64), (Fraction(found.residual.solver), U)):
        reach = norm + Fraction(found.residual.own) + error
        gaps.append(((2 * reach + error) * error + g(3, u) * (reach + error) ** 2) / (2 * M))
    is_bound(found.gap.own, gaps[0])
    errors = []
    for u, lost, change in ((U64, exact(PRODUCTS.own), 0), (U, exact(PRODUCTS.solver), CHANGE)):
        lost = [(e + change * k) / penalty for e, k in zip(lost, magnitude, strict=True)]
        scaled, k = [one / penalty for one in magnitude], g(M + 10, u)
        half = dot(absolute, [e + k * s for e, s in zip(lost, scaled, strict=True)]) / 2
        targets_off = [abs(t) * change for t in y]
        dual = (
            half
            + dot(targets_off, absolute)
            + k * (dot(map(abs, y), absolute) + Fraction(M, 2) * dot(a, a))
        )
        off = [
            e + t + g(4, u) * (abs(v) + s) for e, t, v, s in zip(lost, targets_off, y, scaled, strict=True)
        ]
        misfit = [abs(t - v / penalty) for t, v in zip(y, p, strict=True)]
        reach = [f + o + e / penalty + g(4, U64) * (f + s)
                 for f, o, e, s in zip(misfit, off, exact(PRODUCTS.own), scaled, strict=True)]  # fmt: skip
        primal = half + (2 * dot(reach, off) + k * dot(reach, reach) + dot(off, off)) / (2 * M)
        errors.append((primal, dual))
    is_bound(found.primal.own, errors[0][0])
    is_bound(found.dual.own, errors[0][1])
    is_bound(found.primal.solver, errors[1][0])
    is_bound(found.dual.solver, errors[1][1])
    whole = sum(map(sum, errors)) + abs(Fraction(found.primal.value)) + abs(Fraction(found.dual.value))
    is_bound(found.gap.solver, max(gaps[1], sum(errors[1]) + U * whole))


def test_the_gap_formed_as_a_difference_counts_where_it_is_the_less_exact(monkeypatch):
    # At an optimum the residual is 0, so that its square is known better than the difference of the objectives.
    nothing = np.zeros(M)
    products = KernelProducts(PRODUCTS.values, PRODUCTS.magnitude, nothing, nothing)
    monkeypatch.setattr(ridge, "kernel_products", lambda *_: products)
    monkeypatch.setattr(ridge, "stored", lambda values, _: np.asarray(values))
    alpha = np.array([50.0, -25.0, 12.5])
    found = ridge.ridge_values(problem_of(Ridge(0.5), products.values / 0.5 + M * alpha), FLOAT32, alpha)
    assert found.residual.value == 0.0
    sizes = [abs(Fraction(found.primal.value)), abs(Fraction(found.dual.value))]
    own, solver = (
        [Fraction(getattr(one, which)) for one in (found.primal, found.dual)] for which in ("own", "solver")
    )
    derived = sum(solver) + U * sum(sizes + own + solver)
    # Rounded outwards once more than the objectives' own errors.
    assert (
        derived * (1 + Fraction(1, 2**30))
        <= Fraction(found.gap.solver)
        <= derived * (1 + Fraction(1, 10**6))
    )


@pytest.mark.parametrize("loss", [Hinge(2.0), SquaredHinge(2.0)])
def test_gap_and_objectives_of_svm(loss):
    alpha = np.array([0.5, 1.25, 0.125])
    problem = problem_of(loss)
    found = svm.svm_values(problem, FLOAT32, alpha)
    a, C, q, omega = exact(alpha), Fraction(loss.C), loss.power, Fraction(loss.shift)
    margins, magnitude = exact(problem.targets * PRODUCTS.values), exact(PRODUCTS.magnitude)
    own = exact(PRODUCTS.own)
    for which, errors, u in (("own", own, U64), ("solver", exact(PRODUCTS.solver), U)):
        k = g(2 * M + 16, u)
        off = [e + u * (1 + s) for e, s in zip(errors, magnitude, strict=True)]
        # The margins at hand are themselves off by what float64 lost, and by a rounding.
        short = [max(1 - p, Fraction(0)) + mine + u * (1 + s) + e
                 for p, mine, s, e in zip(margins, own, magnitude, off, strict=True)]  # fmt: skip
        half, square = dot(a, errors) / 2, dot(a, magnitude) / 2
        losses = C * sum(h**q for h in short)
        primal = (
            half
            + C * sum(q * h ** (q - 1) * e for h, e in zip(short, off, strict=True))
            + k * (square + losses)
        )
        quadratic = omega / 2 * dot(a, a)
        dual = half + k * (sum(a) + square + quadratic)
        is_bound(getattr(found.primal, which), primal)
        is_bound(getattr(found.dual, which), dual)
        is_bound(getattr(found.gap, which), primal + dual + u * (2 * square + losses + sum(a) + quadratic))
    is_bound(found.attainable, Fraction(found.gap.solver) + C * U * sum(magnitude))
    for one, e, s in zip(found.slope_errors, own, magnitude, strict=True):
        is_bound(one, e + U64 * (1 + s))


@pytest.mark.parametrize("loss", [Hinge(2.0), SquaredHinge(2.0)])
def test_the_gap_of_a_vector_that_was_written_down(loss):
    problem, alpha, rounding = (
        problem_of(loss),
        np.array([0.5, 1.25, 0.125]),
        np.array([0.25, 0.125, 0.0625]),
    )
    slopes, errors = np.array([-0.5, 1.75, -3.0]), np.array([0.25, 0.125, 0.5])
    empty = svm.Evaluated(0.0, 0.0, 0.0)
    found = written.written_gap(
        problem, alpha, rounding, svm.SvmValues(empty, empty, empty, 0.0, slopes, errors)
    )
    C, q, omega, total = Fraction(loss.C), loss.power, Fraction(loss.shift), Fraction(0)
    columns = map(exact, (alpha, rounding, slopes, errors, PRODUCTS.magnitude))
    for a, r, slope, error, moved in zip(*columns, strict=True):
        total += r * (2 * abs(slope) + 2 * error + 1 + omega * a + moved + omega / 2 * r)
        h = max(-slope, Fraction(0))
        gained, lost = max(-slope + moved, Fraction(0)) ** q - h**q, h**q - max(h - moved, Fraction(0)) ** q
        # The loss at either point is off by q h^(q - 1) of the slope's error.
        total += C * (max(gained, lost, Fraction(0)) + 2 * q * (h + moved + error) ** (q - 1) * error)
    is_bound(found, total * (1 + g(4 * M + 32, U64)))
