"""No step of a correct run exceeds its bound, and every quantity reported as seen is missed when left out."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, cycle, product

import numpy as np
import pytest

from sstep_verify.checks import step_replay
from sstep_verify.checks.case import Case, run_key
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import LinearKernel
from sstep_verify.problems.scenario_draws import KERNEL_NAMES, draw_scenario
from sstep_verify.problems.scenario_families import FAMILIES, edge_scenarios
from sstep_verify.problems.scenarios import TASKS
from sstep_verify.solvers.adapters.reference import ReferenceSolver, SingularBlockError
from sstep_verify.solvers.production import ProductionSolver

FORMS = [
    {"update": update, "rbf": rbf, "keep_gram": keep}
    for update, rbf, keep in product(
        ("in-place", "frozen"), ("norm-expansion", "difference"), (False, True)
    )
]

DRAWS = 40
"""Drawn scenarios per task and kernel."""


def case_of(scenario, declaration) -> Case:
    length = scenario.iterations
    return Case(
        scenario.id, scenario.problem(), scenario.stream(), (scenario.s,), length, declaration,
        points={scenario.s: (length,)},
    )  # fmt: skip


def scenarios(precision: str, seeds: int, draws: int):
    generator = np.random.Generator(np.random.PCG64(11))
    edges = chain.from_iterable(
        edge_scenarios(family, precision=precision, seed=seed)
        for seed in range(1, seeds + 1)
        for family in FAMILIES
    )
    drawn = (
        draw_scenario(generator, task, kernel, precision=precision)
        for task, kernel in product(TASKS, KERNEL_NAMES)
        for _ in range(draws)
    )
    return chain(edges, drawn)


def judged_run(scenario, solver):
    case = case_of(scenario, solver.declaration)
    request = step_replay.runs(case)[run_key(scenario.s)]
    run = solver.run(replace(request, initial=scenario.initial()))
    return case, run, StepJudge(case, Oracle(case.problem)).run(run)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_no_step_of_a_correct_run_exceeds_its_bound(precision, record_property):
    forms = [ReferenceSolver(precision, form) for form in ("sstep", "classical")]
    if precision == "float64":
        forms = [*(ProductionSolver(**form) for form in FORMS), *forms, ProductionSolver()]
    gram = ProductionSolver(exchange="gram")
    reduced = ProductionSolver(exchange="reduce-scatter")
    steps, largest = 0, 0.0
    few = precision == "float32"
    for scenario, solver in zip(scenarios(precision, 1 if few else 3, 8 if few else DRAWS), cycle(forms)):
        extra = [] if few else [gram] if isinstance(scenario.problem().kernel, LinearKernel) else [reduced]
        for tested in (solver, *extra):
            try:
                case, run, found = judged_run(scenario, tested)
            except SingularBlockError:
                continue
            assert step_replay._broken_chain(case, run) == ""
            assert found.first_wrong is None, (scenario.id, tested.declaration, found.first_wrong)
            assert found.judged == found.steps
            steps += found.decided
            largest = max(largest, found.worst.ratio if found.worst else 0.0)
    record_property("steps", steps)
    record_property("largest ratio", largest)
    assert steps > (2_000 if few else 20_000)
    print(f"{precision}: {steps} steps, largest ratio {largest:.3g}")
