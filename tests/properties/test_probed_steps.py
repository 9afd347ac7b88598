"""What correct runs write down of their steps is within its bounds, whatever the order of summation; a mistake is not,
and the first quantity that is out names it."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from probing import MISTAKES, ProbingSolver

from sstep_verify.checks.recorded import phases
from sstep_verify.checks.shared.case import Case
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import IndexStream, LinearKernel, PolynomialKernel, Problem, RBFKernel, loss_from
from sstep_verify.verdict import Status
from studies.legal.arithmetic import ORDERS

EXAMPLES = int(os.environ.get("SSTEP_VERIFY_DRAWS", "150"))

KERNELS = (LinearKernel(), PolynomialKernel(degree=3, offset=0.5), RBFKernel(sigma=0.3))


def drawn_case(
    solver, task, kernel, *, s=5, block=1, seed=0, scale=1.0, parameter=0.7, iterations=33
) -> Case:
    """A case on 9 samples of 4 features."""
    generator = np.random.default_rng(seed)
    data = generator.standard_normal((9, 4)) * scale
    targets = generator.standard_normal(9) if task == "krr" else np.resize([1.0, -1.0, -1.0], 9)
    problem = Problem("probed", data, targets, kernel, loss_from(task, parameter))
    stream = IndexStream("uniform", 9, block if task == "krr" else 1, iterations, seed=seed)
    return Case("probed", problem, stream, (s,), iterations, solver.declaration, points={s: (iterations,)})


def judged(solver, case):
    runs = {key: solver.run(request) for key, request in phases.DECLARED.runs(case).items()}
    (verdict,) = phases.DECLARED.judge(case, runs, Oracle(case.problem))
    return verdict


@settings(max_examples=EXAMPLES, deadline=None, derandomize=True)
@given(st.data())
def test_no_quantity_of_a_correct_run_exceeds_its_bound(data):
    task = data.draw(st.sampled_from(("svm-l1", "svm-l2", "krr")))
    kernel = data.draw(st.sampled_from(KERNELS))
    solver = ProbingSolver(
        data.draw(st.sampled_from(ORDERS)),
        update=data.draw(st.sampled_from(("in-place", "added", "frozen"))),
        rbf=data.draw(st.sampled_from(("difference", "norm-expansion"))),
        factorisation=data.draw(st.sampled_from(("lu", "cholesky", "ldl"))),
        precision=data.draw(st.sampled_from(("float64", "float64", "float32"))),
    )
    case = drawn_case(
        solver, task, kernel,
        s=data.draw(st.integers(1, 12)), block=data.draw(st.integers(1, 4)), seed=data.draw(st.integers(0, 999)),
        scale=2.0 ** data.draw(st.integers(-8, 4)), parameter=2.0 ** data.draw(st.integers(-9, 9)),
    )  # fmt: skip
    verdict = judged(solver, case)
    assert verdict.status is not Status.FAIL, verdict.reason
    assert verdict.ratio <= 1.0
    assert verdict.executed > 0


TASKS = {"upper end": "svm-l1", "lower end": "svm-l2", "omega in g": "svm-l2", "omega in eta": "svm-l2",
         "off-diagonal": "krr"}  # fmt: skip


@pytest.mark.parametrize("task", ["svm-l1", "svm-l2", "krr"])
@pytest.mark.parametrize("update", ["in-place", "frozen"])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_the_first_quantity_out_of_its_bound_names_the_mistake(mistake, update, task):
    if TASKS.get(mistake, task) != task:
        pytest.skip("this task has no such part")
    if mistake == "lost" and update == "frozen":
        pytest.skip("a is stored at the window's end")
    found = judged_mistake(mistake, update, task)
    assert found.evidence["first out of its bound"]["quantity"] == MISTAKES[mistake]
    assert found.status is Status.FAIL


def judged_mistake(mistake, update, task):
    solver = ProbingSolver("pairwise", mistake, update=update, rbf="difference", factorisation="lu")
    return judged(solver, drawn_case(solver, task, LinearKernel(), block=3, iterations=60))
