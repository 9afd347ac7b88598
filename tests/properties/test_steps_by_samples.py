"""Steps that are judged by samples have the bounds that kernel rows give, or smaller ones."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from daily import some

from sstep_verify.adapters.reference import ReferenceSolver
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.comparison import Status
from sstep_verify.checks.steps import judged, rows
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.checks.steps.kept import NEW, UNCLIPPED
from sstep_verify.checks.steps.seen import exact_steps
from sstep_verify.declaration import Declaration
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, SquaredHinge
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.arithmetic import rounded_problem
from sstep_verify.solver import ProductionSolver
from sstep_verify.trajectory import Trajectory

NEVER = 1 << 60

SOLVERS = (
    ProductionSolver(), ProductionSolver(exchange="gram"), ProductionSolver(update="frozen"),
    ReferenceSolver("float64", "sstep"), ReferenceSolver("float32", "sstep"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def by_samples(monkeypatch):
    """Products are formed from samples of any number and length."""
    monkeypatch.setattr(rows, "LEAST_SAMPLES", 1)
    monkeypatch.setattr(rows, "TIMES_SHORTER", 0)


def drawn_problem(generator) -> Problem:
    samples, features = int(generator.integers(2, 40)), int(generator.integers(1, 60))
    data = generator.standard_normal((samples, features))
    if generator.random() < 0.6:
        data *= generator.random((samples, features)) < generator.random()
    if generator.random() < 0.3:
        data = np.round(3 * data)
    data *= 2.0 ** generator.integers(-40, 40)
    if generator.random() < 0.3:
        data *= 2.0 ** generator.integers(-9, 9, features)
    held: Any = sp.csr_array(data) if generator.random() < 0.5 else data
    loss = (Hinge if generator.random() < 0.5 else SquaredHinge)(float(2.0 ** generator.integers(-30, 30)))
    labels = np.where(generator.random(samples) < 0.5, -1.0, 1.0)
    return Problem("drawn", held, labels, LinearKernel(), loss)


def drawn_case(generator, number: int):
    """A case whose solver may form products from the samples, and a correct run of it."""
    problem, solver = drawn_problem(generator), SOLVERS[number % len(SOLVERS)]
    m, s, length = problem.samples, int(generator.integers(1, 9)), int(generator.integers(1, 120))
    kind = ("uniform", "epochs")[int(generator.integers(2))]
    stream = IndexStream(kind, m, 1, length, seed=int(generator.integers(99)))
    first = np.zeros(m)
    if generator.random() < 0.3:
        size = min(problem.loss.parameter, 2.0 ** generator.integers(-20, 20))
        first = size * generator.random(m) * (generator.random(m) < 0.7)
    declaration = solver.declaration
    if declaration.weights is None:
        declaration = replace(declaration, products="any")
    case = Case("drawn", problem, stream, (s,), length, declaration)
    return case, solver.run(RunRequest(problem, stream, s, length, log=True, initial=first))


def by_rows(case, run, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(rows, "TIMES_SHORTER", NEVER)
        judge = StepJudge(case, Oracle(case.problem))
        assert judge.rows.weights is None
        return judge.run(run)


@pytest.mark.parametrize("seed", some(range(8), of=8, first=2))
def test_bounds_are_at_most_those_of_rows_and_correct_runs_stay_within(seed, monkeypatch):
    generator, steps = np.random.Generator(np.random.PCG64(seed)), 0
    for number in range(25):
        case, run = drawn_case(generator, number)
        judge = StepJudge(case, Oracle(case.problem))
        found, expected = judge.run(run), by_rows(case, run, monkeypatch)
        if judge.rows.weights is None:
            continue  # float32 does not hold numbers of such sizes
        assert not found.wrong.size, (number, case.problem.label, case.declaration)
        assert (found.judged, found.decided) == (expected.judged, expected.decided)
        # The same numbers, but for ROUND_UP, of which the sums by samples take one more.
        assert (found.tally.bound <= expected.tally.bound * (1.0 + 1e-5)).all()
        assert ((found.tally.bound == 0) == (expected.tally.bound == 0)).all()
        for iteration in {0, run.length // 2, run.length - 1}:
            again = judge.step_bounds(run, iteration)[0]
            np.testing.assert_allclose(again, found.tally.bound[iteration], rtol=1e-8)
        assert {one.status for one in exact_steps(found)} <= {Status.PASS}
        steps += found.decided
    assert steps > 500


@pytest.mark.parametrize("seed", range(3))
def test_the_unclipped_value_is_within_its_bound_of_the_exact_one(seed):
    generator, compared = np.random.Generator(np.random.PCG64(seed)), 0
    for number in range(10):
        case, run = drawn_case(generator, number)
        judge, problem = StepJudge(case, Oracle(case.problem)), case.problem
        if judge.rows.weights is None:
            continue
        draws, log = judge.logged(run, 0, run.length)
        samples = [[Fraction(x) for x in row] for row in problem.dense.tolist()]
        labels, shift = (
            [Fraction(y) for y in problem.targets.tolist()],
            Fraction(problem.loss.shift),
        )  # C is a power of 2
        alpha = [Fraction(x) for x in run.alphas[0].tolist()]
        weights = [
            sum(y * a * row[k] for y, a, row in zip(labels, alpha, samples, strict=True))
            for k in range(problem.features)
        ]
        (passed,) = judge.again(run, np.arange(run.length))
        for step, i in enumerate(draws[:, 0].tolist()):
            gradient = (
                labels[i] * sum(x * w for x, w in zip(samples[i], weights, strict=True))
                - 1
                + shift * alpha[i]
            )
            curvature = sum(x * x for x in samples[i]) + shift
            new, bound = passed.kept.table[step, 0, [NEW, UNCLIPPED]].tolist()
            if curvature and bound < np.inf:
                assert abs(Fraction(new) - (alpha[i] - gradient / curvature)) <= Fraction(bound)
                compared += 1
            change = Fraction(float(log[step, 0])) - alpha[i]
            alpha[i] += change
            weights = [w + labels[i] * change * x for w, x in zip(weights, samples[i], strict=True)]
    assert compared > 100


@pytest.mark.parametrize("seed", range(2))
def test_a_value_that_is_three_bounds_off_is_found(seed):
    generator, found = np.random.Generator(np.random.PCG64(40 + seed)), 0
    for number in range(20):
        case, run = drawn_case(generator, number)
        judge = StepJudge(case, Oracle(case.problem))
        bounds = judge.run(run).tally.bound
        step, sign = int(generator.integers(run.length)), float(generator.choice([-3.0, 3.0]))
        log = run.log.copy()
        log[step] += sign * bounds[step]
        if judge.rows.weights is None or not 0.0 < bounds[step] < np.inf:
            continue
        if abs(log[step, 0] - run.log[step, 0]) < 2.5 * bounds[step]:
            continue  # lost in a larger value
        assert step in judge.run(replace(run, log=log)).wrong
        found += 1
    assert found > 5


@pytest.mark.parametrize("value", [np.nan, np.inf, 2.0**1000])
def test_what_leaves_the_range_is_judged_by_rows(value, monkeypatch):
    generator = np.random.Generator(np.random.PCG64(9))
    case, run = drawn_case(generator, 1)
    log = run.log.copy()
    log[len(log) // 2] = value
    run = replace(run, log=log)
    judge = StepJudge(case, Oracle(case.problem))
    assert judge.rows.weights is not None
    found, expected = judge.run(run), by_rows(case, run, monkeypatch)
    np.testing.assert_array_equal(found.tally.bound, expected.tally.bound)
    np.testing.assert_array_equal(found.wrong, expected.wrong)


def judged_log(problem, declaration, s: int, log: np.ndarray):
    """A log that no solver made, from 0, as a run of a case; its judge, and what that found."""
    stream = IndexStream("epochs", problem.samples, 1, len(log), seed=3)
    case = Case("log", problem, stream, (s,), len(log), declaration)
    run = Trajectory(s, 0, np.array([0, len(log)]), np.zeros((2, problem.samples)), log=log)
    judge = StepJudge(case, Oracle(problem))
    return case, run, judge, judge.run(run)


@pytest.mark.parametrize("weights", [None, 0, 1, 3])
@pytest.mark.parametrize("update", ["in-place", "frozen"])
def test_of_alpha_that_shrinks_bounds_are_at_most_those_of_rows(weights, update, monkeypatch):
    """Sizes, and what sums lost, of an alpha of 1e15 are not left in the bounds of one that is 1, or 0."""
    generator = np.random.Generator(np.random.PCG64(11))
    data = generator.standard_normal((12, 5))
    labels = np.where(generator.random(12) < 0.5, -1.0, 1.0)
    problem = Problem("shrinks", data, labels, LinearKernel(), Hinge(1e16))
    declaration = Declaration("any", weights=weights, update=update, log=True)
    log = generator.random((96, 1))
    log[12:36] *= 1e15
    log[60:72] = 0.0
    case, run, judge, found = judged_log(problem, declaration, 4, log)
    assert judge.rows.weights is not None
    expected = by_rows(case, run, monkeypatch)
    assert found.decided == expected.decided == 96
    assert (found.tally.bound <= expected.tally.bound * (1.0 + 1e-5)).all()


def test_where_weights_are_formed_again_so_often_that_rows_are_read_sooner(monkeypatch):
    """As the numbers stand, of windows of 4: two hundred of them read fewer entries than all samples have."""
    monkeypatch.undo()
    generator = np.random.Generator(np.random.PCG64(2))
    data = sp.csr_array(generator.standard_normal((600, 900)) * (generator.random((600, 900)) < 0.02))
    problem = Problem("short", data, np.ones(600), LinearKernel(), Hinge(1.0))
    for weights, by_samples in ((0, True), (1, False), (200, True)):
        declaration = Declaration("any", weights=weights, log=True)
        _, run, judge, _ = judged_log(problem, declaration, 4, np.zeros((1200, 1)))
        state = judge._first_state(run)
        assert (judge._weights_of(run, state, run.log, 1e300) is not None) == by_samples


def test_what_underflows_in_entries_is_judged_by_rows(monkeypatch):
    """In float32, of samples of 1e-19 and an alpha of 1e37: rows know which samples share no feature."""
    generator = np.random.Generator(np.random.PCG64(4))
    data = 1e-18 * np.kron(np.eye(10), generator.standard_normal((3, 2)))
    labels = np.where(generator.random(30) < 0.5, -1.0, 1.0)
    problem = Problem("small", data, labels, LinearKernel(), Hinge(2.0**120))
    declaration = Declaration("single", precision="float32", log=True)
    problem = rounded_problem(problem, declaration)
    log = np.float64(np.float32(1e35 * generator.random((60, 1))))
    case, run, judge, found = judged_log(problem, declaration, 4, log)
    assert judge.rows.weights is not None
    expected = by_rows(case, run, monkeypatch)
    assert found.decided == expected.decided > 30
    decided = np.isfinite(expected.tally.bound)
    assert (found.tally.bound[decided] <= expected.tally.bound[decided] * (1.0 + 1e-5)).all()


def test_vectors_formed_again_give_the_same_bounds(monkeypatch):
    generator = np.random.Generator(np.random.PCG64(5))
    problem = drawn_problem(generator)
    solver = ProductionSolver(exchange="gram")
    stream = IndexStream("uniform", problem.samples, 1, 9000, seed=1)
    case = Case("long", problem, stream, (8,), 9000, solver.declaration)
    run = solver.run(RunRequest(problem, stream, 8, 9000, log=True))
    once = StepJudge(case, Oracle(problem)).run(run)
    formed = []
    monkeypatch.setattr(judged, "FORMED_AGAIN", 1)
    monkeypatch.setattr(judged, "form", lambda *given, form=judged.form: formed.append(form(*given)))
    often = StepJudge(case, Oracle(problem)).run(run)
    assert len(formed) == 3
    np.testing.assert_allclose(once.tally.bound, often.tally.bound, rtol=1e-8)
    assert not once.wrong.size
    assert not often.wrong.size


def test_no_row_is_formed_of_many_short_samples(monkeypatch):
    """As the numbers stand: from 512 samples on, of which each has at most a quarter as many entries."""
    monkeypatch.undo()
    generator = np.random.Generator(np.random.PCG64(2))
    data = sp.csr_array(generator.standard_normal((600, 900)) * (generator.random((600, 900)) < 0.02))
    labels = np.where(generator.random(600) < 0.5, -1.0, 1.0)
    problem, stream = (
        Problem("short", data, labels, LinearKernel(), Hinge(1.0)),
        IndexStream("epochs", 600, 1, 1200, 0),
    )
    solver = ProductionSolver(exchange="gram")
    case = Case("short", problem, stream, (16,), 1200, solver.declaration)
    run = solver.run(RunRequest(problem, stream, 16, 1200, log=True))
    monkeypatch.setattr(rows.JudgeRows, "of", None)
    found = StepJudge(case, Oracle(problem)).run(run)
    assert (found.judged, found.decided, found.wrong.size) == (1200, 1200, 0)
