"""Bounds over all windows, and the drift of weights, on worked numbers against fractions.

Row sizes and constants are put in, as large as nothing real is, so that every term counts.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from bounds.worked import dot, exact, g, is_bound, root, size, stored, unit_roundoff

from sstep_verify.bounds.kernel.entries import KernelEntries
from sstep_verify.bounds.safe import ridge, rows, svm
from sstep_verify.bounds.safe.rows import RowSizes
from sstep_verify.bounds.step import drift
from sstep_verify.bounds.step.ridge import RidgeInputs, ridge_step_constants
from sstep_verify.bounds.step.svm_constants import svm_step_constants
from sstep_verify.problems import Hinge, LinearKernel, PolynomialKernel, Problem, Ridge, SquaredHinge
from sstep_verify.solver import Declaration

M = 3
DATA = np.array([[1.0, 0.5], [0.25, 2.0], [0.0, 0.0]])
FLOAT32 = Declaration("worked", precision="float32", update="in-place", products="rows")
ALPHA = np.array([0.5, -0.25, 0.125])
ROWS = RowSizes(*(np.array(row) for row in (
    [2.0, 3.0, 1.5], [0.1, 0.2, 0.15], [1.25, 0.5, 0.75], [0.02, 0.04, 0.03], [1.0, 2.0, 1.5],
    [0.5, 0.25, 0.75], [0.05, 0.02, 0.04], [1.5, 4.0, 2.0], [0.01, 0.03, 0.02],
)))  # fmt: skip


def problem_of(loss, kernel=None, data=DATA):
    return Problem("worked", data, np.array([1.0, -1.0, 1.0]), kernel or LinearKernel(), loss)


@pytest.mark.parametrize("least", [0.5, 0.25])
def test_what_a_block_step_leaves(least, monkeypatch):
    monkeypatch.setattr(ridge, "row_sizes", lambda *_: ROWS)
    inputs = RidgeInputs(0.5, least, 1 / 16, np.array([0.5, 0.25, 0.125]))
    monkeypatch.setattr(ridge, "ridge_inputs", lambda *_: inputs)
    block, width, moved, largest = 2, 4, Fraction(3, 4), Fraction(5, 8)
    windows = ridge.RidgeWindows(problem_of(Ridge(0.5)), FLOAT32, ALPHA, 0.25, block)
    constants = ridge_step_constants(FLOAT32, M, 3, width, block)._replace(
        residual=1 / 16, system=1 / 64, backward=1 / 128, underflow=1 / 512, u=1 / 256
    )
    u, scale = Fraction(1, 256), 1 / Fraction(least)

    def over(values, sizes=None):
        change = Fraction(1, 16) if sizes is not None else 0
        return [
            (v + change * s) * scale
            for v, s in zip(exact(values), exact(values if sizes is None else sizes), strict=True)
        ]

    weight = 1 / root(M)  # of a coordinate: blocks of two take the modulus alone
    own = [abs(one) + weight * moved for one in exact(ALPHA)]
    sizes, reach, held, peak = (over(getattr(ROWS, name)) for name in ("sizes", "reach", "held", "largest"))
    errors, reach_errors = over(ROWS.errors, ROWS.sizes), over(ROWS.reach_errors, ROWS.reach)
    entry_errors = over(ROWS.entry_errors, ROWS.largest)
    off = []
    for i in range(M):
        target = Fraction(abs(problem_of(Ridge(0.5)).targets[i])) + Fraction(inputs.targets[i])
        terms = sizes[i] + reach[i] * moved + target + M * own[i]
        error = Fraction(1, 16) * terms + errors[i] + reach_errors[i] * moved + Fraction(inputs.targets[i])
        kept = held[i] + peak[i] * weight * moved
        off.append(error + u * kept * (width - 1) * block * (1 + Fraction(1, 16)))
    entry = max(peak)
    trace, whole = block * (entry + M), block * entry + root(block) * M
    given = block * max(entry_errors) + Fraction(1, 64) * whole
    change = given + Fraction(1, 128) * (trace + root(block) * given)
    rounding = u * root(block) * max(own)
    lost = Fraction(1, 512) * (1 + scale + 2 * trace) * block
    left = size(sorted(off)[-block:]) + change * (largest / root(M) + rounding) + whole * rounding + lost
    is_bound(windows._left(constants, width, float(moved), float(largest)), left)


def test_the_loss_of_block_steps_confirms_itself(monkeypatch):
    monkeypatch.setattr(ridge, "row_sizes", lambda *_: ROWS)
    windows = ridge.RidgeWindows(problem_of(Ridge(0.5)), FLOAT32, ALPHA, 0.25, 2)
    seen = []

    def left(_, width, moved, largest):
        seen.append((width, moved, largest))
        return 0.5 + 0.125 * moved + 0.0625 * largest

    monkeypatch.setattr(windows, "_left", left)
    steps, gap = 5, Fraction(1, 4)
    for width in (None, 1):
        found = Fraction(windows.loss(steps, width))
        last_width, moved, largest = seen[-1]
        assert last_width == (width or steps)
        at = Fraction(left(None, 0, moved, largest))
        is_bound(float(found), steps * at * at / (2 * M))
        full = root(2 * gap + 2 * found)
        assert root(steps) * (full + root(2 * found)) <= Fraction(moved) * (1 + Fraction(1, 10**8))
        assert full + at / root(M) <= Fraction(largest) * (1 + Fraction(1, 10**8))
        # Not much more is taken than what follows from itself.
        assert Fraction(moved) <= root(steps) * (full + root(2 * found)) * (1 + Fraction(1, 100))
        is_bound(seen[0][1], root(2 * steps * gap))


@pytest.mark.parametrize("loss", [Hinge(0.5), SquaredHinge(2.0)])
def test_what_a_step_of_svm_loses(loss, monkeypatch):
    monkeypatch.setattr(svm, "row_sizes", lambda *_: ROWS)
    monkeypatch.setattr(svm, "unit_roundoff", unit_roundoff)
    monkeypatch.setattr(svm, "least_diagonal", lambda _: np.array([1.0, 3.0, 0.0]))
    monkeypatch.setattr(svm, "svm_step_bound", lambda c, gradient, *_: gradient)
    alpha, slopes, moved = np.abs(ALPHA), np.array([0.5, 1.5, 0.25]), Fraction(3, 4)
    windows = svm.SvmWindows(problem_of(loss), FLOAT32, alpha, 0.25, slopes)
    constants = svm_step_constants(FLOAT32, M, 3, 4, loss.shift, loss.upper, judge=False)
    constants = constants._replace(gradient=1 / 16, underflow=1 / 512, shift_error=1 / 128)
    taken = {}

    def largest(constants, gradient, curvature, curvature_error, slopes, own, largest, upper, acting):
        taken.update(gradient=gradient, off=curvature_error, slopes=slopes, own=own, largest=largest)
        return 1.0, 1.0

    monkeypatch.setattr(svm, "_largest", largest)
    windows._step(constants, float(moved))
    u, omega = Fraction(1, 256), Fraction(loss.shift)
    for i in range(M):
        acts = loss.shift > 0 or DATA[i].any()
        weight = 1 / root(Fraction([1.0, 3.0, 0.0][i]) + omega) if acts else Fraction(0)
        start = Fraction(float(alpha[i]))
        own = min(start + weight * moved, Fraction(loss.upper) if loss.upper < np.inf else Fraction(99))
        assert Fraction(float(taken["own"][i])) == pytest.approx(own, rel=1e-8)
        sizes, errors, reach, reach_errors = (Fraction(float(getattr(ROWS, name)[i]))
                                              for name in ("sizes", "errors", "reach", "reach_errors"))  # fmt: skip
        terms = sizes + reach * moved * (1 + u) + 1 + omega * (1 + u) * own
        gradient = Fraction(1, 16) * terms + errors + reach_errors * moved * (1 + u)
        gradient += u * moved * reach + Fraction(1, 512) + Fraction(1, 128) * own
        is_bound(taken["gradient"][i], gradient)
        given = Fraction(float(slopes[i])) + omega * start
        is_bound(taken["slopes"][i], given + reach * moved + omega * own)
        curvature = Fraction(float(ROWS.diagonal[i])) + omega
        off = Fraction(float(ROWS.diagonal_errors[i])) + g(4, Fraction(1, 1024)) * curvature
        is_bound(taken["off"][i], off)
        is_bound(taken["largest"][i], curvature + off)


def test_the_loss_of_svm_steps_confirms_itself(monkeypatch):
    monkeypatch.setattr(svm, "row_sizes", lambda *_: ROWS)
    steps, gap, seen = 5, Fraction(1, 4), []

    def step(_, moved):
        seen.append(moved)
        return 0.125 + 0.0625 * moved, 0.25 + 0.125 * moved

    for loss in (SquaredHinge(2.0), Hinge(100.0), Hinge(0.001)):
        windows = svm.SvmWindows(problem_of(loss), FLOAT32, np.abs(ALPHA) / 1000, 0.25, np.ones(M))
        monkeypatch.setattr(windows, "_step", step)
        found = Fraction(windows.loss(steps))
        lost, error = map(Fraction, step(None, seen[-1]))
        is_bound(float(found), steps * lost)
        follows = root(steps) * (root(2 * gap + 2 * found) + root(steps) * error)
        if loss.upper < np.inf:
            highest = max(exact(ROWS.diagonal + ROWS.diagonal_errors))
            follows = min(follows, steps * Fraction(loss.upper) * root(highest))
        assert follows <= Fraction(seen[-1]) * (1 + Fraction(1, 10**7))
        assert Fraction(seen[-1]) <= follows * (1 + Fraction(1, 100))


def test_the_largest_loss_of_a_step():
    take = getattr(svm._largest, "py_func", svm._largest)
    constants = svm_step_constants(FLOAT32, M, 3, 4, 0.0, 1.0, judge=False)
    constants = constants._replace(
        gradient=1 / 8, curvature=1 / 16, quotient=1 / 32, tiny=1 / 64, u=1 / 512
    )
    gradient, curvature, off = (
        np.array([0.1, 0.3, 9.0]),
        np.array([1.5, 2.0, 1.0]),
        np.array([0.1, 0.2, 0.1]),
    )
    slopes, own, largest = np.array([0.5, 1.0, 1.0]), np.array([0.25, 0.5, 0.5]), np.array([1.75, 2.5, 1.5])
    for upper in (0.25, 100.0):
        worst, weighted = [], []
        for i in range(2):
            reach = own[i] + slopes[i] / (curvature[i] - off[i])
            error = Fraction(
                float(svm.svm_step_bound(constants, gradient[i], curvature[i], off[i], 0.0, reach))
            )
            apart, high = min(error, Fraction(upper)), Fraction(float(largest[i]))
            worst.append(high * (error * apart + apart * apart / 2))
            weighted.append(root(high) * error)
        acting = np.array([True, True, False])
        found = take(constants, gradient, curvature, off, slopes, own, largest, upper, acting)
        is_bound(found[0], max(worst))
        is_bound(found[1], max(weighted))


@pytest.mark.parametrize("block", [1, 2, 3])
def test_sizes_of_kernel_rows(block, monkeypatch):
    values = np.array([[1.25, 0.5, -0.25], [0.5, 4.0, 0.75], [-0.25, 0.75, 3.25]])
    own, solver = np.abs(values) / 64, np.array([[0.1, 0.3, 0.2], [0.3, 0.2, 0.1], [0.2, 0.1, 0.4]])
    monkeypatch.setattr(rows, "kernel_entries", lambda *_: KernelEntries(values, own, solver))
    weights = np.array([0.5, 2.0, 1.0])
    found = rows.row_sizes(problem_of(Ridge(0.5)), FLOAT32, ALPHA, weights, block)
    a, w = [abs(one) for one in exact(ALPHA)], exact(weights)
    for i in range(M):
        errors = exact(solver[i])
        sizes = [abs(v) + o + e for v, o, e in zip(exact(values[i]), exact(own[i]), errors, strict=True)]
        is_bound(found.sizes[i], dot(sizes, a))
        is_bound(found.errors[i], dot(errors, a))
        for name, parts in (("reach", sizes), ("reach_errors", errors)):
            weighted = sorted(part * one for part, one in zip(parts, w, strict=True))
            is_bound(getattr(found, name)[i], size(weighted[-block:]))
        is_bound(found.largest[i], max(sizes))
        is_bound(found.held[i], max(part * one for part, one in zip(sizes, a, strict=True)))
        is_bound(found.entry_errors[i], max(errors))
        assert found.diagonal[i] == values[i, i]
        is_bound(found.diagonal_errors[i], Fraction(float(own[i, i])) + errors[i])


@pytest.mark.parametrize("kernel", [LinearKernel(), PolynomialKernel(3, 0.25)])
def test_the_least_diagonal_is_a_little_below_the_diagonal(kernel):
    problem = problem_of(Ridge(0.5), kernel)
    norms = [dot(exact(row), exact(row)) for row in DATA]
    diagonal = [one if kernel.linear else (one + Fraction(1, 4)) ** 3 for one in norms]
    for found, true in zip(rows.least_diagonal(problem), diagonal, strict=True):
        assert true * (1 - Fraction(1, 10**6)) <= Fraction(float(found)) <= true


@pytest.mark.parametrize("update", ["in-place", "added", "frozen"])
@pytest.mark.parametrize(("loss", "recompute"), [(Hinge(1.0), 0), (Hinge(1.0), 1), (Ridge(0.5), 0)])
def test_the_drift_of_weights(update, loss, recompute, monkeypatch):
    monkeypatch.setattr(drift, "unit_roundoff", lambda precision: unit_roundoff(precision) / 16)
    monkeypatch.setattr(drift, "smallest", lambda _: 2.0**-14)
    monkeypatch.setattr(drift, "stored", stored)
    monkeypatch.setattr(drift, "_window", getattr(drift._window, "py_func", drift._window))
    problem = problem_of(loss)
    declaration = replace(FLOAT32, update=update, recompute=recompute, data_rounding=True)
    judge = drift.WeightsDrift(problem, declaration, ALPHA, 0, 2)
    draws, log = np.array([[0], [1], [1], [0]]), np.array([[0.75], [0.5], [0.625], [0.75]])
    found = judge.along(draws, log)
    solver_u = Fraction(1, 256 * 16)
    u, tiny, n = solver_u + Fraction(1, 1024 * 16), (2 + M + 4) * Fraction(1, 2**14), 2
    data = [exact(row) for row in DATA]
    wrong = [[abs(one) / 512 for one in row] for row in data]
    sizes = [[abs(one) * (1 + Fraction(1, 512)) for one in row] for row in data]
    labels = exact(problem.signs)
    a = exact(ALPHA)

    def formed():
        reach = [abs(one) for one in a]
        columns = range(n)
        w = [sum(labels[i] * a[i] * data[i][k] for i in range(M)) for k in columns]
        off = [g(M + 2, u) * sum(reach[i] * sizes[i][k] for i in range(M)) + tiny
               + sum(reach[i] * wrong[i][k] for i in range(M)) for k in columns]  # fmt: skip
        return w, off

    weights, error = formed()
    expected = []
    for window in (slice(0, 2), slice(2, 4)):
        reach = [abs(w) + e for w, e in zip(weights, error, strict=True)]
        expected += [
            dot(sizes[i], error) + g(n + 1, u) * dot(sizes[i], reach) + tiny for (i,) in draws[window]
        ]
        changes, moved = 0, {}
        for (i,), (value,) in zip(draws[window], log[window], strict=True):
            change = Fraction(value) - a[i]
            if update == "frozen":
                moved[i] = moved.get(i, abs(a[i])) + abs(change)
                off = 2 * g(2 + 2, solver_u) * moved[i]
            elif update == "added" or not problem.is_svm:
                off = solver_u * (abs(Fraction(value)) + abs(change))
            else:
                off = Fraction(0)
            error = [e + x * off for e, x in zip(error, sizes[i], strict=True)]
            reach = [r + x * off for r, x in zip(reach, sizes[i], strict=True)]
            # A coordinate that stays what it was may have moved the weights all the same, but in place.
            changes += bool(change or off)
            if change:
                weights = [w + labels[i] * change * x for w, x in zip(weights, data[i], strict=True)]
                reach = [r + abs(change) * x for r, x in zip(reach, sizes[i], strict=True)]
                a[i] = Fraction(value)
        error = [e + g(changes + 3, u) * r + changes * tiny for e, r in zip(error, reach, strict=True)]
        if recompute:
            weights, error = formed()
    scale = 1 if problem.is_svm else 2
    for one, derived in zip(found, expected, strict=True):
        is_bound(one, derived * scale)
