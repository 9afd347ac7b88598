"""From comparisons to a verdict: what shows most, which is worst, what is said where nothing was decided."""

from __future__ import annotations

import math

import numpy as np
import pytest
from judged import judged, small_case

from sstep_verify.checks import step_replay, window_replay
from sstep_verify.checks.shared.comparison import Comparison, unbounded, unknown, worst_entry
from sstep_verify.checks.shared.outcome import verdict_from
from sstep_verify.checks.shared.terms import most_visible, planted_term
from sstep_verify.problems import Hinge, Ridge
from sstep_verify.rounding.kernel import entries
from sstep_verify.verdict import Status, Why


def test_a_defect_shows_most_next_to_the_bound_not_by_its_size():
    assert most_visible([(10.0, 9.0), (1.0, 0.1), (50.0, math.inf)], (0.0, 1.0)) == (1.0, 0.1)
    assert most_visible([(1.0, 0.1), (0.5, 0.0)], (0.0, 1.0)) == (0.5, 0.0)
    assert most_visible([], (math.inf, 0.0)) == (math.inf, 0.0)


CASE, _ = small_case(Hinge(0.5))


def why_of(*comparisons):
    return verdict_from("box", CASE, 1, *comparisons, units="1").why


def test_one_value_without_a_bound_says_nothing_of_those_that_have_one():
    assert why_of(Comparison(1.0, 1.0, 2.0), unbounded(3.0)) is Why.NO_BOUND


def test_what_is_not_decided_is_said_to_hold_the_bound_only_where_it_does():
    assert why_of(Comparison(1.0, 3.0, 2.0)) is Why.TOO_WIDE
    assert why_of(unknown()) is Why.NOT_RECORDED


def test_the_worst_entry_comes_with_its_place():
    ends = np.array([[0.0, 2.0, 1.0], [0.5, 4.0, 1.5]])
    place, worst = worst_entry(ends, np.array([1.0, 1.0, 0.5]))
    assert (place, worst.lower, worst.upper, worst.bound) == (1, 2.0, 4.0, 1.0)


@pytest.mark.parametrize("loss", [Hinge(0.5), Ridge(1.0)])
@pytest.mark.parametrize("check", [step_replay, window_replay])
def test_sums_of_too_many_terms_are_said_to_be_why_nothing_is_promised(check, loss, monkeypatch):
    monkeypatch.setattr(entries, "MOST_TERMS", 12)  # as many as the samples are
    case, tested = small_case(loss, s_values=(4,))
    verdict = judged(check, case, tested)[4]
    assert verdict.status is Status.VACUOUS
    assert verdict.why is Why.NO_BOUND


SEEN_TERM = planted_term("seen", 9.0, 1.0, 1, 1, Why.WITHIN_BOUND)
UNSEEN_TERM = planted_term("unseen", 0.0, 1.0, 1, 1, Why.NO_EFFECT)


@pytest.mark.parametrize(
    ("effect", "given", "seen"), [(9.0, (), 1), (9.0, (7,), 7), (1.5, (7,), 0), (math.inf, (), 1)]
)
def test_an_injected_defect_counts_the_comparisons_known_to_show_it_and_has_no_limit(effect, given, seen):
    term = planted_term("one", effect, 1.0, 40, 30, Why.WITHIN_BOUND, *given)
    assert (term.planned, term.decided, term.seen) == (40, 30, seen)
    assert math.isinf(term.detection_limit)
    assert term.largest == effect


@pytest.mark.parametrize(
    ("required", "expected"),
    [
        (None, (Status.PASS, None)),  # the first of the terms
        ((), (Status.PASS, None)),
        ((SEEN_TERM, UNSEEN_TERM), (Status.VACUOUS, Why.NO_EFFECT)),
    ],
)
def test_a_pass_that_could_not_see_a_required_term_is_vacuous(required, expected):
    terms = SEEN_TERM, UNSEEN_TERM
    verdict = verdict_from(
        "box", CASE, 1, Comparison(0.0, 1.0, 2.0), units="1", terms=terms, required=required
    )
    assert (verdict.status, verdict.why) == expected
    failed = verdict_from(
        "box", CASE, 1, Comparison(3.0, 3.0, 2.0), units="1", terms=terms, required=required
    )
    assert failed.status is Status.FAIL
