"""Expected failures: named ones do not fail a run, others do, and so does one that is met no more."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sstep_verify.campaign.model import REFUSED, Definition, Finished, State
from sstep_verify.campaign.summary import ExpectedFailure, read_expected, summarise
from sstep_verify.cli.main import main
from sstep_verify.errors import InputError
from sstep_verify.report.case import Case
from sstep_verify.verdict import Status, Verdict

PROGRAM = Path(__file__).with_name("plain_program.py")


def check(monkeypatch, capsys, mistake: str, *words: str) -> tuple[int, str, str]:
    line = shlex.join([sys.executable, "-I", "-S", str(PROGRAM), "{dir}", mistake])
    given = [
        "--profile",
        "smoke",
        "--task",
        "svm-l1",
        "--kernel",
        "rbf",
        "--s",
        "7",
        "--out",
        "report",
        *words,
    ]
    monkeypatch.setattr(sys, "argv", ["sstep-verify", "check", "--exec", line, *given])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def verdict(status: Status, check: str = "step-replay", case: str = "a") -> Verdict:
    return Verdict(check, case, "p", 7, 1, status, 0.1, 0.1, 1.0, "absolute", 4, 4)


def summary(
    expected,
    *verdicts,
    refused: tuple[str, ...] = (),
    too_few: dict[str, list[str]] | None = None,
    interrupted=False,
):
    worst = {one.case: Status.PASS for one in verdicts}
    for one in verdicts:
        worst[one.case] = one.status if one.status is not Status.PASS else worst[one.case]
    cases = [
        Case(id=name, problem="p", dataset="d", kernel="k", loss="l", task="svm-l1", samples=2, features=1,
             block=1, status=status, s=(7,))
        for name, status in worst.items()
    ]  # fmt: skip
    state = State(interrupted=interrupted)
    for error in refused:
        state.add(Finished(error=error, kind=REFUSED))
    definition = replace(Definition("n", "t", "d", ()), expected=tuple(expected))
    return summarise(
        definition,
        cases,
        verdicts,
        planned_cases=len(cases) + len(refused),
        planned_problems=len(cases) + len(refused),
        steps=0,
        too_few=too_few or {},
        state=state,
    )


KNOWN = ExpectedFailure("a", "step-replay: FAIL", "issue")


@pytest.mark.parametrize(
    ("expected", "verdicts", "code"),
    [
        ((), [verdict(Status.FAIL)], 1),
        ((KNOWN,), [verdict(Status.FAIL)], 0),
        ((KNOWN,), [verdict(Status.FAIL), verdict(Status.FAIL, "box")], 1),
        ((KNOWN,), [verdict(Status.FAIL), verdict(Status.INCONCLUSIVE, "box")], 3),
        ((KNOWN,), [verdict(Status.FAIL), verdict(Status.FAIL, case="b")], 1),
        ((KNOWN,), [verdict(Status.INCONCLUSIVE)], 1),  # Another kind: unexpected, and the entry is stale.
        ((KNOWN,), [verdict(Status.PASS)], 1),
    ],
)
def test_what_is_not_named_fails_and_so_does_what_is_named_in_vain(expected, verdicts, code):
    found = summary(expected, *verdicts)
    assert found.exit_code == code
    stale = bool(expected) and not any(one.status is Status.FAIL for one in verdicts)
    assert ("expected, but not met: a, step-replay: FAIL: issue" in found.sentence) == stale


def test_what_an_expected_failure_left_uncompared_is_excused_with_it():
    lines = ["window-replay, b, s = 7: 0 of 4 planned comparisons executed, 2 needed"]
    broken = [verdict(Status.FAIL), verdict(Status.PASS, case="b")]
    assert summary((KNOWN,), *broken, too_few={"a": lines}).exit_code == 0
    assert summary((KNOWN,), *broken, too_few={"b": lines}).exit_code == 3


def test_a_problem_that_is_expected_not_to_be_judged():
    unjudged = ExpectedFailure("b", REFUSED, "no such kernel")
    passed = verdict(Status.PASS)
    assert summary((unjudged,), passed, refused=("b: refused: exit code 65",)).exit_code == 0
    assert summary((unjudged,), passed, refused=("bc: refused: exit code 65",)).exit_code == 1
    assert summary((unjudged,), passed, refused=("b: refused", "c: refused")).exit_code == 3
    assert summary((unjudged,), passed).exit_code == 1


def test_of_an_interrupted_run_nothing_is_stale():
    assert "not met" not in summary((KNOWN,), verdict(Status.PASS), interrupted=True).sentence


@pytest.mark.parametrize("status", [Status.PASS, Status.FAIL, Status.INCONCLUSIVE])
@pytest.mark.parametrize("expected", [(), (KNOWN,), (ExpectedFailure("b", REFUSED, "known"),)])
@pytest.mark.parametrize("refused", [(), ("b: refused: out of memory",)])
def test_an_interrupted_run_ends_with_its_own_code_whatever_is_expected(status, expected, refused):
    assert summary(expected, verdict(status), refused=refused, interrupted=True).exit_code == 130


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            '[[expected]]\nid = "a"\nkind = "step-repla: FAIL"\nreason = "x"',
            "did you mean 'step-replay: FAIL'",
        ),
        ('[[expected]]\nid = "a"\nkind = "box: PASS"\nreason = "x"', "'box: PASS' of 'a' is unknown"),
        ('[[expected]]\nid = "aa"\nkind = "box: FAIL"\nreason = "x"', "'aa' names no case"),
        (
            '[[expected]]\nid = "d/rbf,sigma=1/krr/lambda=1"\nkind = "box: FAIL"\nreason = "x"',
            "kernel rbf",
        ),
        ('[[expected]]\nid = "d/linear/krr/lambda=1"\nkind = "box: FAIL"\nreason = "x"', "task krr"),
        ('[[expected]]\nid = "e/linear/svm-l1/C=1"\nkind = "box: FAIL"\nreason = "x"', "names no case"),
        ('[[expected]]\nid = "a"\nkind = "box: FAIL"\nreason = " "', "reason is empty"),
        ('[[expected]]\nid = "a"\nkind = "box: FAIL"', "missing field `reason`"),
        ('[[expected]]\nid = "a"\nkind = "box: FAIL"\nreason = "x"\ns = 7', "unknown field `s`"),
        ('[[expected]]\nid = "a"\nkind = "box: FAIL"\nreason = "x"\n' * 2, "stands twice"),
        ("expected = 3", "expected"),
        ("known = []", "unknown field `known`"),
        ("x = " + "[" * 5000, "known.toml"),
        ("\0", "not a TOML file"),
    ],
)
def test_a_list_that_is_none_is_refused(tmp_path, text, told):
    (tmp_path / "known.toml").write_text(text, "utf-8")
    with pytest.raises(InputError) as refusal:
        read_expected(tmp_path / "known.toml", ("a", "d/linear/svm-l1/C=1"))
    assert told in str(refusal.value)
