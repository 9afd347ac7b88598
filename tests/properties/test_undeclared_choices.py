"""A solver that sums, clamps, multiplies or raises to a power in any way passes, and declares none of it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sstep_verify.checks import step_replay, trajectory, window_replay
from sstep_verify.checks.shared.case import Case
from sstep_verify.declaration import Declaration
from sstep_verify.problems import IndexStream, LinearKernel, PolynomialKernel, Problem, RBFKernel
from sstep_verify.problems.losses import TASKS, loss_from
from sstep_verify.verdict import Status
from studies.admissible.arithmetic import ORDERS
from studies.admissible.solver import AdmissibleSolver
from studies.admissible.undeclared import Undeclared
from studies.false_positives.groups import verdicts_of

CHECKS = (step_replay.ID, window_replay.ID, trajectory.ID)

WAYS = [
    (Undeclared(increments, clamped, power, functions, summation), order)
    for increments, clamped, power, functions in product(
        ("separate", "summed"), (True, False), ("multiplication", "pow"), ("rounded", "library")
    )
    for summation, order in (
        *(("any", order) for order in ORDERS),
        ("pairwise", "pairwise"),
        ("blocked", "blocked"),
    )
]
"""Every way in which one of these solvers may form its numbers."""

KERNELS = {
    "linear": lambda random: LinearKernel(),
    "polynomial": lambda random: PolynomialKernel(int(random.integers(2, 12)), 0.5),
    "rbf": lambda random: RBFKernel(2.0 ** random.integers(-3, 3)),
}


def drawn(random: np.random.Generator, task: str, kernel: str) -> tuple[Problem, int]:
    """A problem of few samples, so that coordinates are drawn again and again; and its block size."""
    m, n = int(random.integers(3, 7)), int(random.integers(1, 5))
    data = random.standard_normal((m, n)) / 2
    if random.random() < 0.4:  # Distances by norm expansion cancel, and may become negative.
        data = data[0] * 2.0 ** random.integers(1, 6) + data * 2.0 ** -random.integers(0, 20)
    targets = random.standard_normal(m) if task == "krr" else random.choice([-1.0, 1.0], m)
    formula = KERNELS[kernel](random)
    if kernel == "polynomial":
        data = data / max(1.0, float(np.abs(data).max()))
    loss = loss_from(task, float(2.0 ** random.uniform(-3, 3)))
    return Problem("drawn", data, targets, formula, loss), int(
        random.integers(1, 3)
    ) if task == "krr" else 1


@pytest.mark.parametrize("tried", [12, pytest.param(30, marks=pytest.mark.nightly)])
@pytest.mark.parametrize(
    ("task", "kernel"),
    [
        pytest.param(task, kernel, marks=[pytest.mark.nightly] * ((row + column) % 3 != 0))
        for row, task in enumerate(TASKS)
        for column, kernel in enumerate(KERNELS)
    ],
)
def test_a_solver_that_makes_any_choice_without_declaring_it_passes(task, kernel, tried):
    seed = 100 * TASKS.index(task) + list(KERNELS).index(kernel)
    random = np.random.Generator(np.random.PCG64(seed))
    largest, decided = dict.fromkeys(CHECKS, 0.0), dict.fromkeys(CHECKS, 0)
    for number in random.permutation(len(WAYS))[:tried]:
        undeclared, order = WAYS[number]
        problem, block = drawn(random, task, kernel)
        s = int(random.integers(2, 9))
        declaration = Declaration(
            "any",
            precision=("float64", "float32")[int(random.integers(2))],
            update=("in-place", "added", "frozen")[int(random.integers(3))],
            factorisation=("cholesky", "ldl", "lu", "orthogonal")[int(random.integers(4))],
            log=True,
        )
        solver = AdmissibleSolver(
            declaration, order, factored=kernel == "linear" and random.random() < 0.5, undeclared=undeclared
        )
        stream = IndexStream("uniform", problem.samples, block, 3 * s, seed=int(random.integers(1 << 30)))
        case = Case("any", problem, stream, (s,), 3 * s, declaration, points={s: (s, 2 * s, 3 * s)})
        verdicts, _ = verdicts_of(case, solver, CHECKS)
        for verdict in verdicts:
            assert verdict.status is not Status.FAIL, (undeclared, order, declaration, verdict.reason)
            if verdict.check in CHECKS and np.isfinite(verdict.bound) and verdict.executed:
                largest[verdict.check] = max(largest[verdict.check], verdict.ratio)
                decided[verdict.check] += 1
    assert all(0.0 < ratio <= 1.0 for ratio in largest.values()), largest
    assert all(count >= tried // 2 for count in decided.values()), decided
