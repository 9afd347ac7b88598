"""Errors of a run against the exact trajectory, and what s-step loses on the classical method.

Series for figures, never verdicts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.measures.drift import Recorded, drift


def errors_at(trajectory: Recorded, exact: Recorded, iterations: Sequence[int]) -> np.ndarray:
    """Relative errors ``||a - a'||_2 / ||a'||_2`` at given iterations, a' exact, shape (k,).

    The exact vector is held in float64, so values below about 2**-53 mean "none that float64 can show".

    Parameters
    ----------
    trajectory, exact : Trajectory and ExactTrajectory
        Recorded at least at these iterations.
    iterations : sequence of int
        Where to compare.

    Raises
    ------
    InputError
        If one of the two was not recorded at one of the iterations.
    """
    found = drift(trajectory, exact)
    known = dict(zip(found.iterations.tolist(), found.relative.tolist(), strict=True))
    missing = [iteration for iteration in iterations if iteration not in known]
    if missing:
        raise InputError(f"error at iteration {missing[0]} asked, but it was not recorded on both sides")
    return np.array([known[iteration] for iteration in iterations])


def loss_factor(error: float, classical: float, roundoff: float) -> float:
    """Stability loss factor: the s-step error over the classical error.

    An error below one unit roundoff counts as one: which of two vectors happens to round better there
    says nothing about a method.

    Parameters
    ----------
    error, classical : float
        Relative errors, >= 0; infinite or undefined for a run that broke down.
    roundoff : float
        Unit roundoff (u) of the precision of both runs.

    Returns
    -------
    float
        1 for a run as good as the classical one; infinite if only the s-step run broke down, undefined
        if the classical one did.
    """
    if not math.isfinite(classical):
        return math.nan
    return max(error, roundoff) / max(classical, roundoff) if math.isfinite(error) else math.inf
