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
from sstep_verify.report.case import NOTHING_BACK

RIGHT = ReferenceSolver("float64")


def stays(problem, blocks, s, a0):
    return a0


def test_a_right_solver_passes_a_profile():
    report = verify(RIGHT, "smoke", kernels=["linear"])
    assert report.passed
    assert report.failures == []
    assert report.folder is None
    report.raise_for_failures()
    lines = repr(report).splitlines()
    words = "s = 1 on 3 of 3 problems; s = 6 on 2 of 2; s = 7 on 1 of 1;"
    assert lines[0].startswith(f"reference-smoke: correct wherever judged: {words}")
    assert lines[1] == f"judged {2 * (95 + 40 + 54)} of {2 * (95 + 40 + 54)} steps"
    assert "correct for s = 1 and 7" in lines[2]
    assert report._repr_html_().count("<tr>") == 4


def test_a_wrong_solver_fails_and_leaves_what_judges_it_again(tmp_path):
    wrong = CallableSolver(stays, Declaration("<stays>: at a0"))
    report = verify(wrong, "smoke", tasks=["krr"], kernels=["rbf"], s=[2], out=tmp_path / "report")
    assert not report.passed
    assert "<stays>" not in report._repr_html_()
    with pytest.raises(FailedError, match="window-replay, s = 2: ") as caught:
        report.raise_for_failures()
    assert isinstance(caught.value, AssertionError)
    failed = next(one for one in report.failures if one["check"] == "window-replay")
    assert failed["replay"].startswith("sstep-verify explain --again artefacts/")
    assert failed["evidence"]["run_again"].startswith(
        "verify(solver, 'smoke', only='dense-20x8_regression/"
    )
    assert (
        json.loads((tmp_path / "report" / "results.json").read_text("utf-8"))["summary"]["exit_code"] == 1
    )


@pytest.mark.parametrize("spoil", ["raises", "not finite"])
def test_of_a_run_without_a_final_value_none_is_reported(spoil, tmp_path):
    """Nor is it said that it made no iteration, where an error ended it halfway."""

    def solve(problem, blocks, s, a0, log):
        log[:] = 0.0
        if spoil == "raises":
            raise ValueError("no more")
        log[-1] = np.nan
        alpha = a0.copy()
        alpha[blocks[-1]] = np.nan
        return alpha

    solver = CallableSolver(solve, Declaration("spoilt", log=True))
    verify(solver, "smoke", tasks=["krr"], kernels=["rbf"], s=[2], out=tmp_path / "report")
    results = json.loads((tmp_path / "report" / "results.json").read_text("utf-8"))
    (run,) = results["cases"][0]["runs"]
    assert run["final"] is None
    assert (run["iterations"] is None) == (spoil == "raises")
    assert (run["stop"] == NOTHING_BACK) == (spoil == "raises")
    assert results["summary"]["steps"] == (run["iterations"] or 0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"profile": "smok"}, "did you mean 'smoke'"),
        ({"profile": ["smoke"]}, r"profile = \['smoke'\] of type list; it must be the name of one"),
        (
            {"profile": "smoke", "tasks": ["svm-l1"], "data": "small_regression"},
            "two classes are needed, but the targets hold 32 distinct values",
        ),
        ({"profile": "smoke", "tasks": ["svm"]}, "task 'svm' is unknown .did you mean 'svm-l2'"),
        ({"profile": "smoke", "kernels": ["poly"]}, "kernel 'poly' is unknown .did you mean 'polynomial'"),
        ({"profile": "smoke", "tasks": "svm-l1"}, "tasks = 'svm-l1', but it must be a list"),
        ({"profile": "smoke", "kernels": None}, "kernels = None, but it must be a list"),
        ({"profile": "smoke", "s": 3}, "s = 3, but it must be a list"),
        ({"profile": "smoke", "s": np.array([0, 4])}, "s = 0"),
        ({"profile": "smoke", "ranks": 2}, "ranks = 2, but it must be a list"),
        ({"profile": "smoke", "ranks": ["2"]}, r"ranks = \['2'\]: '2' is no whole number"),
        ({"profile": "smoke", "seed": -1}, r"seed = -1, but it must be an integer in 0\.\."),
        (
            {"profile": "smoke", "data": np.ones((3, 2))},
            "data = .* of type ndarray; it must be the name of a",
        ),
        ({"profile": "smoke", "only": 3}, "only = 3 of type int; it must be"),
        ({"profile": "smoke", "out": 3}, "out = 3 of type int; it must be"),
        ({"profile": "smoke", "only": "nothing"}, "nothing"),
        ({"profile": "smoke", "s": [0]}, "s = 0"),
        ({"profile": "smoke", "ranks": [1, 2]}, "runs in one process, but ranks = 2"),
        ({"profile": "smoke", "s": ["4"]}, "'4' is no whole number"),
        ({"profile": "smoke", "s": [2.0]}, "2.0 is no whole number"),
        ({"profile": "smoke", "s": [1000]}, "a window holds no more"),
        ({"profile": "smoke", "data": "no such file"}, "no such file"),
    ],
)
def test_what_cannot_be_asked_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        verify(RIGHT, **options)


@pytest.mark.parametrize(
    ("solvers", "options", "words"),
    [
        (RIGHT, {}, "solvers = <.*ReferenceSolver.*, but it must be a list"),
        ("mine:solver", {}, "solvers = 'mine:solver', but it must be a list"),
        ([RIGHT], {"tasks": "krr"}, "tasks = 'krr', but it must be a list"),
        ([RIGHT], {"kernels": ["poly"]}, "kernel 'poly' is unknown .did you mean 'polynomial'"),
    ],
)
def test_what_no_tests_can_be_made_of_is_refused(solvers, options, words):
    with pytest.raises(InputError, match=words):
        parametrize_with_checks(solvers, **options)


@pytest.mark.nightly
@parametrize_with_checks([RIGHT], kernels=["polynomial"])
def test_the_decorator_makes_a_test_of_each_problem_and_check(solver, check):
    if "krr" in check.keywords["only"]:
        check(solver)
    elif check.keywords["check"] == "trajectory":
        with pytest.raises(FailedError, match="polynomial"):
            check(CallableSolver(lambda problem, *_: np.zeros(problem.samples), Declaration("reference")))


def test_where_a_run_is_not_judged_no_comparison_is_said_to_be_planned(tmp_path):
    def raises(problem, blocks, s, a0):
        raise ValueError("no more")

    solver = CallableSolver(raises, Declaration("raises"))
    verify(solver, "smoke", tasks=["krr"], kernels=["rbf"], s=[2], out=tmp_path / "report")
    results = json.loads((tmp_path / "report" / "results.json").read_text("utf-8"))
    left = [one for one in results["verdicts"] if one["why"] == "prerequisite_failed"]
    assert left
    assert {(one["planned"], one["executed"]) for one in left} == {(0, 0)}
