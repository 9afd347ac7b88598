"""Two mistakes at once are named where neither alone explains a run; equal explanations are all named."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from checks.test_check_window_replay_quantities import with_mistake
from judged import judged, named_case

pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")

from sstep_verify.adapters import CallableSolver
from sstep_verify.checks import step_replay, trajectory, window_replay
from sstep_verify.declaration import Declaration
from sstep_verify.diagnosis import kernel_rows, other_problems
from sstep_verify.diagnosis.candidates import SINGLE, joined, suspects_of
from sstep_verify.problems import Hinge, PolynomialKernel, RBFKernel, Ridge, SquaredHinge
from sstep_verify.recurrence.mutation import NONE, Mutation
from sstep_verify.specification import broken_by
from sstep_verify.verdict import Status

CHECKS = {"trajectory": trajectory, "window-replay": window_replay, "step-replay": step_replay}


def labels_inside(problem):
    return problem.targets[:, None] * problem.dense


def as_it_is(problem):
    return problem.dense


def without_norms(problem, data):
    return np.exp(2 * problem.kernel.sigma * (data @ data.T))


def of_half_the_width(problem, data):
    return np.exp(-problem.kernel.sigma / 2 * np.square(data[:, None] - data[None]).sum(axis=2))


def right_kernel(problem, data):
    if problem.kernel.of_distance:
        return np.exp(-problem.kernel.sigma * np.square(data[:, None] - data[None]).sum(axis=2))
    return (problem.kernel.offset + data @ data.T) ** problem.kernel.degree


def more_degree(problem, data):
    return (problem.kernel.offset + data @ data.T) ** (problem.kernel.degree + 1)


def program(data_of, kernel_of, outside=False, clip=True, penalty=None, logs=False):
    """Classical steps of a program with mistakes in what it solves, and the right step."""

    def solve(problem, blocks, s, a0, log=None):
        alpha, y = a0.copy(), problem.targets
        matrix = kernel_of(problem, data_of(problem))
        for place, block in enumerate(blocks):
            if problem.is_svm:
                (i,) = block
                signs = y if outside else np.ones_like(y)
                slope = signs[i] * matrix[i] @ (signs * alpha) - 1 + problem.hinge.shift * alpha[i]
                value = max(alpha[i] - slope / (matrix[i, i] + problem.hinge.shift), 0.0)
                alpha[i] = min(value, problem.hinge.upper) if clip else value
            else:
                rows, m = matrix[block] / (penalty or problem.ridge.penalty), problem.samples
                system = rows[:, block] + m * np.eye(block.size)
                alpha[block] += np.linalg.solve(system, y[block] - m * alpha[block] - rows @ alpha)
            if log is not None:
                log[place] = alpha[block]
        return alpha

    return CallableSolver(
        solve, Declaration("mistaken", rbf="norm-expansion", factorisation="lu", log=logs)
    )


SOLVED = [
    (Hinge(0.5), RBFKernel(0.3), program(labels_inside, without_norms), kernel_rows.LABELS, kernel_rows.NORMS),
    (
        Hinge(0.5), RBFKernel(0.3), program(labels_inside, of_half_the_width),
        other_problems.SIGMA, kernel_rows.LABELS,
    ),
    (
        Hinge(0.02), PolynomialKernel(2, 0.5), program(as_it_is, more_degree, True, clip=False),
        "upper-end left out", other_problems.DEGREE,
    ),
    (
        Ridge(0.05), PolynomialKernel(2, 0.5), program(as_it_is, more_degree, penalty=1.0),
        other_problems.LAMBDA_LOST, other_problems.DEGREE,
    ),
]  # fmt: skip


@pytest.mark.parametrize("check", ["trajectory", "window-replay"])
@pytest.mark.parametrize(("loss", "kernel", "solver", "first", "second"), SOLVED)
def test_two_mistakes_in_what_is_solved_are_named_together(loss, kernel, solver, first, second, check):
    case, tested = named_case(
        loss, kernel, block=1 + 2 * isinstance(loss, Ridge), solver=solver, s_values=(1, 4), samples=8
    )
    for verdict in judged(CHECKS[check], case, tested).values():
        assert verdict.status is Status.FAIL
        assert set(verdict.evidence["likely causes"]) & {
            f"{first} together with {second}", f"{second} together with {first}"
        }, verdict.reason  # fmt: skip
        assert not set(verdict.evidence["likely causes"]) & {first, second}


def logged(data_of, kernel_of, outside=False):
    return program(data_of, kernel_of, outside, logs=True)


LOGGED = [
    (logged(labels_inside, without_norms), {f"{kernel_rows.LABELS} together with {kernel_rows.NORMS}"}),
    (
        logged(labels_inside, of_half_the_width),
        {f"{kernel_rows.LABELS} together with {other_problems.SIGMA}"},
    ),
    (logged(labels_inside, right_kernel), {kernel_rows.LABELS}),
    (logged(as_it_is, without_norms, True), {kernel_rows.NORMS}),
    (logged(as_it_is, lambda problem, data: right_kernel(problem, data) + 1, True), {kernel_rows.BIAS}),
]


@pytest.mark.parametrize(("solver", "named"), LOGGED)
def test_of_a_log_what_is_solved_instead_is_named_and_breaks_its_sentences(solver, named):
    case, tested = named_case(Hinge(0.5), RBFKernel(0.3), solver=solver, s_values=(4,), samples=8)
    verdict = judged(step_replay, case, tested)[4]
    assert verdict.status is Status.FAIL
    assert named <= set(verdict.evidence["likely causes"]), verdict.reason
    parts = {part for one in named for part in one.split(" together with ")}
    assert {number for part in parts for number in broken_by(part)} <= set(verdict.sentences)


def test_single_precision_is_named_where_it_was_used_and_nowhere_else():
    def solve(problem, blocks, s, a0, log=None):
        single = np.float32
        alpha, y = a0.astype(single), problem.targets.astype(single)
        matrix = (np.outer(y, y) * right_kernel(problem, problem.dense)).astype(single)
        for place, (i,) in enumerate(blocks):
            value = alpha[i] - (matrix[i] @ alpha - single(1)) / matrix[i, i]
            alpha[i] = min(max(value, single(0)), single(problem.hinge.upper))
            if log is not None:
                log[place] = alpha[i]
        return alpha.astype(np.float64)

    for log, check in ((True, "step-replay"), (False, "window-replay"), (False, "trajectory")):
        tested = CallableSolver(solve, Declaration("single", rbf="difference", log=log))
        case, _ = named_case(Hinge(5.0), RBFKernel(0.3), solver=tested, s_values=(4,), samples=8)
        verdict = judged(CHECKS[check], case, tested)[4]
        assert verdict.evidence["likely causes"] == [SINGLE], verdict.reason
    case, tested = named_case(
        Hinge(0.5), RBFKernel(0.3), solver=with_mistake(Mutation("off", curvature=1 + Fraction(1, 10**9)))
    )
    assert SINGLE not in judged(window_replay, case, tested)[4].reason


PAIRS = [
    (Hinge(2.0), Mutation("upper-end-halved", upper=Fraction(1, 2)), Mutation("stale-product left out", stale=0)),
    (SquaredHinge(2.0), Mutation("omega left out", omega_stale=0, omega_overlap=0), Mutation("kernel-correction left out", kernel=0)),
    (Ridge(0.05), Mutation("m-doubled", samples=2), Mutation("curvature-halved", curvature=Fraction(1, 2))),
]  # fmt: skip


@pytest.mark.parametrize("check", ["trajectory", "window-replay"])
@pytest.mark.parametrize(("loss", "first", "second"), PAIRS)
def test_two_mistakes_in_the_steps_are_named_together(loss, first, second, check):
    case, solver = named_case(
        loss, RBFKernel(0.3), solver=with_mistake(joined(first, second)), s_values=(4,), samples=6
    )
    verdict = judged(CHECKS[check], case, solver)[4]
    assert verdict.status is Status.FAIL
    named = [set(one.split(" together with ")) for one in verdict.evidence["likely causes"]]
    known = suspects_of(case.problem, "frozen", 4, 1).mutations
    assert all(len(one) == 2 for one in named), named
    # A mistake has another name where it is a quantity that is left out.
    wanted = [
        next(one.name for one in known if joined_as(one) == joined_as(mistake))
        for mistake in (first, second)
    ]
    assert set(wanted) in named, (wanted, named)


def joined_as(mutation):
    return joined(mutation, NONE)


def test_of_two_that_change_the_same_there_is_no_pair():
    assert joined(Mutation("one", kernel=0), Mutation("other", kernel=2)) is None
    both = joined(Mutation("one", kernel=0), Mutation("other", labels=-1))
    assert (both.kernel, both.labels, both.curvature) == (0, -1, 1)
