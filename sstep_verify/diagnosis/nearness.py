"""How near a reading of a vector is to the optimum that it names: proved, after a look in float64."""

from __future__ import annotations

import math

import numpy as np

from sstep_verify.bounds.optimum.reported import EXACT, written_gap
from sstep_verify.bounds.optimum.svm import svm_values
from sstep_verify.diagnosis.reading import Reading
from sstep_verify.numerics.kernel_matrix import kernel_matrix
from sstep_verify.oracle.certificate.optimum import ridge_optimum
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import OUTWARD, norm_lower, norm_upper

NEAR = 1e-3
"""Relative gap or error up to which a reading explains a vector: solvers stop at such tolerances."""

FAR = 0.05
"""What rounding may add to that at most: beyond it a vector of so few digits explains nothing."""

MOST_SAMPLES = 2048
"""Samples up to which readings are tried: each takes a pass over the kernel, or a factorisation."""

HALVINGS = 200


def explains(reading: Reading, tolerance: float, standing: float) -> float:
    """How near the reading is: relative gap (K-SVM) or error (K-RR), an upper bound; infinite if not near.

    Near is `NEAR` or the claimed tolerance, and what rounding of the written digits adds; and a hundredth
    of what the vector is away as it stands.

    Parameters
    ----------
    reading : Reading
        The reading.
    tolerance : float
        What was claimed.
    standing : float
        How far the vector is away without it, by the same measure; infinite where it is no number.
    """
    measure = _svm if reading.problem.is_svm else _ridge
    with np.errstate(all="ignore"):
        distance, added = measure(reading)
    if not added <= FAR or not distance <= min(max(tolerance, NEAR) + added, standing / 100):
        return math.inf
    return distance


def _svm(reading: Reading) -> tuple[float, float]:
    """Upper bound on the gap over the dual value at the vector moved into the box; what rounding adds."""
    problem, vector = reading.problem, reading.vector
    point = np.clip(vector, 0.0, problem.hinge.upper)
    size = float(np.abs(vector).max())
    if not float(np.abs(vector - point).max()) <= NEAR * size + reading.rounding:
        return math.inf, 0.0
    values = svm_values(problem, EXACT, point)
    gap, dual = values.gap.upper, values.dual.lower
    if reading.free_bias:
        if not abs(float(problem.targets @ point)) <= NEAR * float(point.sum()):
            return math.inf, 0.0
        margins = values.slopes + 1.0
        gap -= problem.hinge.C * (_losses(problem, margins, 0.0) - _least_losses(problem, margins))
    if not dual > 0:
        return math.inf, 0.0
    rounding = np.full(problem.samples, reading.rounding)
    return max(gap, 0.0) / dual * OUTWARD, written_gap(problem, point, rounding, values) / dual


def _losses(problem: Problem, margins: np.ndarray, bias: float) -> float:
    return float((np.maximum(1.0 - margins - problem.targets * bias, 0.0) ** problem.hinge.power).sum())


def _least_losses(problem: Problem, margins: np.ndarray) -> float:
    """The least that the losses can be with a bias, by bisection of their derivative, which grows with it.

    Whatever the bisection ends with is a primal point, so the gap that it leaves is a bound.
    """
    labels, power = problem.targets, problem.hinge.power
    reach = float(np.abs(margins).max()) + 2.0
    low, high = -reach, reach
    for _ in range(HALVINGS):
        middle = low + (high - low) / 2
        short = np.maximum(1.0 - margins - labels * middle, 0.0)
        slope = -float(labels @ (short if power == 2 else short > 0))
        low, high = (low, middle) if slope > 0 else (middle, high)
    return min(_losses(problem, margins, bias) for bias in (low, high))


def _ridge(reading: Reading) -> tuple[float, float]:
    """Upper bound on the distance from the optimum over its norm; what rounding adds."""
    problem, vector = reading.problem, reading.vector
    rough = _float_solution(problem)
    size = norm_upper(rough)
    if not norm_upper(vector - rough) <= (NEAR + FAR) * size:
        return math.inf, 0.0
    known = ridge_optimum(problem)
    norm = norm_lower(known.alpha) - known.error
    if not norm > 0:
        return math.inf, 0.0
    distance = norm_upper(vector - known.alpha) * OUTWARD + known.error
    return distance / norm * OUTWARD, reading.rounding * math.sqrt(problem.samples) / norm


def _float_solution(problem: Problem) -> np.ndarray:
    matrix = kernel_matrix(problem) / problem.ridge.penalty
    matrix.flat[:: problem.samples + 1] += problem.samples
    try:
        return np.linalg.solve(matrix, problem.targets)
    except np.linalg.LinAlgError:
        return np.full(problem.samples, np.nan)
