"""Reference and callable adapters under window replay: green where they are right, red where they are not.

None of the data, targets and parameters used here is a float32 number, so a run in float32 also pays for
the rounding of its input.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from mutable_runs import mutable_sstep_bdcd, mutable_sstep_dcd
from sstep_reference import SingularSystemError
from sstep_reference.arithmetic import Float

from sstep_verify.adapters import CallableSolver, ReferenceSolver
from sstep_verify.checks import window_replay
from sstep_verify.checks.registry import verdicts_of
from sstep_verify.checks.shared.case import Case
from sstep_verify.declaration import Declaration
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
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
from sstep_verify.recurrence.mutants import CATALOGUE
from sstep_verify.recurrence.mutation import NONE, Mutation
from sstep_verify.rounding.formulas import formulas_of
from sstep_verify.verdict import Status

# Few samples, so that a window of 16 draws coordinates again that were clipped: where such a step is free,
# its new value does not depend on the old one and a dropped overlap has no effect.
SAMPLES, ITERATIONS, S_VALUES = 8, 40, (1, 4, 16)
KERNELS = [LinearKernel(), PolynomialKernel(3, 0.7), RBFKernel(0.3)]
LOSSES = [(Hinge(3.9), 1), (SquaredHinge(2.1), 1), (Ridge(0.07), 1), (Ridge(0.07), 4)]
PRECISIONS = ["float32", "float64"]
LOSS_IDS = [f"{loss.task}-{block}" for loss, block in LOSSES]


def problem_of(kernel, loss) -> Problem:
    rng = np.random.default_rng(14)
    data = rng.standard_normal((SAMPLES, 4))
    targets = np.resize([1.0, -1.0, 1.0], SAMPLES)
    if isinstance(loss, Ridge):
        targets = rng.standard_normal(SAMPLES)
    return Problem("drawn", data, targets, kernel, loss)


@cache
def oracle_of(kernel) -> Oracle:
    return Oracle(problem_of(kernel, Ridge(0.07)))


def case_of(kernel, loss, block: int, declaration: Declaration, s_values=S_VALUES) -> Case:
    stream = IndexStream("uniform", SAMPLES, block, ITERATIONS, seed=3)
    points = {s: tuple(range(s, ITERATIONS, s)) for s in s_values}
    problem = problem_of(kernel, loss)
    return Case(
        "drawn", problem, stream, s_values, ITERATIONS, declaration, points, windows=5, diagnose=False
    )


def kernel_of(precision: str, loss, block: int, turn: int):
    """A kernel for each loss and precision, every kernel for one of them."""
    place = LOSSES.index((loss, block)) + PRECISIONS.index(precision) + turn
    return KERNELS[place % len(KERNELS)]


TURNS = pytest.mark.parametrize(
    "turn", [0, *(pytest.param(one, marks=pytest.mark.nightly) for one in (1, 2))]
)


def judged(case: Case, solver, oracle: Oracle) -> list:
    trajectories = {key: solver.run(request) for key, request in window_replay.runs(case).items()}
    return verdicts_of(window_replay.CHECK, case, trajectories, oracle)


def statuses(solver, kernel, loss, block, declaration=None, s_values=S_VALUES) -> list[Status]:
    case = case_of(kernel, loss, block, declaration or solver.declaration, s_values)
    verdicts = judged(case, solver, oracle_of(kernel))
    assert len(verdicts) == len(s_values)
    return [verdict.status for verdict in verdicts]


def mutable_solver(precision: str, mutation: Mutation) -> CallableSolver:
    """The mutable recurrence as a user's function that returns its final vector only."""
    arithmetic, kernels = Float(precision), {}

    def function(problem, blocks, s, initial):
        if problem.digest not in kernels:
            kernels[problem.digest] = exact_kernel(problem, arithmetic)
        arguments = (arithmetic, kernels[problem.digest], arithmetic.vector(problem.targets), initial)
        if problem.is_svm:
            loss = problem.hinge
            drawn = blocks.ravel()
            return mutable_sstep_dcd(*arguments, drawn, s, loss=loss.task, C=loss.C, mutation=mutation)
        return mutable_sstep_bdcd(*arguments, blocks, s, penalty=problem.ridge.penalty, mutation=mutation)

    declaration = Declaration(
        "mutable recurrence",
        precision=precision,
        update="frozen",
        rbf="difference",
        factorisation="ldl",
    )
    return CallableSolver(function, declaration)


@pytest.mark.parametrize(
    ("loss", "block", "form", "precision"),
    [
        pytest.param(*loss, form, precision, marks=[pytest.mark.nightly] * ((one + two + three) % 2))
        for one, loss in enumerate(LOSSES)
        for two, form in enumerate(("sstep", "classical"))
        for three, precision in enumerate(PRECISIONS)
    ],
)
@TURNS
def test_the_reference_is_green(precision, form, loss, block, turn):
    kernel = kernel_of(precision, loss, block, turn + (form == "classical"))
    assert statuses(ReferenceSolver(precision, form), kernel, loss, block) == [Status.PASS] * len(S_VALUES)


@pytest.mark.parametrize(
    ("loss", "block", "precision"),
    [
        pytest.param(*loss, precision, marks=[pytest.mark.nightly] * ((one + two) % 2))
        for one, loss in enumerate(LOSSES)
        for two, precision in enumerate(PRECISIONS)
    ],
)
@TURNS
def test_a_right_callable_is_green(precision, loss, block, turn):
    kernel = kernel_of(precision, loss, block, turn)
    assert statuses(mutable_solver(precision, NONE), kernel, loss, block) == [Status.PASS] * 3


