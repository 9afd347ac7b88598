"""The exact steps of one window, rounded to float64: what an oracle finds and a bound is made from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SvmSteps:
    """The exact steps of a window in float64, with enclosures where a decision depends on them.

    All have shape (s,): drawn coordinates as places among the distinct ones; the exact value before each
    step and the exact increment, rounded to float64; the enclosure of the exact unclipped new value.
    """

    draws: np.ndarray
    value: np.ndarray
    increment: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


@dataclass(frozen=True)
class RidgeSteps:
    """The exact block steps of a window, rounded to float64.

    Both have shape (s, b): drawn blocks as places among the distinct coordinates, exact increments.
    """

    draws: np.ndarray
    increments: np.ndarray
