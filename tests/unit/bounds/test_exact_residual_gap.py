"""Drift of maintained weights between records, by the derivation of bounds/residual_gap.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import U32, U, gamma, is_bound, is_least, root

from sstep_verify.bounds.residual_gap import DriftBound, Segment, slopes_of
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, LinearKernel, Problem, Ridge, SquaredHinge
from sstep_verify.rounding.right_hand_side import Quotient

DATA, LABELS = [[2, -1], [1, 4], [0, 3]], [1.0, -1.0, 1.0]
WEIGHTS, DRIFT = [Fraction(3), Fraction(-2)], [Fraction(1, 2**40), Fraction(1, 2**41)]
DRAWS = [1, 0, 1]
COUNTS = [1, 2, 0]
TRIALS = Fraction(1, 2**8)
"""A trial is larger than the one before by a thousandth, twice at most."""


def problem_of(loss) -> Problem:
    return Problem("drift", np.array(DATA, dtype=float), np.array(LABELS), LinearKernel(), loss)


def declared(weights: int = 0) -> Declaration:
    return Declaration("drift", weights=weights)


def segment_of(begin) -> Segment:
    return Segment(
        np.array(begin, dtype=float), np.array(WEIGHTS, dtype=float), np.array(DRIFT, dtype=float),
        np.array(DRAWS)[:, None],
    )  # fmt: skip


def over_samples(sizes) -> list[Fraction]:
    return [sum(abs(DATA[i][k]) * Fraction(sizes[i]) for i in range(3)) for k in range(2)]


def grown(theta: Fraction, begin, *, rounded: bool) -> list[Fraction]:
    """``gamma_{N+3} (|w| + |A|' c Theta)``, and ``|A|' u c |a|`` where a rounds."""
    spread = over_samples([c * theta for c in COUNTS])
    stored = over_samples(
        [U * c * (abs(a) + c * theta) * rounded for c, a in zip(COUNTS, begin, strict=True)]
    )
    return [
        d + gamma(3 + 3, U) * (abs(w) + x) + y
        for d, w, x, y in zip(DRIFT, WEIGHTS, spread, stored, strict=True)
    ]


def test_increments_of_a_ksvm_are_no_larger_than_its_box():
    begin, C = [Fraction(0)] * 3, Fraction(1, 2**20)
    found = DriftBound(problem_of(Hinge(float(C))), declared()).after(segment_of(begin))
    is_bound(found, grown(C, begin, rounded=False))


def test_those_of_an_l2_problem_can_gain_no_more_than_its_gap():
    # From 0 the gap is m C; eta Theta^2 / 2 <= F, eta = 5 + omega of sample 0.
    begin, C = [Fraction(0)] * 3, Fraction(2)
    theta = root(2 * 3 * C / (5 + 1 / (2 * C)))
    found = DriftBound(problem_of(SquaredHinge(float(C))), declared()).after(segment_of(begin))
    is_bound(found, grown(theta, begin, rounded=False), TRIALS)


@pytest.mark.parametrize("penalty", [0.5, 4.0])
def test_those_of_a_ridge_are_no_larger_than_its_residual_over_m(penalty):
    begin = [Fraction(0), Fraction(1), Fraction(0)]
    products = [-2, 17, 12]  # K a
    residual = [
        Fraction(y) - p / Fraction(penalty) - 3 * a for y, p, a in zip(LABELS, products, begin, strict=True)
    ]
    theta = root(sum(r * r for r in residual)) / 3
    found = DriftBound(problem_of(Ridge(penalty)), declared()).after(segment_of(begin))
    is_bound(found, grown(theta, begin, rounded=True), TRIALS)


def test_a_step_from_drifted_weights_is_off_by_them_and_by_its_own_roundings():
    theta, begin = Fraction(2), [Fraction(1), Fraction(0), Fraction(-2)]
    bound = DriftBound(problem_of(Ridge(0.5)), declared())
    drift, weights, size = bound._drift(segment_of(begin), np.array(COUNTS, dtype=float), float(theta))
    moved = over_samples([c * theta for c in COUNTS])
    derived = [abs(w) + x for w, x in zip(WEIGHTS, moved, strict=True)]
    is_bound(drift, grown(theta, begin, rounded=True))
    is_bound(weights, derived)
    is_bound(size, [abs(a) + c * theta for a, c in zip(begin, COUNTS, strict=True)])
    # |x|'d / lambda, gamma_{n+8} of |x|'|w| / lambda, y and m a, and what the entries are off by.
    single = Declaration("drift", precision="float32", weights=0)
    narrow = DriftBound(problem_of(Ridge(0.5)), single)
    still = Segment(
        np.array(begin, dtype=float), segment_of(begin).weights, np.zeros(2), np.zeros((0, 1), int)
    )
    found = narrow._slope_error(still, np.zeros(3), 0.0)
    for i in range(3):
        used = (
            sum(abs(x) * abs(w) for x, w in zip(DATA[i], WEIGHTS, strict=True)) * 2 + 1 + 3 * abs(begin[i])
        )
        of_entries = sum(
            2
            * gamma(2, U32)
            * sum(abs(x * z) for x, z in zip(DATA[i], DATA[j], strict=True))
            * abs(begin[j])
            for j in range(3)
        )
        # Nothing is drawn: three roundings of the weights at hand are left.
        drifted = sum(abs(x) * gamma(3, U32) * abs(w) for x, w in zip(DATA[i], WEIGHTS, strict=True)) * 2
        is_bound(found[i], drifted + gamma(2 + 8, U32) * used + of_entries)


def test_weights_that_are_formed_from_a_or_formed_again():
    bound = DriftBound(problem_of(Hinge(2.0**-20)), declared(weights=1))
    begin = [Fraction(1, 2**21), Fraction(0), Fraction(0)]
    is_bound(bound.initial(np.array(begin, dtype=float)), [gamma(5, U) * x for x in over_samples(begin)])
    # Formed again from a larger a, they drift by more than what this segment begins with; w is off by twice.
    large = Segment(np.full(3, 2.0**40), np.zeros(2), np.zeros(2), np.array(DRAWS)[:, None])
    formed = [gamma(5, U) * x for x in over_samples([2**40 + c / Fraction(2**20) for c in COUNTS])]
    spread = over_samples([c / Fraction(2**20) for c in COUNTS])
    derived = [f + gamma(6, U) * (2 * f + x) for f, x in zip(formed, spread, strict=True)]
    is_bound(bound.after(large), derived)


def test_left_out_updates_of_one_coordinate():
    bound = DriftBound(problem_of(Hinge(1.0)), declared())
    segment = segment_of([0, 0, 0])
    change, limit = bound.skipped(segment, np.array([1.0, 0.5, 0.25]), np.array([0.125, 0.5]))
    is_least(
        change, Fraction(2)
    )  # Of sample 0 in the first entry, 16 times its limit; all others 8 at most.
    assert limit == 0.125


def test_slopes_of_a_problem():
    single = Declaration("single", precision="float32")
    for loss, quotient, shift in (
        (SquaredHinge(2.0), Quotient(), Fraction(1, 4)),
        (Ridge(0.5), Quotient(0.5), 3),
    ):
        found = slopes_of(problem_of(loss), single, quotient)
        over = Fraction(quotient.penalty)
        for i in range(3):
            for j in range(3):
                product = abs(sum(x * z for x, z in zip(DATA[i], DATA[j], strict=True)))
                size = sum(abs(x * z) for x, z in zip(DATA[i], DATA[j], strict=True))
                off, own = gamma(2, U32) * size / over, shift * (i == j)
                is_bound(found.errors[i, j], off)
                is_bound(found.sizes[i, j], product / over + off + own)
                is_least(found.lower[i, j], product / over - off + own)
        assert found.constant.tolist() == [1.0, 1.0, 1.0]
