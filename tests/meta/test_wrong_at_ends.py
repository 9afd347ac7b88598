"""Where all that is wrong is an end of the box, what reproduces it is named, and not said to be what was done."""

from __future__ import annotations

import numpy as np
import pytest
from judged import hinted, judged, named, named_case

from sstep_verify import judge
from sstep_verify.adapters import CallableSolver
from sstep_verify.checks import step_replay, trajectory, window_replay
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, RBFKernel
from sstep_verify.verdict import HintKind, Status, Why

GENERATOR = np.random.Generator(np.random.PCG64(0))
DATA, STREAM = GENERATOR.standard_normal((20, 4)), IndexStream("uniform", 20, 1, 120, seed=0)
LABELS = np.where(GENERATOR.random(20) < 0.5, -1.0, 1.0)
CHECKS = {"step-replay": "S-3.1", "window-replay": "S-3.1", "trajectory": "S-4.1"}


def solver_of(value, log, precision="float64"):
    """A K-SVM-L1 whose steps set a coordinate to what `value` says, from its unclipped value and C."""

    def solve(problem, blocks, s, a0, steps=None):
        alpha, signed = a0.astype(precision), problem.targets[:, None] * problem.targets
        squares = np.square(problem.dense[:, None] - problem.dense[None]).sum(axis=2)
        matrix = signed * np.exp(-problem.kernel.sigma * squares)
        for place, (i,) in enumerate(blocks):
            free = value(matrix[i] @ alpha, alpha[i], matrix[i, i])
            alpha[i] = min(max(free, 0.0), problem.hinge.C)
            if steps is not None:
                steps[place] = alpha[i]
        return alpha

    return CallableSolver(solve, Declaration("own", rbf="difference", log=log, precision=precision))


def stuck(product, value, curvature):
    return np.inf


def without_stale_product(product, value, curvature):
    return value + 1 / curvature


@pytest.mark.parametrize("s", [1, 8])
@pytest.mark.parametrize("check", CHECKS)
def test_no_mistake_is_reported_of_a_solver_that_always_ends_at_c(check, s):
    problem = Problem("stuck", DATA, LABELS, RBFKernel(0.3), Hinge(1.0))
    verdict = judge(solver_of(stuck, check == "step-replay"), problem, STREAM, s, checks=[check])[-1]
    assert (verdict.check, verdict.status, verdict.requirement) == (check, Status.FAIL, CHECKS[check])
    assert all(one.shared for one in verdict.defects)
    assert bool(verdict.defects) == (HintKind.AT_LIMITS in hinted(verdict))


@pytest.mark.parametrize(
    ("C", "told"), [(1.0, "S-3.1"), (3.0, "S-3.3")], ids=["ends of the box", "values inside it too"]
)
def test_a_mistake_is_reported_where_a_value_inside_the_box_is_wrong_by_it(C, told):
    tested = solver_of(without_stale_product, log=True)
    case, _ = named_case(Hinge(C), RBFKernel(0.3), solver=tested, s_values=(1,), samples=20)
    verdict = judged(step_replay, case, tested)[1]
    assert verdict.status is Status.FAIL
    assert "stale-product left out" in named(verdict)
    assert verdict.requirement == told
    assert (HintKind.AT_LIMITS in hinted(verdict)) == verdict.defects[0].shared == (C == 1.0)


@pytest.mark.parametrize("check", [window_replay, trajectory], ids=lambda one: one.ID)
def test_what_ends_windows_and_runs_at_ends_alone_breaks_what_the_check_claims(check):
    tested = solver_of(stuck, log=False)
    case, _ = named_case(Hinge(1.0), RBFKernel(0.3), solver=tested, s_values=(1, 4), samples=20)
    for verdict in judged(check, case, tested).values():
        assert verdict.status is Status.FAIL
        assert verdict.requirement == CHECKS[check.ID]


def test_data_of_zeros_show_nothing_for_a_reason_that_is_true():
    problem = Problem("zeros", np.zeros((20, 4)), LABELS, LinearKernel(), Hinge(1.0))

    def solve(problem, blocks, s, a0, steps):
        steps[:] = problem.hinge.C
        alpha = a0.copy()
        alpha[blocks.ravel()] = problem.hinge.C
        return alpha

    solver = CallableSolver(solve, Declaration("right", log=True))
    verdict = judge(solver, problem, IndexStream("uniform", 20, 1, 60, seed=0), 8)[-1]
    assert verdict.status is Status.VACUOUS
    told = {term.name: term.why for term in verdict.terms}
    # A step without curvature ends at the limit whatever its quantities are.
    assert told["stale-product"] is told["kernel-correction"] is verdict.why is Why.NO_EFFECT
