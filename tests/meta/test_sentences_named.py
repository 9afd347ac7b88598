"""Planted defects break the sentence of the specification that they should, and causes fit what failed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from checks.test_check_window_replay_quantities import with_mistake
from judged import hinted, judged, named, named_case
from plant import plant

from sstep_verify.adapters import CallableSolver
from sstep_verify.checks import box, contract, trajectory, window_replay
from sstep_verify.checks.recorded import kernel_entries
from sstep_verify.checks.shared.case import plain_request, run_key
from sstep_verify.declaration import Declaration
from sstep_verify.diagnosis.kernel_rows import EVERYWHERE, LABELS
from sstep_verify.diagnosis.other_problems import BOTH
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Hinge, LinearKernel, PolynomialKernel, RBFKernel, Ridge
from sstep_verify.recurrence.mutation import Mutation
from sstep_verify.solver import run
from sstep_verify.verdict import HintKind, Status

DECLARED = Declaration("mistaken", rbf="difference", factorisation="lu")
INSIDE = ("data = self._own_columns()", "data = self._own_columns() * self._request.problem.targets[:, None]")  # fmt: skip


def kernel_of(problem, data):
    products = data @ data.T
    if problem.kernel.name == "rbf":
        return np.exp(-problem.kernel.sigma * np.square(data[:, None] - data[None]).sum(axis=2))
    return (
        products if problem.kernel.linear else (problem.kernel.offset + products) ** problem.kernel.degree
    )


def svm(matrix_of, clip=True, shift=0):
    """Classical steps on a matrix of one's own, with or without the upper end, on another stream if shifted."""

    def solve(problem, blocks, s, a0):
        alpha, matrix = a0.copy(), matrix_of(problem)
        upper = problem.hinge.upper if clip else np.inf
        for i in (blocks.ravel() + shift) % alpha.size:
            alpha[i] = min(max(alpha[i] - (matrix[i] @ alpha - 1) / matrix[i, i], 0.0), upper)
        return alpha

    return CallableSolver(solve, DECLARED)


def labels_inside(problem):
    return kernel_of(problem, problem.targets[:, None] * problem.dense)


def labels_inside_and_outside(problem):
    return np.outer(problem.targets, problem.targets) * labels_inside(problem)


def labels_outside(problem):
    return np.outer(problem.targets, problem.targets) * kernel_of(problem, problem.dense)


def m_in_every_entry(problem, blocks, s, a0):
    alpha = a0.copy()
    matrix = kernel_of(problem, problem.dense) / problem.ridge.penalty + problem.samples
    for block in blocks:
        residual = problem.targets[block] - matrix[block] @ alpha
        alpha[block] += np.linalg.solve(matrix[np.ix_(block, block)], residual)
    return alpha


def assert_breaks(verdict, *numbers):
    assert verdict.status is Status.FAIL
    assert verdict.requirements == numbers, verdict.reason


@pytest.mark.parametrize("kernel", [RBFKernel(0.3), PolynomialKernel(2, 0.5)], ids=lambda one: one.name)
@pytest.mark.parametrize("matrix_of", [labels_inside, labels_inside_and_outside])
def test_labels_inside_the_kernel_are_named_from_the_data_alone(kernel, matrix_of):
    case, solver = named_case(Hinge(0.5), kernel, solver=svm(matrix_of), s_values=(1, 4))
    for verdict in judged(window_replay, case, solver).values():
        assert verdict.status is Status.FAIL
        # Others explain windows too that fail in ends of the box alone.
        assert verdict.requirement == ("S-3.1" if HintKind.AT_LIMITS in hinted(verdict) else "S-1.2")
        assert {LABELS, BOTH} & set(named(verdict))
    case, solver = named_case(Hinge(0.5), kernel, solver=svm(labels_outside), s_values=(4,))
    assert judged(window_replay, case, solver)[4].status is Status.PASS


def test_labels_inside_the_kernel_are_named_from_the_panel():
    with plant(run, INSIDE):
        case, solver = named_case(Hinge(0.5), RBFKernel(0.3), s_values=(4,))
        for check in (kernel_entries, window_replay):
            assert_breaks(judged(check, case, solver)[4], "S-1.2")


