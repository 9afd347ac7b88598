"""That windows of s were made is said where something showed it, and not of single steps."""

from __future__ import annotations

import pytest
from daily import crossed
from small_solvers import callable_of, drawn

from sstep_verify import judge, verify
from sstep_verify.report.words import UNOBSERVED
from sstep_verify.verdict import NoteKind, Status

LIMIT = "relative errors in the kernel correction"
SEEDS = [1, pytest.param(2, marks=pytest.mark.nightly)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("log", "task"), crossed([False, True], ["svm-l1", "krr"], of=2))
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


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("task", ["svm-l1", "krr"])
def test_of_a_solver_that_makes_windows_they_are_observed(seed, task):
    """The order of its sums depends on s, and with it the last bits."""
    report = verify(callable_of(log=True), "smoke", tasks=[task], kernels=["polynomial"], seed=seed)
    assert report.passed
    sentence = report.results.summary.sentence
    assert UNOBSERVED not in sentence
    assert LIMIT in sentence


def notes_of(verdicts):
    """Kinds of notes of the verdicts on steps and windows that passed."""
    gates = [one for one in verdicts if one.check in ("step-replay", "window-replay")]
    assert {one.status for one in gates if one.s > 1} == {Status.PASS}
    return [{note.kind for note in one.notes} for one in gates if one.s > 1]


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("task", ["svm-l1", "krr"])
def test_a_single_run_shows_correct_steps_and_no_windows(log, task):
    """Without a run of s = 1 nothing distinguishes windows of s from single steps."""
    for own_s in (1, None):
        (notes,) = notes_of(judge(callable_of(log=log, own_s=own_s), *drawn(4, task), 7))
        assert NoteKind.UNOBSERVED in notes


@pytest.mark.parametrize(("own_s", "observed"), [(1, False), (None, True)])
def test_a_relation_to_steps_of_one_shows_windows_of_a_single_s(own_s, observed):
    """The relation asks for the run of s = 1; its last bits differ where windows were made."""
    checks = ["step-replay", "sstep-equals-classical"]
    (notes,) = notes_of(judge(callable_of(log=True, own_s=own_s), *drawn(4), 7, checks=checks))
    assert (NoteKind.UNOBSERVED not in notes) is observed


def test_single_steps_need_no_windows():
    verdicts = judge(callable_of(log=True), *drawn(4), 1)
    assert all(note.kind is not NoteKind.UNOBSERVED for one in verdicts for note in one.notes)
