"""Exact residuals of a K-RR's block systems at a vector that a solver stored."""

from __future__ import annotations

import numpy as np

from sstep_verify.oracle.balls.enclosure import magnitude_interval
from sstep_verify.problems import Problem


def block_residual(
    problem: Problem, kernel, alpha: np.ndarray, draws: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Enclose ``|y - m a - K a / lambda|`` on some coordinates.

    After an exact step on them it is 0: what an increment leaves of its right-hand side.

    Parameters
    ----------
    problem : Problem
        A K-RR.
    kernel
        Exact kernel of the problem over `Balls`.
    alpha : ndarray, shape (m,)
        Stored vector, finite (a).
    draws : ndarray of int, shape (b,)
        Coordinates.

    Returns
    -------
    lower, upper : ndarray, shape (b,)
        Ends of float64 intervals.
    """
    arithmetic = kernel.arithmetic
    penalty, vector = arithmetic.number(problem.ridge.penalty), arithmetic.vector(alpha)
    targets = arithmetic.vector(problem.targets[draws])
    columns = kernel.columns(draws.tolist())
    with arithmetic.working():
        left = (
            target - problem.samples * vector[i] - arithmetic.dot(column, vector) / penalty
            for target, i, column in zip(targets, draws.tolist(), columns, strict=True)
        )
        lower, upper = np.array([magnitude_interval(value) for value in left]).T
    return lower, upper
