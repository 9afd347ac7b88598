"""No window loses more than the bound over all windows, whatever it draws, and the bound grows with s."""

from __future__ import annotations

import os
from itertools import combinations, pairwise

import numpy as np
import pytest
from daily import crossed

from sstep_verify.bounds.optimum.ridge import ridge_values
from sstep_verify.bounds.optimum.svm import svm_values
from sstep_verify.problems import IndexStream, LinearKernel, PolynomialKernel, Problem, RBFKernel, loss_from
from sstep_verify.problems.losses import TASKS
from sstep_verify.protocol import RunRequest
from sstep_verify.safety import certify, trained_alpha
from sstep_verify.safety.every_window import row_sizes
from sstep_verify.safety.measured import LongRows, declaration_of, long_kernel, single_log
from sstep_verify.safety.report import beyond
from sstep_verify.safety.windows import RidgeWindows, SvmWindows
from sstep_verify.scenarios.draws import KERNEL_NAMES, draw_scenario
from sstep_verify.solver import ProductionSolver

DRAWS = 3 * (3 if "SSTEP_VERIFY_DRAWS" in os.environ else 1)
"""Drawn scenarios per task, kernel and precision."""

PRECISIONS = ("float64", "float32")


def windows_of(problem: Problem, alpha: np.ndarray, precision: str, block: int = 1):
    """The bounds over all windows, as the certificate makes them."""
    declaration = declaration_of(precision)
    if problem.is_svm:
        values = svm_values(problem, declaration, alpha)
        slopes = np.abs(values.slopes) + values.slope_errors
        return SvmWindows(problem, declaration, alpha, values.gap.upper, slopes)
    gap = ridge_values(problem, declaration, alpha).gap.upper
    return RidgeWindows(problem, declaration, alpha, gap, block)


