"""The exact steps of one window, rounded to float64: what an oracle finds and a bound is made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SvmSteps:
    """The exact steps of a window in float64, with enclosures where a decision depends on them.

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
class RidgeSteps:
    """The exact block steps of a window, rounded to float64.

    Parameters
    ----------
    draws : ndarray of int, shape (s, b)
        Drawn blocks as places among the distinct coordinates.
    increments : ndarray, shape (s, b)
        Exact increment of each block.
    """

    draws: np.ndarray
    increments: np.ndarray
