"""Terms of verdicts by hand: limits of what is planted, and comparisons planned, decided and shown."""

from __future__ import annotations

import math

import pytest

from sstep_verify.checks.shared.comparison import Comparison, unknown
from sstep_verify.checks.shared.terms import (
    core_terms,
    first_unseen,
    most_visible,
    planted_term,
    quantity_terms,
)
from sstep_verify.quantities import CURVATURE, KERNEL, OMEGA, STALE
from sstep_verify.verdict import Status, Why


@pytest.mark.parametrize(
    ("effect", "bound", "ratio"),
    [(8.0, 1.0, 8.0), (2.5, 0.5, 5.0), (4.0, 0.0, math.inf), (2.0, 1.0, 2.0)],
)
def test_what_is_planted_shows_beyond_twice_the_bound(effect, bound, ratio):
    """A defect of one size has no detection limit."""
    term = planted_term("planted", effect, bound, 7, 5, Why.WITHIN_BOUND, shown=3)
    shows = effect > 2 * bound
    assert term.status is (Status.PASS if shows else Status.VACUOUS)
    assert (term.detection_limit, term.largest) == (math.inf, ratio)
    assert (term.planned, term.decided, term.seen) == (7, 5, 3 * shows)
    assert term.why is (None if shows else Why.WITHIN_BOUND)


def test_what_has_no_effect_has_no_limit():
    term = planted_term("planted", 0.0, 0.0, 7, 5, Why.NO_EFFECT)
    assert (term.detection_limit, term.largest, term.seen, term.why) == (math.inf, 0.0, 0, Why.NO_EFFECT)


FINDINGS = [
    Comparison(
        0.0, 0.5, 1.0, dropped={STALE: 3.0, KERNEL: 2.0}, detection_limit={STALE: 1e-3, KERNEL: 1e-2}
    ),
    Comparison(0.0, 0.5, 1.0, dropped={STALE: 9.0}, detection_limit={STALE: 1e-5}),
    Comparison(2.0, 3.0, 1.0, dropped={STALE: 1.0}, detection_limit={STALE: 1e-2}),
    Comparison(0.5, 2.0, 1.0, dropped={STALE: 99.0}, detection_limit={STALE: 1e-9}),
    unknown(dropped={STALE: 99.0}),
]
"""Three that decide, and two that do not."""


def test_quantities_are_counted_where_something_was_decided():
    stale, kernel, omega = quantity_terms((STALE, KERNEL, OMEGA), FINDINGS)
    counts = [(term.planned, term.decided, term.seen) for term in (stale, kernel, omega)]
    assert counts == [(5, 3, 2), (5, 3, 0), (5, 3, 0)]
    assert (stale.status, stale.detection_limit, stale.largest) == (Status.PASS, 1e-5, 9.0)
    # Exactly twice the bound does not show.
    assert (kernel.status, kernel.largest, kernel.why) == (Status.VACUOUS, 2.0, Why.WITHIN_BOUND)
    assert (omega.detection_limit, omega.why) == (math.inf, Why.NO_EFFECT)
    assert quantity_terms((STALE,), FINDINGS[3:])[0].why is Why.NONE_DECIDED
    assert quantity_terms((STALE,), [])[0].why is Why.NO_STEPS


def test_the_quantities_without_which_a_pass_shows_nothing():
    terms = quantity_terms((STALE, KERNEL, CURVATURE, OMEGA), FINDINGS)
    assert [term.name for term in core_terms(terms, 1)] == [STALE, CURVATURE]
    assert [term.name for term in core_terms(terms, 4)] == [STALE, KERNEL, CURVATURE]
    assert first_unseen(core_terms(terms, 4)) is terms[1]
    assert first_unseen(terms[:1]) is None


def test_where_a_planted_defect_shows_most():
    assert most_visible([(1.0, 2.0), (3.0, 1.0), (9.0, 9.0)], (0.0, 1.0)) == (3.0, 1.0)
    assert most_visible([(9.0, 1.0), (1.0, 0.0)], (0.0, 1.0)) == (1.0, 0.0)
    assert most_visible([], (0.0, 1.0)) == (0.0, 1.0)
