"""The judge's own step in plain float64, for words: what a coordinate should have become."""

from __future__ import annotations

import numpy as np

from sstep_verify.numerics.kernel_matrix import kernel_rows
from sstep_verify.problems import Problem


def own_step(problem: Problem, alpha: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """The values that one classical step gives the coordinates that it drew.

    Parameters
    ----------
    problem : Problem
        The problem.
    alpha : ndarray, shape (m,)
        Dual vector before the step, float64.
    draws : ndarray of int64, shape (b,)
        Coordinates drawn; one of a K-SVM.

    Returns
    -------
    ndarray, shape (b,)
        NaN where the block system of a K-RR cannot be solved in float64.
    """
    with np.errstate(all="ignore"):
        rows = kernel_rows(problem, draws)
        if problem.is_svm:
            loss, place, labels = problem.hinge, int(draws[0]), problem.targets
            slope = labels[place] * float(rows[0] @ (labels * alpha)) - 1 + loss.shift * alpha[place]
            curvature = float(rows[0, place]) + loss.shift
            value = alpha[place] - slope / curvature if curvature else loss.upper
            return np.array([min(max(value, 0.0), loss.upper)])
        m, penalty = problem.samples, problem.ridge.penalty
        block = rows[:, draws] / penalty + m * np.eye(draws.size)
        residual = problem.targets[draws] - m * alpha[draws] - rows @ alpha / penalty
        try:
            return alpha[draws] + np.linalg.solve(block, residual)
        except np.linalg.LinAlgError:
            return np.full(draws.size, np.nan)
