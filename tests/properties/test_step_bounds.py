"""No step of a correct run exceeds its bound, and every quantity reported as seen is missed when left out."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import chain, cycle, product

import numpy as np
import pytest
from sstep_reference import InvalidInputError, SingularSystemError

from sstep_verify.adapters.reference import ReferenceSolver, SingularBlockError
from sstep_verify.checks import step_replay
from sstep_verify.checks.shared.case import Case, run_key
from sstep_verify.checks.step_replay import broken_chain
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.errors import InputError
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import IndexStream, LinearKernel, PolynomialKernel, Problem, RBFKernel, loss_from
from sstep_verify.problems.losses import TASKS
from sstep_verify.scenarios.draws import FAMILIES, KERNEL_NAMES, draw_scenario, edge_scenarios
from sstep_verify.solver import ProductionSolver

FORMS = [
    {"update": update, "rbf": rbf, "keep_gram": keep}
    for update, rbf, keep in product(
        ("in-place", "frozen"), ("norm-expansion", "difference"), (False, True)
    )
]

FOLD = 3 if "SSTEP_VERIFY_DRAWS" in os.environ else 1

DRAWS = 15 * FOLD
"""Drawn scenarios per task and kernel."""

SCALED = int(os.environ.get("SSTEP_VERIFY_DRAWS", "600"))
"""Problems scaled over the exponent range."""


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
    for scenario, solver in zip(
        scenarios(precision, 1 if few else FOLD, 4 * FOLD if few else DRAWS), cycle(forms)
    ):
        extra = [] if few else [gram] if isinstance(scenario.problem().kernel, LinearKernel) else [reduced]
        for tested in (solver, *extra):
            try:
                case, run, found = judged_run(scenario, tested)
            except SingularBlockError:
                continue
            assert broken_chain(case, run) is None
            assert not found.wrong.size, (scenario.id, tested.declaration, found.worst)
            assert found.judged == run.length
            steps += found.decided
            largest = max(largest, found.worst.ratio if found.worst else 0.0)
    record_property("steps", steps)
    record_property("largest ratio", largest)
    assert steps > (1_000 if few else 10_000) * FOLD
    print(f"{precision}: {steps} steps, largest ratio {largest:.3g}")


def _exponent(generator, low: int, high: int, share: float) -> int:
    return int(generator.integers(int(low * share), int(high * share)))


def scaled_problem(generator, kernel_name: str, task: str, share: float = 1.0) -> Problem:
    """A small problem with data, targets and parameters anywhere in a share of the range of float64."""
    samples, features = int(generator.integers(3, 14)), int(generator.integers(1, 6))
    data = generator.standard_normal((samples, features)) * 2.0 ** _exponent(generator, -300, 300, share)
    parameter = 2.0 ** _exponent(generator, -300, 300, share)
    targets = np.where(generator.random(samples) < 0.5, -1.0, 1.0)
    if task == "krr":
        targets = generator.standard_normal(samples) * 2.0 ** _exponent(generator, -1060, 900, share)
    sigma = 2.0 ** _exponent(generator, -600, 600, share)
    kernel = {
        "linear": LinearKernel(),
        "polynomial": PolynomialKernel(degree=int(generator.integers(2, 4)), offset=float(parameter)),
        "rbf": RBFKernel(sigma=sigma),
    }[kernel_name]
    return Problem("scaled", data, targets, kernel, loss_from(task, parameter))


def test_no_step_exceeds_its_bound_anywhere_in_the_exponent_range(record_property):
    generator = np.random.Generator(np.random.PCG64(5))
    solvers = [ProductionSolver(), ProductionSolver(update="frozen"), ProductionSolver(keep_gram=True)]
    decided = total = 0
    largest = 0.0
    with np.errstate(all="ignore"):
        for number in range(SCALED):
            task, kernel = TASKS[number % 3], KERNEL_NAMES[number // 3 % 3]
            problem = scaled_problem(generator, kernel, task)
            block = int(generator.integers(1, min(4, problem.samples) + 1)) if task == "krr" else 1
            s, length = int(generator.integers(1, 9)), 40
            stream = IndexStream("uniform", problem.samples, block, length, seed=number)
            tested = solvers[number % 3]
            case = Case("scaled", problem, stream, (s,), length, tested.declaration)
            run = tested.run(step_replay.runs(case)[run_key(s)])
            found = StepJudge(case, Oracle(problem)).run(run)
            assert not found.wrong.size, (number, problem.label, tested.declaration, found.worst)
            decided, total = decided + found.decided, total + found.judged
            largest = max(largest, found.worst.ratio if found.worst else 0.0)
    record_property("largest ratio", largest)
    assert decided > total / 4
    print(f"{decided} of {total} steps decided, largest ratio {largest:.3g}")


def test_no_step_in_float32_exceeds_its_bound_anywhere_in_its_range(record_property):
    generator = np.random.Generator(np.random.PCG64(6))
    solvers = [ReferenceSolver("float32", form) for form in ("sstep", "classical")]
    decided = total = 0
    with np.errstate(all="ignore"):
        for number in range(SCALED // 4):
            task, kernel = TASKS[number % 3], KERNEL_NAMES[number // 3 % 3]
            problem = scaled_problem(generator, kernel, task, share=0.125)
            block = int(generator.integers(1, min(3, problem.samples) + 1)) if task == "krr" else 1
            stream = IndexStream("uniform", problem.samples, block, 20, seed=number)
            tested = solvers[number % 2]
            case = Case("scaled", problem, stream, (4,), 20, tested.declaration)
            try:
                run = tested.run(step_replay.runs(case)[run_key(4)])
            except (InputError, InvalidInputError, SingularSystemError):
                continue  # a number beyond float32, which the reference refuses
            found = StepJudge(case, Oracle(problem)).run(run)
            assert not found.wrong.size, (number, problem.label, tested.declaration, found.worst)
            decided, total = decided + found.decided, total + found.judged
    assert decided > total / 4 > 100
    print(f"{decided} of {total} steps decided")
