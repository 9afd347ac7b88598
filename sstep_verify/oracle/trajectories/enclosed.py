"""The classical trajectory of a stream as exact points, each step with a proven error.

Balls carried from step to step grow by up to a bit an iteration. Here every step starts from exact
points, is made in balls, and ends in the points nearest to it: the radius of that one step is the whole
error the oracle adds. It is thus one more correct run, of unit roundoff 2^-bits, and its own local errors
enter bound C beside those of the solver (bounds/trajectory/svm.py) or simply add up
(bounds/trajectory/ridge.py). The true trajectory is never farther from it than that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sstep_reference import Kernel, dcd_ksvm
from sstep_reference.inputs import svm_constants

from sstep_verify.defects.mutation import NONE
from sstep_verify.defects.recurrence_ridge import mutable_ridge_window
from sstep_verify.defects.recurrence_svm import mutable_svm_window
from sstep_verify.defects.window import Step, local_window
from sstep_verify.errors import OracleDisagreementError
from sstep_verify.oracle.balls.block_solve import RefinedBlocks
from sstep_verify.oracle.balls.enclosure import interval, magnitude_interval, upward
from sstep_verify.problems import Problem
from sstep_verify.steps import RidgeSteps, SvmSteps


@dataclass(frozen=True, eq=False)
class EnclosedTrajectory:
    """A run of exact points, and how far each of its steps is from exact.

    Parameters
    ----------
    places : ndarray of int, shape (c,)
        Distinct coordinates drawn, in order of first draw; the others never move.
    steps : SvmSteps or RidgeSteps
        All H steps; K-SVM: the enclosures hold the exact unclipped value from the points before it.
    states : dict of int to vector of m points
        The dual vector at the wanted iterations.
    errors : ndarray, shape (H,)
        Bound on the error that the oracle itself makes in a step: of the unclipped new value (K-SVM), or
        in the M-norm (K-RR).
    bits : int
        Precision of the balls.
    """

    places: np.ndarray
    steps: SvmSteps | RidgeSteps
    states: dict[int, Any]
    errors: np.ndarray
    bits: int


def enclosed_trajectory(
    problem: Problem, kernel: Kernel, initial: np.ndarray, draws: np.ndarray, at: Iterable[int]
) -> EnclosedTrajectory:
    """Run the classical method on exact points, with the error of every step in balls.

    Parameters
    ----------
    problem : Problem
        The problem.
    kernel : Kernel
        Its exact kernel over `Balls`.
    initial : ndarray, shape (m,)
        Start vector, exact.
    draws : ndarray of int, shape (H, b)
        Blocks drawn.
    at : iterable of int
        Iterations, in 0..H, at which the dual vector is wanted.

    Returns
    -------
    EnclosedTrajectory

    Raises
    ------
    OracleDisagreementError
        If reference and mutable recurrence contradict each other in a K-SVM step.
    """
    arithmetic: Any = kernel.arithmetic
    alpha: Any = arithmetic.vector(initial)
    wanted = set(at)
    states = {0: alpha.copy()} if 0 in wanted else {}
    step = _svm_step if problem.is_svm else _ridge_step
    targets = arithmetic.vector(problem.targets)
    made, errors = [], []
    for iteration, block in enumerate(draws.tolist(), 1):
        record, error = step(problem, kernel, targets, alpha, block)
        made.append(record)
        errors.append(error)
        if iteration in wanted:
            states[iteration] = alpha.copy()
    places = list(dict.fromkeys(draws.ravel().tolist()))
    position = {coordinate: place for place, coordinate in enumerate(places)}
    local = np.array([[position[i] for i in block] for block in draws.tolist()], dtype=np.int64)
    steps = _svm_steps(local, made) if problem.is_svm else RidgeSteps(local, np.array(made))
    return EnclosedTrajectory(
        np.array(places, dtype=np.int64), steps, states, np.array(errors), arithmetic.bits
    )


def _svm_step(problem: Problem, kernel: Kernel, targets: Any, alpha: Any, block: list[int]):
    """One step by the reference (Algorithm 1); `alpha` is updated. Returns the step and its error."""
    arithmetic: Any = kernel.arithmetic
    loss, C = problem.loss.task, problem.hinge.C
    (i,) = block
    window = local_window(arithmetic, kernel, targets, alpha, [block], signed=True)
    upper, omega = svm_constants(arithmetic, loss, C)
    steps: list[Step] = []
    other = mutable_svm_window(arithmetic, window, omega, upper, NONE, steps)[0]
    new = dcd_ksvm(arithmetic, kernel, problem.targets.tolist(), alpha, block, loss=loss, C=C)[i]
    if not new.overlaps(other):
        raise OracleDisagreementError(
            f"{problem.label}: a step moves coordinate {i} to {new} by the classical reference but to "
            f"{other} by the s-step recurrence"
        )
    # A decided clip is exact. One that the balls cannot decide gives the ball of both cases, whose middle
    # is the clip of a value no farther from the exact one than the widths of both balls.
    error = upward(4 * (_radius(steps[0].unclipped) + _radius(new)))
    alpha[i] = new.mid()
    return steps[0], error


def _radius(ball) -> float:
    return magnitude_interval(ball.rad())[1]


def _svm_steps(draws: np.ndarray, made: list[Step]) -> SvmSteps:
    ends = np.array([interval(step.unclipped) for step in made]).reshape(-1, 2)
    return SvmSteps(
        draws=draws.ravel(),
        value=np.array([float(step.value) for step in made]),
        increment=np.array([float(step.increment) for step in made]),
        lower=ends[:, 0],
        upper=ends[:, 1],
    )


def _ridge_step(problem: Problem, kernel: Kernel, targets: Any, alpha: Any, block: list[int]):
    """One block step; `alpha` is updated. Returns the increment and its error in the M-norm."""
    arithmetic: Any = kernel.arithmetic
    samples = problem.samples
    penalty = arithmetic.number(problem.ridge.penalty)
    window = local_window(arithmetic, kernel, targets, alpha, [block], signed=False)
    solve = RefinedBlocks(arithmetic, window, penalty, samples)
    steps: list = []
    end = mutable_ridge_window(arithmetic, window, penalty, samples, NONE, solve, steps)
    with arithmetic.working():
        # ||r||_M <= sqrt(trace(M_BB)) ||r||_2 for what is rounded off in storing the block's new values.
        diagonal = [window.gram[place][place] / penalty for place in range(len(block))]
        trace = magnitude_interval(sum(diagonal, samples * len(block)))[1]
        rounded = math.sqrt(len(block)) * max(_radius(value) for value in end)
    error = solve.residuals[0] / math.sqrt(samples) + math.sqrt(trace) * rounded
    for coordinate, value in zip(window.coordinates, end, strict=True):
        alpha[coordinate] = value.mid()
    return [float(value) for value in steps[0]], upward(error)
