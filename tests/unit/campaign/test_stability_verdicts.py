"""Verdicts on single runs merged over conditions: nothing that failed is lost, counts add up."""

import pytest

from sstep_verify.verdict import Note, NoteKind, Sensitivity, Status, Verdict, Why
from studies.stability.kind import merged

PASS, FAIL, VACUOUS, INCONCLUSIVE = Status.PASS, Status.FAIL, Status.VACUOUS, Status.INCONCLUSIVE


def verdict(status: Status, ratio: float, s: int = 4) -> Verdict:
    seen = status is not VACUOUS
    term = Sensitivity(
        "overlap", PASS if seen else VACUOUS, ratio * 1e-12, 3, 3, 3 * seen, None if seen else Why.NO_EFFECT
    )
    return Verdict("window-replay", "one", "p", s, 1, status, ratio, ratio, 1.0, "M-norm", 3, 2, (term,))


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ((PASS, PASS), PASS),
        ((PASS, VACUOUS), PASS),
        ((VACUOUS, VACUOUS), VACUOUS),
        ((PASS, VACUOUS, INCONCLUSIVE), INCONCLUSIVE),
        ((INCONCLUSIVE, FAIL, PASS), FAIL),
    ],
)
def test_the_status_is_the_most_severe_and_vacuous_only_if_all_are(statuses, expected):
    judged = [(10.0**k, verdict(status, 0.1)) for k, status in enumerate(statuses)]
    (found,) = merged("case", "label", judged)
    assert found.status is expected
    assert (found.case, found.problem) == ("case", "label")


def test_counts_add_up_and_the_largest_ratio_is_reported():
    judged = [(1e8, verdict(PASS, 0.5)), (1.0, verdict(PASS, 0.25)), (1e4, verdict(VACUOUS, 0.125))]
    (found,) = merged("case", "label", judged)
    assert (found.ratio, found.planned, found.executed) == (0.5, 9, 6)
    assert found.notes == (Note(NoteKind.CONDITION, (1e8,)),)
    assert found.evidence == {"ratio_by_condition": {"1": 0.25, "1e4": 0.125, "1e8": 0.5}}
    (term,) = found.terms
    assert (term.status, term.planned, term.decided, term.seen, term.why) == (PASS, 9, 9, 6, None)
    assert term.detection_limit == 0.125e-12


def test_a_failure_is_reported_even_if_another_ratio_is_larger():
    judged = [(1.0, verdict(INCONCLUSIVE, 7.0)), (1e4, verdict(FAIL, 2.0))]
    (found,) = merged("case", "label", judged)
    assert (found.status, found.ratio, found.notes[-1].detail) == (FAIL, 2.0, (1e4,))


def test_each_s_has_a_verdict_of_its_own_in_order():
    judged = [(1.0, verdict(PASS, 0.1, s)) for s in (64, 2, 64, 1)]
    assert [(item.s, item.planned) for item in merged("case", "label", judged)] == [(1, 3), (2, 3), (64, 6)]


def test_the_ratio_of_a_condition_is_the_largest_of_its_runs():
    judged = [
        (c, verdict(PASS, ratio)) for c, ratio in ((1.0, 0.5), (1e4, 0.125), (1.0, 0.25), (1e4, 0.75))
    ]
    (found,) = merged("case", "label", judged)
    assert found.evidence["ratio_by_condition"] == {"1": 0.5, "1e4": 0.75}
