"""Counts of the labelled solvers: ours, the stricter ones, by check, and of rivals; what holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from studies.report.sensitivity.corpus import Confusion, CorpusDocument, Judged
from studies.report.sensitivity.false_positives import (
    AlarmsDocument,
    CoverageDocument,
    MirrorRow,
    WorstCaseDocument,
)
from studies.report.sensitivity.limits import DoseRow, LimitsDocument
from studies.report.sensitivity.part import SensitivityDocument

WRONG = Judged(
    "wrong", "python", False, "FAIL", ("S-3.5",), failed=("step-replay", "trajectory"),
    judged=("step-replay", "trajectory", "box"), class_right=True, place_right=True,
    rivals={"allclose": "accepts", "ratio": "refuses", "own": "not applicable"},
)  # fmt: skip
ALONE = replace(WRONG, id="alone", failed=("box",), place_right=False)
RIGHT = Judged(
    "right", "python", True, "PASS", judged=("box",), rivals={"allclose": "accepts", "ratio": "refuses"}
)
EQUIVALENT = replace(RIGHT, id="equal", right=False, breaks=("S-1.2",), equivalent="below u")
CORPUS = CorpusDocument((WRONG, ALONE, RIGHT, EQUIVALENT))


def test_mistakes_are_those_that_show_and_the_rest_must_pass():
    assert CORPUS.confusion == Confusion(2, 0, 0, 2)
    assert CORPUS.confusion.f1 == 1.0
    assert not SensitivityDocument(CORPUS).broken


@pytest.mark.parametrize("found", ["PASS", "open", "error"])
def test_a_mistake_is_missed_unless_a_verdict_says_fail(found):
    corpus = CorpusDocument((replace(WRONG, found=found), RIGHT))
    assert corpus.confusion == Confusion(0, 1, 0, 1)
    assert corpus.confusion.f1 == 0.0
    assert SensitivityDocument(corpus).broken


@pytest.mark.parametrize("found", ["FAIL", "open", "error"])
def test_a_right_solver_is_refused_unless_every_case_passes(found):
    corpus = CorpusDocument((WRONG, replace(RIGHT, found=found)))
    assert corpus.confusion == Confusion(1, 0, 1, 0)
    assert SensitivityDocument(corpus).broken


def test_a_wrong_class_or_place_counts_in_the_stricter_counts():
    assert CORPUS.strict == Confusion(1, 1, 0, 2)
    other = CorpusDocument((replace(WRONG, class_right=False),))
    assert other.strict == Confusion(0, 1, 0, 0)


def test_kills_by_check_with_those_that_no_other_has():
    assert CORPUS.kills == {"box": (1, 1, 2), "step-replay": (1, 0, 2), "trajectory": (1, 0, 2)}


def test_a_rival_is_counted_where_it_has_something_to_say():
    assert CORPUS.rivals == {
        "allclose": Confusion(0, 2, 0, 2), "ratio": Confusion(2, 0, 2, 0), "own": Confusion(0, 0, 0, 0),
    }  # fmt: skip


def test_one_failed_correct_run_is_reported_and_holds_no_more():
    alarms = AlarmsDocument(10, 9, 0, 0.28, (), (), ())
    assert not SensitivityDocument(alarms=alarms).broken
    assert "0 false alarms in 9 correct runs" in next(iter(SensitivityDocument(alarms=alarms).sentences))
    crossed = replace(alarms, coverage=CoverageDocument(2, 1, (), (MirrorRow("box: clip", 2, 1),), ()))
    first, _, _, second, _ = SensitivityDocument(alarms=crossed).sentences
    assert "0 false alarms in 9 decided runs of correct solvers" in first
    assert "2 of 2 possible pairs" in second
    assert SensitivityDocument(alarms=crossed).broken == ("box: clip: 1 of 2 not detected",)
    failed = SensitivityDocument(alarms=replace(alarms, failed=1))
    assert failed.broken
    assert failed.broken == ("correct runs failed: 1 of 9",)


def test_what_must_not_be_is_reported_by_name():
    assert SensitivityDocument(CORPUS).broken == ()
    corpus = CorpusDocument((replace(WRONG, found="open"), replace(RIGHT, found="FAIL"), EQUIVALENT))
    assert SensitivityDocument(corpus).broken == (
        "faulty solver not detected (open): wrong",
        "correct solver not passed (FAIL): right",
    )
    row = DoseRow("step-replay", "float64", "", 9, 9, 1.0, 1.0, 1.0, 0, 27, 0)
    limits = LimitsDocument(0.95, 0.95, (), (), (row,), (), 9, 4, 0, 9, ())
    assert SensitivityDocument(limits=limits).broken == ()
    wrong = (replace(row, missed=2), replace(row, missed=2, quantity="stale"))
    limits = replace(limits, doses=wrong, switches_missed=1, alarms=("float64: one",))
    assert SensitivityDocument(limits=limits).broken == (
        "quantities left out, certain to show, not detected: 1",
        "injected errors certain to show, not detected: 2 of 27, step-replay, float64",
        "injected errors certain to show, not detected: 2 of 27, step-replay, float64, stale",
        "run without an error failed: float64: one",
    )
    worst = WorstCaseDocument((), 1, 1.5, 2.0)
    assert SensitivityDocument(worst_case=worst).broken == ("worst cases failed: 1 of 0",)


def test_worst_cases_are_reported_of_where_nothing_else_was_made():
    worst = WorstCaseDocument((), 0, 0.5, 2.0)
    (told,) = SensitivityDocument(worst_case=worst).sentences
    assert told == "0 worst cases of correct runs made again, 0 failed; ratios up to 0.5"
    assert list(SensitivityDocument(CORPUS, worst_case=worst).sentences) == list(
        SensitivityDocument(CORPUS).sentences
    )
