"""What the bound of a K-SVM window is made from, and what it yields."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SvmSteps:
    """The exact steps of a window in float64, with enclosures where a decision hangs on them.

    Parameters
    ----------
    draws : ndarray of int, shape (s,)
        Drawn coordinates as places among the distinct ones.
    value, increment : ndarray, shape (s,)
        Exact value before each step and exact increment, rounded to float64.
    lower, upper : ndarray, shape (s,)
        Enclosure of the exact unclipped new value.
    """

    draws: np.ndarray
    value: np.ndarray
    increment: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True)
class WindowBound:
    """Radius per distinct coordinate, and what it is made of.

    Parameters
    ----------
    radius : ndarray, shape (c,)
        Bound on ``|computed - exact|`` at the window's end; 0 where the computed value must be exact,
        infinite everywhere if some step of the window has no bound.
    amplification : float
        Largest factor by which a local error of the window reached another coordinate.
    undecided : int
        Steps whose clip the propagated radius could not decide.
    """

    radius: np.ndarray
    amplification: float
    undecided: int
