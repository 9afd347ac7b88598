"""Bounds B and C, and their result.

* K-SVM: bounds/window/svm.py derives them and goes through the windows, bounds/window/svm_formulas.py makes
  the steps.
* K-RR: bounds/window/ridge.py.
* bounds/window/split.py says which sources of error a bound is the sum of.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class TrajectoryBound:
    """How far a window, or a run up to a window's end, may end from exact.

    Parameters
    ----------
    radius : ndarray, shape (c,) or (1,)
        Per distinct coordinate of the run (K-SVM), or in the M-norm (K-RR); infinite where nothing can be
        promised.
    amplification : float
        Largest factor by which a local error reached another coordinate (K-SVM; an undecided clip counts
        as a new local error); 1 in the M-norm (K-RR).
    undecided : int
        Clips up to here that the propagated radius could not decide (K-SVM).
    written : ndarray or float
        How much of the radius is the rounding of what was written down, of its shape; 0 if nothing was.
    """

    radius: np.ndarray
    amplification: float = 1.0
    undecided: int = 0
    written: np.ndarray | float = 0.0
