"""A final vector: what it achieves, enclosed, and what is said of it."""

from __future__ import annotations

import math

import numpy as np

from sstep_verify.bounds.optimum.svm import SvmValues
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import ROUND_UP, unit_roundoff
from sstep_verify.trajectory import GIVEN, Trajectory

ALONE = "judged_by_final_vector_only"
"""Key of the evidence on a vector that was handed over: nothing was run, and no step can be judged."""

OVER = ("gap_over_optimal_value", "error_over_norm_of_optimum")
"""Keys of the evidence on how far a vector is from the optimum, relative to it: K-SVM, K-RR."""

MEASURED = "measured_enclosure"
"""Key of the evidence on the gap (K-SVM) or the distance from the optimum (K-RR): both ends."""


FAR = 2.0**400
"""Size of a value in which sums over the kernel may overflow, and of no optimum whose numbers do not."""


def written_with(trajectory: Trajectory) -> np.ndarray:
    """Largest errors of writing the final a down, shape (m,); zeros where there are none."""
    rounding = trajectory.rounding
    return np.zeros(trajectory.final.size) if rounding is None else np.asarray(rounding[-1], np.float64)


def start_of(trajectory: Trajectory) -> np.ndarray:
    """Where a run began; a vector that was handed in is taken to come from 0."""
    return trajectory.alphas[0].astype(np.float64) * (trajectory.stopped != GIVEN)


def relative_to(value: tuple[float, float], whole: tuple[float, float]) -> tuple[float, float]:
    """Enclosure of a value over another, both >= 0 and enclosed; infinite above where that may be 0.

    What is 0 is 0 over any other, 0 included; what is larger is infinite over one that is 0.
    """
    if value[1] == 0.0:
        return 0.0, 0.0
    if value[0] > 0.0 and whole[1] == 0.0:
        return math.inf, math.inf
    low = max(value[0], 0.0) / whole[1] / ROUND_UP if whole[1] > 0 else 0.0
    return low, value[1] / whole[0] * ROUND_UP if whole[0] > 0 else math.inf


def violation_of(problem: Problem, alpha: np.ndarray, values: SvmValues) -> tuple[float, float]:
    """Enclosure of the largest projected gradient, which the KKT conditions want to be 0.

    Of a K-SVM at a dual vector inside the box, shape (m,), with what was evaluated there.
    """
    shift = problem.hinge.shift
    slopes = values.slopes + shift * alpha
    lost = 4 * unit_roundoff("float64") * (np.abs(values.slopes) + shift * alpha)
    error = (values.slope_errors + lost) * ROUND_UP
    projected = np.abs(slopes)
    projected = np.where(alpha <= 0, np.maximum(-slopes, 0.0), projected)
    projected = np.where(alpha >= problem.hinge.upper, np.maximum(slopes, 0.0), projected)
    return max(float((projected - error).max()), 0.0), float((projected + error).max())


def out_of_range(trajectory: Trajectory, point: np.ndarray, optimum: np.ndarray) -> bool:
    """Whether a final a, moved into the box, is not finite; one that was handed over also if it is huge.

    Of a size that float64 cannot evaluate, it is no optimum: next to the certified one it is larger by more
    than any error could make it.
    """
    if trajectory.stopped != GIVEN:
        return not np.isfinite(point).all()
    largest = float(np.abs(point).max())
    far = FAR * max(1.0, float(np.abs(optimum).max()))
    return not (np.isfinite(trajectory.final).all() and largest <= far)


def notes(trajectory: Trajectory) -> dict[str, object]:
    """Evidence on a vector that was handed over."""
    return {ALONE: True} if trajectory.stopped == GIVEN else {}
