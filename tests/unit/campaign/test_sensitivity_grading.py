"""Verdicts graded against labels: what was found, its class, and the place that a verdict names."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sstep_verify.judging import judge
from sstep_verify.problems import IndexStream, LinearKernel, Problem, SquaredHinge
from sstep_verify.solver import ProductionSolver
from sstep_verify.verdict import PLACE, Status, Verdict
from studies.corpus.grading import CaseFound, graded, place_right
from studies.corpus.listing import Edit

MISTAKE = Edit("mistake", breaks=("S-3.5",), acts="after the first step of a window")
STREAM = IndexStream("uniform", samples=9, block=1, length=40, seed=3)


def said(status=Status.FAIL, place=None, check="step-replay", s=7, requirement="S-3.5"):
    evidence = {PLACE: place} if place else {}
    counts = {"planned": 1, "executed": 1}
    return Verdict(
        check,
        "case",
        "p",
        s,
        1,
        status,
        0.0,
        0.0,
        0.0,
        "",
        **counts,
        evidence=evidence,
        requirement=requirement,
    )


def case(*verdicts, error=""):
    failed = [one for one in verdicts if one.status is Status.FAIL]
    if failed:
        return CaseFound("case", "FAIL", "why", verdicts, error, "", 2.0, failed[0])
    return CaseFound("case", "" if error else "PASS", "", verdicts, error, "", 2.0)


def wrong_at(step):
    """Our solver with one wrong value in its log, and so in its a; the later ones stay as they were."""

    class Wrong:
        declaration = ProductionSolver().declaration

        def run(self, request, observe=None):
            made = ProductionSolver().run(request)
            if made.log is None or len(made.log) <= step:
                return made
            log, alphas = made.log.copy(), made.alphas.copy()
            log[step] += 1e-3
            for row, iteration in enumerate(made.iterations.tolist()):
                drawn = request.stream.blocks(request.start, request.start + iteration)
                alphas[row, drawn.ravel()] = log[:iteration].ravel()
            return replace(made, log=log, alphas=alphas)

    return Wrong()


@pytest.mark.parametrize("step", [4, 6, 17])
def test_a_failed_step_and_a_failed_window_are_named_in_a_field(step):
    data = np.random.Generator(np.random.PCG64(step)).standard_normal((9, 3))
    problem = Problem("p", data, np.where(data[:, 0] > 0, 1.0, -1.0), LinearKernel(), SquaredHinge(1.0))
    stream = IndexStream("uniform", samples=9, block=1, length=21, seed=3)
    wanted = ("step-replay", "window-replay")
    _, steps, windows = judge(wrong_at(step), problem, stream, s=7, checks=wanted)
    assert steps.status is windows.status is Status.FAIL
    assert (steps.place.begin, steps.place.end) == (step, step + 1)
    assert steps.evidence[PLACE] == [step, step + 1]
    begin, end = windows.place.begin, windows.place.end
    assert step < end <= begin + 7
    assert windows.evidence[PLACE] == [begin, end]


@pytest.mark.parametrize(
    ("acts", "place", "right"),
    [
        ("after the first step of a window", (1, 2), True),
        ("after the first step of a window", (7, 8), False),
        ("last short window", (35, 40), True),
        ("last short window", (28, 35), False),
        ("every step", (7, 8), True),
        ("every step", (0, 60), True),
        ("run", None, True),
        ("run", (7, 8), False),
        ("every step", None, True),
    ],
)
def test_a_place_is_right_where_the_mistake_acts_in_a_step_that_is_named(acts, place, right):
    assert place_right(acts, said(place=place), STREAM, 0, 40) == right


def test_the_first_failed_case_gives_check_class_and_time():
    passed = case(said(Status.PASS))
    failed = case(said(Status.PASS, check="box"), said(place=(1, 2)), said(check="trajectory"))
    found = graded(MISTAKE, [passed, failed, passed], [], True, "again")
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
    judged = graded(MISTAKE, cases, [], False, "again")
    assert judged.found == found
    assert bool(judged.reason) == (found != "PASS")


def test_another_sentence_is_another_class():
    assert not graded(MISTAKE, [case(said(requirement="S-3.6"))], [], True, "").class_right
    assert not graded(MISTAKE, [case(said(requirement=""))], [], True, "").class_right


def test_a_rival_refuses_a_solver_if_it_refuses_one_of_its_cases():
    seen = [
        {"a": "accepts", "b": "not applicable"},
        {"a": "refuses", "b": "accepts", "c": "not applicable"},
    ]
    assert graded(MISTAKE, [case(said())], seen, True, "").rivals == {
        "a": "refuses", "b": "accepts", "c": "not applicable",
    }  # fmt: skip


def test_a_state_is_read_from_the_log_where_none_was_recorded():
    from studies.baselines import _state

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
    assert case(said(requirement="S-3.5")).part_named
    assert not case(said(requirement="S-3.1")).part_named
    assert not case(said(requirement="")).part_named
    assert not case(said(Status.PASS)).part_named
