"""The roll-up of cases, the sentence and the exit code."""

import math

import pytest

from sstep_verify.campaign.definition import Definition
from sstep_verify.campaign.summary import roll_up, summarise
from sstep_verify.reporting.results import Case
from sstep_verify.verdict import Status, Term, Verdict


def _verdict(status, s=16, case="a"):
    vacuous = status is Status.VACUOUS
    term = Term(
        "kernel-correction",
        Status.VACUOUS if vacuous else Status.PASS,
        math.inf if vacuous else 3e-13,
        4, 4, 0 if vacuous else 4,
        "K is diagonal" if vacuous else "",
    )  # fmt: skip
    return Verdict(
        "window-replay", case, "p", s, 1, status, 0.1, 0.1, 1.0, "absolute", 4, 4, (term,),
        reason=f"because of {status}",
    )  # fmt: skip


def _case(status, name="a"):
    return Case(
        id=name, problem="p", dataset="d", kernel="k", loss="l", task="svm-l1", samples=2, features=1,
        block=1, status=status, s=(1, 256),
    )  # fmt: skip


def _summary(statuses, tolerated=0, **changes):
    cases = [_case(status, str(place)) for place, status in enumerate(statuses)]
    verdicts = [_verdict(status, case=str(place)) for place, status in enumerate(statuses)]
    arguments = {
        "planned_cases": len(cases), "too_few": [], "errors": [], "disagreements": [], "seconds": 1.0,
        "peak_memory": None, "interrupted": False,
    }  # fmt: skip
    definition = Definition("n", "t", "d", (), tolerated_vacuous=tolerated)
    return summarise(definition, cases, verdicts, **{**arguments, **changes})


def test_a_case_is_vacuous_only_if_every_stepped_run_is():
    assert roll_up([_verdict(Status.PASS, 1), _verdict(Status.VACUOUS)])[0] is Status.VACUOUS
    status, reason = roll_up([_verdict(Status.VACUOUS, 2), _verdict(Status.PASS, 16)])
    assert status is Status.PASS
    assert "vacuous for s in {2}" in reason


@pytest.mark.parametrize("bad", [Status.FAIL, Status.INCONCLUSIVE])
def test_one_bad_run_makes_the_case_bad(bad):
    status, reason = roll_up([_verdict(Status.PASS, 2), _verdict(bad, 64)])
    assert status is bad
    assert reason.startswith("window-replay, s = 64")


def test_a_case_without_verdicts_is_not_right():
    assert roll_up([])[0] is Status.VACUOUS


@pytest.mark.parametrize(
    ("statuses", "changes", "code"),
    [
        ([Status.PASS], {}, 0),
        ([Status.PASS, Status.VACUOUS], {"tolerated": 1}, 0),
        ([Status.PASS, Status.VACUOUS], {"tolerated": 0}, 3),
        ([Status.INCONCLUSIVE, Status.PASS], {}, 3),
        ([Status.FAIL, Status.INCONCLUSIVE], {}, 1),
        ([Status.PASS], {"too_few": ["x"]}, 3),
        ([Status.PASS], {"planned_cases": 2}, 3),
        ([Status.PASS], {"planned_cases": 2, "interrupted": True}, 3),
        ([Status.FAIL], {"errors": ["x"]}, 4),
        ([Status.PASS], {"disagreements": ["x"]}, 4),
        ([], {"planned_cases": 1}, 3),
    ],
)
def test_exit_code(statuses, changes, code):
    assert _summary(statuses, **changes).exit_code == code


def test_vacuous_verdicts_of_a_check_are_limited_where_the_campaign_says_so():
    verdicts = [_verdict(Status.PASS), _verdict(Status.VACUOUS), _verdict(Status.VACUOUS, 64)]

    def code(limits):
        definition = Definition("n", "t", "d", (), tolerated_vacuous_per_check=limits)
        summary = summarise(
            definition, [_case(Status.PASS)], verdicts, planned_cases=1, too_few=[], errors=[],
            disagreements=[], seconds=1.0, peak_memory=None, interrupted=False,
        )  # fmt: skip
        return summary.exit_code, "vacuous verdicts of window-replay" in summary.sentence

    assert code(None) == code({"window-replay": 2}) == (0, False)
    assert code({"window-replay": 1}) == code({"box": 5}) == (3, True)


def test_the_sentence_says_what_was_shown():
    sentence = _summary([Status.PASS, Status.PASS, Status.VACUOUS, Status.FAIL], tolerated=1).sentence
    assert sentence.startswith("right for s <= 256 on 2 of 4 problems, wrong on 1, vacuous on 1")
    assert "down to 3e-13" in sentence
    assert _summary([Status.PASS], interrupted=True).sentence.startswith("interrupted")
