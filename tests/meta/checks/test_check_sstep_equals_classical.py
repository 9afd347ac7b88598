"""The check sstep-equals-classical: red where a defect is planted, green on the same input without it,
vacuous where the input could not have shown one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from plant import plant
from test_check_trajectory import LOSSES, PLANTS, judge, make_case

from sstep_verify.checks import sstep_equals_classical
from sstep_verify.checks.registry import checks_of
from sstep_verify.checks.short.runs import short_key, short_points
from sstep_verify.problems import Hinge, RBFKernel, Ridge, SquaredHinge
from sstep_verify.rounding.arithmetic import ROUND_UP
from sstep_verify.solver import svm_window
from sstep_verify.verdict import Status, Why

SHARED = "gradient[place] + shift * value"
"""A mistake that the classical run makes as well, so that the two agree."""


@pytest.mark.parametrize(
    ("loss", "block", "update"),
    [
        pytest.param(*loss, update, marks=[pytest.mark.nightly] * ((row + column) % 2))
        for row, loss in enumerate(LOSSES)
        for column, update in enumerate(("in-place", "frozen"))
    ],
)
def test_correct_runs_agree_and_say_what_they_could_have_seen(loss, block, update):
    verdicts = judge(sstep_equals_classical, *make_case(loss, block, update=update))
    assert sorted(verdicts) == [4, 16]
    assert {verdict.status for verdict in verdicts.values()} == {Status.PASS}
    for verdict in verdicts.values():
        assert 0 < verdict.executed == verdict.planned
        assert verdict.ratio <= 1
        assert verdict.units == ("M-norm" if isinstance(loss, Ridge) else "absolute, largest coordinate")
        assert verdict.terms[0].seen


@pytest.mark.parametrize("plan", [plan for plan in PLANTS if plan[4] != SHARED])
def test_a_planted_defect_fails_with_a_reason(plan):
    loss, block, update, module, old, new = plan
    with plant(module, (old, new)):
        verdicts = judge(sstep_equals_classical, *make_case(loss, block, update=update))
    red = [verdict for verdict in verdicts.values() if verdict.status is Status.FAIL]
    assert red
    for verdict in red:
        assert verdict.ratio > 1
        assert verdict.place.end > 0
        assert verdict.bound_origin.startswith("bounds/window/")


def test_a_mistake_of_both_runs_is_not_for_this_check():
    with plant(svm_window, (SHARED, "gradient[place]")):
        verdicts = judge(sstep_equals_classical, *make_case(SquaredHinge(2.0)))
    assert {verdict.status for verdict in verdicts.values()} == {Status.PASS}


@pytest.mark.parametrize("loss", [Hinge(0.5), Ridge(0.05)])
def test_the_distance_of_the_two_runs_is_reported(loss):
    case, tested = make_case(loss)
    runs = {key: tested.run(request) for key, request in sstep_equals_classical.CHECK.runs(case).items()}
    verdict = judge(sstep_equals_classical, case, tested)[16]
    points = {point["iteration"]: point["distance"] for point in verdict.evidence["points"]}
    assert list(points) == list(short_points(case, 16))
    for iteration, distance in points.items():
        difference = runs[short_key(16)].at(iteration) - runs[short_key(1)].at(iteration)
        # The M-norm is at least sqrt(m) times the 2-norm; the max-norm is at most the 2-norm.
        least = np.max(np.abs(difference)) * (np.sqrt(12) if isinstance(loss, Ridge) else 1)
        assert distance >= least / ROUND_UP


def test_a_diagonal_kernel_is_vacuous_not_right():
    verdicts = judge(sstep_equals_classical, *make_case(Hinge(1.0), kernel=RBFKernel(1e4)))
    assert {verdict.status for verdict in verdicts.values()} == {Status.VACUOUS}
    assert (verdicts[4].terms[0].name, verdicts[4].why) == ("kernel-correction", Why.NO_EFFECT)


def test_a_classical_run_that_is_not_finite_fails():
    case, tested = make_case(Ridge(0.05))

    def spoil(run):
        alphas = run.alphas.copy()
        alphas[1:, 0] = np.inf if run.s == 1 else alphas[1:, 0]
        return dataclasses.replace(run, alphas=alphas)

    verdicts = judge(sstep_equals_classical, case, tested, change=spoil)
    assert {verdict.status for verdict in verdicts.values()} == {Status.FAIL}


def test_without_an_s_above_1_nothing_is_asked_or_judged():
    case, tested = make_case(Hinge(0.5))
    assert judge(sstep_equals_classical, dataclasses.replace(case, s_values=(1,)), tested) == {}
    assert sstep_equals_classical.CHECK.runs(dataclasses.replace(case, s_values=(1,))) == {}


def test_the_classical_run_is_made_even_if_the_case_does_not_list_it():
    case, tested = make_case(Hinge(0.5))
    verdicts = judge(sstep_equals_classical, dataclasses.replace(case, s_values=(16,)), tested)
    assert verdicts[16].status is Status.PASS


def test_the_check_is_registered():
    (check,) = checks_of(["sstep-equals-classical"])
    assert check.id == "sstep-equals-classical"
    assert set(check.runs(make_case(Hinge(0.5))[0])) == {short_key(s) for s in (1, 4, 16)}
