"""Drift of a float64 trajectory from the exact one of the same index stream: a series for figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.numerics.rounding import norm


class Recorded(Protocol):
    """What a trajectory must have: recorded iterations, shape (k,), and dual vectors, shape (k, m)."""

    @property
    def iterations(self) -> np.ndarray:
        """Recorded iterations, ascending."""

    @property
    def alphas(self) -> np.ndarray:
        """Dual vectors at those iterations."""


@dataclass(frozen=True, eq=False)
class Drift:
    """Differences between two trajectories at their common iterations.

    Parameters
    ----------
    iterations : ndarray of int64, shape (k,)
        Common iterations, ascending.
    largest : ndarray, shape (k,)
        ``max_i |a_i - a'_i|``.
    relative : ndarray, shape (k,)
        ``||a - a'||_2 / ||a'||_2`` with a' exact; 0 where a equals a'.
    """

    iterations: np.ndarray
    largest: np.ndarray
    relative: np.ndarray


def drift(trajectory: Recorded, exact: Recorded) -> Drift:
    """Compare a trajectory with the exact one wherever both were recorded.

    Parameters
    ----------
    trajectory : Trajectory
        What a solver left behind, started at the same place of the same stream.
    exact : ExactTrajectory
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
    difference = trajectory.alphas[mine] - exact.alphas[theirs]
    distance, size = (np.array([norm(row) for row in rows]) for rows in (difference, exact.alphas[theirs]))
    relative = np.full(common.size, np.inf)
    np.divide(distance, size, out=relative, where=size > 0)
    relative[distance == 0] = 0.0
    return Drift(common, np.abs(difference).max(axis=1), relative)


def _range(recorded: Recorded) -> str:
    if recorded.iterations.size == 0:
        return "none"
    return f"{recorded.iterations.size} iterations in {recorded.iterations[0]}..{recorded.iterations[-1]}"
