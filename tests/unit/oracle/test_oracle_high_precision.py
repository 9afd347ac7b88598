"""Exact trajectories: the same from Arb and from the reference in mpmath, and honest about agreement."""

from __future__ import annotations

import numpy as np
import pytest
from sstep_reference import bdcd_krr, dcd_ksvm
from sstep_reference.arithmetic import Mpmath

from sstep_verify.errors import InputError, OracleDisagreementError
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.oracle.trajectories import high_precision as module
from sstep_verify.oracle.trajectories.high_precision import (
    HighPrecisionTrajectory,
    _checked,
    high_precision_trajectory,
)
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


def exact_trajectory_mpmath(
    problem: Problem, stream: IndexStream, iterations: int, at: list[int], bits: int = 256
) -> HighPrecisionTrajectory:
    """Run the reference's Algorithm 1 or 3 in mpmath: slow, independent of python-flint.

    Parameters, returns and errors are those of `high_precision_trajectory`, but only one precision is run.
    """
    wanted = _checked(problem, stream, iterations, at)
    arithmetic = Mpmath(bits)
    kernel = exact_kernel(problem, arithmetic)
    start, targets = [0.0] * problem.samples, problem.targets.tolist()
    trace: list = []
    blocks = stream.blocks(0, iterations)
    if problem.is_svm:
        loss, C = problem.loss.task, problem.hinge.C
        drawn = blocks[:, 0].tolist()
        dcd_ksvm(arithmetic, kernel, targets, start, drawn, loss=loss, C=C, trace=trace)
    else:
        bdcd_krr(
            arithmetic,
            kernel,
            targets,
            start,
            blocks.tolist(),
            penalty=problem.ridge.penalty,
            trace=trace,
        )
    states = [start, *trace]
    alphas = np.array([[float(value) for value in states[iteration]] for iteration in wanted])
    return HighPrecisionTrajectory(np.array(wanted, dtype=np.int64), alphas, 0.0, bits)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_arb_and_the_reference_in_mpmath_round_to_the_same_float64(kernel, loss):
    problem, stream = _case(kernel, loss, block=1 if loss.task != "krr" else 5)
    ours = high_precision_trajectory(problem, stream, 60, at=[0, 1, 17, 60])
    theirs = exact_trajectory_mpmath(problem, stream, 60, at=[0, 1, 17, 60])
    assert ours.iterations.tolist() == theirs.iterations.tolist() == [0, 1, 17, 60]
    assert np.array_equal(ours.alphas, theirs.alphas)
    assert ours.agreement <= high_precision_trajectory(problem, stream, 60, at=[60], bits=128).agreement
    assert ours.alphas[0].tolist() == [0.0] * M
    assert ours.alphas[-1].any()


def test_default_iterations_are_the_start_and_the_end():
    problem, stream = _case(KERNELS[0], Hinge())
    assert high_precision_trajectory(problem, stream, 9).iterations.tolist() == [0, 9]


def test_runs_that_differ_are_refused(monkeypatch):
    problem, stream = _case(KERNELS[2], SquaredHinge())
    monkeypatch.setattr(module, "AGREEMENT", 2.0**-300)
    with pytest.raises(OracleDisagreementError, match="bits=128"):
        high_precision_trajectory(problem, stream, 60, bits=64)


@pytest.mark.parametrize(
    ("stream", "iterations", "at", "message"),
    [
        (IndexStream("cyclic", M + 1, 1, 5), 5, [], "coordinates"),
        (IndexStream("cyclic", M, 2, 5), 5, [], "one coordinate at a time"),
        (IndexStream("cyclic", M, 1, 5), 6, [], "6 iterations"),
        (IndexStream("cyclic", M, 1, 5), 5, [6], r"6\.\.6"),
    ],
)
def test_bad_input_is_refused(stream, iterations, at, message):
    problem, _ = _case(KERNELS[0], Hinge())
    with pytest.raises(InputError, match=message):
        high_precision_trajectory(problem, stream, iterations, at)
