"""Exact trajectories: the same from Arb and from the reference in mpmath."""

from __future__ import annotations

import numpy as np
import pytest
from sstep_reference.arithmetic import Balls, Mpmath

from sstep_verify.errors import InputError
from sstep_verify.oracle.balls.exact_kernel import classical_run, exact_kernel
from sstep_verify.oracle.facade import Oracle
from sstep_verify.oracle.trajectories import enclosed_trajectory
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

KERNELS = [LinearKernel(), PolynomialKernel(3, 0.5), RBFKernel(0.7)]
LOSSES = [Hinge(0.3), SquaredHinge(0.3), Ridge(1e-3)]
M = 12


def _case(kernel, loss, block=1, length=60):
    generator = np.random.default_rng(7)
    data = generator.standard_normal((M, 3))
    data[4] = 0.0
    targets = np.sign(generator.standard_normal(M))
    return Problem("random", data, targets, kernel, loss), IndexStream("uniform", M, block, length, seed=2)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_arb_and_the_reference_in_mpmath_round_to_the_same_float64(kernel, loss):
    problem, stream = _case(kernel, loss, block=1 if loss.task != "krr" else 5)
    ours = Oracle(problem).trajectory(problem, stream, 60, [0, 1, 17, 60])
    theirs = [[0.0] * M]
    classical_run(
        problem, exact_kernel(problem, Mpmath(256)), theirs[0], stream.blocks(0, 60).tolist(), theirs
    )
    assert ours.iterations.tolist() == [0, 1, 17, 60]
    assert ours.alphas.tolist() == [[float(value) for value in theirs[k]] for k in (0, 1, 17, 60)]
    assert ours.alphas[0].tolist() == [0.0] * M
    assert ours.alphas[-1].any()


@pytest.mark.parametrize(
    ("stream", "iterations", "at", "message"),
    [
        (IndexStream("cyclic", M + 1, 1, 5), 5, [], "coordinates"),
        (IndexStream("cyclic", M, 2, 5), 5, [], "one coordinate a step"),
        (IndexStream("cyclic", M, 1, 5), 6, [], "needs 6 drawn blocks"),
        (IndexStream("cyclic", M, 1, 5), 5, [6], "recorded at iteration 6"),
    ],
)
def test_what_does_not_fit_is_refused(stream, iterations, at, message):
    problem, _ = _case(KERNELS[0], LOSSES[0])
    with pytest.raises(InputError, match=message):
        Oracle(problem).trajectory(problem, stream, iterations, at)


def test_a_step_in_balls_is_off_by_their_widths():
    """Of a free step both the unclipped and the new value are one ball: four times both radii."""
    problem, stream = _case(KERNELS[0], SquaredHinge(0.3))
    kernel = exact_kernel(problem, Balls(40))
    exact = enclosed_trajectory(problem, kernel, np.zeros(M), stream.blocks(0, 20), ())
    width = exact.steps.upper - exact.steps.lower
    free = exact.steps.lower > 0.0
    assert free.sum() > 3
    assert (exact.errors[free] >= 3.9 * width[free]).all()
    assert (exact.errors[free] <= 4.1 * width[free]).all()
    # Where it is clipped for certain its new value is exact.
    clipped = exact.steps.upper < 0.0
    assert clipped.any()
    assert (exact.errors[clipped] <= 2.1 * width[clipped]).all()
