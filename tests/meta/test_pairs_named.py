"""Of two defects at once the pairs known in public are named, and no others; unknown arithmetic is not named."""

from __future__ import annotations

import numpy as np
import pytest
from judged import judged, named, named_case

pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")

from sstep_verify.adapters import CallableSolver
from sstep_verify.checks import step_replay, trajectory, window_replay
from sstep_verify.declaration import Declaration
from sstep_verify.diagnosis import kernel_rows
from sstep_verify.problems import Hinge, RBFKernel
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
    return np.exp(-problem.kernel.sigma * np.square(data[:, None] - data[None]).sum(axis=2))


def program(data_of, kernel_of, outside=False, logs=False):
    """Classical steps of a program with mistakes in what it solves, and the right step."""

    def solve(problem, blocks, s, a0, log=None):
        alpha, y = a0.copy(), problem.targets
        matrix = kernel_of(problem, data_of(problem))
        for place, block in enumerate(blocks):
            (i,) = block
            signs = y if outside else np.ones_like(y)
            slope = signs[i] * matrix[i] @ (signs * alpha) - 1
            alpha[i] = min(max(alpha[i] - slope / matrix[i, i], 0.0), problem.hinge.upper)
            if log is not None:
                log[place] = alpha[block]
        return alpha

    return CallableSolver(
        solve, Declaration("mistaken", rbf="norm-expansion", factorisation="lu", log=logs)
    )


LABELS_AND_NORMS = kernel_rows.LABELS, kernel_rows.NORMS


@pytest.mark.parametrize("check", ["trajectory", "window-replay"])
@pytest.mark.parametrize(
    ("kernel_of", "found"), [(without_norms, [LABELS_AND_NORMS]), (of_half_the_width, [])]
)
def test_of_two_defects_at_once_only_a_pair_known_in_public_is_named(kernel_of, found, check):
    case, tested = named_case(
        Hinge(0.5), RBFKernel(0.3), solver=program(labels_inside, kernel_of), s_values=(1, 4), samples=8
    )
    for verdict in judged(CHECKS[check], case, tested).values():
        assert verdict.status is Status.FAIL
        assert named(verdict) == found


def logged(data_of, kernel_of, outside=False):
    return program(data_of, kernel_of, outside, logs=True)


LOGGED = [
    (logged(labels_inside, without_norms), {LABELS_AND_NORMS}),
    (logged(labels_inside, of_half_the_width), set()),
    (logged(labels_inside, right_kernel), {kernel_rows.LABELS}),
    (logged(as_it_is, without_norms, True), {kernel_rows.NORMS}),
    (logged(as_it_is, lambda problem, data: right_kernel(problem, data) + 1, True), {kernel_rows.BIAS}),
]


@pytest.mark.parametrize(("solver", "found"), LOGGED)
def test_of_a_log_what_is_solved_instead_is_named_with_its_requirements(solver, found):
    case, tested = named_case(Hinge(0.5), RBFKernel(0.3), solver=solver, s_values=(4,), samples=8)
    verdict = judged(step_replay, case, tested)[4]
    assert verdict.status is Status.FAIL
    assert set(named(verdict)) == found
    violated = {number for one in verdict.defects for name in one.names for number in broken_by(name)}
    assert {number for one in verdict.defects for number in one.requirements} == violated
    assert verdict.requirement == ("S-3.1" if not found else "" if len(violated) > 1 else violated.pop())


def test_an_undeclared_precision_is_no_known_defect():
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
        assert verdict.status is Status.FAIL
        assert verdict.diagnosed
        assert verdict.defects == ()
