"""A quantity that is off by a factor is named, with the factor; what is off in another way names none."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sstep_verify import quantities as name
from sstep_verify.checks.steps.explain import Explained, explained
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.checks.steps.step_statistics import CURVATURE, KERNEL, NAMES, PENALTY, SAME, STALE
from sstep_verify.diagnosis.factors import (
    BOTH,
    ENOUGH,
    MOST,
    NO_ENTRIES,
    ROW,
    explain,
    explain_end,
    off_by_a_factor,
)
from sstep_verify.oracle.facade import Oracle
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.scenarios.draws import draw_balanced_scenario
from sstep_verify.verdict import Status
from studies.limits.runs import STEPS, JudgedRuns, dose_of
from studies.limits.study import acting_in

OFF = {
    "svm-l1": (name.STALE, name.CURVATURE, name.KERNEL),
    "svm-l2": (name.STALE, name.CURVATURE, name.KERNEL, name.SAME, name.OMEGA),
    "krr": (
        name.STALE,
        name.CURVATURE,
        name.KERNEL,
        name.SAME,
        name.OVERLAP,
        name.PENALTY,
        name.OFF_DIAGONAL,
    ),
}


def factors_of(why, *, of_svm):
    found = off_by_a_factor(why.low, why.high, why.fits, of_svm=of_svm, allowed=why.allowed)
    # A factor that is made in all steps leaves the correct ones within their bounds.
    assert all(factor.everywhere for factor in found)
    return found


@pytest.fixture(scope="module")
def runs():
    generator = np.random.Generator(np.random.PCG64(3))

    def acting(task: str) -> JudgedRuns:
        while True:
            scenario = draw_balanced_scenario(generator, task, "rbf", 64, 32, ("zero",))
            if acting_in(scenario, OFF[task]) == set(OFF[task]):
                return JudgedRuns(scenario, "float64")

    return {task: acting(task) for task in OFF}


@pytest.mark.parametrize("dose", [1e-8, 0.25])
@pytest.mark.parametrize(
    ("task", "quantity"), [(task, one) for task, names in OFF.items() for one in names]
)
def test_the_quantity_and_its_factor_are_reported(runs, task, quantity, dose):
    mutation, made = dose_of(quantity, dose, "float64")
    verdict = runs[task].verdict(STEPS, mutation)
    assert verdict.status is Status.FAIL
    told = {one.names: one.factor for one in verdict.defects}
    assert told[(f"{quantity} off by a factor",)] - 1 == pytest.approx(made, rel=2e-3)
    proportional = {"krr": (name.SAME, name.OVERLAP), "svm-l2": (name.SAME, name.OMEGA)}
    # RBF: every K_ii is 1, so that what a coordinate drawn again adds by it and by m or omega is alike.
    assert len(told) == (2 if quantity in proportional.get(task, ()) else 1)


def test_a_right_run_names_none(runs):
    assert runs["krr"].verdict(STEPS).defects == ()


def explanation(*steps, quantity=STALE):
    """The explanation of steps of (moved, effect, bound)."""
    why = Explained.nothing()
    for number in range(ROW + 1):
        if number != quantity:
            why.low[number] = np.inf
    for moved, effect, bound in steps:
        explain(why, quantity, moved, effect, bound)
    return why


def test_intervals_of_all_steps_meet():
    why = explanation((0.5, 1.0, 0.1), (-1.1, -2.0, 0.1), (0.0, 0.0, 0.1), (0.27, 0.5, 0.05))
    assert why.fits[STALE] == ENOUGH
    (found,) = factors_of(why, of_svm=False)
    assert found[:2] == (NAMES[STALE], NAMES[STALE])
    assert (found.low, found.high) == pytest.approx((0.5, 0.6), rel=1e-9)
    # Values of a K-SVM move against a quantity of the gradient.
    (found,) = factors_of(why, of_svm=True)
    assert (found.low, found.high) == pytest.approx((-0.6, -0.5), rel=1e-9)


@pytest.mark.parametrize("more", [(0.9, 1.0, 0.1), (0.2, 0.0, 0.1)])
def test_a_step_that_another_factor_explains_or_none_rules_it_out(more):
    assert factors_of(explanation(*[(0.5, 1.0, 0.1)] * 3, more), of_svm=False) == []


def test_two_steps_are_too_few():
    assert factors_of(explanation(*[(0.5, 1.0, 0.1)] * (ENOUGH - 1)), of_svm=False) == []


def test_a_step_at_an_end_of_the_box_tells_one_side():
    why = explanation(*[(0.5, 1.0, 0.1)] * ENOUGH)
    explain_end(why, STALE, 0.45, 1.0)
    explain_end(why, STALE, -0.55, -1.0)
    (found,) = factors_of(why, of_svm=False)
    assert (found.low, found.high) == pytest.approx((0.45, 0.55), rel=1e-9)
    explain_end(why, STALE, -0.1, 0.0)
    assert factors_of(why, of_svm=False)
    explain_end(why, STALE, 0.1, 0.0)
    assert factors_of(why, of_svm=False) == []


def test_of_a_divided_quantity_the_factor_is_its_own():
    # A curvature 1.25 times as large leaves 0.8 of a step; entries over 1.25 lambda are 0.8 of the right ones.
    why = explanation(*[(0.2, 1.0, 0.0)] * 3, quantity=CURVATURE)
    (found,) = factors_of(why, of_svm=True)
    assert found.low == pytest.approx(0.25, rel=1e-9)
    why = explanation(*[(-0.2, 1.0, 0.0)] * 3, quantity=PENALTY)
    (found,) = factors_of(why, of_svm=False)
    assert found.high == pytest.approx(0.25, rel=1e-9)


@pytest.mark.parametrize("entries", [-3.0, -2.0, -1.0, -0.5])
def test_entries_of_the_other_sign_are_over_the_inverse_of_their_factor(entries):
    why = explanation(*[(entries - 1.0, 1.0, 1e-9)] * 3, quantity=PENALTY)
    (found,) = factors_of(why, of_svm=False)
    assert found.name == NAMES[PENALTY]
    assert found.ends[0] < 1.0 / entries < found.ends[1]
    assert found.size == pytest.approx(1.0 / entries, rel=1e-8)


@pytest.mark.parametrize("number", NO_ENTRIES)
def test_entries_times_0_are_left_out_and_no_factor_on_lambda(number):
    why = Explained.nothing()
    why.low[:] = np.inf
    why.low[number] = -np.inf
    for _ in range(ENOUGH):
        explain(why, number, -1.0, 1.0, 1e-9)
    (found,) = factors_of(why, of_svm=False)
    assert (found.cause, found.size) == (NO_ENTRIES[number], None)


def test_a_factor_that_may_be_0_is_0():
    why = explanation(*[(-1.0 + 1e-12, 1.0, 1e-9)] * 3)
    (found,) = factors_of(why, of_svm=False)
    assert (found.name, found.size) == (NAMES[STALE], 0.0)


def test_entries_that_may_have_either_sign_have_no_factor():
    assert factors_of(explanation(*[(-1.0, 1.0, 0.1)] * 3, quantity=PENALTY), of_svm=False) == []


def test_steps_that_are_not_made_have_no_wrong_curvature():
    assert factors_of(explanation(*[(1.0, 1.0, 0.0)] * 3, quantity=CURVATURE), of_svm=True) == []


def test_a_curvature_that_cannot_be_leaves_the_other_quantities():
    why = explanation(*[(1.0, 1.0, 0.0)] * 3, quantity=CURVATURE)
    assert CURVATURE < KERNEL
    why.low[KERNEL] = -np.inf
    for _ in range(ENOUGH):
        explain(why, KERNEL, 1.0, 1.0, 0.0)
    assert [one.name for one in factors_of(why, of_svm=True)] == [NAMES[KERNEL]]


def test_both_corrections_together_are_one_and_where_too_many_quantities_fit_none_is_named():
    why = Explained.nothing()
    why.low[:] = np.inf
    for quantity in (KERNEL, BOTH):
        why.low[quantity] = -np.inf
        for _ in range(ENOUGH):
            explain(why, quantity, 0.5, 1.0, 0.1)
    assert [one.words for one in factors_of(why, of_svm=False)] == [NAMES[KERNEL]]
    why.low[KERNEL] = np.inf
    (found,) = factors_of(why, of_svm=False)
    assert (found.name, found.words) == (NAMES[KERNEL], "correction for all coordinates")
    for quantity in (STALE, SAME, PENALTY):
        why.low[quantity] = -np.inf
        for _ in range(ENOUGH):
            explain(why, quantity, 0.5, 1.0, 0.1)
    assert factors_of(why, of_svm=False) == []
    assert MOST == 3


def test_an_error_of_another_kind_names_none(runs):
    # Every step off by as much as the last: no part of a step is proportional to that.
    judged = runs["svm-l2"]
    made = dict(judged.made())
    (key,) = [key for key, run in made.items() if run.log is not None]
    wrong, log = made[key], made[key].log.copy()
    log[5:, 0] += float(Fraction(1, 10**6))
    made[key] = type(wrong)(wrong.s, wrong.start, wrong.iterations, wrong.alphas, log=log)

    found = StepJudge(judged._case, judged._oracle).run(made[key])
    assert found.wrong.size > ENOUGH
    assert factors_of(explained(found), of_svm=True) == []


@pytest.mark.parametrize("task", ["svm-l1", "svm-l2"])
def test_kernel_rows_that_are_off_are_reported_as_such(runs, task):
    judged = runs[task]
    case, made = judged._case, judged.made()

    # Of a judge whose own entries are 1 + 1e-8 times right ones, the solver's are 1 - 1e-8 times its own.
    def larger(*arguments):
        entries = kernel_entries(*arguments)
        return replace(entries, values=entries.values * (1.0 + 1e-8))

    run = next(run for run in made.values() if run.log is not None)
    (found,) = factors_of(
        explained(StepJudge(case, Oracle(judged.problem), form=larger).run(run)), of_svm=True
    )
    assert found.name == "kernel rows"
    assert (found.low, found.high) == pytest.approx((-1e-8, -1e-8), rel=1e-3)
