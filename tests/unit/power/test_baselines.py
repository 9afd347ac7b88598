"""Each rival accepts a right answer and refuses one that is wrong by more than it allows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sstep_verify.problems import Hinge, LinearKernel, Problem, Ridge
from studies.baselines import BASELINES, Answers

NAMED = {rival.name: rival for rival in BASELINES}
RIGHT = np.array([0.0, 0.25, 0.5, 1.0])
LARGEST_RIGHT = {
    "allclose 1e-5": 5e-6,
    "allclose 1e-7": 5e-8,
    "LAPACK ratio 30": 2e-15,
    "own classical 1e-8": 5e-9,
    "3 x baseline": 2e-16,
}
"""Relative error of all of a that each of the rivals of a alone accepts; ten times that it does not."""


def answers(**changes) -> Answers:
    data = np.array([[1.0, 0.5], [0.25, 1.0], [-1.0, 0.5], [0.5, -1.0]])
    problem = Problem("four", data, np.array([1.0, 1.0, -1.0, -1.0]), LinearKernel(), Hinge(1.0))
    given = Answers(problem, "float64", 4, RIGHT, RIGHT, own_classical=RIGHT, exact=RIGHT)
    return replace(given, **changes)


@pytest.mark.parametrize("rival", BASELINES, ids=lambda rival: rival.name)
def test_the_right_answer_is_accepted_and_a_lost_one_is_not(rival):
    assert rival.accepts(answers()) is True
    assert rival.accepts(answers(final=RIGHT[::-1].copy())) is False
    assert rival.accepts(answers(final=np.array([0.0, np.nan, 0.5, 1.0]))) is False
    assert rival.accepts(answers(final=RIGHT[:3])) is False


@pytest.mark.parametrize("name", LARGEST_RIGHT)
def test_what_is_allowed_lies_where_the_name_says(name):
    error = LARGEST_RIGHT[name]
    assert NAMED[name].accepts(answers(final=RIGHT * (1 + error)))
    assert NAMED[name].accepts(answers(final=RIGHT * (1 + 10 * error))) is False


def test_float32_is_allowed_what_its_users_allow():
    for name in ("allclose 1e-7", "LAPACK ratio 30", "own classical 1e-8", "3 x baseline"):
        rounded = RIGHT * (1 + 2.0**-24)
        assert NAMED[name].accepts(answers(final=rounded, precision="float32")), name
    for name in ("LAPACK ratio 30", "own classical 1e-8", "3 x baseline"):
        assert not NAMED[name].accepts(answers(final=rounded)), name


def test_the_objective_is_held_against_the_trusted_one():
    # At a ridge's own solution the objective is flat: an error of 1e-4 in a is one of about 1e-8 in it.
    data = np.eye(3)
    problem = Problem("three", data, np.array([1.0, 2.0, -1.0]), LinearKernel(), Ridge(1.0))
    best = problem.targets / 4.0
    for name in ("objective 1e-6", "gap 1e-6"):
        given = answers(problem=problem, trusted_classical=best, final=best * (1 + 1e-4))
        assert NAMED[name].accepts(given)
        assert NAMED[name].accepts(replace(given, final=best * 1.01)) is False
        assert NAMED[name].accepts(replace(given, final=best * 1.004, precision="float32"))


def test_a_gap_smaller_than_the_trusted_one_is_no_fault():
    problem = Problem("one", np.eye(1), np.ones(1), LinearKernel(), Ridge(1.0))
    best = np.array([0.5])
    given = answers(problem=problem, trusted_classical=best * 0.9, final=best)
    assert NAMED["gap 1e-6"].accepts(given)
    assert NAMED["gap 1e-6"].accepts(replace(given, final=best * 0.89)) is False


def test_a_tiny_number_instead_of_zero_is_no_alarm_but_a_norm_of_zero_is_exact():
    tiny = RIGHT + np.array([1e-17, 0.0, 0.0, 0.0])
    for rival in BASELINES:
        assert rival.accepts(answers(final=tiny)), rival.name
    zero = np.zeros(4)
    given = answers(trusted_classical=zero, final=zero)
    assert NAMED["LAPACK ratio 30"].accepts(given)
    assert NAMED["LAPACK ratio 30"].accepts(replace(given, final=tiny)) is False


def test_the_baseline_is_the_error_of_the_trusted_run():
    given = answers(trusted_classical=RIGHT * (1 + 1e-10), final=RIGHT * (1 - 2.9e-10))
    assert NAMED["3 x baseline"].accepts(given)
    assert NAMED["3 x baseline"].accepts(replace(given, final=RIGHT * (1 - 3.1e-10))) is False


def test_a_rival_without_what_it_needs_says_nothing():
    given = answers(own_classical=None, exact=None)
    silent = [rival.name for rival in BASELINES if rival.accepts(given) is None]
    assert silent == ["own classical 1e-8", "3 x baseline"]
    assert NAMED["own classical 1e-8"].accepts(answers(s=1)) is None
