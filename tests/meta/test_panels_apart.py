"""Correct solvers that take K not from the rows alone that they expose: rows are judged, steps from the data."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify import (
    Declaration,
    Hinge,
    IndexStream,
    LinearKernel,
    Problem,
    RBFKernel,
    Ridge,
    Trajectory,
    judge,
)
from sstep_verify.trajectory import Panel
from sstep_verify.verdict import Status

CHECKS = ("kernel-entries", "window-replay", "trajectory")


class Apart:
    """Multiplies rows of X X' (or an RBF of them), and has the block of K that it divides by from elsewhere.

    A K-RBF diagonal is 1, squared norms are kept apart from the rows, and a block of K-RR is a product of its own.
    """

    def __init__(self, planted=0.0):
        self.planted = planted
        self.declaration = Declaration("apart", panels=True, products="rows")

    def block(self, problem, rows, drawn):
        """The kernel among the coordinates of a step, not taken from the rows."""
        if isinstance(problem.kernel, RBFKernel):
            return np.ones((1, 1))
        turned = np.ascontiguousarray(problem.dense[drawn][:, ::-1])
        return turned @ turned.T

    def run(self, request, observe=None):
        problem, a = request.problem, np.array(request.first, dtype=float)
        data, y, m = problem.dense, problem.targets, problem.samples
        stops, iterations, alphas, panels = set(request.stops), [0], [a.copy()], {}
        self.differ = False
        for begin in range(0, request.iterations, request.s):
            end = min(begin + request.s, request.iterations)
            columns = np.unique(request.blocks(begin, end))
            rows = data[columns] @ data.T
            if isinstance(problem.kernel, RBFKernel):
                norms = np.einsum("ij,ij->i", data, data)
                rows = np.exp(-problem.kernel.sigma * (norms[columns, None] + norms - 2 * rows))
            if request.expose_panels and {begin, end} <= stops:
                panels[begin] = Panel(columns, rows.copy())
            for drawn in request.blocks(begin, end):
                place = np.searchsorted(columns, drawn)
                block = self.block(problem, rows, drawn) * (1 + self.planted)
                self.differ |= bool((block != rows[np.ix_(place, drawn)]).any())
                if problem.is_svm:
                    gradient = y[drawn] * (rows[place] @ (y * a)) - 1
                    a[drawn] = np.clip(a[drawn] - gradient / block[0], 0.0, problem.hinge.C)
                else:
                    penalty = problem.ridge.penalty
                    left = y[drawn] - m * a[drawn] - rows[place] @ a / penalty
                    a[drawn] += np.linalg.solve(block / penalty + m * np.eye(drawn.size), left)
            if end in stops:
                iterations.append(end)
                alphas.append(a.copy())
        return Trajectory(request.s, request.start, np.array(iterations), np.array(alphas), panels=panels)


def problem_of(kind: str, features: int) -> tuple[Problem, IndexStream]:
    generator = np.random.default_rng(0)
    m, n = (24, 20) if kind == "rbf" else (16, features)
    data = generator.standard_normal((m, n)) + 30.0 * (kind == "rbf")
    labels = np.where(generator.random(m) < 0.5, -1.0, 1.0)
    kernel = RBFKernel(0.02) if kind == "rbf" else LinearKernel()
    loss = Ridge(1.0) if kind == "block" else Hinge(10.0)
    targets = generator.standard_normal(m) if kind == "block" else labels
    stream = IndexStream("uniform", m, 3 if kind == "block" else 1, 30, seed=1)
    return Problem(kind, data, targets, kernel, loss), stream


@pytest.mark.parametrize("kind", ["rbf", "norms", "block"])
def test_rows_that_are_not_the_only_source_of_the_kernel_fail_no_correct_solver(kind):
    """Products of many features differ by far more than rounding errors of a window over one panel."""
    problem, stream = problem_of(kind, 20_000)
    solver = Apart()
    verdicts = {one.check: one for one in judge(solver, problem, stream, s=5, checks=CHECKS)}
    assert solver.differ  # The panel alone is not what the steps are made from.
    for check in CHECKS:
        assert verdicts[check].status is Status.PASS, verdicts[check].reason


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize("kind", ["rbf", "norms", "block"])
def test_what_is_wrong_next_to_the_rows_fails_from_the_data(kind):
    problem, stream = problem_of(kind, 200)
    verdicts = {one.check: one for one in judge(Apart(1e-6), problem, stream, s=5, checks=CHECKS)}
    assert verdicts["kernel-entries"].status is Status.PASS
    assert verdicts["window-replay"].status is Status.FAIL
