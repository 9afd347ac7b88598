"""Training that float64 takes no further ends, and says so; training that still makes progress goes on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from daily import crossed

from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, RBFKernel, Ridge, SquaredHinge
from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training.intervals import Training
from sstep_verify.solver.training.monitor import Measured, Values, best_without_progress

LOSSES = {"svm-l1": Hinge(1.0), "svm-l2": SquaredHinge(1.0), "krr": Ridge(0.1)}
KERNELS = {"linear": LinearKernel(), "rbf": RBFKernel(0.2)}


def problem_of(task: str, kernel: str, seed: int, samples: int = 24, features: int = 30) -> Problem:
    generator = np.random.default_rng(seed)
    data = generator.normal(size=(samples, features))
    targets = np.where(generator.random(samples) < 0.5, 1.0, -1.0)
    return Problem("drawn", data, targets, KERNELS[kernel], LOSSES[task])


def trained(problem: Problem, iterations: int, tolerance: float, interval: int = 160):
    stream = IndexStream("uniform", problem.samples, 2 if not problem.is_svm else 1, iterations, seed=1)
    settings = Settings(
        keep_gram=True,
        exchange="allreduce",
        s=8,
        iterations=iterations,
        interval=interval,
        tolerance=tolerance,
    )
    return Training(problem, stream, settings, SelfCommunicator()).to_the_end()


@pytest.mark.parametrize(
    ("task", "kernel", "tolerance"), crossed(LOSSES, KERNELS, [1e-12, 1e-15, 1e-16, 1e-18], of=3)
)
def test_what_stopped_does_not_get_there_in_ten_times_as_long(task, kernel, tolerance):
    """Where it does not stop, the tolerance is reached, or would be too near to tell."""
    for seed in range(2):
        problem = problem_of(task, kernel, seed)
        found = trained(problem, 20_000, tolerance)
        if found.trajectory.stopped != "stagnation":
            continue
        assert found.values.relative > tolerance
        assert min(one.values.relative for one in found.history) <= found.attainable
        longer = trained(problem, 10 * found.iteration, 0.0)
        assert longer.trajectory.stopped == "iterations"
        assert min(one.values.relative for one in longer.history) > tolerance


@pytest.mark.parametrize(("task", "kernel"), [("svm-l1", "linear"), ("krr", "linear"), ("krr", "rbf")])
def test_a_tolerance_out_of_reach_is_given_up(task, kernel):
    found = trained(problem_of(task, kernel, 0), 10**6, 1e-18)
    assert found.trajectory.stopped == "stagnation"
    assert found.iteration <= 50_000
    assert 1e-17 < found.attainable < 1e-11


def test_slow_progress_and_tolerance_0_go_on():
    problem = problem_of("svm-l1", "linear", 0, samples=200, features=2)
    assert trained(problem, 20_000, 1e-15).trajectory.stopped == "iterations"
    assert trained(problem_of("krr", "rbf", 0), 20_000, 0.0).trajectory.stopped == "iterations"


def history(*relative: float) -> list[Measured]:
    return [Measured(8 * k, Values(one, 1.0, 1.0, math.nan, one)) for k, one in enumerate(relative)]


def test_the_rule():
    level = [1e-3] * 8 + [9e-4] * 8
    assert best_without_progress(history(*level), 1e-6) == 9e-4
    assert best_without_progress(history(*level), 8e-4) is None  # too near: noise may reach it
    assert best_without_progress(history(*level[1:]), 1e-6) is None  # not 2^k measurements
    assert best_without_progress(history(*level), 0.0) is None
    assert best_without_progress(history(*([1e-3] * 8 + [1e-3] * 7 + [5e-4])), 1e-6) is None  # halved
    assert best_without_progress(history(*([math.inf] * 16)), 1e-6) is None
    # 1/t halves where t doubles.
    assert best_without_progress(history(*(1 / (k + 1) for k in range(64))), 1e-9) is None
    # The tolerance lies as far below the least value as that below the median.
    noisy = [1e-3] * 8 + [1e-3] * 7 + [6e-4]
    assert best_without_progress(history(*noisy), 3e-4) is None
    assert best_without_progress(history(*noisy), 2e-4) == 6e-4