@pytest.mark.parametrize("loss", [Hinge(0.5), Ridge(0.05)], ids=str)
def test_a_dropped_overlap_is_named(loss):
    tested = with_mistake(Mutation("overlap-dropped", overlap=0))
    case, solver = named_case(loss, solver=tested, s_values=(1, 4), samples=6)
    verdicts = judged(window_replay, case, solver)
    assert verdicts[1].status is Status.PASS
    assert verdicts[4].status is Status.FAIL
    assert verdicts[4].requirements[0] == "S-3.6", verdicts[4].reason


def test_where_nothing_was_looked_for_nothing_is_said_to_be_unknown():
    case, solver = named_case(Hinge(0.5), PolynomialKernel(2, 0.5), solver=svm(labels_inside))
    case = dataclasses.replace(case, diagnose=False)
    for check, broken in ((window_replay, "S-3.1"), (trajectory, "S-4.1")):
        for verdict in judged(check, case, solver).values():
            assert (verdict.status, verdict.requirement) == (Status.FAIL, broken)
            assert not verdict.diagnosed
            assert verdict.defects == ()


def test_a_c_that_is_ignored_is_named():
    case, solver = named_case(Hinge(0.5), RBFKernel(0.3), solver=svm(labels_outside, clip=False))
    for check in (box, window_replay):
        assert_breaks(judged(check, case, solver)[4], "S-3.9")


@pytest.mark.parametrize("block", [1, 2])
def test_m_off_the_diagonal_is_named(block):
    tested = CallableSolver(m_in_every_entry, DECLARED)
    case, solver = named_case(Ridge(0.05), LinearKernel(), block=block, solver=tested, s_values=(1, 4))
    for verdict in judged(window_replay, case, solver).values():
        assert_breaks(verdict, "S-1.4")
        assert named(verdict) == [EVERYWHERE]


def test_a_coordinate_that_moved_undrawn_is_named():
    tested = svm(labels_outside, shift=1)
    case, solver = named_case(Hinge(0.5), solver=tested, s_values=(4,), samples=24, iterations=12)
    for check in (window_replay, trajectory):
        verdict = judged(check, case, solver)[4]
        assert verdict.status is Status.FAIL
        assert HintKind.UNDRAWN_MOVED in hinted(verdict)


def test_a_passed_check_names_no_requirement():
    case, solver = named_case(Hinge(0.5), s_values=(4,))
    verdict = judged(window_replay, case, solver)[4]
    assert (verdict.status, verdict.requirements) == (Status.PASS, ())
    assert verdict.requirement == ""


def test_one_iteration_too_many_is_named():
    case, solver = named_case(Hinge(0.5), s_values=(4,))
    case = dataclasses.replace(case, iterations=72, points={})
    request = plain_request(case, 4)
    longer = dataclasses.replace(request, iterations=73, record=())
    (verdict,) = contract.judge(case, {run_key(4): solver.run(longer)}, Oracle(case.problem))
    assert verdict.requirement == "S-2.3"
    first = verdict.violations[0]
    assert (first.item, first.found, first.asked) == ("length", "73", "72")


def test_a_run_that_one_mistake_reproduces_is_given_that_one():
    case, solver = named_case(Hinge(0.5), RBFKernel(0.3), solver=svm(labels_inside), s_values=(1, 4))
    for verdict in judged(trajectory, case, solver).values():
        assert_breaks(verdict, "S-1.2")
        assert named(verdict) == [LABELS]


def scaled_panels(trajectory):
    """The run with kernel entries that no named mistake explains."""
    panels = {
        begin: dataclasses.replace(panel, entries=panel.entries * 1.001)
        for begin, panel in trajectory.panels.items()
    }
    return dataclasses.replace(trajectory, panels=panels)


@pytest.mark.parametrize(
    ("loss", "kernel"),
    [(Ridge(0.05), LinearKernel()), (Ridge(0.05), RBFKernel(0.3)), (Hinge(0.5), PolynomialKernel(2, 0.5))],
)
def test_of_wrong_entries_that_no_defect_reproduces_none_is_named(loss, kernel):
    case, solver = named_case(loss, kernel, s_values=(4,))
    verdict = judged(kernel_entries, case, solver, scaled_panels)[4]
    assert_breaks(verdict, "S-1.8")
    assert verdict.diagnosed
    assert verdict.defects == ()
