"""What a window is measured to lose is never less than what it lost in rationals, and hardly more."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sstep_verify.problems import LinearKernel, PolynomialKernel, Problem, loss_from
from sstep_verify.problems.losses import TASKS
from sstep_verify.safety.measured import LongRows, long_kernel


def exact_loss(problem: Problem, alpha: np.ndarray, draws: np.ndarray, log: np.ndarray) -> Fraction:
    """Sum over the steps of f after the step less f after the exact one, single coordinates."""
    data = [[Fraction(value) for value in row] for row in problem.dense.tolist()]
    signs = [Fraction(value) for value in problem.signs.tolist()]
    kernel = problem.kernel

    def entry(i: int, j: int) -> Fraction:
        product = sum((one * other for one, other in zip(data[i], data[j], strict=True)), Fraction(0))
        if isinstance(kernel, PolynomialKernel):
            product = (product + Fraction(kernel.offset)) ** kernel.degree
        return signs[i] * signs[j] * product

    now, lost = [Fraction(value) for value in alpha.tolist()], Fraction(0)
    for i, value in zip(draws.tolist(), log.tolist(), strict=True):
        row = [entry(i, j) for j in range(problem.samples)]
        if problem.is_svm:
            shift = 1 / (2 * Fraction(problem.hinge.C)) if problem.hinge.shift else Fraction(0)
            target, upper = Fraction(1), problem.hinge.upper
        else:
            row = [one / Fraction(problem.ridge.penalty) for one in row]
            shift, target, upper = Fraction(problem.samples), Fraction(problem.targets[i]), np.inf
        rest = sum((row[j] * now[j] for j in range(problem.samples) if j != i), Fraction(0))
        curvature = row[i] + shift
        best = (target - rest) / curvature
        if problem.is_svm:
            best = max(best, Fraction(0))
            best = best if upper == np.inf else min(best, Fraction(upper))
        new = Fraction(value)
        lost += curvature * (new * new - best * best) / 2 - (target - rest) * (new - best)
        now[i] = new
    return lost


@pytest.mark.parametrize(
    "kernel", [LinearKernel(), PolynomialKernel(3, 0.5)], ids=lambda kernel: kernel.name
)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("error", [1e-3, 1e-9])
def test_a_measured_loss_encloses_the_exact_one(task, kernel, error):
    generator = np.random.Generator(np.random.PCG64(4))
    targets = np.where(np.arange(6) % 2, -1.0, 1.0)
    problem = Problem("rational", generator.standard_normal((6, 3)), targets, kernel, loss_from(task))
    alpha, draws = generator.random(6), generator.integers(0, 6, 20)
    log, now = [], alpha.copy()
    matrix = np.array([[float(x) for x in row] for row in problem.dense @ problem.dense.T])
    if isinstance(kernel, PolynomialKernel):
        matrix = (matrix + kernel.offset) ** kernel.degree
    matrix = problem.signs[:, None] * matrix * problem.signs
    shift = problem.hinge.shift if problem.is_svm else float(problem.samples)
    for i in draws:
        target = 1.0 if problem.is_svm else problem.targets[i]
        value = now[i] + (target - matrix[i] @ now - shift * now[i]) / (matrix[i, i] + shift)
        value += error * generator.standard_normal()
        now[i] = min(max(value, 0.0), problem.hinge.upper) if problem.is_svm else value
        log.append(now[i])
    found = LongRows(problem, long_kernel(problem, np.arange(6)), alpha).loss(
        draws[:, None], np.array(log)[:, None]
    )
    exact = exact_loss(problem, alpha, draws, np.array(log))
    assert exact > 0
    assert exact <= Fraction(found) <= exact * Fraction(101, 100)
