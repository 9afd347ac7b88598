"""How long to train, where training stands, and what it leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.solvers.production.monitor import Values
from sstep_verify.trajectory import Trajectory


@dataclass(frozen=True)
class Plan:
    """How long to train.

    Parameters
    ----------
    s : int
        Iterations per window.
    iterations : int
        Most iterations (H).
    interval : int
        Iterations between two measurements; a multiple of s, unless s is tuned.
    tolerance : float
        Relative gap (K-SVM) or residual (K-RR) at which training ends; 0 for never.
    tuned : bool
        Whether windows may be of any s up to the plan's; they are cut where an interval ends.

    Raises
    ------
    InputError
        If a value is out of range.
    """

    s: int
    iterations: int
    interval: int
    tolerance: float
    tuned: bool = False

    def __post_init__(self):
        if self.s < 1 or self.iterations < 0:
            raise InputError(f"s = {self.s}, iterations = {self.iterations}: needed are s >= 1 and H >= 0")
        if self.interval < 1 or (self.interval % self.s and not self.tuned):
            raise InputError(
                f"interval = {self.interval} is no multiple of s = {self.s}, but windows are not cut; "
                f"use {max(round(self.interval / self.s), 1) * self.s}"
            )
        if not (math.isfinite(self.tolerance) and self.tolerance >= 0):
            raise InputError(f"tolerance = {self.tolerance!r}, but it must be finite and >= 0")

    def end(self, begin: int) -> int:
        """Where the interval that begins at an iteration ends."""
        return min(begin + self.interval - begin % self.interval, self.iterations)


class Measured(NamedTuple):
    """Values at an iteration, counted from the first of all."""

    iteration: int
    values: Values


class Stretch(NamedTuple):
    """Iterations that were made alike; see `windows_of`.

    Parameters
    ----------
    end : int
        Where they end, counted from the first iteration of all.
    s : int
        Iterations per window.
    exchange : str
        What was communicated.
    """

    end: int
    s: int
    exchange: str


class Place(NamedTuple):
    """Where training stands.

    Parameters
    ----------
    iteration : int
        Iterations made, the end of an interval.
    alpha : ndarray, shape (m,)
        The dual vector there (a).
    history : tuple of Measured
        All measurements up to there; where training goes on, the last is made anew.
    sequence : tuple of Stretch
        Where s is tuned: how all iterations up to there were made.
    """

    iteration: int
    alpha: np.ndarray
    history: tuple[Measured, ...] = ()
    sequence: tuple[Stretch, ...] = ()


@dataclass(frozen=True, eq=False)
class Trained:
    """Result of training.

    Parameters
    ----------
    trajectory : Trajectory
        First and last dual vector, with the solver's claims; counters are those of the windows, with the
        set-up of every interval.
    monitoring : dict of str to int
        Counters of the measurements.
    history : tuple of Measured
        All measurements, those before a resumption included.
    sequence : tuple of Stretch
        Where s is tuned: how all iterations were made, those before a resumption included.
    attainable : float
        Relative value that float64 attains, where training stopped for that; else NaN.
    """

    trajectory: Trajectory
    monitoring: dict[str, int]
    history: tuple[Measured, ...]
    sequence: tuple[Stretch, ...] = ()
    attainable: float = math.nan

    @property
    def iteration(self) -> int:
        """Iterations made, those before a resumption included."""
        return self.history[-1].iteration

    @property
    def values(self) -> Values:
        """The last measurement."""
        return self.history[-1].values


def refuse_start(start: int, plan: Plan) -> None:
    """Raise InputError unless training can begin at an iteration: an interval of the plan ends there."""
    if start > plan.iterations:
        raise InputError(
            f"training cannot go on from iteration {start}, because it is to end at {plan.iterations}; ask "
            "for more (--iterations)"
        )
    if start % plan.interval:
        raise InputError(
            f"training cannot go on from iteration {start}: not the end of an interval of {plan.interval} "
            "iterations"
        )
