"""Verdicts graded against labels: what was found, its class, and the place that the reason names."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sstep_verify.campaign.sensitivity.cases import CaseFound, Said
from sstep_verify.campaign.sensitivity.grading import graded, named_steps, place_right
from sstep_verify.power.corpus.listing import Entry
from sstep_verify.problems import IndexStream
from sstep_verify.verdict import Status

ENTRY = Entry("mistake", "python", ("S-3.5",), "after the first step of a window", ("serial",))
STREAM = IndexStream("uniform", samples=9, block=1, length=40, seed=3)


def said(status=Status.FAIL, reason="", check="step-replay", s=7, sentences=("S-3.5",)):
    return Said(check, s, status, sentences, reason)


def case(*verdicts, error=""):
    failed = [one for one in verdicts if one.status is Status.FAIL]
    if failed:
        told = failed[0]
        return CaseFound(
            "case", "FAIL", f"{told.check}, s = {told.s}: {told.reason}", verdicts, error, "", 2.0
        )
    return CaseFound("case", "" if error else "PASS", "", verdicts, error, "", 2.0)


@pytest.mark.parametrize(
    ("reason", "steps"),
    [
        (
            "205 of 205 steps judged; 137 steps are over their bound, the first is step 2, coordinate 20",
            slice(1, 2),
        ),
        (
            "150100 of 150100 steps of the solver judged, each from its own a; step 638, coordinate 8",
            slice(637, 638),
        ),
        ("the exact replay of the window of iterations 29..35: measured 0.047", slice(28, 35)),
        ("farthest that a lies above nu (coordinate 27 at iteration 31, a = 2.1)", slice(0, 31)),
        ("11 runs held against what they were asked for", None),
    ],
)
def test_the_steps_that_a_reason_names(reason, steps):
    assert named_steps(reason, 40) == steps


@pytest.mark.parametrize(
    ("acts", "reason", "right"),
    [
        ("after the first step of a window", "the first is step 2", True),
        ("after the first step of a window", "the first is step 8", False),
        ("last short window", "the window of iterations 36..40", True),
        ("last short window", "the window of iterations 29..35", False),
        ("every step", "the first is step 8", True),
        ("run", "runs held against what they were asked for", True),
        ("run", "the first is step 8", False),
        ("every step", "no step is named", True),
    ],
)
def test_a_place_is_right_where_the_mistake_acts_in_a_step_that_is_named(acts, reason, right):
    assert place_right(acts, said(reason=reason), STREAM, 0, 40) == right


def test_the_first_failed_case_gives_check_class_and_time():
    passed = case(said(Status.PASS))
    failed = case(
        said(Status.PASS, check="box"), said(reason="the first is step 2"), said(check="trajectory")
    )
    found = graded(ENTRY, [passed, failed, passed], [], True, "again")
    assert (found.found, found.failed) == ("FAIL", ("step-replay", "trajectory"))
    assert found.judged == ("step-replay", "box", "trajectory")
    assert (found.first, found.class_right, found.place_right) == ("step-replay, s = 7", True, True)
    assert (found.cases, found.seconds, found.seconds_to_kill) == (2, 6.0, 4.0)


@pytest.mark.parametrize(
    ("cases", "found"),
    [
        ([case(said(Status.PASS))], "PASS"),
        ([case(said(Status.PASS)), case(error="it ended")], "error"),
        ([CaseFound("case", "VACUOUS", "nothing seen")], "open"),
        ([], "open"),
        ([case(said()), case(error="it ended")], "FAIL"),
    ],
)
def test_what_is_found_of_cases(cases, found):
    judged = graded(ENTRY, cases, [], False, "again")
    assert judged.found == found
    assert bool(judged.reason) == (found != "PASS")


def test_another_sentence_is_another_class():
    assert not graded(ENTRY, [case(said(sentences=("S-3.6", "S-3.5")))], [], True, "").class_right
    assert not graded(ENTRY, [case(said(sentences=()))], [], True, "").class_right


def test_a_rival_refuses_a_solver_if_it_refuses_one_of_its_cases():
    seen = [
        {"a": "accepts", "b": "not applicable"},
        {"a": "refuses", "b": "accepts", "c": "not applicable"},
    ]
    assert graded(ENTRY, [case(said())], seen, True, "").rivals == {
        "a": "refuses", "b": "accepts", "c": "not applicable",
    }  # fmt: skip


def test_a_state_is_read_from_the_log_where_none_was_recorded():
    from sstep_verify.campaign.sensitivity.rivalry import _state

    blocks = np.array([[0, 1], [1, 2], [0, 2]])
    log = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    run = SimpleNamespace(
        iterations=np.array([0, 3]), alphas=np.array([[0.0, 0, 0], [5, 3, 6]]), log=log, length=3
    )
    assert _state(run, blocks, 2).tolist() == [1.0, 3.0, 4.0]
    assert _state(run, blocks, 3).tolist() == [5.0, 3.0, 6.0]
    assert _state(run, blocks, 4) is None
    run.log = None
    assert _state(run, blocks, 2) is None


def test_a_case_tells_the_part_that_is_wrong_or_the_whole_step_only():
    assert case(said(sentences=("S-3.5", "S-3.1"))).part_named
    assert not case(said(sentences=("S-3.1", "S-3.5"))).part_named
    assert not case(said(sentences=())).part_named
    assert not case(said(Status.PASS)).part_named


def test_a_smaller_problem_is_read_from_the_reason():
    told = (
        "step 3; S-3.5 A smaller problem fails alike: m = 3, n = 1, H = 2, s = 1; it stands in the folder."
    )
    assert case(said(reason=told)).smaller == "m = 3, n = 1, H = 2, s = 1"
    assert case(said(reason="step 3; S-3.5")).smaller == ""
