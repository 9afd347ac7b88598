"""The calls that verify a solver on a profile from Python."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sstep_verify import (
    CallableSolver,
    Declaration,
    FailedError,
    InputError,
    ReferenceSolver,
    parametrize_with_checks,
    verify,
)

RIGHT = ReferenceSolver("float64")


def stays(problem, blocks, s, a0):
    return a0


def test_a_right_solver_passes_a_profile():
    report = verify(RIGHT, "smoke")
    assert report.passed
    assert report.failures == []
    assert report.folder is None
    report.raise_for_failures()
    lines = repr(report).splitlines()
    assert lines[0].startswith("reference-smoke: right for s = 1, 7 on 2 of 2 problems")
    assert lines[1] == "judged 516 of 516 steps"
    assert "right for s = 1, 7" in lines[2]
    assert report._repr_html_().count("<tr>") == 3


def test_a_wrong_solver_fails_and_leaves_what_judges_it_again(tmp_path):
    wrong = CallableSolver(stays, Declaration("<stays>: at a0"))
    report = verify(wrong, "smoke", tasks=["krr"], s=[2], out=tmp_path / "report")
    assert not report.passed
    assert "<stays>" not in report._repr_html_()
    with pytest.raises(FailedError, match="window-replay, s = 2: <stays>") as caught:
        report.raise_for_failures()
    assert isinstance(caught.value, AssertionError)
    failed = next(one for one in report.failures if one["check"] == "window-replay")
    assert failed["replay"].startswith("sstep-verify explain --again artefacts/")
    assert failed["evidence"]["run again"].startswith("verify(solver, 'smoke', only='small_regression/")
    assert (
        json.loads((tmp_path / "report" / "results.json").read_text("utf-8"))["summary"]["exit_code"] == 1
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"profile": "smok"}, "did you mean 'smoke'"),
        ({"profile": "smoke", "tasks": ["svm-l2"]}, "no problem of it goes with"),
        ({"profile": "smoke", "only": "nothing"}, "nothing"),
        ({"profile": "smoke", "s": [0]}, "s = 0"),
        ({"profile": "smoke", "s": ["4"]}, "'4' is no whole number"),
        ({"profile": "smoke", "s": [2.0]}, "2.0 is no whole number"),
        ({"profile": "smoke", "s": [1000]}, "a window holds no more"),
        ({"profile": "smoke", "data": "no such file"}, "no such file"),
    ],
)
def test_what_cannot_be_asked_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        verify(RIGHT, **options)


@parametrize_with_checks([RIGHT])
def test_the_decorator_makes_a_test_of_each_problem(solver, check):
    if "krr" in check.keywords["only"]:
        check(solver)
    else:
        with pytest.raises(FailedError, match="small"):
            check(CallableSolver(lambda *given: np.zeros(32), Declaration("reference")))
