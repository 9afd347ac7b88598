"""Bounds of kernel entries, of products with them, and the M-norm on worked numbers, against fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from bounds.worked import ROUNDOFF, dot, exact, g, is_bound, root, unit_roundoff

from sstep_verify.bounds.kernel import products
from sstep_verify.bounds.kernel.entries import Inner, KernelEntries, entries_of
from sstep_verify.bounds.kernel.panel import panel_entries
from sstep_verify.bounds.trajectory import norm
from sstep_verify.problems import Hinge, LinearKernel, PolynomialKernel, Problem, RBFKernel
from sstep_verify.solver import Declaration

U, U64, TINY = ROUNDOFF["float32"], ROUNDOFF["float64"], Fraction(1, 2**14)
VALUES = np.array([[2.0, 0.5, -0.25], [0.5, 1.5, 0.375], [-0.25, 0.375, 1.75]])
ENTRIES = KernelEntries(VALUES, np.abs(VALUES) / 512 + 1 / 1024, np.abs(VALUES) / 128 + 1 / 256)
DATA = np.array([[1.0, 0.5], [0.25, -2.0], [1.5, 1.0]])
FLOAT32 = Declaration("worked", precision="float32")


@pytest.mark.parametrize("kernel", [LinearKernel(), RBFKernel(0.5)])
def test_products_of_kernel_rows_with_a_vector(kernel, monkeypatch):
    monkeypatch.setattr(products, "unit_roundoff", unit_roundoff)
    monkeypatch.setattr(products, "smallest", lambda name: float(TINY) / (1 if name == "float32" else 8))
    monkeypatch.setattr(products, "kernel_entries", lambda *_: ENTRIES)
    vector = np.array([0.5, -1.25, 2.0])
    found = products.kernel_products(
        Problem("worked", DATA, np.ones(3), kernel, Hinge(1.0)), FLOAT32, vector
    )
    a, data = [abs(one) for one in exact(vector)], [[abs(x) for x in exact(row)] for row in DATA]
    for i in range(3):
        own, solver = dot(exact(ENTRIES.own[i]), a), dot(exact(ENTRIES.solver[i]), a)
        magnitude = dot([abs(x) for x in exact(VALUES[i])], a) + own + solver
        assert found.values[i] == VALUES[i] @ vector
        is_bound(found.magnitude[i], magnitude)
        is_bound(found.own[i], own + g(3, U64) * magnitude + 3 * TINY / 8)
        formed = solver + g(3, U) * magnitude + 3 * TINY
        if kernel.linear:
            weights = [sum(data[j][k] * a[j] for j in range(3)) for k in range(2)]
            formed = max(formed, solver + g(5, U) * dot(data[i], weights) + TINY * (3 * sum(data[i]) + 2))
        is_bound(found.solver[i], formed)


def inner_of() -> Inner:
    return Inner(
        DATA @ DATA.T, np.abs(DATA) @ np.abs(DATA).T, (float(U64), np.full((3, 3), 1 / 8192), 2),
        (float(U), np.full((3, 3), 1 / 4096), 3),
    )  # fmt: skip


def test_entries_of_the_linear_kernel():
    entries, reached = entries_of(LinearKernel(), inner_of(), FLOAT32)
    for place in np.ndindex(3, 3):
        absolute = Fraction(inner_of().absolute[place])
        is_bound(entries.own[place], g(2, U64) * absolute + Fraction(1, 8192))
        is_bound(entries.solver[place], g(3, U) * absolute + Fraction(1, 4096))
        assert reached[place] == absolute


@pytest.mark.parametrize(("degree", "power"), [(2, "multiplication"), (4, "multiplication"), (3, "pow")])
def test_entries_of_the_polynomial_kernel(degree, power):
    declaration = Declaration("worked", precision="float32", power=power, function_ulps=2.0)
    entries, reached = entries_of(PolynomialKernel(degree, 0.5), inner_of(), declaration)
    for place in np.ndindex(3, 3):
        product_, base = (
            Fraction(inner_of().products[place]),
            Fraction(inner_of().absolute[place]) + Fraction(1, 2),
        )
        value = product_ + Fraction(1, 2)
        own = g(3, U64) * base + Fraction(1, 8192)
        solver = g(4, U) * base + Fraction(1, 4096)
        rounded = 2 * 2 * U if power == "pow" else g(degree - 1, U)
        reach = abs(value) + own
        for found, argument, relative in (
            (entries.own, own, g(degree - 1, U64)), (entries.solver, solver, rounded),
        ):  # fmt: skip
            whole = reach + argument
            is_bound(found[place], degree * argument * whole ** (degree - 1) + relative * whole**degree)
        assert entries.values[place] == pytest.approx(float(value**degree), rel=1e-14)
        most = max(reach + solver, base)
        is_bound(reached[place], max(most, most**degree))


def test_entries_of_a_panel_are_off_by_their_asymmetry():
    rows = np.array([[1.0, 2.0, 0.5], [2.5, 3.0, 0.75]])
    found = panel_entries(rows, np.array([0, 1]))
    assert found.values.tolist() == rows.tolist()
    assert not found.own.any()
    assert found.solver[0, 0] == found.solver[1, 1] == found.solver[0, 2] == found.solver[1, 2] == 0.0
    is_bound(found.solver[0, 1], Fraction(1, 2))
    is_bound(found.solver[1, 0], Fraction(1, 2))


@pytest.mark.parametrize("scale", [1.0, 2.0**-600, 2.0**300])
@pytest.mark.parametrize("slack", [1.0, 1000.0])
def test_the_energy_norm_is_enclosed(scale, slack, monkeypatch):
    monkeypatch.setattr(norm, "unit_roundoff", lambda _: 2.0**-12)
    entries = KernelEntries(VALUES, ENTRIES.own * slack, ENTRIES.solver)
    d, places, samples, penalty = np.array([0.5, -1.0, 0.25]), np.arange(3), 3, Fraction(1, 2)
    low, high = norm.energy_norm(entries, places, d * scale, samples, float(penalty))
    v, rows = exact(d), [exact(row) for row in VALUES]
    identity = samples * dot(v, v)
    square = dot(v, [dot(row, v) for row in rows]) / penalty + identity
    a = [abs(one) for one in v]
    size = dot(a, [dot([abs(x) for x in row], a) for row in rows]) / penalty + identity
    off = dot(a, [dot(exact(row), a) for row in entries.own]) / penalty
    factor = g(22, Fraction(1, 2**12))
    widest = off + factor * size
    is_bound(high / scale, root(square + widest))
    derived = root(max(square - widest, identity * (1 - 2 * factor)))
    assert derived * (1 - Fraction(1, 10**6)) <= Fraction(low / scale) <= derived


def test_the_reach_of_the_energy_norm():
    sizes, rows = np.array([0.5, 1.0, 0.25]), [exact(row) for row in np.abs(VALUES) + ENTRIES.own]
    found = norm.energy_reach(ENTRIES, np.arange(3), sizes, 3, 0.5)
    v = exact(sizes)
    is_bound(found, root(2 * dot(v, [dot(row, v) for row in rows]) + 3 * dot(v, v)))
