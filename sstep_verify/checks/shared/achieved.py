"""What a final vector achieves, enclosed: relative to the optimum, and where it violates the KKT rules."""

from __future__ import annotations

import math

import numpy as np

from sstep_verify.bounds.optimum.svm import SvmValues
from sstep_verify.numerics.rounding import OUTWARD, unit_roundoff
from sstep_verify.problems import Problem
from sstep_verify.trajectory import Trajectory


def written_with(trajectory: Trajectory) -> np.ndarray:
    """Largest errors of writing the final a down, shape (m,); zeros where there are none."""
    found = trajectory.rounding
    return np.zeros(trajectory.final.size) if found is None else np.asarray(found[-1], dtype=np.float64)


def relative_to(value: tuple[float, float], whole: tuple[float, float]) -> tuple[float, float]:
    """Enclosure of a value over another, both >= 0 and enclosed; infinite above where that may be 0."""
    low = max(value[0], 0.0) / whole[1] / OUTWARD if whole[1] > 0 else 0.0
    return low, value[1] / whole[0] * OUTWARD if whole[0] > 0 else math.inf


def violation_of(problem: Problem, alpha: np.ndarray, values: SvmValues) -> tuple[float, float]:
    """Enclosure of the largest projected gradient, which the KKT conditions want to be 0.

    Parameters
    ----------
    problem : Problem
        A K-SVM.
    alpha : ndarray, shape (m,)
        Dual vector inside the box.
    values : SvmValues
        Evaluated at `alpha`.
    """
    shift = problem.hinge.shift
    slopes = values.slopes + shift * alpha
    lost = 4 * unit_roundoff("float64") * (np.abs(values.slopes) + shift * alpha)
    error = (values.slope_errors + lost) * OUTWARD
    projected = np.abs(slopes)
    projected = np.where(alpha <= 0, np.maximum(-slopes, 0.0), projected)
    projected = np.where(alpha >= problem.hinge.upper, np.maximum(slopes, 0.0), projected)
    return max(float((projected - error).max()), 0.0), float((projected + error).max())
