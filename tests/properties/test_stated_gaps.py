"""What `solve` and ``oracle --final`` state of a gap, or an error, is true in rationals.

Drawn are problems whose features have scales from 1e-10 to 1e10, one for all or one each, polynomial kernels up
to degree 6, C up to 1e14 and lambda down to 1e-16. Where SSTEP_VERIFY_DRAWS is set so many are drawn; 300 are
nightly.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from exact_optima import exact_ridge, exact_svm, exact_values, gram

from sstep_verify.checks import optimum as check
from sstep_verify.checks.shared.case import Case, run_key
from sstep_verify.declaration import Declaration
from sstep_verify.errors import DivergedError, SstepVerifyError
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training.enclosure import Enclosing, Stated, due
from sstep_verify.solver.training.intervals import Training
from sstep_verify.trajectory import GIVEN, Trajectory
from sstep_verify.verdict import Status

DRAWS = int(os.environ.get("SSTEP_VERIFY_DRAWS", "300"))
QUICK = 27
DECLARED = Declaration("any")
TOLERANCES = (1e-3, 1e-6, 1e-8, 1e-10, 1e-13)
FACTORS = (1.0 + 2.0**-20, 1.01, 1.5, 10.0, 1000.0)


def drawn(seed: int) -> tuple[Problem, Settings, IndexStream]:
    """A small problem, how it is trained, and what is drawn."""
    generator = np.random.Generator(np.random.PCG64([46, seed]))
    m, n = int(generator.integers(2, 6)), int(generator.integers(1, 4))
    task = ("svm-l1", "svm-l2", "krr")[seed % 3]
    data = generator.standard_normal((m, n))
    if generator.random() < 0.3:
        data = np.round(100 * data)  # Whole numbers, as of pixels.
    if generator.random() < 0.2:
        data[generator.integers(m)] = 0.0
    if generator.random() < 0.2:
        data[-1] = data[0]
    if generator.random() < 0.2:
        data += 1e4 * generator.standard_normal(n)  # Far from the origin.
    scales = 10.0 ** generator.uniform(-10, 10, n if generator.random() < 0.5 else 1)
    if generator.random() < 0.6:
        data = data * scales
    spread = float(np.mean(data**2)) or 1.0
    degree = int(generator.integers(2, 7))
    kernel = (
        LinearKernel(),
        PolynomialKernel(degree, float(generator.choice([0.0, 1.0]))),
        RBFKernel(float(10.0 ** generator.uniform(-2, 2)) / spread),
    )[seed // 3 % 3]
    if task == "krr":
        targets = generator.standard_normal(m) * 10.0 ** generator.uniform(-6, 6)
        loss = Ridge(float(10.0 ** generator.uniform(-16, 6)))
    else:
        targets = np.where(generator.random(m) < 0.5, -1.0, 1.0)
        C = float(10.0 ** generator.uniform(-14, 14)) if generator.random() < 0.6 else 1.0
        loss = (Hinge if task == "svm-l1" else SquaredHinge)(C)
    problem = Problem("drawn", data, targets, kernel, loss)
    kept = problem.kernel.linear or generator.random() < 0.5
    settings = Settings(
        s=4, iterations=1600, interval=16, exchange="allreduce", keep_gram=bool(kept),
        tolerance=float(generator.choice(TOLERANCES)),
    )  # fmt: skip
    return problem, settings, IndexStream("uniform", m, 1, 1600, seed)


def trained(seed: int) -> Training | None:
    """A training; None where its numbers overflow, of which nothing is stated."""
    problem, settings, stream = drawn(seed)
    with np.errstate(all="ignore"):
        try:
            return Training(problem, stream, settings, SelfCommunicator()).to_the_end()
        except DivergedError:
            return None


def false_statements(training: Training) -> list[str]:
    """What a training states that its exact values contradict."""
    return false_values(
        training.problem, training.alpha, training.stated(), training.settings.tolerance, training.stopped
    )


def false_values(
    problem: Problem, alpha: np.ndarray, stated: Stated, tolerance: float = 1e-6, stopped: str = ""
) -> list[str]:
    """What is stated of a vector, and of why training stopped, that exact values contradict."""
    exact = exact_values(problem, alpha)
    false = [f"{name} {getattr(stated, name)}" for name in ("gap", "dual", "primal")
             if not _within(getattr(stated, name), exact[name])]  # fmt: skip
    if problem.is_svm:
        over, whole = exact["gap"], exact["dual"]
        if whole > 0 and not _within(stated.relative, over / whole):
            false.append(f"relative {stated.relative}")
        reached = whole > 0 and over <= Fraction(tolerance) * whole
    else:
        squares = sum(Fraction(y) ** 2 for y in problem.targets.tolist())
        lower, upper = stated.residual
        if not (
            _square(lower) <= exact["residual"]
            and (upper == math.inf or exact["residual"] <= _square(upper))
        ):
            false.append(f"residual {stated.residual}")
        reached = exact["residual"] <= _square(tolerance) * squares
    if stopped == "tolerance" and not reached:
        false.append("tolerance reached")
    if stopped == "precision" and not stated.width > tolerance:
        false.append("below what float64 shows")
    return false


def _square(value: float) -> Fraction:
    return Fraction(value) ** 2


def _within(ends: tuple[float, float], exact: Fraction) -> bool:
    lower, upper = ends
    return (lower == -math.inf or Fraction(lower) <= exact) and (
        upper == math.inf or exact <= Fraction(upper)
    )


def false_passes(training: Training, seed: int) -> list[str]:
    """Whether a final vector, or a multiple of it, handed over, passes beyond the tolerance asked for."""
    problem, oracle, false = training.problem, Oracle(training.problem), []
    tolerance, stream = training.settings.tolerance, IndexStream("uniform", training.problem.samples, 1, 1)
    best = exact_svm(problem)[1] if problem.is_svm else exact_ridge(problem)
    for factor in (1.0, FACTORS[seed % len(FACTORS)]):
        vector = training.alpha * factor
        handed = Trajectory(1, 0, np.zeros(1, dtype=np.int64), vector[None], stopped=GIVEN)
        case = Case("drawn", problem, stream, (1,), 1, DECLARED, claims={"tolerance": tolerance})
        (verdict,) = check.CHECK.judge(case, {run_key(1): handed}, oracle)
        if verdict.status is Status.PASS and not _optimal(problem, vector, best, tolerance):
            false.append(f"{factor} times alpha: {verdict.measured} of {verdict.bound}")
    return false


def _optimal(problem: Problem, vector: np.ndarray, best, tolerance: float) -> bool:
    if problem.is_svm:
        inside = np.clip(vector, 0.0, problem.hinge.upper)
        return exact_values(problem, inside)["gap"] <= Fraction(tolerance) * best
    apart = sum((Fraction(x) - a) ** 2 for x, a in zip(vector.tolist(), best, strict=True))
    return apart <= _square(tolerance) * sum(a * a for a in best)


def stated_falsely(seeds) -> tuple[dict[int, list[str]], Counter[str]]:
    wrong, ends = {}, Counter()
    for seed in seeds:
        training = trained(seed)
        if training is None:
            ends["overflow"] += 1
            continue
        found = false_statements(training)
        try:
            found += false_passes(training, seed)
        except SstepVerifyError as error:
            ends[type(error).__name__] += 1
        ends[training.stopped] += 1
        if found:
            wrong[seed] = [training.problem.label, *found]
    print(dict(ends))
    return wrong, ends


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("least", [-10, -165])
def test_products_are_within_their_errors(sparse, least):
    """``K v`` as pairs; with the linear kernel to twice the precision, however much cancels."""
    generator, largest = np.random.Generator(np.random.PCG64([49, sparse, -least])), 0.0
    for seed in range(120):
        problem = drawn(seed)[0]
        data = problem.data * 10.0 ** generator.uniform(least, least + 20)
        problem = replace(problem, data=sp.csr_array(data) if sparse else data)
        vector = generator.standard_normal(problem.samples) * 10.0 ** generator.uniform(-20, 20)
        if seed % 2:  # Such that much of a sum cancels.
            vector[-1] = -(problem.data @ (problem.data.T @ vector))[0] or 1.0
        enclosing = Enclosing(problem, "norm-expansion", SelfCommunicator())
        with np.errstate(all="ignore"):
            form = enclosing._linear if problem.kernel.linear else lambda v: enclosing._other(v, None)  # noqa: B023
            pairs = np.array(form(vector))
        rows, exact = gram(problem), [Fraction(x) for x in vector.tolist()]
        for row, (high, low, error) in zip(rows, pairs.T.tolist(), strict=True):
            if not math.isfinite(error):
                continue
            off = abs(Fraction(high) + Fraction(low) - sum(x * z for x, z in zip(row, exact, strict=True)))
            assert off <= Fraction(error), (seed, problem.label)
            largest = max(largest, float(off / Fraction(error)))
    # What is allowed for underflow is far more than is lost.
    assert (1e-4 if least > -100 else 1e-6) < largest < 1


@pytest.mark.parametrize("largest", [90, 290])
def test_what_is_stated_at_any_scale_is_true(largest):
    """Feasible vectors of any size, with data, C and lambda of any: none is near its optimum, many overflow."""
    generator, wrong, known = np.random.Generator(np.random.PCG64([47, largest])), {}, 0
    for seed in range(150):
        problem = drawn(seed)[0]
        scaled = replace(problem, data=problem.data * 10.0 ** generator.uniform(-largest, largest / 4))
        size = float(10.0 ** generator.uniform(-largest, largest))
        loss = Ridge(size) if not problem.is_svm else type(problem.loss)(size)
        scaled = replace(scaled, loss=loss)
        alpha = generator.standard_normal(problem.samples) * 10.0 ** generator.uniform(
            -largest, largest / 2
        )
        if problem.is_svm:
            alpha = np.clip(
                np.where(generator.random(alpha.size) < 0.3, np.inf, alpha),
                0.0,
                min(loss.upper, 10.0 ** (largest / 2)),
            )
        stated = Enclosing(scaled, "norm-expansion", SelfCommunicator()).enclose(alpha)
        known += stated.gap[1] < math.inf
        if found := false_values(scaled, alpha, stated):
            wrong[seed] = [scaled.label, *found]
    assert wrong == {}
    assert known > 75


def test_of_what_is_no_dual_vector_nothing_is_stated():
    problem = drawn(0)[0]
    assert problem.loss.task == "svm-l1"
    enclosing = Enclosing(problem, "norm-expansion", SelfCommunicator())
    inside = np.full(problem.samples, problem.hinge.C / 2)
    assert enclosing.enclose(inside).gap[1] < math.inf
    for value in (-problem.hinge.C * 1e-18, np.nextafter(problem.hinge.C, math.inf), math.nan, math.inf):
        outside = inside.copy()
        outside[0] = value
        stated = enclosing.enclose(outside)
        assert stated.relative[1] == stated.gap[1] == stated.width == math.inf
        assert stated.dual == (-math.inf, math.inf)


@pytest.mark.parametrize("task", ["svm-l1", "svm-l2", "krr"])
def test_ordinary_trainings_end_where_they_are_measured_to(task):
    """Their enclosures are far narrower than the tolerance, so that one look is enough for most."""
    ended, measured = [], []
    for seed in range(10):
        generator = np.random.Generator(np.random.PCG64([48, seed]))
        m, n = 60, 8
        data, noise = generator.standard_normal((m, n)), generator.standard_normal(m)
        values = data @ generator.standard_normal(n) + noise
        kernel = (LinearKernel(), PolynomialKernel(3, 1.0), RBFKernel(0.1))[seed % 3]
        loss = {"svm-l1": Hinge(0.1), "svm-l2": SquaredHinge(0.1), "krr": Ridge(1.0)}[task]
        targets = values if task == "krr" else np.where(values > 0, 1.0, -1.0)
        problem = Problem("ordinary", data, targets, kernel, loss)
        settings = Settings(
            s=16, iterations=64_000, interval=64, exchange="allreduce", keep_gram=True, tolerance=1e-6
        )
        stream = IndexStream("uniform", m, 1, 64_000, seed)
        training = Training(problem, stream, settings, SelfCommunicator()).to_the_end()
        ended.append(training.iteration)
        first = [found.iteration for found in training.history if found.values.relative <= 1e-6]
        measured.append(first[0] if first else training.iteration)
        assert training.stopped == ("tolerance" if first else "iterations")
    assert sum(ended) <= 1.02 * sum(measured)
    assert sum(measured) < 10 * 64_000


def test_nothing_stated_of_some_is_false():
    wrong, ends = stated_falsely(range(QUICK))
    assert wrong == {}
    assert ends["tolerance"] >= QUICK // 4


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(6))
def test_nothing_stated_is_false(part):
    wrong, _ = stated_falsely(range(part, DRAWS, 6))
    assert wrong == {}


def test_looks_are_made_at_half_the_value_and_at_most_three_times():
    def looks(relative, tolerance=1e-3):
        return [place for place in range(len(relative)) if due(relative[: place + 1], tolerance)]

    assert looks([1.0, 1e-2, 1e-3, 9e-4, 5e-4, 4e-4, 2.5e-4, 1e-9, 0.0]) == [2, 4, 6]
    assert looks([0.0, 0.0, 0.0, 0.0]) == [0, 1, 2]
    assert looks([math.nan, math.inf, 2e-3]) == []
    assert looks([0.0], tolerance=0.0) == []
