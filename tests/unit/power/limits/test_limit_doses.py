"""Dosed solvers: right without a dose, red with one that is certain to show; trials and rivals count."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sstep_verify import quantities
from sstep_verify.checks.contract import ID as CONTRACT
from sstep_verify.checks.step_replay import ID as STEPS
from sstep_verify.checks.window_replay import ID as WINDOWS
from sstep_verify.problems import RBFKernel
from sstep_verify.recurrence.mutation import NONE, left_out
from sstep_verify.scenarios.scenario import Scenario
from studies.baselines import BASELINES
from studies.limits.rows import dose_rows, overall_rows, rival_rows
from studies.limits.runs import (
    EITHER,
    JudgedRuns,
    detection_limit,
    dose_of,
    failed,
    first_true,
    is_switch,
    shown,
)
from studies.limits.study import acting_in, measure_doses, measure_limits
from studies.report.sensitivity.limits import LimitUnit, RivalDose

NAMES = [one.name for one in quantities.QUANTITIES]
TASKS = {"svm-l1": 1.0, "svm-l2": 1.0, "krr": 0.02}


def scenario_of(task: str, **changes) -> Scenario:
    fields = {"samples": 12, "features": 3, "s": 4, "iterations": 14, "start": "mixed", "seed": 5}
    fields |= {"block": 2 if task == "krr" else 1, "precision": "float32", "parameter": TASKS[task]}
    return Scenario(task=task, **(fields | {"kernel": RBFKernel(0.5)} | changes))


@pytest.fixture(scope="module", params=TASKS)
def runs(request):
    return JudgedRuns(scenario_of(request.param), "float64")


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("task", TASKS)
def test_without_a_dose_every_verdict_passes(task, precision):
    verdicts = JudgedRuns(scenario_of(task), precision).verdicts()
    assert [one.check for one in verdicts] == [CONTRACT, STEPS, WINDOWS]
    assert not failed(verdicts)
    assert all(0.0 < one.ratio < 0.5 for one in verdicts[1:])


def is_red(runs: JudgedRuns, mutation) -> bool:
    """Whether one check fails, the quickest asked first."""
    return any(failed((runs.verdict(check, mutation),)) for check in (CONTRACT, STEPS, WINDOWS))


def test_every_quantity_left_out_that_was_certain_to_show_is_red(runs):
    verdicts = runs.verdicts()
    certain = [name for name in NAMES if shown(verdicts, name)]
    assert len(certain) >= 9
    for name in certain:
        assert is_red(runs, left_out(name)), name


def test_a_dose_that_is_certain_to_show_is_red_and_a_small_one_is_not(runs):
    (_, *verdicts) = runs.verdicts()
    for name in (quantities.KERNEL, quantities.CURVATURE):
        trial = runs.trial(name, EITHER, detection_limit(verdicts, name))
        assert trial.within, trial
        assert trial.certain >= 2  # one may be rounded to a factor that is a little too small
        assert trial.missed == 0
        assert not is_red(runs, dose_of(name, trial.predicted / 16, "float64")[0])


def test_a_wrong_prediction_is_counted():
    runs, name = JudgedRuns(scenario_of("svm-l2"), "float64"), quantities.KERNEL
    told = detection_limit(runs.verdicts(), name)
    pessimist, optimist = runs.trial(name, WINDOWS, 32 * told), runs.trial(name, EITHER, told / 16)
    assert not pessimist.within
    assert pessimist.missed == 0
    assert optimist.found is None
    assert optimist.missed == optimist.certain >= 2
    (row,) = dose_rows([optimist])[:1]
    assert (row.trials, row.within, row.missed, row.largest) == (1, 0, optimist.missed, None)


def test_a_dose_is_what_its_factor_holds():
    assert dose_of(quantities.STALE, 1e-20, "float64") == (NONE, 0.0)
    assert dose_of(quantities.STALE, 3.1 * 2.0**-52, "float64")[1] == 3 * 2.0**-52
    mutation, dose = dose_of(quantities.KERNEL, 1e-6, "float32")
    assert dose == float(np.float32(1 + 1e-6)) - 1
    assert mutation.kernel == 1 + dose
    assert dose_of(quantities.LOWER, 1e-20, "float64")[1] == 1e-20
    assert dose_of(quantities.TAIL, 1e-20, "float64") == (left_out(quantities.TAIL), 1.0)
    assert [name for name in NAMES if is_switch(name)] == [
        quantities.WRITE_BACK,
        quantities.BOUNDARY,
        quantities.TAIL,
        quantities.STREAM,
    ]


def test_what_has_no_effect_does_not_act():
    whole = acting_in(scenario_of("svm-l1"), NAMES)
    assert {quantities.KERNEL, quantities.TAIL, quantities.BOUNDARY, quantities.UPPER} <= whole
    assert quantities.OMEGA not in whole
    alone = acting_in(scenario_of("svm-l1", iterations=4, start="zero"), NAMES)
    assert not {quantities.TAIL, quantities.BOUNDARY, quantities.STALE} & alone
    # A kernel so narrow that it is the identity: no coordinate knows of another.
    narrow = scenario_of("krr", kernel=RBFKernel(1e6))
    assert not {quantities.KERNEL, quantities.OFF_DIAGONAL} & acting_in(narrow, NAMES)


def test_limits_of_a_stratum_and_of_what_never_acts():
    # Of one step a window nothing is corrected in it.
    unit = LimitUnit("limits", "svm-l2", "rbf", (8,), (2,), ("float64",), 2, 2, 6)
    outcome = measure_limits(unit)
    assert outcome == measure_limits(unit)
    assert outcome.alarms == ()
    rows = {row.quantity: row for row in overall_rows([outcome])}
    kernel, overlap = rows[quantities.KERNEL], rows[quantities.OVERLAP]
    assert (kernel.acted, kernel.seen, kernel.rank, kernel.limit) == (2, 2, None, None)
    assert 0.0 < kernel.median <= kernel.largest < 1e-10
    assert (overlap.draws, overlap.acted, overlap.largest) == (6, 0, None)
    assert overlap.share_high < 0.5
    repeated = [replace(outcome, acting=tuple(replace_runs(one) for one in outcome.acting))]
    (row,) = [row for row in overall_rows(repeated) if row.quantity == quantities.KERNEL]
    assert (row.rank, row.limit) == (60, kernel.largest)


def replace_runs(one):
    return replace(
        one,
        draws=30 * one.draws,
        detection_limit=30 * one.detection_limit,
        seen=30 * one.seen,
    )


def test_doses_of_a_unit_and_what_rivals_make_of_them():
    unit = LimitUnit("doses", "svm-l2", "rbf", (8,), (2,), ("float64",), 1, 1, 6)
    outcome = measure_doses(unit)
    assert outcome.alarms == ()
    assert outcome.switches > outcome.switches_missed == 0
    assert {one.quantity for one in outcome.trials} == {one.quantity for one in outcome.rivals}
    (ours, *others) = rival_rows(outcome.rivals)[:8]
    assert ours.rival == "sstep-verify"
    assert ours.median < 1e-11
    assert [ours.rival, *(row.rival for row in others)] == [one.rival for one in outcome.rivals]
    assert all(
        row.median is None or row.median > 1e-9 for row in others if row.rival.startswith("allclose")
    )


def test_own_classical_does_not_see_what_is_wrong_for_every_s(runs):
    told = {one.rival: one for one in runs.rivals(quantities.CURVATURE)}
    assert told["allclose 1e-5"].dose < 1e-2
    kernel = {one.rival: one for one in runs.rivals(quantities.KERNEL)}
    assert kernel["own classical 1e-8"].dose <= kernel["allclose 1e-5"].dose


@pytest.mark.parametrize("quantity", [quantities.CURVATURE, quantities.KERNEL])
def test_a_rival_refuses_the_dose_that_is_reported_and_accepts_a_quarter_of_it(runs, quantity):
    told = {one.rival: one.dose for one in runs.rivals(quantity)}
    found = 0
    for rival in BASELINES:
        if (dose := told.get(rival.name)) is None:
            continue
        assert dose == 4.0 ** round(math.log(dose, 4))
        assert runs.accepts(rival, quantity, dose) is False
        assert runs.accepts(rival, quantity, dose / 4) is True
        found += 1
    assert found > 3


def test_alarms_and_what_is_never_seen_are_counted_apart():
    doses = [
        RivalDose("allclose 1e-5", "float64", quantities.STALE, place == 2, dose)
        for place, dose in enumerate((None, 1e-3, None))
    ]
    (row,) = [row for row in rival_rows(doses) if row.rival == "allclose 1e-5" and row.quantity]
    assert (row.pairs, row.alarms, row.never, row.rank, row.limit) == (3, 1, 1, None, None)


def test_bisection_finds_the_first():
    assert first_true(-5, 9, lambda place: place >= 3) == 3
    assert first_true(-5, 9, lambda place: True) == -5
    assert first_true(-5, 9, lambda place: False) is None


def test_no_check_is_certain_of_a_label_in_the_increments_of_its_own_coordinate():
    """The label of a coordinate drawn before in its window is squared in a part of the product."""
    scenario = scenario_of(
        "svm-l2", samples=16, features=6, iterations=7, start="zero", seed=3505384808,
        kernel=RBFKernel(1.0), parameter=1.778279423713684, spectrum="logrand", condition=1e6,
    )  # fmt: skip
    runs = JudgedRuns(scenario, "float64")
    trial = runs.trial(quantities.LABELS, STEPS, detection_limit([runs.verdict(STEPS)], quantities.LABELS))
    assert trial.certain
    assert not trial.missed
