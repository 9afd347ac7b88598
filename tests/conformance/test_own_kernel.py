"""The worked example of a kernel of one's own: three places, a bound that holds, right and wrong solvers."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from daily import crossed
from judged import judged
from sstep_reference import kernels as reference
from sstep_reference.arithmetic import Balls

from sstep_verify import CallableSolver, Declaration, Hinge, IndexStream, Problem, Ridge, SquaredHinge
from sstep_verify.checks import step_replay, trajectory, window_replay
from sstep_verify.checks.shared.case import Case
from sstep_verify.numerics import kernel_matrix
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.problems import kernels
from sstep_verify.rounding.arithmetic import rounded_problem
from sstep_verify.rounding.kernel.entries import kernel_entries

EXAMPLES = Path(__file__).parents[2] / "examples"
CHECKS = "contract", "step-replay", "window-replay", "trajectory"
S, SAMPLES, LENGTH = 4, 10, 42


@pytest.fixture(scope="module")
def example():
    """Names of the example's file; what it registers is taken out again where tables are listed."""
    yield runpy.run_path(str(EXAMPLES / "own_kernel" / "laplacian.py"))
    del kernels.KERNELS["laplacian"], reference.FORMULAS["laplacian"]


@pytest.mark.nightly
def test_the_example_runs_as_its_user_runs_it(example):
    made = subprocess.run(
        [sys.executable, EXAMPLES / "own_kernel" / "laplacian.py"],
        capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    said = [line.split(",")[0] for line in made.stdout.splitlines()]
    wrong = [f"{name}: {check}" for name in example["DEFECTS"] for check in CHECKS]
    assert said[:4] == [f"correct: {check} PASS" for check in CHECKS]
    assert said[4:] == [f"{name} {'PASS' if name.endswith(CHECKS[0]) else 'FAIL'}" for name in wrong]


def drawn(example, loss, seed=0, scale=1.0, sigma=0.3):
    generator = np.random.Generator(np.random.PCG64(seed))
    data, y = generator.standard_normal((SAMPLES, 3)) * scale, generator.standard_normal(SAMPLES)
    data[1] = data[2]
    return Problem(
        "drawn", data, np.sign(y) if loss.labelled else y, example["LaplacianKernel"](sigma), loss
    )


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("scale", [1e-160, 1e-3, 1.0, 30.0, 1e4, 1e160])
def test_the_bound_holds_of_the_judge_and_of_a_solver(example, scale, precision):
    declared = Declaration("any", precision)
    problem = rounded_problem(drawn(example, Ridge(1.0), scale=scale), declared)
    if problem is None:
        assert (scale, precision) == (1e160, "float32")
        return
    entries, exact = (
        kernel_entries(problem, declared, np.arange(SAMPLES)),
        exact_kernel(problem, Balls(4096)),
    )
    assert np.array_equal(entries.values.argmin(axis=1), kernel_matrix(problem).argmin(axis=1))
    with np.errstate(over="ignore"):
        data, dtype = problem.data.astype(precision), np.dtype(precision).type
        there = np.exp(-dtype(0.3) * np.abs(data[:, None] - data).sum(axis=2, dtype=dtype))
    for i in range(SAMPLES):
        for values, bounds in ((entries.values, entries.judge_error), (there, entries.solver_error)):
            for value, bound, ball in zip(values[i], bounds[i], exact.column(i), strict=True):
                assert not bound < np.inf or abs(ball - float(value)) <= float(bound)
    assert scale > 100.0 or (entries.judge_error <= 2.0**-44).all()


def solve(problem, blocks, s, a0, log):
    """Any classical solver: of K-RR, or of a boxed loss."""
    data, alpha, loss = problem.data, a0.copy(), problem.loss
    K = np.exp(-problem.kernel.sigma * np.abs(data[:, None] - data).sum(axis=2))
    for step, block in enumerate(blocks):
        if isinstance(loss, Ridge):
            G = K[np.ix_(block, block)] / loss.penalty + SAMPLES * np.eye(len(block))
            r = problem.targets[block] - SAMPLES * alpha[block] - K[block] @ alpha / loss.penalty
            alpha[block] += np.linalg.solve(G, r)
        else:
            (i,), dual = block, problem.dual
            gradient = (
                dual.signs[i] * (K[i] @ (dual.signs * alpha)) - dual.linear[i] + dual.shift * alpha[i]
            )
            eta = K[i, i] + dual.shift
            z, knot = alpha[i] - gradient / eta, dual.threshold / eta
            alpha[i] = min(max(max(z - knot, 0.0) + min(z + knot, 0.0), dual.lower), dual.upper)
        log[step] = alpha[block]
    return alpha


OWN_LOSS = runpy.run_path(str(EXAMPLES / "own_loss" / "epsilon_insensitive.py"))["EpsilonInsensitive"]
LOSSES = [Hinge(1.0), SquaredHinge(1.0), Ridge(0.1), OWN_LOSS(0.7, 0.2)]


@pytest.mark.parametrize(
    ("loss", "check"),
    crossed(LOSSES, [step_replay, window_replay, trajectory], of=3),
    ids=lambda one: getattr(one, "ID", None) or one.task,
)
def test_every_loss_takes_it(example, loss, check):
    block = 2 if isinstance(loss, Ridge) else 1
    declared = Declaration("any", log=True, factorisation="lu")
    stream = IndexStream("uniform", SAMPLES, block, LENGTH, seed=2)
    points = {s: tuple(sorted({*range(s, LENGTH, s), LENGTH})) for s in (1, S)}
    case = Case(
        "drawn",
        drawn(example, loss),
        stream,
        (1, S),
        LENGTH,
        declared,
        points=points,
        replay_command="again",
    )
    verdicts = judged(check, case, CallableSolver(solve, declared))
    assert {verdict.status for verdict in verdicts.values()} == {"PASS"}
