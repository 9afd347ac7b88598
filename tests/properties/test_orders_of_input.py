"""Correct solvers whose order of summation follows labels or targets, or that invert a tiny curvature, pass.

A bound holds for sums in any order, and promises nothing where a reciprocal leaves the range of float64.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from daily import crossed
from small_solvers import callable_of, descend, drawn

from sstep_verify import (
    CallableSolver,
    Declaration,
    Hinge,
    IndexStream,
    LinearKernel,
    Problem,
    RBFKernel,
    judge,
)
from sstep_verify.verdict import Status

DRAWS = range(int(os.environ.get("SSTEP_VERIFY_DRAWS", "4")))

CHECKS = (
    "window-replay",
    "trajectory",
    "sstep-equals-classical",
    "box",
    "determinism",
    "metamorphic-exact",
)

ORDERS = {
    "class +1 first": lambda y: np.argsort(-np.sign(y), kind="stable"),
    "class -1 first": lambda y: np.argsort(np.sign(y), kind="stable"),
    "ascending": lambda y: np.argsort(y, kind="stable"),
    "by size": lambda y: np.argsort(-np.abs(y), kind="stable"),
    "classes in turn": lambda y: np.lexsort((y, _rank_in_class(y))),
}
"""Orders of the samples inside a solver, each from the labels or targets."""


def _rank_in_class(y):
    """The place of each sample among those of its sign."""
    positive = y > 0
    return np.where(positive, np.cumsum(positive), np.cumsum(~positive))


def ordered(order, correction=1.0):
    """The small solver on samples in an order of its own."""

    def solver(problem, blocks, s, a0, log=None):
        places = ORDERS[order](problem.targets)
        back = np.argsort(places)
        own = replace(problem, data=problem.dense[places], targets=problem.targets[places])
        return descend(own, back[blocks], s, a0[places], log, correction=correction)[back]

    return solver


@pytest.mark.parametrize(("order", "seed"), crossed(ORDERS, DRAWS, of=3))
def test_an_order_of_samples_that_follows_the_targets_fails_no_check(seed, order):
    problem, stream = drawn(seed, ("svm-l1", "krr")[seed % 2])
    size = float(np.square(problem.dense).mean())
    problem = replace(problem, kernel=RBFKernel(0.3 / size))
    s = int(np.random.default_rng(seed).integers(2, 9))
    verdicts = judge(callable_of(function=ordered(order)), problem, stream, s=s, checks=CHECKS)
    failed = [one.reason for one in verdicts if one.status is Status.FAIL]
    assert not failed
    found = {one.check: one.status for one in verdicts}["window-replay"]
    assert found in (Status.PASS, Status.VACUOUS)


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize("order", ORDERS)
def test_a_wrong_solver_is_failed_in_any_order(order):
    problem, stream = drawn(2, "svm-l1", RBFKernel(0.3))
    solver = callable_of(function=ordered(order, correction=0.9))
    (*_, verdict) = judge(solver, problem, stream, s=6, checks=("window-replay",))
    assert verdict.status is Status.FAIL


def by_reciprocal(factor=1.0):
    """K-SVM-L1 that multiplies by the reciprocal of the curvature, times a `factor` in the correction."""

    def solver(problem, blocks, s, a0, log):
        with np.errstate(all="ignore"):
            data, labels, limit = problem.dense, problem.targets, np.float64(problem.hinge.C)
            matrix = (data @ data.T) * np.outer(labels, labels)
            reciprocal, alpha = np.float64(1) / np.diag(matrix), a0.copy()
            for begin in range(0, len(blocks), s):
                window = blocks[begin : begin + s, 0]
                gradient = np.array([np.add.reduce(matrix[i] * alpha) for i in window]) - 1
                for t, i in enumerate(window):
                    new = np.minimum(np.maximum(alpha[i] - gradient[t] * reciprocal[i], 0.0), limit)
                    gradient[t + 1 :] += factor * matrix[window[t + 1 :], i] * (new - alpha[i])
                    alpha[i] = log[begin + t, 0] = new
        return alpha

    return CallableSolver(solver, Declaration("reciprocal", products="rows", log=True))


def scaled(seed, lowest, highest, features=1):
    """A problem of samples that are a power of two times small whole numbers, with C near their curvature's reciprocal."""
    random = np.random.default_rng(seed)
    samples, exponent = int(random.integers(5, 12)), int(random.integers(lowest, highest))
    data = np.full((samples, features), 2.0**exponent)
    if random.integers(2) or features > 1:
        data *= random.integers(1, 4, (samples, features))
    labels = np.where(random.random(samples) < (1.0, 0.5)[seed % 2], 1.0, -1.0)
    # Products of C and the kernel stay ordinary numbers.
    limit = min(
        2.0 ** min(-2 * exponent - int(random.integers(1, 5)), 1021) * random.choice([1, 1 - 2.0**-10]),
        2.0**1021,
    )
    problem = Problem("reciprocal", data, labels, LinearKernel(), Hinge(C=float(limit)))
    return problem, IndexStream(("cyclic", "uniform")[seed % 2], samples, 1, 4 * samples, seed=seed)


@pytest.mark.parametrize("seed", DRAWS)
@pytest.mark.parametrize("s", [1, 4])
def test_the_reciprocal_of_a_subnormal_curvature_fails_nobody(seed, s):
    """Where 1 / eta overflows, 0 * inf is no number and any other product is infinite: none is a mistake."""
    problem, stream = scaled(seed, -537, -510)
    for verdict in judge(by_reciprocal(), problem, stream, s=s):
        assert verdict.status is not Status.FAIL, verdict.reason


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize("seed", DRAWS)
def test_the_reciprocal_of_an_ordinary_curvature_is_judged(seed):
    problem, stream = scaled(seed, -400, 400, features=3)
    right = {one.check: one.status for one in judge(by_reciprocal(), problem, stream, s=4)}
    assert right["contract"] is right["step-replay"] is Status.PASS
    verdicts = {one.check: one for one in judge(by_reciprocal(0.5), problem, stream, s=4)}
    assert verdicts["step-replay"].status is Status.FAIL
