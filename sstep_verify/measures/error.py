"""Errors of a run against a known solution or the exact trajectory.

Series for figures, never verdicts.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.rounding.arithmetic import norm


class Recorded(Protocol):
    """What a trajectory must have: recorded iterations, shape (k,), and dual vectors, shape (k, m)."""

    @property
    def iterations(self) -> np.ndarray:
        """Recorded iterations, ascending."""

    @property
    def alphas(self) -> np.ndarray:
        """Dual vectors at those iterations."""


class Drift(NamedTuple):
    """Errors of a trajectory where an exact one was recorded too.

    Parameters
    ----------
    iterations : ndarray of int64, shape (k,)
        Common iterations, ascending.
    relative : ndarray, shape (k,)
        `relative_error` of a at each of them.
    """

    iterations: np.ndarray
    relative: np.ndarray


def relative_error(alpha: np.ndarray, exact: np.ndarray) -> float:
    """``||a - a'||_2 / ||a'||_2``; where a' is 0: 0 if a is 0, else infinite.

    Parameters
    ----------
    alpha, exact : ndarray, shape (m,)
        Dual vector (a), and the solution or exact one (a').
    """
    distance, size = norm(alpha - exact), norm(exact)
    if size == 0:
        return 0.0 if distance == 0 else math.inf
    return distance / size


def drift(trajectory: Recorded, exact: Recorded) -> Drift:
    """Compare a trajectory with the exact one wherever both were recorded.

    The exact vector is held in float64, so values below about 2**-53 mean "none that float64 can show".

    Parameters
    ----------
    trajectory : Trajectory
        What a solver left behind, started at the same place of the same stream.
    exact : EnclosedTrajectory
        The exact trajectory.

    Raises
    ------
    InputError
        If the vectors differ in length or no iteration is common.
    """
    if trajectory.alphas.shape[1] != exact.alphas.shape[1]:
        raise InputError(
            f"drift: the trajectory has vectors of {trajectory.alphas.shape[1]} coordinates, "
            f"the exact one of {exact.alphas.shape[1]}; they belong to different problems"
        )
    common, mine, theirs = np.intersect1d(trajectory.iterations, exact.iterations, return_indices=True)
    if common.size == 0:
        raise InputError(
            f"drift: no common iteration; recorded {_range(trajectory)}, exact {_range(exact)}"
        )
    pairs = zip(trajectory.alphas[mine], exact.alphas[theirs], strict=True)
    return Drift(common, np.array([relative_error(*pair) for pair in pairs]))


def _range(recorded: Recorded) -> str:
    if recorded.iterations.size == 0:
        return "none"
    return f"{recorded.iterations.size} iterations in {recorded.iterations[0]}..{recorded.iterations[-1]}"
