"""The drift of a carried gradient or residual on worked numbers, against fractions."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from bounds.worked import dot, exact, g, is_bound, root, size

from sstep_verify.bounds import residual_gap
from sstep_verify.bounds.residual_gap import DriftBound, Segment
from sstep_verify.problems import Hinge, LinearKernel, Problem, Ridge, SquaredHinge
from sstep_verify.solver import Declaration

M, U, TINY = 3, Fraction(1, 1024), Fraction(1, 4096)
DATA = np.array([[1.0, 0.5], [0.25, 2.0], [1.5, -1.0]])
GRAM = np.array([[2.0, 0.5, 0.25], [0.5, 4.0, 1.0], [0.25, 1.0, 3.0]])
GRAM_ERROR = GRAM / 512
OWN = Fraction(1, 2048)
SEGMENT = Segment(
    np.array([0.5, -0.25, 0.125]), np.array([1.0, -0.5, 0.75]), np.array([0.125, 0.0625, 0.25]),
    np.array([[0, 1], [1, 0]]),
)  # fmt: skip
COUNTS = np.array([2.0, 2.0, 0.0])
THETA = Fraction(3, 8)


def bound_of(loss, name, recompute=0) -> DriftBound:
    """A bound whose matrix, its errors and the unit roundoff are put in."""
    targets = np.array([1.0, -1.0, 1.0])
    declaration = Declaration("worked", update="in-place", recompute=recompute)
    found = DriftBound(Problem("worked", DATA, targets, LinearKernel(), loss), declaration, name)
    found._u, found._tiny, found._own = float(U), float(TINY), float(OWN)
    found._gram, found._gram_error = GRAM, GRAM_ERROR
    if name == "weights":
        found._map_error = found._map / 256
    else:
        found._map, found._map_error = GRAM, GRAM_ERROR
        found._terms, found._more = 1.5 * GRAM, 2
    return found


def rows(matrix):
    return [exact(row) for row in np.asarray(matrix)]


def times(matrix, vector):
    return [dot(row, vector) for row in rows(matrix)]


def sizes():
    return [abs(a) + c * THETA for a, c in zip(exact(SEGMENT.begin), exact(COUNTS), strict=True)]


def initial(found, absolute):
    constant = 0 if found._weights else 1
    products, errors = times(found._terms, absolute), times(found._map_error, absolute)
    return [e + g(M + found._more + 8, U) * (p + constant) for e, p in zip(errors, products, strict=True)]


def drift(found):
    if not found._recompute:
        return exact(SEGMENT.drift[: len(found._map)])
    return [
        max(a, b)
        for a, b in zip(exact(SEGMENT.drift[: len(found._map)]), initial(found, sizes()), strict=True)
    ]


def growth(found, segment):
    moved = [c * THETA * (1 + U) for c in exact(COUNTS)]
    reach = [abs(q) + p for q, p in zip(exact(segment.carried), times(found._terms, moved), strict=True)]
    if found._recompute:
        reach = [r + 2 * d for r, d in zip(reach, drift(found), strict=True)]
    stored = times(found._map, [U * c * a for c, a in zip(exact(COUNTS), sizes(), strict=True)])
    return [g(4 + 6, U) * r + e + s * (not found._problem.is_svm) + 10 * TINY
            for r, e, s in zip(reach, times(found._map_error, moved), stored, strict=True)]  # fmt: skip


def slope_errors(found, segment):
    off = [a + b for a, b in zip(drift(found), growth(found, segment), strict=True)]
    if not found._weights:
        return off
    problem = found._problem
    scale = 1 if problem.is_svm else Fraction(problem.ridge.penalty)
    own = Fraction(problem.hinge.shift) if problem.is_svm else M
    moved = [c * THETA * (1 + U) for c in exact(COUNTS)]
    reach = [abs(q) + p for q, p in zip(exact(segment.carried), times(found._map, moved), strict=True)]
    used = [p / scale + 1 + own * a for p, a in zip(times(found._data, reach), sizes(), strict=True)]
    both = [r + o for r, o in zip(reach, off, strict=True)]
    given = zip(
        times(found._data, off),
        times(found._map_error.T, both),
        used,
        times(GRAM_ERROR, sizes()),
        strict=True,
    )
    return [a / scale + b / scale + g(2 + 8, U) * c + d for a, b, c, d in given]


CASES = [
    (Hinge(1.0), "gradient", 0), (SquaredHinge(2.0), "gradient", 3), (Ridge(0.5), "residual", 0),
    (Ridge(0.5), "residual", 3), (SquaredHinge(2.0), "weights", 0), (Ridge(0.5), "weights", 3),
]  # fmt: skip


def of(case):
    found = bound_of(*case)
    width = len(found._map)
    return found, Segment(SEGMENT.begin, SEGMENT.carried[:width], SEGMENT.drift[:width], SEGMENT.draws)


@pytest.mark.parametrize("case", CASES)
def test_the_drift_that_a_segment_adds(case):
    found, segment = of(case)
    given = (segment, COUNTS, float(THETA))
    absolute = [abs(one) for one in exact(SEGMENT.begin)]
    for one, derived in zip(found.initial(SEGMENT.begin), initial(found, absolute), strict=True):
        is_bound(one, derived)
    for one, derived in zip(found._growth(*given), growth(found, segment), strict=True):
        is_bound(one, derived)
    for one, derived in zip(found._slope_error(*given), slope_errors(found, segment), strict=True):
        is_bound(one, derived)


def test_the_largest_increment_of_block_steps(monkeypatch):
    found, segment = of((Ridge(0.5), "residual", 0))
    residual = SimpleNamespace(residual=SimpleNamespace(upper=0.75))
    monkeypatch.setattr(residual_gap, "ridge_values", lambda *_: residual)
    monkeypatch.setattr(
        residual_gap, "factorisation_error", lambda system, given, samples, _: system[0, 0] / 64 + given
    )
    given = 2 * Fraction(float(GRAM_ERROR.max())) + g(3, U) * 8  # the norm of a block of fours is 8
    solve = 2 * given + Fraction(4, 64)
    rho = slope_errors(found, segment)[:2]
    off = min(size(rho), root(2) * max(rho))
    folded = (off + solve * THETA) / root(M)
    rounding = [U * a * (c > 0) for a, c in zip(sizes(), exact(COUNTS), strict=True)]
    lost = root(dot(rounding, times(GRAM, rounding)))
    derived = (Fraction(3, 4) / root(M) + 2 * (folded + lost) + folded) / root(M)
    is_bound(found._trial_ridge(segment, COUNTS)(float(THETA)), derived)


@pytest.mark.parametrize("loss", [Hinge(64.0), SquaredHinge(2.0)])
def test_the_largest_increment_of_steps_of_one_coordinate(loss, monkeypatch):
    found, segment = of((loss, "gradient", 0))
    slopes, errors = np.array([0.5, -1.0, 2.0]), np.array([0.0625, 0.125, 0.03125])
    values = SimpleNamespace(gap=SimpleNamespace(upper=0.5), slopes=slopes, slope_errors=errors)
    monkeypatch.setattr(residual_gap, "svm_values", lambda *_: values)
    omega, a = Fraction(loss.shift), sizes()
    least = min(Fraction(GRAM[i, i]) - 2 * (Fraction(GRAM_ERROR[i, i]) + OWN) for i in range(2))
    rho, folded = slope_errors(found, segment), []
    moved = times(GRAM, [c * THETA for c in exact(COUNTS)])
    for i in range(2):
        start = abs(Fraction(slopes[i])) + Fraction(errors[i]) + omega * abs(Fraction(SEGMENT.begin[i]))
        relative = g(4, U) + Fraction(GRAM_ERROR[i, i]) / least
        relative /= 1 - relative
        slope = start + moved[i] + rho[i]
        held = min(a[i], Fraction(loss.upper)) if loss.upper < np.inf else a[i]
        folded.append(rho[i] + slope * (relative + 2 * U) + U * Fraction(GRAM[i, i]) * held)
    inside = max(folded) ** 2 + 2 * least * (Fraction(1, 2) + 2 * max(folded) * THETA)
    is_bound(found._trial_svm(segment, COUNTS)(float(THETA)), (max(folded) + root(inside)) / least)


def test_the_drift_is_that_of_an_increment_that_confirms_itself(monkeypatch):
    found, segment = of((Ridge(0.5), "residual", 0))
    monkeypatch.setattr(found, "_trial_ridge", lambda *_: lambda theta: 0.25 + theta / 4)
    theta = Fraction(1, 3)  # the fixed point
    drift_ = np.array(found.after(segment))
    for scale, side in ((1 - Fraction(1, 500), 1), (1 + Fraction(1, 100), -1)):
        at = float(theta * scale)
        whole = found._drift(segment, COUNTS, at) + found._growth(segment, COUNTS, at)
        assert ((drift_ - whole) * side > 0).all()


def test_what_leaving_out_a_coordinate_changes():
    found, segment = of((Ridge(0.5), "residual", 0))
    end, limit = np.array([0.5, 0.25, 0.25]), np.array([0.5, 0.25, 1.0])
    effect, bound = found.skipped(segment, end, limit)
    changes = {
        (i, j): (Fraction(GRAM[i, j]) - 2 * (Fraction(GRAM_ERROR[i, j]) + OWN)) * abs(Fraction(end[j] - SEGMENT.begin[j]))
        for i in range(M) for j in range(M)
    }  # fmt: skip
    (entry, coordinate) = max(changes, key=lambda one: changes[one] / Fraction(limit[one[0]]))
    assert (entry, coordinate) == (1, 1)
    assert effect == pytest.approx(float(changes[1, 1]), rel=1e-6)
    assert bound == limit[1]
