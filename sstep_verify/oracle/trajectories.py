"""A whole run again, enclosed step by step, or of a mutant to many digits, which is no proof.

Balls carried from step to step grow by up to a bit an iteration. Here every step of the classical method
starts from exact points, is made in balls, and ends in the points nearest to it: the radius of that one
step is the whole error the oracle adds. It is thus one more correct run, of unit roundoff 2^-bits, and
its own local errors enter bound C along with those of the solver (bounds/window/svm.py) or add up as these
do (bounds/window/ridge.py). The true trajectory is never farther from it than that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from sstep_reference import Kernel  # the package in reference/
from sstep_reference.arithmetic import Balls
from sstep_reference.kernels import Columns

from sstep_verify.oracle.balls.block_solve import refined
from sstep_verify.oracle.balls.exact_kernel import magnitude_interval, upward
from sstep_verify.oracle.window_ends import Ends, float_steps
from sstep_verify.problems import Problem
from sstep_verify.quantities import RidgeSteps, SvmSteps
from sstep_verify.recurrence.mutants import run_mutants
from sstep_verify.recurrence.mutation import LocalWindow, Mutation, local_window, weighted_by
from sstep_verify.recurrence.steps import Solve, finisher_of


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

    @property
    def iterations(self) -> np.ndarray:
        """The wanted iterations, ascending, shape (k,)."""
        return np.array(sorted(self.states), dtype=np.int64)

    @cached_property
    def alphas(self) -> np.ndarray:
        """The dual vector at them in float64, shape (k, m)."""
        return np.array([[float(value) for value in self.states[k]] for k in self.iterations.tolist()])


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
    make = _svm_step if problem.is_svm else _ridge_step
    targets, signed = arithmetic.vector(problem.targets), problem.loss.labelled
    # A step moves a few coordinates: what kernel rows multiply follows them.
    weighted = weighted_by(arithmetic, targets, alpha, signed)
    log, errors = [], []
    for iteration, block in enumerate(draws.tolist(), 1):
        window = local_window(arithmetic, kernel, targets, alpha, [block], signed=signed, weighted=weighted)
        end, log_of_step, error = make(problem, kernel, window, alpha)
        with arithmetic.working():
            for coordinate, value in zip(window.coordinates, end, strict=True):
                alpha[coordinate] = value.mid()
                if signed:
                    weighted[coordinate] = targets[coordinate] * alpha[coordinate]
        log += log_of_step
        errors.append(error)
        if iteration in wanted:
            states[iteration] = alpha.copy()
    places = list(dict.fromkeys(draws.ravel().tolist()))
    position = {coordinate: place for place, coordinate in enumerate(places)}
    local = [[position[i] for i in block] for block in draws.tolist()]
    steps = float_steps(problem, local, log)
    return EnclosedTrajectory(
        np.array(places, dtype=np.int64), steps, states, np.array(errors), arithmetic.bits
    )


def _svm_step(
    problem: Problem, kernel: Kernel, window: LocalWindow, alpha: Any
) -> tuple[list, list, float]:
    """One step by the reference (Algorithm 1): its end, what the recurrence kept of it, and its error."""
    ends = Ends(problem, kernel, window)
    (new,), (step,) = ends.by_reference(kernel, alpha), ends.log
    # A decided clip is exact. One that the balls cannot decide gives the ball of both cases, whose middle
    # is the clip of a value no farther from the exact one than the widths of both balls.
    return [new], ends.log, upward(4 * (_radius(step.unclipped) + _radius(new)))


def _ridge_step(
    problem: Problem, kernel: Kernel, window: LocalWindow, alpha: Any
) -> tuple[list, list, float]:
    """One block step: its end, its increments, and its error in the M-norm."""
    ends, arithmetic = Ends(problem, kernel, window), kernel.arithmetic
    with arithmetic.working():
        # ||r||_M <= sqrt(trace(M_BB)) ||r||_2 for what is rounded off in storing the block's new values.
        penalty, block = arithmetic.number(problem.ridge.penalty), range(len(window.coordinates))
        diagonal = [window.gram[place][place] / penalty for place in block]
        trace = magnitude_interval(sum(diagonal, problem.samples * len(block)))[1]
        rounded = math.sqrt(len(block)) * max(map(_radius, ends.unmutated))
    return list(ends.unmutated), ends.log, upward(ends.off + math.sqrt(trace) * rounded)


def _radius(ball) -> float:
    return magnitude_interval(ball.rad())[1]


def mutated_states(
    problem: Problem,
    kernel: Columns,
    initial: np.ndarray,
    draws: np.ndarray,
    s: int,
    at: Iterable[int],
    mutations: Sequence[Mutation],
) -> list[dict[int, Any]]:
    """Run several mutants of the s-step recurrence, every window from points and to points.

    Parameters
    ----------
    problem : Problem
        The problem.
    kernel : Columns
        Its exact kernel over `Balls`, or rows in its place.
    initial : ndarray, shape (m,)
        Start vector.
    draws : ndarray of int, shape (H, b)
        Blocks drawn.
    s : int
        Iterations per window.
    at : iterable of int
        Window ends at which the dual vector is wanted.
    mutations : sequence of Mutation
        The mutants; they share the kernel entries and factorisations of each window.

    Returns
    -------
    list of dict of int to vector of m points
        Per mutant, by window end.
    """
    arithmetic: Any = kernel.arithmetic
    wanted, start = set(at), arithmetic.vector(initial)
    states: list[dict[int, Any]] = [{0: start.copy()} if 0 in wanted else {} for _ in mutations]
    finisher = finisher_of(problem, arithmetic)
    if isinstance(finisher, Solve):
        stored = _to_points()
        if isinstance(arithmetic, Balls):
            finisher = refined(arithmetic, finisher)
    else:
        stored = _to_points(arithmetic.number(0), finisher.upper, finisher.lower)
    runs = run_mutants(kernel, problem.targets, finisher, start, draws.tolist(), s, mutations, stored)
    for windows in islice(runs, -(-max(wanted, default=0) // s)):
        for kept, window in zip(states, windows, strict=True):
            if window.end in wanted:
                kept[window.end] = window.alpha.copy()
    return states


def _to_points(*ends: Any) -> Callable[[Any], list]:
    """Makes points of balls: ends of the box where those may be, middles elsewhere.

    The sum of increments misses the end of the box by a rounding of its own, which is no effect.
    """
    box = [end for end in ends if end is not None]
    return lambda reached: [
        next((end for end in box if value.overlaps(end)), value.mid()) for value in reached
    ]