PLANTED = [(task, defect) for defect in CATALOGUE for task in defect.tasks]


@pytest.mark.parametrize(
    ("task", "defect", "precision"),
    [
        pytest.param(
            task,
            defect,
            precision,
            id=f"{task}-{defect.name}-{precision}",
            # By day a defect in one of its tasks, in turn.
            marks=[pytest.mark.nightly]
            * ((CATALOGUE.index(defect) + defect.tasks.index(task)) % len(defect.tasks) != 0),
        )
        for place, (task, defect) in enumerate(PLANTED)
        for precision in (PRECISIONS if place % 5 == 0 else ("float64",))
    ],
)
def test_a_callable_with_a_planted_defect_is_red(task, defect, precision):
    loss, block = next(pair for pair in LOSSES if pair[0].task == task)
    if defect.name == "off-diagonal-dropped":
        block = 4
    if defect.name == "upper-end-lost":
        loss = Hinge(0.05)  # so small that steps go beyond it
    wrong, right = mutable_solver(precision, defect.mutation), mutable_solver(precision, NONE)
    first = PLANTED.index((task, defect)) % len(KERNELS)
    for kernel in (*KERNELS[first:], *KERNELS[:first]):
        if statuses(wrong, kernel, loss, block, s_values=(16,)) == [Status.FAIL]:
            return
        # An end of the box that no step reaches.
        [request] = window_replay.runs(case_of(kernel, loss, block, wrong.declaration, (16,))).values()
        assert np.array_equal(wrong.run(request).alphas, right.run(request).alphas), kernel
    raise AssertionError("it shows with no kernel")


@pytest.mark.parametrize(("loss", "block"), LOSSES, ids=LOSS_IDS)
def test_a_precision_that_is_not_kept_is_red(loss, block):
    solver = ReferenceSolver("float32")
    promised = replace(solver.declaration, precision="float64")
    assert Status.FAIL in statuses(solver, RBFKernel(0.3), loss, block, promised)


def test_input_that_was_rounded_unsaid_is_red():
    solver = ReferenceSolver("float32", "classical")
    unsaid = formulas_of(solver.declaration, as_given=True)
    case = case_of(RBFKernel(0.3), Hinge(30.0), 1, unsaid)
    far = replace(case.problem, data=case.problem.dense + 1000.0)  # Differences lose what samples lose.
    verdicts = judged(replace(case, problem=far), solver, Oracle(far))
    assert Status.FAIL in [verdict.status for verdict in verdicts]


@st.composite
def drawn_cases(draw):
    """Problems of many scales and conditions, with a solver for each."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n = draw(st.integers(2, 16)), draw(st.integers(1, 6))
    exponents = st.integers(-3, 3)
    data = rng.standard_normal((m, n)) * 10.0 ** draw(exponents)
    if draw(st.booleans(), label="duplicate"):
        data[-1] = data[0]
    if draw(st.booleans(), label="zero row"):
        data[0] = 0.0
    kernels = (
        LinearKernel(),
        PolynomialKernel(draw(st.integers(2, 4)), 0.3),
        RBFKernel(1.1 * 10.0 ** draw(exponents)),
    )
    kernel = draw(st.sampled_from(kernels))
    parameter = 0.7 * 10.0 ** draw(exponents)
    loss = draw(st.sampled_from([Hinge, SquaredHinge, Ridge]))(parameter)
    block, targets = 1, rng.choice([-1.0, 1.0], size=m)
    if isinstance(loss, Ridge):
        block, targets = draw(st.integers(1, min(m, 8))), rng.standard_normal(m) * 10.0 ** draw(exponents)
    problem = Problem("drawn", data, targets, kernel, loss)
    s = draw(st.integers(1, 20))
    length = s + draw(st.integers(1, s))
    stream = IndexStream("uniform", m, block, length, seed=draw(st.integers(0, 9)))
    solver = ReferenceSolver(
        draw(st.sampled_from(PRECISIONS)), draw(st.sampled_from(["sstep", "classical"]))
    )
    return Case("drawn", problem, stream, (s,), length, solver.declaration, {s: (s,)}), solver


@pytest.mark.parametrize("draws", [20, pytest.param(120, marks=pytest.mark.nightly)])
def test_drawn_runs_of_the_reference_stay_within_the_bound(draws):
    ratios: list[float] = []
    outcomes: Counter = Counter()

    @settings(max_examples=draws)
    @given(drawn_cases())
    def holds(drawn):
        case, solver = drawn
        try:
            [verdict] = judged(case, solver, Oracle(case.problem))
        except SingularSystemError:  # elimination broke down, which the bound allows for by being infinite
            outcomes["singular"] += 1
            return
        event(f"{solver.declaration.precision}, {case.problem.loss.task}: {verdict.status}")
        outcomes[verdict.status] += 1
        assert verdict.status is not Status.FAIL
        if verdict.status is not Status.INCONCLUSIVE:
            ratios.append(verdict.ratio)

    holds()
    print(f"reference: {dict(outcomes)}, ratio max {max(ratios):.3g}, median {np.median(ratios):.3g}")
    assert len(ratios) >= 3 * draws // 4
    # A bound that no run comes near would pass whatever is wrong.
    assert max(ratios) > 1e-2
