"""Measures of training where numbers are very small or very large."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sstep_verify.errors import InputError
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, Ridge, SquaredHinge
from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training.enclosure import _over
from sstep_verify.solver.training.intervals import Training
from sstep_verify.solver.training.monitor import Monitor

DATA = np.array([[1.0, 2.0], [0.5, -1.0], [2.0, 1.0]])
LABELS = np.array([1.0, -1.0, 1.0])


def values_of(loss, targets, alpha):
    problem = Problem("p", DATA, targets, LinearKernel(), loss)
    return Monitor(problem, "norm-expansion", SelfCommunicator()).measure(np.array(alpha, dtype=float))


@pytest.mark.parametrize("C", [1e-290, 1e-200, 1e-160, 1.0])
@pytest.mark.parametrize("loss", [Hinge, SquaredHinge])
def test_a_small_penalty_leaves_a_gap(loss, C):
    """At a = 0 the gap is m C; at a_i = C / 2 the dual value is 3 C / 2 (L1) or 21 C / 16 (L2), K apart."""
    start = values_of(loss(C), LABELS, np.zeros(3))
    assert start.gap == start.primal == pytest.approx(3 * C)
    assert start.dual == 0
    assert start.relative == math.inf
    half = values_of(loss(C), LABELS, np.full(3, C / 2))
    if C < 1e-100:
        assert half.dual == pytest.approx(3 * C * (1 / 2 - (loss is SquaredHinge) / 16), rel=1e-14)
    assert 0 < half.gap == pytest.approx(half.primal - half.dual, rel=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1.0, 1e170, 1e300])
def test_a_residual_neither_vanishes_nor_overflows(scale):
    """At a = 0 the residual is y; at a = y / m it is K y / (lambda m)."""
    start = values_of(Ridge(1e6), scale * LABELS, np.zeros(3))
    assert start.residual == pytest.approx(math.sqrt(3) * scale, rel=1e-15)
    assert start.relative == 1.0
    near = values_of(Ridge(1e6), scale * LABELS, scale * LABELS / 3)
    assert near.relative == pytest.approx(
        np.linalg.norm(DATA @ (DATA.T @ LABELS)) / 3e6 / math.sqrt(3), rel=1e-8
    )
    assert values_of(Ridge(1.0), np.zeros(3), np.zeros(3)).relative == 0


@pytest.mark.parametrize("loss", [Hinge, SquaredHinge])
def test_no_tolerance_is_reached_by_underflow(loss):
    problem = Problem("p", DATA, LABELS, LinearKernel(), loss(1e-200))
    stream = IndexStream("cyclic", 3, 1, 30)
    settings = Settings(s=1, iterations=30, interval=3, exchange="allreduce")
    trained = Training(problem, stream, settings, SelfCommunicator()).to_the_end()
    assert trained.history[0].values.relative == math.inf
    assert trained.trajectory.stopped == "tolerance"
    np.testing.assert_allclose(trained.trajectory.final, (1 + (loss is SquaredHinge)) * 1e-200, rtol=1e-12)


def test_a_dual_vector_that_overflows_ends_training_with_a_message():
    data = np.array([[1e200, 0.0], [1e200, 1.0], [1.0, 2.0]])
    problem = Problem("huge", data, np.array([1.0, -1.0, 1.0]), LinearKernel(), Hinge(1.0))
    stream = IndexStream("cyclic", 3, 1, 9)
    settings = Settings(s=1, iterations=9, interval=3, tolerance=0.0, exchange="allreduce")
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(InputError, match=r"huge / linear / svm-l1 C=1: at iteration \d .* overflow"),
    ):
        Training(problem, stream, settings, SelfCommunicator()).to_the_end()


def test_a_stated_quotient_holds_every_quotient_of_its_two_enclosures():
    """Least over largest and largest over least, in rationals; and not much wider than that."""
    generator = np.random.Generator(np.random.PCG64(3))
    for _ in range(300):
        value = np.sort(generator.uniform(0, 1, 2) * 10.0 ** generator.integers(-100, 100)).tolist()
        whole = np.sort(generator.uniform(0, 1, 2) * 10.0 ** generator.integers(-50, 100)).tolist()
        lower, upper = map(Fraction, _over(tuple(value), tuple(whole)))
        least, largest = Fraction(value[0]) / Fraction(whole[1]), Fraction(value[1]) / Fraction(whole[0])
        assert lower <= least <= lower * (1 + Fraction(1, 2**27))
        assert upper / (1 + Fraction(1, 2**27)) <= largest <= upper
    assert _over((1.0, 2.0), (0.0, 4.0)) == (pytest.approx(0.25), math.inf)
    assert _over((0.0, 0.0), (0.0, 0.0)) == (0.0, math.inf)
