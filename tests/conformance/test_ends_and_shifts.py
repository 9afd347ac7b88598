"""Right solvers whose numbers their precision does not store as they are: no FAIL, by any check."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from sstep_verify import (
    CallableSolver,
    Declaration,
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    judge,
)
from sstep_verify.oracle.balls.exact_kernel import classical_steps
from sstep_verify.problems import BoxedLoss
from sstep_verify.rounding.formulas import Formulas
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.verdict import Status

STREAM = IndexStream("uniform", samples=12, block=1, length=40, seed=1)


def failed(solve, problem, stream, declaration, *checks: str) -> list[str]:
    """Ids of the checks that fail a solver, of which some decide."""
    solver = CallableSolver(solve, declaration)
    verdicts = judge(solver, problem, stream, 1, checks=["step-replay", "window-replay", *checks])
    assert any(verdict.status is Status.PASS for verdict in verdicts[1:])
    return [verdict.check for verdict in verdicts if verdict.status is Status.FAIL]


def drawn(loss, scale: float = 1.0) -> Problem:
    generator = np.random.Generator(np.random.PCG64(0))
    data = np.float64(np.float32(generator.uniform(-2, 2, (12, 2))))
    targets = np.where(generator.random(12) < 0.5, -1.0, 1.0)
    return Problem("drawn", data, targets * scale, RBFKernel(0.5), loss)


def test_an_upper_end_that_the_precision_does_not_store():
    """Input as it is, a in float32: 0.1 is stored as the float32 number next to it."""

    def solve(problem, blocks, s, start, log):
        data, signs, alpha = problem.data, problem.targets, start.astype(np.float32)
        for step, (i,) in enumerate(blocks):
            row = np.exp(-problem.kernel.sigma * ((data[i] - data) ** 2).sum(axis=1)) * signs * signs[i]
            slope = row @ alpha.astype(float) - 1.0
            alpha[i] = min(max(alpha[i] - slope / row[i], 0.0), problem.loss.C)
            log[step, 0] = alpha[i]
        return alpha.astype(float)

    declaration = Formulas("a32", precision="float32", rbf="difference", log=True, as_given=True)
    assert failed(solve, drawn(Hinge(0.1)), STREAM, declaration, "trajectory", "box") == []


@dataclass(frozen=True)
class Thirds(BoxedLoss):
    """Box of a third of C to either side, whose ends are computed."""

    task: ClassVar[str] = "thirds"
    labelled: ClassVar[bool] = False
    base_task: ClassVar[str] = "svm-l1"

    @property
    def upper(self) -> float:
        return self.C / 3

    @property
    def lower(self) -> float:
        return -self.C / 3


@dataclass(frozen=True)
class Slight(BoxedLoss):
    """No box, and a shift that is subnormal in float32 where C is large."""

    task: ClassVar[str] = "slight"
    labelled: ClassVar[bool] = False
    base_task: ClassVar[str] = "svm-l2"
    upper: ClassVar[float] = math.inf
    lower: ClassVar[float] = -math.inf

    @property
    def shift(self) -> float:
        return 1 / (2000 * self.C)


@classical_steps.register
def thirds_steps(loss: Thirds, kernel, targets, initial, blocks, trace):
    arithmetic = kernel.arithmetic
    alpha, end = arithmetic.vector(initial), arithmetic.number(loss.upper)
    with arithmetic.working():
        for (i,) in blocks:
            column = kernel.column(i)
            new = alpha[i] - (arithmetic.dot(column, alpha) - arithmetic.number(targets[i])) / column[i]
            alpha[i] = arithmetic.clip(new + end, arithmetic.number(0), 2 * end) - end
            if trace is not None:
                trace.append(alpha.copy())
    return alpha


@classical_steps.register
def slight_steps(loss: Slight, kernel, targets, initial, blocks, trace):
    arithmetic = kernel.arithmetic
    alpha, shift = arithmetic.vector(initial), arithmetic.number(loss.shift)
    with arithmetic.working():
        for (i,) in blocks:
            column = kernel.column(i)
            slope = arithmetic.dot(column, alpha) - arithmetic.number(targets[i]) + shift * alpha[i]
            alpha[i] = alpha[i] - slope / (column[i] + shift)
            if trace is not None:
                trace.append(alpha.copy())
    return alpha


@pytest.mark.parametrize("computed", [False, True])
def test_an_end_that_a_loss_of_ones_own_computes(computed):
    single = np.float32

    def solve(problem, blocks, s, start, log):
        data, targets = single(problem.data), single(problem.targets)
        end = single(problem.loss.C) / single(3) if computed else single(problem.loss.upper)
        alpha = single(start)
        for step, (i,) in enumerate(blocks):
            row = np.exp(-single(problem.kernel.sigma) * ((data[i] - data) ** 2).sum(axis=1))
            alpha[i] = min(max(alpha[i] - (row @ alpha - targets[i]) / row[i], -end), end)
            log[step, 0] = alpha[i]
        return alpha.astype(float)

    declaration = Declaration("thirds", precision="float32", rbf="difference", log=True)
    assert failed(solve, drawn(Thirds(1.0), 2.0), STREAM, declaration, "trajectory") == []


def test_a_shift_that_is_subnormal():
    single = np.float32

    def solve(problem, blocks, s, start, log):
        data, targets, shift = single(problem.data), single(problem.targets), single(problem.loss.shift)
        alpha = single(start)
        for step, (i,) in enumerate(blocks):
            row = data @ data[i]
            alpha[i] -= (row @ alpha - targets[i] + shift * alpha[i]) / (row[i] + shift)
            log[step, 0] = alpha[i]
        return alpha.astype(float)

    data = np.zeros((6, 2))
    data[3:] = 1.0
    targets = np.float64(single([1e-20, 2e-20, -3e-20, 1e-20, 1e-20, 0]))
    problem = Problem("slight", data, targets, LinearKernel(), Slight(float(single(1.37e37))))
    stream = IndexStream("uniform", samples=6, block=1, length=12, seed=1)
    declaration = Declaration("slight", precision="float32", products="rows", log=True)
    assert failed(solve, problem, stream, declaration) == []


def test_a_power_whose_base_underflows_is_not_known_to_be_zero():
    """The product of 1e-170 with itself is 0 in float64; its square is not 0, and is stated with an error."""
    problem = Problem(
        "tiny", np.array([[1e-170], [1.0]]), np.array([1.0, -1.0]), PolynomialKernel(2, 0.0), Hinge(1.0)
    )
    entries = kernel_entries(problem, Declaration("m"), np.array([0]))
    assert entries.values[0, 0] == 0.0
    assert entries.judge_error[0, 0] > 0.0
    assert entries.solver_error[0, 0] > 0.0


@pytest.mark.parametrize("products", ["rows", "any"])
def test_who_carries_the_weights_adds_products_with_samples(products):
    """Rows that cancel to 0: what a sum over features rounds, whatever is declared of products."""
    data = np.array([[2.0**20, 2.0**20], [1.0, -1.0]])
    problem = Problem("cancelling", data, np.array([1.0, -1.0]), LinearKernel(), Hinge(1.0))
    declaration = Declaration("m", products=products, weights=0)
    assert kernel_entries(problem, declaration, np.array([1])).term_sizes[0, 0] >= 2.0**21
