"""Enclosed trajectories hold the exact rational iterates, and say how many digits they prove."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sstep_reference import Rational, bdcd_krr, dcd_ksvm
from sstep_reference.arithmetic import exact_fraction

pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")

from sstep_verify.errors import InputError
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.oracle.trajectories import long as module
from sstep_verify.oracle.trajectories.exact import exact_trajectory
from sstep_verify.oracle.trajectories.long import long_trajectory
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)

LOSSES = [(Hinge(0.375), 1), (SquaredHinge(1.5), 1), (Ridge(0.25), 1), (Ridge(0.25), 2)]
ITERATIONS = 12


def _problem(kernel, loss, samples: int = 6) -> Problem:
    draw = np.random.default_rng(3)
    data = draw.integers(-8, 9, size=(samples, 3)) / 8
    data[1] = 0.0  # A zero row: its coordinate goes to the end of the box, or stays where it is.
    targets = np.where(draw.normal(size=samples) > 0, 1.0, -1.0)
    return Problem("drawn", data, targets, kernel, loss)


def _rationals(problem: Problem, stream: IndexStream) -> list[list[Fraction]]:
    """The exact iterates, by the reference's Algorithms 1 and 3 in rationals."""
    arithmetic, trace = Rational(), []
    kernel, start = exact_kernel(problem, arithmetic), [0.0] * problem.samples
    blocks, targets = stream.blocks(0, ITERATIONS), problem.targets.tolist()
    if problem.is_svm:
        loss, C = problem.loss.task, problem.hinge.C
        dcd_ksvm(arithmetic, kernel, targets, start, blocks[:, 0].tolist(), loss=loss, C=C, trace=trace)
    else:
        penalty = problem.ridge.penalty
        bdcd_krr(arithmetic, kernel, targets, start, blocks.tolist(), penalty=penalty, trace=trace)
    return [[exact_fraction(value) for value in state] for state in trace]


def _outside(states, exact: list[list[Fraction]]) -> int:
    """Number of coordinates that lie outside their ball."""
    return sum(
        abs(value - exact_fraction(ball.mid())) > exact_fraction(ball.rad())
        for state, values in zip(states, exact, strict=True)
        for ball, value in zip(state, values, strict=True)
    )


@pytest.mark.parametrize(("loss", "block"), LOSSES)
@pytest.mark.parametrize("kernel", [LinearKernel(), PolynomialKernel(2, 0.5)], ids=lambda k: k.name)
def test_every_ball_holds_the_exact_rational_iterate(loss, block, kernel):
    problem = _problem(kernel, loss)
    stream = IndexStream("uniform", problem.samples, block, ITERATIONS, seed=1)
    found = long_trajectory(problem, stream, ITERATIONS, at=range(1, ITERATIONS))
    exact = _rationals(problem, stream)
    assert found.iterations.tolist() == list(range(ITERATIONS + 1))
    assert found.digits >= 30
    assert _outside(found.states[1:], exact) == 0
    # Iterates of another step are not held: the test can fail.
    assert _outside(found.states[1:-1], exact[1:]) > 0


@pytest.mark.parametrize(("loss", "block"), LOSSES)
def test_agrees_with_the_trajectory_of_two_precisions(loss, block):
    problem = _problem(RBFKernel(0.5), loss, samples=12)
    stream = IndexStream("uniform", problem.samples, block, 300, seed=2)
    found, other = (
        run(problem, stream, 300, at=[0, 100, 300]) for run in (long_trajectory, exact_trajectory)
    )
    np.testing.assert_array_equal(found.iterations, other.iterations)
    np.testing.assert_array_equal(found.alphas, other.alphas)


def test_lost_bits_are_made_good_by_another_run(monkeypatch):
    problem = _problem(LinearKernel(), SquaredHinge(2.0**20), samples=12)
    stream = IndexStream("uniform", problem.samples, 1, 400, seed=2)
    monkeypatch.setattr(module, "FIRST_BITS", 1)
    monkeypatch.setattr(module, "LOOKED_AT", 8)
    poor = long_trajectory(problem, stream, 400, digits=5, most_bits=50)
    enough = long_trajectory(problem, stream, 400, digits=5)
    assert poor.digits < 5 <= enough.digits
    assert enough.bits > poor.bits == 50


@pytest.mark.parametrize("penalty", [1e-60, 1e-80, 1e-170])
def test_repeated_samples_in_a_block_beside_a_tiny_lambda_take_the_bits_they_need(penalty):
    generator = np.random.default_rng(0)
    data = generator.standard_normal((6, 2))
    data[1] = data[2] = data[0]
    problem = Problem("twice", data, generator.standard_normal(6), LinearKernel(), Ridge(penalty))
    stream = IndexStream("cyclic", 6, 3, 4)
    kernel = exact_kernel(problem, Rational())
    arithmetic, start = kernel.arithmetic, [0.0] * 6
    exact = bdcd_krr(
        arithmetic, kernel, problem.targets.tolist(), start, stream.blocks(0, 4).tolist(), penalty=penalty
    )
    enclosed = long_trajectory(problem, stream, 4)
    assert enclosed.digits >= 30
    for ball, value in zip(enclosed.states[-1], exact, strict=True):
        off = abs(exact_fraction(value) - exact_fraction(ball.mid()))
        assert off <= exact_fraction(ball.rad())
    twice = exact_trajectory(problem, stream, 4)
    np.testing.assert_array_equal(twice.alphas[-1], [float(exact_fraction(value)) for value in exact])


def test_refuses_what_does_not_fit():
    problem = _problem(LinearKernel(), Hinge(1.0))
    stream = IndexStream("uniform", problem.samples, 1, 5, seed=1)
    with pytest.raises(InputError, match="6 drawn blocks"):
        long_trajectory(problem, stream, 6)
    with pytest.raises(InputError, match="digits = 0"):
        long_trajectory(problem, stream, 5, digits=0)
