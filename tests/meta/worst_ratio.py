"""Worst ratio of measured error to bound over all windows of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sstep_reference.arithmetic import Balls

from sstep_verify.bounds.window.ridge import ridge_window_errors
from sstep_verify.bounds.window.svm import svm_window_bound
from sstep_verify.declaration import Declaration
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.oracle.replay import replay_window
from sstep_verify.problems import Problem
from sstep_verify.rounding.kernel.entries import kernel_entries


@dataclass(frozen=True)
class Ratio:
    """Largest ratio over the windows: proven lower and upper ends."""

    least: float
    most: float

    @property
    def red(self) -> bool:
        return self.least > 1.0

    @property
    def green(self) -> bool:
        return self.most <= 1.0


def window_ends(iterations: int, s: int) -> list[int]:
    """Iterations at which the windows of a run end, 0 included."""
    return sorted({*range(0, iterations, s), iterations})


def worst_ratio(
    problem: Problem, stream, declaration: Declaration, ends: list[int], states: list[np.ndarray]
) -> Ratio:
    """Replay every window of a run from its a at the window ends.

    Parameters
    ----------
    problem, stream
        What was run.
    declaration : Declaration
        What the solver says it is.
    ends : list of int
        Window ends, 0 included.
    states : list of ndarray, shape (m,)
        a at those iterations.

    Returns
    -------
    Ratio
    """
    exact = exact_kernel(problem, Balls(512))
    least = most = 0.0
    for begin, end, before, after in zip(ends[:-1], ends[1:], states[:-1], states[1:], strict=True):
        drawn = stream.blocks(begin, end)
        replay = replay_window(problem, exact, before, after, drawn)
        bound = _bound(problem, declaration, before, replay)
        least = max(least, _largest(replay.lower, bound))
        most = max(most, _largest(replay.upper, bound))
    return Ratio(least, most)


def _bound(problem: Problem, declaration: Declaration, before: np.ndarray, replay) -> np.ndarray:
    entries, loss = kernel_entries(problem, declaration, replay.places), problem.loss
    if problem.is_svm:
        return svm_window_bound(
            entries, replay.places, before, replay.steps, problem.dual, declaration
        ).radius
    return np.atleast_1d(
        ridge_window_errors(
            entries, replay.places, before, problem.targets, replay.steps, loss.penalty, declaration
        ).norm
    )


def _largest(measured: np.ndarray, bound: np.ndarray) -> float:
    """Largest quotient; an error where none is allowed is infinite, no error is 0."""
    allowed = bound > 0
    quotients = measured[allowed] / bound[allowed]
    strict = np.inf if (measured[~allowed] > 0).any() else 0.0
    return max(float(np.max(quotients, initial=0.0)), strict)
