"""No bound reads sizes of terms off kernel values: right solvers on data that cancel, judged by every check.

Data whose products are zeros, or 2^20 to 2^40 times as large as their sum, samples equal up to an ulp, runs long
after a stands still; products formed from the samples in every declared form; and the same with a defect.
"""

from __future__ import annotations

from itertools import cycle, product

import numpy as np
import pytest
from cancelling import KINDS, TASKS, FromSamples, cancelling

from sstep_verify import judge
from sstep_verify.bounds.step.drift import WeightsDrift
from sstep_verify.declaration import Declaration
from sstep_verify.problems import LinearKernel, Problem, Ridge
from sstep_verify.verdict import Status

CHECKS = [
    "step-replay", "window-replay", "trajectory", "sstep-equals-classical", "metamorphic-exact",
    "kernel-entries", "box", "optimum", "residual-gap",
]  # fmt: skip

FORMS = [
    {"update": update, "carried": carried, "log": log, "panels": not carried, "dtype": dtype}
    for (update, carried), log, dtype in zip(
        product(("in-place", "added", "frozen"), (False, True)),
        cycle((True, False)),
        cycle((np.float64, np.float64, np.float64, np.float32)),
        strict=False,
    )
]


@pytest.mark.parametrize("forms", [3, pytest.param(len(FORMS), marks=pytest.mark.nightly)])
@pytest.mark.parametrize("task", TASKS)
def test_right_solvers_stay_within_every_bound(task, forms):
    """Three forms of each task by day: all six among them, and every task with weights and without."""
    decided, place = dict.fromkeys(CHECKS, 0), TASKS.index(task)
    tried = [*enumerate(zip(FORMS, cycle((8, 1, 16)), strict=False), place)]
    for seed, (form, s) in tried[2 * place : 2 * place + forms] if forms < len(FORMS) else tried:
        problem, stream = cancelling(seed, task, KINDS[seed % 4], block=1 + (task == "krr") * (seed % 2))
        for verdict in judge(FromSamples(**form), problem, stream, s, checks=CHECKS):
            assert verdict.status is not Status.FAIL, (seed, form, s, verdict.check, verdict.reason)
            assert verdict.ratio <= 1, (seed, form, s, verdict.check, verdict.reason)
            if verdict.check in decided:
                decided[verdict.check] += verdict.executed > 0
    for check in ("step-replay", "window-replay", "residual-gap", "trajectory"):
        assert decided[check] >= forms // 3, decided


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize("task", TASKS)
def test_a_defect_is_seen_in_every_form(task):
    for seed, form in enumerate(FORMS):
        problem, stream = cancelling(seed, task, "nearly", block=1 + (task == "krr"))
        checks = ["step-replay" if form["log"] else "window-replay"]
        verdict = judge(FromSamples(wrong=100, **form), problem, stream, 8, checks=checks)[-1]
        assert verdict.status is Status.FAIL, (form, verdict.reason)


class Forgetful(FromSamples):
    """Forms the w of a run that begins with an a from all its samples but one."""

    def _weights(self, data, signs, a):
        kept = a.copy()
        if np.count_nonzero(a) > 1:
            kept[np.flatnonzero(a)[0]] = 0.0
        return super()._weights(data, signs, kept)


@pytest.mark.parametrize(("log", "check"), [(True, "step-replay"), (False, "window-replay")])
@pytest.mark.parametrize("task", TASKS)
def test_weights_formed_from_too_few_samples_are_seen_where_a_run_is_continued(task, log, check):
    statuses = []
    for seed in range(3):
        problem, stream = cancelling(seed, task, "nearly")
        right, wrong = (
            judge(made(carried=True, log=log), problem, stream, 4, checks=[check])[-1]
            for made in (FromSamples, Forgetful)
        )
        assert right.status is not Status.FAIL, right.reason
        statuses.append(wrong.status)
    assert Status.FAIL in statuses


@pytest.mark.parametrize("task", TASKS)
def test_a_panel_is_no_truth_for_a_solver_that_may_form_products_from_the_samples(task):
    for seed in range(2):
        problem, stream = cancelling(seed, task, "orthogonal", 160 + 1040 * (task == "svm-l2"))
        solver = FromSamples(panels=True)
        verdict = judge(solver, problem, stream, 8, checks=["window-replay"])[-1]
        assert verdict.status is not Status.FAIL, verdict.reason


def test_weights_go_on_to_round_where_a_coordinate_stays_what_it_was():
    # One sample, whose a stays 1.5 in 50 steps: fl(a + D) = a for a D that is not 0.
    problem = Problem("still", np.array([[2.0]]), np.array([1.0]), LinearKernel(), Ridge(1.0))
    declaration = Declaration("still", weights=0)
    drift = WeightsDrift(problem, declaration, np.array([1.5]), 0, 50)
    before, u = float(drift._error[0]), 2.0**-52
    drift.along(np.zeros((50, 1), dtype=np.int64), np.full((50, 1), 1.5))
    # Each step adds a number of at most u/2 1.5, which rounds once as it is multiplied and once as it is added.
    grown = 50 * (u / 2) * 1.5 * 2.0 + 50 * u * 3.0
    assert before + grown <= drift._error[0] <= 2 * (before + grown)


@pytest.mark.parametrize(("start", "forgets"), [(0, True), (4, True), (1, False)])
def test_weights_formed_again_forget_their_drift_where_windows_are_counted_alike(start, forgets):
    problem = Problem("large", np.array([[1e10]]), np.array([1.0]), LinearKernel(), Ridge(1.0))
    declaration = Declaration("anew", weights=2)
    drift = WeightsDrift(problem, declaration, np.zeros(1), start, 2)
    values = np.array([[1e308], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0], [1.0]])
    drift.along(np.zeros((8, 1), dtype=np.int64), values)  # the first increment overflows the bound
    assert np.isfinite(drift._error[0]) == forgets
    assert not np.isnan(drift._error[0])
