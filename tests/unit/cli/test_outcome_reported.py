"""What a campaign showed, as it is stated at its end."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sstep_verify.campaign.model import INTERRUPTED, REFUSED
from sstep_verify.cli.campaign import finish
from sstep_verify.cli.work import Progress
from sstep_verify.errors import InputError
from sstep_verify.ranks.watchdog import Unwatched
from sstep_verify.report.case import Case
from sstep_verify.report.expected import Expected
from sstep_verify.report.results import ERRORS, Campaign, Results, Summary
from sstep_verify.report.telling import standing
from sstep_verify.verdict import Status, Verdict
from studies.report.sensitivity.false_positives import AlarmsDocument
from studies.report.sensitivity.part import SensitivityDocument

FAILED = SensitivityDocument(alarms=AlarmsDocument(10, 9, 2, 0.28, (), (), ()))


def told(
    capsys, tmp_path, sensitivity: SensitivityDocument, written: bool = True, kept=None
) -> tuple[int, list[str], str]:
    summary = Summary("the sentence", 1 if written else INTERRUPTED, interrupted=not written)
    results = Results(Campaign("small"), summary, sensitivity=sensitivity)
    with pytest.raises(SystemExit) as caught:
        finish(results, tmp_path if written else None, tmp_path, kept)
    out, err = capsys.readouterr()
    return caught.value.code, out.splitlines(), err


def test_what_breaks_the_power_of_the_checks_is_named_below_the_sentence(capsys, tmp_path):
    assert told(capsys, tmp_path, FAILED)[:2] == (
        1,
        ["small: the sentence", "  correct runs failed: 2 of 9", str(tmp_path)],
    )


def test_an_error_that_the_sentence_tells_is_not_reported_again(capsys, tmp_path):
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
    ("made", "keeps", "words"),
    [
        (FAILED, True, "continue with --resume"),
        (FAILED, False, "nothing that was finished is kept"),
        (SensitivityDocument(), False, "no problem was finished"),
        (SensitivityDocument(), True, "continue with --resume"),
    ],
)
def test_an_interruption_says_whether_there_is_something_to_go_on_with(
    capsys, tmp_path, made, keeps, words
):
    kept = tmp_path / "kept" if keeps else None
    code, _, err = told(capsys, tmp_path, made, written=False, kept=kept)
    assert code == INTERRUPTED
    assert err.endswith(f"written to {tmp_path}: {words}\n")


@pytest.mark.parametrize(
    ("kept", "words"),
    [(9, "continues from iteration 9"), (0, "no checkpoint was written, so nothing of this run is kept")],
)
def test_an_interrupted_training_promises_no_more_than_it_kept(capsys, kept, words):
    """What --resume does depends on what else is there where nothing was kept."""
    progress = Progress(Unwatched(), shown=True)

    def train():
        with progress.intervals(0, 10):
            if kept:
                progress.kept(kept)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train()
    assert words in capsys.readouterr().err


def _failed() -> Results:
    """The first that failed has no sentence on a part of a step; the second names one."""
    numbers = "absolute", 1, 1
    failed = tuple(
        Verdict("step-replay", "a", "p", s, 1, Status.FAIL, 2.0, 2.0, 1.0, *numbers,
            replay=f"sstep-verify explain --again a-s{s}", requirement=requirement)
        for s, requirement in ((1, "S-3.1"), (54, "S-3.5"))
    )  # fmt: skip
    case = Case(
        "a",
        "p",
        "d",
        "linear",
        "svm",
        "svm-l1",
        3,
        2,
        1,
        "FAIL",
        reason="step-replay, s = 54: wrong\nCause: x.",
    )
    return Results(Campaign("c"), Summary("one", 1), cases=(case,), verdicts=failed)


def test_what_is_explained_is_the_verdict_whose_reason_is_reported(capsys, tmp_path):
    with pytest.raises(SystemExit):
        finish(_failed(), tmp_path, tmp_path)
    out = capsys.readouterr().out
    assert out.splitlines()[1:4] == [
        "  FAIL a: step-replay, s = 54: wrong (first at s = 1: step-replay)", "    Cause: x.", f"more: sstep-verify explain {tmp_path / 'a-s54'}"
    ]  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    found=st.sets(
        st.tuples(
            st.sampled_from([1, 7, 64]), st.sampled_from(["step-replay", "window-replay", "trajectory"])
        ),
        min_size=1,
    )
)
def test_a_smaller_s_at_which_a_problem_fails_is_named_with_its_checks(capsys, tmp_path, found):
    """The sentence gives the first s, and the line the failure that says most, which may be at another."""
    results = _failed()
    one = results.verdicts[1] | {"requirement": ""}
    verdicts = tuple(one | {"s": s, "check": check} for s, check in sorted(found))
    results = replace(results, verdicts=verdicts)
    shown = standing(verdicts, Status.FAIL, Expected.of(results)).verdict["s"]
    with pytest.raises(SystemExit):
        finish(results, tmp_path, tmp_path)
    line = capsys.readouterr().out.splitlines()[1]
    first = min(s for s, _ in found)
    assert (f"first at s = {first}: " in line) == (first < shown)
    checks = line.partition(f"first at s = {first}: ")[2].rstrip(")")
    assert {*filter(None, checks.split(", "))} == {
        check for s, check in found if s == first and first < shown
    }


def test_a_failure_that_was_not_expected_is_reported_before_those_that_were(capsys, tmp_path):
    results = _failed()
    (case,), (first, last) = results.cases, results.verdicts
    unexpected = first | {"check": "trajectory", "s": 7}
    known = [{"id": "b", "kind": "step-replay: FAIL", "reason": "known"}]
    known += [{"id": "a", "kind": "step-replay: FAIL", "reason": "known"}]
    results = replace(
        results,
        campaign=Campaign("c", parameters={"expected_failures": known}),
        cases=(replace(case, id="b"), case),
        verdicts=(first | {"case": "b", "replay": "sstep-verify explain --again b-s1"}, last, unexpected),
    )
    with pytest.raises(SystemExit):
        finish(results, tmp_path, tmp_path)
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    (told,) = (line for line in shown if line[:2] == ["FAIL", "a:"])
    assert told[2] == "trajectory,"
    assert shown[-2][:2] == ["more:", "sstep-verify"]
    assert shown[-2][-1].endswith("a-s1")
    assert ["EXPECTED", "FAILURE", "b:"] in [line[:3] for line in shown]


@pytest.mark.parametrize("keeps", [True, False])
def test_an_artefact_is_named_where_it_lies(capsys, tmp_path, keeps):
    """After an interruption a whole report stays as it is: the artefacts in it are of another run."""
    results = _failed()
    results = replace(results, summary=replace(results.summary, exit_code=INTERRUPTED, interrupted=True))
    with pytest.raises(SystemExit):
        finish(results, None, tmp_path / "out", tmp_path / "out.partial" if keeps else None)
    lines = [line for line in capsys.readouterr().out.splitlines() if "more: " in line]
    kept = tmp_path / "out.partial" / "a-s54"
    assert lines == [f"more: sstep-verify explain {kept}"] * keeps


def test_where_no_report_can_be_written_what_was_found_is_reported_all_the_same(capsys, tmp_path):
    full = InputError(f"{tmp_path}: cannot be written: No space left on device")
    with pytest.raises(InputError, match="No space left"):
        finish(_failed(), None, tmp_path, None, full)
    assert "  FAIL a: step-replay, s = 54: wrong (first at s = 1: step-replay)\n" in capsys.readouterr().out
