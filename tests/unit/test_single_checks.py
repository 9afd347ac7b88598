"""A test of one check: what it fails for, what it skips, what is expected of it, and how long it may take."""

from __future__ import annotations

import signal
import time
from dataclasses import asdict
from types import SimpleNamespace

import pytest

from sstep_verify import CallableSolver, Declaration, parametrize_with_checks
from sstep_verify.campaign.model import INTERNAL, REFUSED
from sstep_verify.campaign.summary import ExpectedFailure
from sstep_verify.errors import FailedError, InputError
from sstep_verify.report.results import TOO_FEW, Campaign, TooFew
from sstep_verify.report.words import lacking
from sstep_verify.single_checks import Unshown, judged_by, limited, once

WRONG = {"box": "FAIL", "contract": "PASS", "trajectory": "VACUOUS"}


def report_of(statuses=WRONG, passed=None, short=(), **errors):
    """A report on one problem, with a verdict of each check."""
    verdicts = [
        {"status": status, "case": "problem", "check": check, "s": 4, "reason": f"why {check}"}
        for check, status in statuses.items()
    ]
    failures = [one for one in verdicts if one["status"] in ("FAIL", "INCONCLUSIVE")]
    kinds = {"refused": REFUSED, "internal": INTERNAL}
    few = [asdict(one) | {"words": lacking(one)} for one in short]
    parameters = {TOO_FEW: few, "errors": {kinds[name]: lines for name, lines in errors.items()}}
    campaign = Campaign("mine-smoke", "", "", (), parameters)
    results = SimpleNamespace(
        verdicts=verdicts, campaign=campaign, summary=SimpleNamespace(sentence="told")
    )
    ok = not (failures or short or errors) if passed is None else passed
    return SimpleNamespace(results=results, failures=failures, passed=ok)


def test_each_check_fails_for_itself_alone():
    with pytest.raises(FailedError, match="FAIL problem, box, s = 4: why box"):
        judged_by(report_of(), "box")
    assert judged_by(report_of(), "contract") is None
    assert judged_by(report_of(), "trajectory") == Unshown("why trajectory")
    assert judged_by(report_of(), "optimum") == Unshown("optimum does not apply to this solver and problem")


def test_what_concerns_no_check_fails_all_of_them():
    for report, words in (
        (report_of({}, refused=["problem: no"]), "not judged: problem: no"),
        (report_of({"box": "PASS"}, internal=["problem: bug"]), "internal error: problem: bug"),
        (report_of({"box": "VACUOUS"}, passed=False), "told"),
    ):
        for check in ("box", "contract"):
            with pytest.raises(FailedError, match=words):
                judged_by(report, check)


def test_too_few_comparisons_are_those_of_their_check():
    few = TooFew("box", "problem", 4, 0, 3, 1)
    report = report_of({"box": "PASS", "contract": "PASS"}, short=[few])
    with pytest.raises(FailedError, match="too few comparisons: box, problem, s = 4: 0 of 3"):
        judged_by(report, "box")
    assert judged_by(report, "contract") is None


def test_the_words_on_too_few_comparisons_decide_nothing(monkeypatch):
    monkeypatch.setitem(globals(), "lacking", lambda few: f"contract, {few.case}: told otherwise")
    report = report_of({"box": "PASS", "contract": "PASS"}, short=[TooFew("box", "problem", 4, 0, 3, 1)])
    assert judged_by(report, "contract") is None
    with pytest.raises(FailedError, match="told otherwise"):
        judged_by(report, "box")


def test_expected_failures_are_met_or_fail():
    known = ExpectedFailure("problem", "box: FAIL", "issue 12")
    assert judged_by(report_of(), "box", [known]) == Unshown("box: FAIL: issue 12", expected=True)
    assert judged_by(report_of(), "contract", [known]) is None
    for report in (report_of({"box": "PASS"}), report_of({"box": "INCONCLUSIVE"})):
        with pytest.raises(FailedError, match="expected, but not met: box: FAIL: issue 12"):
            judged_by(report, "box", [known])
    whole = ExpectedFailure("problem", REFUSED, "issue 13")
    refused = report_of({}, refused=["problem: no"])
    assert judged_by(refused, "box", [whole]) == Unshown("not judged: issue 13", expected=True)
    with pytest.raises(FailedError, match="expected, but not met: not judged: issue 13"):
        judged_by(report_of({"contract": "PASS"}), "contract", [whole], first=True)
    assert judged_by(report_of({"box": "PASS"}), "box", [whole]) is None


def test_a_problem_is_run_once_for_all_its_checks_also_if_it_fails():
    made, subject = [], object()

    def make():
        made.append(1)
        return report_of()

    def fail():
        made.append(1)
        raise FailedError("no")

    assert once(("a",), subject, make) is once(("a",), subject, make)
    assert len(made) == 1
    once(("a",), object(), make)
    assert len(made) == 2, "another solver is another report"
    for _ in range(2):
        with pytest.raises(FailedError, match="no"):
            once(("b",), subject, fail)
    assert len(made) == 3


def test_what_takes_too_long_fails_and_is_no_error_of_the_solver():
    def endless():
        try:
            time.sleep(60)
        except Exception:  # As an error of a solver would be kept.
            time.sleep(60)

    begin = time.monotonic()
    with (
        pytest.raises(FailedError, match=r"problem: did not end within 0.2 s \(time_limit\)"),
        limited(0.2, "problem"),
    ):
        endless()
    assert time.monotonic() - begin < 30
    with limited(5.0, "problem"):
        pass
    with pytest.raises(InputError, match="time_limit = 0"), limited(0.0, "problem"):
        pass


def test_tests_are_made_of_each_problem_and_check_with_what_is_expected(tmp_path):
    solver = CallableSolver(lambda problem, blocks, s, a0: a0, Declaration("mine"))
    case = "dense-15x9/rbf,sigma=0.1/svm-l1/C=2/mine-csr"
    known = f"[[expected]]\nid = '{case}'\nkind = 'trajectory: FAIL'\nreason = 'issue 12'\n"
    (tmp_path / "known.toml").write_text(known)
    options = {"tasks": ["svm-l1"], "kernels": ["rbf"], "time_limit": 60.0}
    mark = parametrize_with_checks([solver], **options, xfails=tmp_path / "known.toml").mark
    ids = [one.id for one in mark.args[1]]
    assert f"{case}::contract" in ids
    assert len(set(ids)) == len(ids) > 5
    (one,) = (one for one in mark.args[1] if one.id == f"{case}::trajectory")
    with pytest.raises(pytest.xfail.Exception, match="trajectory: FAIL: issue 12"):
        one.values[1](solver)
    (tmp_path / "known.toml").write_text(known.replace("C=2", "C=3"))
    with pytest.raises(InputError, match="names no case"):
        parametrize_with_checks([solver], **options, xfails=tmp_path / "known.toml")


class OuterError(Exception):
    """Raised by the timer of somebody else."""


@pytest.fixture
def running():
    """A timer of somebody else, over in 0.6 s."""

    def over(*_):
        raise OuterError

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, 0.6)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("running")
def test_a_timer_that_is_over_first_ends_a_longer_limit():
    with pytest.raises(OuterError), limited(5.0, "problem"):
        time.sleep(9)


@pytest.mark.usefixtures("running")
def test_a_timer_goes_on_behind_a_shorter_limit():
    with pytest.raises(FailedError, match=r"within 0\.1 s"), limited(0.1, "problem"):
        time.sleep(9)
    with pytest.raises(OuterError):
        time.sleep(9)