@pytest.mark.parametrize(("task", "kernel"), crossed(TASKS, KERNEL_NAMES, of=3))
def test_windows_of_drawn_problems_stay_within_a_bound_that_grows(task, kernel):
    generator = np.random.Generator(np.random.PCG64(len(task) + 7 * len(kernel)))
    compared = 0
    for precision in PRECISIONS:
        for _ in range(DRAWS):
            scenario = draw_scenario(generator, task, kernel, precision=precision)
            problem, start = scenario.problem(), scenario.initial()
            alpha = np.zeros(problem.samples) if start is None else start
            found = certify(problem, alpha, precisions=(precision,), block=scenario.stream().block, most=32)
            assert not beyond(found), scenario.id
            points = found.curves[0].points
            assert all(one.bound <= other.bound for one, other in pairwise(points)), scenario.id
            assert all(one.classical <= other.classical for one, other in pairwise(points)), scenario.id
            compared += sum(point.bound < np.inf and point.measured is not None for point in points)
    assert compared > 0


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(
    ("form", "task", "kernel"),
    [
        pytest.param(form, task, kernel, marks=[pytest.mark.nightly] * ((one + two + three) % 3 != 0))
        for one, form in enumerate(("one coordinate", "two in turn", "cyclic"))
        for two, task in enumerate(TASKS)
        for three, kernel in enumerate((LinearKernel(), PolynomialKernel(3, 1.0), RBFKernel(0.5)))
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_windows_drawn_to_do_harm_stay_within_the_bound(precision, kernel, task, form, tmp_path):
    generator = np.random.Generator(np.random.PCG64(5))
    samples, s = 12, 64
    data = generator.standard_normal((samples, 4)) * 10.0 ** generator.integers(-2, 3, (samples, 1))
    targets = np.where(generator.random(samples) < 0.5, -1.0, 1.0)
    problem = Problem("harm", data, targets, kernel, loss_from(task))
    alpha = np.float64(np.float32(generator.random(samples)))
    bound = windows_of(problem, alpha, precision).loss(s)
    rows = LongRows(problem, long_kernel(problem, np.arange(samples)), alpha)
    for first in range(samples):
        pattern = {"one coordinate": [first], "two in turn": [first, (first + 1) % samples]}
        drawn = np.resize(pattern.get(form, np.arange(samples) - first), s) % samples
        if precision == "float32":
            log = single_log(problem, alpha, drawn[:, None])
        else:
            path = tmp_path / f"{first}.npy"
            np.save(path, drawn[:, None])
            stream = IndexStream("file", samples, 1, s, path=str(path))
            log = ProductionSolver().run(RunRequest(problem, stream, s, s, 0, alpha, log=True)).log
        assert rows.loss(drawn[:, None], np.reshape(log, (s, 1))) <= bound


@pytest.mark.parametrize("block", [1, 2, 5])
@pytest.mark.parametrize(
    "kernel", [LinearKernel(), PolynomialKernel(3, 1.0)], ids=lambda kernel: kernel.name
)
def test_no_increment_of_a_block_is_multiplied_to_more_than_the_reach_of_a_row(kernel, block):
    generator = np.random.Generator(np.random.PCG64(block))
    data, weights = generator.standard_normal((6, 3)), generator.random(6)
    problem = Problem("rows", data, generator.standard_normal(6), kernel, loss_from("krr"))
    matrix = data @ data.T if kernel.name == "linear" else (1.0 + data @ data.T) ** 3
    found = row_sizes(problem, declaration_of("float64"), np.zeros(6), weights, block).sizes.reach
    # Of all increments of weighted size 1 in these coordinates the row itself is multiplied to most.
    largest = [
        max(np.linalg.norm((row * weights)[list(drawn)]) for drawn in combinations(range(6), block))
        for row in matrix
    ]
    assert (found >= largest).all()
    assert (found <= np.array(largest) * (1 + 1e-6)).all(), "and to that"


@pytest.mark.parametrize("task", TASKS)
def test_a_wrong_correction_loses_more_than_the_bound(task):
    generator = np.random.Generator(np.random.PCG64(2))
    problem = Problem(
        "planted", generator.standard_normal((20, 5)), np.where(generator.random(20) < 0.5, -1.0, 1.0),
        LinearKernel(), loss_from(task),
    )  # fmt: skip
    alpha = generator.random(20)
    stream = IndexStream("uniform", 20, 1, 16, 0)
    draws = stream.blocks(0, 16)
    rows = LongRows(problem, long_kernel(problem, np.arange(20)), alpha)
    bound = windows_of(problem, alpha, "float64").loss(16)
    right = ProductionSolver().run(RunRequest(problem, stream, 16, 16, 0, alpha, log=True)).log
    assert rows.loss(draws, right.reshape(16, 1)) <= bound
    # Without corrections, every step is made from the a at the window's start.
    stale = []
    for i in draws[:, 0]:
        one = IndexStream("uniform", 20, 1, 1000, 1)
        place = int(np.flatnonzero(one.blocks(0, 1000)[:, 0] == i)[0])
        stale.append(ProductionSolver().run(RunRequest(problem, one, 1, 1, place, alpha, log=True)).log)
    assert rows.loss(draws, np.reshape(stale, (16, 1))) > bound


@pytest.mark.parametrize("task", ["krr", "svm-l2"])
def test_far_from_the_optimum_a_long_window_loses_and_is_not_certified(task):
    generator = np.random.Generator(np.random.PCG64(1))
    targets = np.where(generator.random(8) < 0.5, -1.0, 1.0)
    problem = Problem(
        "far", generator.standard_normal((8, 3)), targets, LinearKernel(), loss_from(task)
    )  # fmt: skip
    s, far = 512, np.float64(np.float32(1e5 * generator.random(8)))
    draws = IndexStream("uniform", 8, 1, 2 * s, 0).blocks(0, 2 * s)
    kernel = long_kernel(problem, np.arange(8))

    def lost(width: int) -> float:
        """What the second half of the steps loses, each against the exact one."""
        alpha, log = far.copy(), np.zeros((2 * s, 1))
        for begin in range(0, 2 * s, width):
            part = slice(begin, begin + width)
            log[part] = single_log(problem, alpha, draws[part])
            for i, value in zip(draws[part, 0], log[part, 0], strict=True):
                alpha[i] = value
        middle = far.copy()
        for i, value in zip(draws[:s, 0], log[:s, 0], strict=True):
            middle[i] = value
        return LongRows(problem, kernel, middle).loss(draws[s:], log[s:])

    # Late in a window steps still err by roundings of the far start, which classical steps forget.
    assert lost(2 * s) > 1e4 * lost(1) > 0.0
    (curve,) = certify(problem, far, precisions=("float32",), most=2 * s).curves
    last = curve.points[-1]
    assert last.bound > 2 * (last.classical + last.attainable)
    assert curve.largest < last.s
    near = trained_alpha(problem, tolerance=1e-12).trajectory.final
    (curve,) = certify(problem, near, precisions=("float64",), most=16).curves
    assert all(point.bound <= point.classical + 1e3 * point.attainable for point in curve.points)
