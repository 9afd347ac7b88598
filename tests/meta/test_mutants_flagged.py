"""Every mutant whose exact effect on a window exceeds twice the bound is flagged by window-replay.

By the triangle inequality: the run of a mutant is within the bound of where exact arithmetic would take the
mutant. Mutants are terms of the recurrence left out or made larger by a factor of 1 + 2**-52 to 2, run in
float64 in the paper's form (a frozen over the window) by the mutable recurrence, and in our form (a updated
in place) by the production solver with its correction scaled.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import partial
from types import ModuleType
from unittest import mock

import numpy as np
import pytest
from acting_draws import draw_acting_scenario
from daily import some
from mutable_runs import mutable_sstep_bdcd, mutable_sstep_dcd
from plant import plant
from sstep_reference.arithmetic import Float

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.comparison import Comparison, Window
from sstep_verify.checks.window.one_window import WindowReplays
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import Declaration, RunRequest
from sstep_verify.recurrence.mutation import NONE, TERMS
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.solver import ProductionSolver, ridge_window, svm_window
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status

DOUBLE = Float("float64")
FROZEN = Declaration("mutable recurrence", update="frozen", rbf="difference")
DROPPED = Fraction(-1)
DOSES = (DROPPED, *(Fraction(1, 2**exponent) for exponent in range(0, 53, 4)))
"""Relative changes of a term."""

MANY = pytest.mark.parametrize("windows", [2, pytest.param(4, marks=pytest.mark.nightly)])
"""Windows per task and term."""

IN_PLACE = {"kernel-correction": ("kernel", "kernel_overlap")}
"""In place, one sum corrects for the increments of all coordinates, the own one included."""

SCALED_SVM = [("* row[places[later]] * signed", "* row[places[later]] * (signed * FACTOR)")]
SCALED_RIDGE = [
    (
        "product += row[touched[0, other]] * delta[touched[0, other]]",
        "product += row[touched[0, other]] * delta[touched[0, other]] * FACTOR",
    ),
    # The product with the current a is that with the a of the window's start and the correction.
    (
        "        for item in range(0 if fresh else width):\n",
        "        for item in range(width if fresh else 0):\n"
        "            rhs[item] -= np.dot(rows[row_of[begin + item]], delta) * (FACTOR - 1.0) / penalty\n"
        "        for item in range(0 if fresh else width):\n",
    ),
]


def frozen_run(scenario: Scenario, term: str, dose: Fraction) -> Trajectory:
    """The first window of the scenario by the mutable recurrence in float64."""
    problem, start = scenario.problem(), start_of(scenario)
    blocks = scenario.stream().blocks(0, scenario.s)
    mutation = NONE.scaled(TERMS[term], 1 + dose, term)
    common = (DOUBLE, exact_kernel(problem, DOUBLE), problem.targets, start)
    if problem.is_svm:
        options = {"loss": scenario.task, "C": scenario.parameter, "mutation": mutation}
        end = mutable_sstep_dcd(*common, blocks.ravel(), scenario.s, **options)
    else:
        end = mutable_sstep_bdcd(*common, blocks, scenario.s, penalty=scenario.parameter, mutation=mutation)
    return Trajectory(scenario.s, 0, np.array([0, scenario.s]), np.array([start, end]))


def in_place_run(planted: ModuleType, scenario: Scenario, term: str, dose: Fraction) -> Trajectory:
    """The first window of the scenario by the production solver with its correction scaled."""
    request = RunRequest(
        scenario.problem(), scenario.stream(), scenario.s, scenario.s, initial=start_of(scenario)
    )
    vars(planted)["FACTOR"] = float(1 + dose)
    return ProductionSolver().run(request)


def start_of(scenario: Scenario) -> np.ndarray:
    initial = scenario.initial()
    return np.zeros(scenario.samples) if initial is None else initial


def found(scenario: Scenario, oracle: Oracle, declaration: Declaration, run, term) -> Comparison:
    """What window-replay finds."""
    s = scenario.s
    case = Case(scenario.id, scenario.problem(), scenario.stream(), (s,), s, declaration)
    replays = WindowReplays(case, oracle)
    return replays.replay_and_compare(run, Window(0, s, ()), names=[term], diagnose=False)


def judge_mutants(task: str, term: str, make, declaration: Declaration, windows: int) -> Counter:
    """Mutants by whether their effect exceeds twice the bound, and whether they are flagged."""
    generator, counted = np.random.Generator(np.random.PCG64(4)), Counter()
    for _ in range(windows):
        scenario = draw_acting_scenario(generator, task, [term], starts=("zero", "mixed"))
        oracle = Oracle(scenario.problem())
        for dose in DOSES:
            run = make(scenario, term, dose)
            comparison = found(scenario, oracle, declaration, run, term)
            if term not in comparison.dropped:
                continue  # the first window alone may have no overlap
            # Effect over bound.
            effect = comparison.tried.effect(NONE.scaled(TERMS[term], 1 + dose, term))
            flagged = comparison.status is Status.FAIL
            assert flagged or effect <= 2, (scenario.id, term, dose, effect, comparison)
            kind = "dropped" if dose == DROPPED else "scaled"
            counted[kind, "beyond" if effect > 2 else "below", flagged] += 1
    return counted


def report(record_property, name: str, counted: Counter) -> None:
    for kind in ("dropped", "scaled"):
        beyond, seen, missed = (
            counted[kind, *rest] for rest in (("beyond", True), ("below", True), ("below", False))
        )
        line = f"{beyond} beyond twice the bound, all flagged; {seen} of {seen + missed} below it flagged"
        record_property(kind, line)
        print(f"{name}, {kind}: {line}")
        assert beyond > 0
    # Doses reach below what the bound lets pass, so a bound of zero would not do.
    assert counted["scaled", "below", False] > 0


@MANY
@pytest.mark.parametrize(
    ("task", "term"),
    some(
        [(task, term) for task in ("svm-l1", "svm-l2", "krr") for term in ("kernel-correction", "overlap")]
        + [("svm-l2", "omega")],
        of=3,
    ),
)
def test_mutants_of_the_papers_form_beyond_twice_the_bound_are_flagged(
    record_property, task, term, windows
):
    counted = judge_mutants(task, term, frozen_run, FROZEN, windows)
    report(record_property, f"{task} {term}, frozen", counted)


@MANY
@pytest.mark.parametrize("task", ["svm-l1", "svm-l2", "krr"])
def test_mutants_of_our_correction_beyond_twice_the_bound_are_flagged(record_property, task, windows):
    edits = (ridge_window, *SCALED_RIDGE) if task == "krr" else (svm_window, *SCALED_SVM)
    with plant(*edits) as planted, mock.patch.dict(TERMS, IN_PLACE):
        make = partial(in_place_run, planted)
        counted = judge_mutants(task, "kernel-correction", make, ProductionSolver().declaration, windows)
    report(record_property, f"{task} kernel-correction, in place", counted)
