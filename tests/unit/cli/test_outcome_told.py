"""What a campaign showed, as it is told at its end."""

from __future__ import annotations

import pytest

from sstep_verify.campaign.model import INTERRUPTED, REFUSED
from sstep_verify.cli.campaign import finish
from sstep_verify.report.case import Case
from sstep_verify.report.results import ERRORS, Campaign, Results, Summary
from sstep_verify.verdict import Status, Verdict
from studies.report.sensitivity.alarms import AlarmsDocument
from studies.report.sensitivity.part import Sensitivity

FAILED = Sensitivity(alarms=AlarmsDocument(10, 9, 2, 0.28, (), (), ()))


def told(capsys, tmp_path, sensitivity: Sensitivity, written: bool = True) -> tuple[int, list[str], str]:
    summary = Summary("the sentence", 1 if written else INTERRUPTED, interrupted=not written)
    results = Results(Campaign("small"), summary, sensitivity=sensitivity)
    with pytest.raises(SystemExit) as caught:
        finish(results, tmp_path if written else None, tmp_path)
    out, err = capsys.readouterr()
    return caught.value.code, out.splitlines(), err


def test_what_breaks_the_power_of_the_checks_is_named_below_the_sentence(capsys, tmp_path):
    assert told(capsys, tmp_path, FAILED)[:2] == (
        1,
        ["small: the sentence", "  correct runs failed: 2 of 9", str(tmp_path)],
    )


def test_an_error_that_the_sentence_tells_is_not_told_again(capsys, tmp_path):
    campaign = Campaign("small", parameters={ERRORS: {REFUSED: ["a: no memory", "b: it ended"]}})
    summary = Summary(
        "nothing judged; incomplete: not judged: a: no memory (2 of 2 problems not finished)",
        3,
        told="a: no memory",
    )
    with pytest.raises(SystemExit):
        finish(Results(campaign, summary), tmp_path, tmp_path)
    out, err = capsys.readouterr()
    assert out.count("a: no memory") == 1
    assert err == "not judged: b: it ended\n"


@pytest.mark.parametrize(
    ("made", "words"), [(FAILED, "go on with --resume"), (Sensitivity(), "no problem was finished")]
)
def test_an_interruption_says_whether_there_is_something_to_go_on_with(capsys, tmp_path, made, words):
    code, _, err = told(capsys, tmp_path, made, written=False)
    assert code == INTERRUPTED
    assert err.endswith(f"{words}\n")


def test_what_is_judged_again_is_the_verdict_whose_reason_is_told(capsys, tmp_path):
    """The first that failed has no sentence on a part of a step; the second names one."""
    numbers = "absolute", 1, 1
    failed = tuple(
        Verdict("step-replay", "a", "p", s, 1, Status.FAIL, 2.0, 2.0, 1.0, *numbers,
            replay=f"sstep-verify explain --again a-s{s}", sentences=sentences)
        for s, sentences in ((1, ("S-3.1",)), (54, ("S-3.5",)))
    )  # fmt: skip
    case = Case(
        "a", "p", "d", "linear", "svm", "svm-l1", 3, 2, 1, "FAIL", reason="step-replay, s = 54: wrong"
    )
    with pytest.raises(SystemExit):
        finish(
            Results(Campaign("c"), Summary("one", 1), cases=(case,), verdicts=failed),
            tmp_path,
            tmp_path,
        )
    out = capsys.readouterr().out
    assert f"judge it again: sstep-verify explain --again {tmp_path / 'a-s54'}" in out
