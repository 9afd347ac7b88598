"""That windows of s were made is said where something showed it, and not of single steps."""

from __future__ import annotations

import pytest
from small_solvers import callable_of

from sstep_verify import verify
from sstep_verify.report.words import UNOBSERVED
from sstep_verify.verdict import NoteKind, Status

LIMIT = "relative errors in the kernel correction"


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("task", ["svm-l1", "krr"])
def test_a_solver_that_ignores_s_is_not_said_to_make_windows(seed, log, task):
    """Each of its steps is correct, and no number of it depends on s."""
    report = verify(callable_of(log=log, own_s=1), "smoke", tasks=[task], kernels=["polynomial"], seed=seed)
    assert report.passed
    sentence = report.results.summary.sentence
    assert UNOBSERVED in sentence
    assert LIMIT not in sentence
    gates = [one for one in report.results.verdicts if one["check"] in ("step-replay", "window-replay")]
    passed = [one for one in gates if one["status"] == Status.PASS and one["s"] > 1]
    assert passed
    for one in passed:
        assert NoteKind.UNOBSERVED in {note["kind"] for note in one["notes"]}


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("task", ["svm-l1", "krr"])
def test_of_a_solver_that_makes_windows_they_are_observed(seed, task):
    """The order of its sums depends on s, and with it the last bits."""
    report = verify(callable_of(log=True), "smoke", tasks=[task], kernels=["polynomial"], seed=seed)
    assert report.passed
    sentence = report.results.summary.sentence
    assert UNOBSERVED not in sentence
    assert LIMIT in sentence
