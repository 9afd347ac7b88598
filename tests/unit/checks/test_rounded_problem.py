"""A run is judged on the problem as its precision holds it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from sstep_verify import judge
from sstep_verify.adapters.reference import ReferenceSolver
from sstep_verify.declaration import Declaration
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.rounding.arithmetic import rounded_problem
from sstep_verify.rounding.formulas import formulas_of
from sstep_verify.verdict import Status, Why

SINGLE = Declaration("one", precision="float32")
CHECKS = ("step-replay", "window-replay", "trajectory")


def problem_of(loss, scale: float = 1.0, kernel=None) -> Problem:
    random = np.random.Generator(np.random.PCG64(3))
    data = random.standard_normal((9, 3)) * scale
    targets = np.where(random.random(9) < 0.5, 1.0, -1.0) if loss.boxed else random.standard_normal(9)
    return Problem("made", data, targets, kernel or RBFKernel(0.3), loss)


@pytest.mark.parametrize("loss", [Hinge(0.7), SquaredHinge(0.7), Ridge(0.3)])
def test_what_float32_holds_is_data_targets_and_parameters_rounded(loss):
    problem = problem_of(loss)
    held = rounded_problem(problem, SINGLE)
    assert np.array_equal(held.dense, np.float32(problem.dense))
    assert held.digest != problem.digest
    assert np.array_equal(held.targets, np.float32(problem.targets))
    assert held.loss.parameter == np.float32(loss.parameter)
    assert held.kernel.sigma == np.float32(0.3)
    sparse = rounded_problem(replace(problem, data=sp.csr_array(problem.dense)), SINGLE)
    assert sparse.is_sparse
    assert np.array_equal(sparse.dense, held.dense)
    assert rounded_problem(held, SINGLE) is held
    for declared in (formulas_of(SINGLE, as_given=True), Declaration("two")):
        assert rounded_problem(problem, declared) is problem


def test_a_number_beyond_the_range_of_float32_is_not_held():
    assert rounded_problem(problem_of(Hinge(0.7), 1e39), SINGLE) is None
    assert rounded_problem(problem_of(Ridge(1e-60)), SINGLE) is None
    assert rounded_problem(problem_of(Hinge(0.7), kernel=RBFKernel(1e60)), SINGLE) is None


@pytest.mark.parametrize("loss", [Hinge(0.7), SquaredHinge(0.7), Ridge(0.3)])
def test_verdicts_are_those_on_what_is_held(loss):
    problem, stream = problem_of(loss, kernel=LinearKernel()), IndexStream("uniform", 9, 1, 24, seed=2)
    solver = ReferenceSolver("float32")
    held = rounded_problem(problem, solver.declaration)
    given, known = (judge(solver, one, stream, 4, checks=CHECKS) for one in (problem, held))
    for one, other in zip(given, known, strict=True):
        assert one.status is other.status is not Status.FAIL
        assert (one.measured, one.bound, one.terms) == (other.measured, other.bound, other.terms)
        assert one.problem == problem.label


def test_where_the_problem_is_not_held_nothing_is_promised():
    problem, stream = problem_of(Hinge(1e-60), kernel=LinearKernel()), IndexStream("uniform", 9, 1, 8, 2)
    _, *verdicts = judge(ReferenceSolver("float32"), problem, stream, 4, checks=CHECKS)
    assert [verdict.status for verdict in verdicts] == [Status.VACUOUS] * len(CHECKS)
    assert {verdict.why for verdict in verdicts} == {Why.OUT_OF_RANGE}
