"""Primal and dual values and the duality gap in float64, from products with the kernel matrix.

The gap is not formed as a difference of two large values but as a sum of terms that are non-negative
for feasible a, so that it keeps its leading digits when it is small.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.problems import Problem


def primal_value(problem: Problem, products: np.ndarray, alpha: np.ndarray) -> float:
    """Primal objective at the weights that a stands for.

    K-SVM, ``w = sum a_i y_i phi(a_i)``: ``1/2 a'Qa + C sum max(0, 1 - (Qa)_i)^p``. K-RR,
    ``w = sum a_i phi(a_i) / lambda``: ``a'Ka / (2 lambda) + ||y - K a / lambda||^2 / (2 m)``.

    Parameters
    ----------
    problem : Problem
        The problem.
    products : ndarray, shape (m,)
        ``Q a`` (K-SVM) or ``K a`` (K-RR).
    alpha : ndarray, shape (m,)
        Dual vector (a).
    """
    half_square = 0.5 * float(alpha @ products)
    if problem.is_svm:
        losses = np.maximum(1.0 - products, 0.0) ** problem.hinge.power
        return half_square + problem.hinge.C * float(losses.sum())
    penalty = problem.ridge.penalty
    misfit = problem.targets - products / penalty
    return half_square / penalty + float(misfit @ misfit) / (2 * problem.samples)


def dual_value(problem: Problem, products: np.ndarray, alpha: np.ndarray) -> float:
    """Dual objective, the negative of what is minimised.

    K-SVM: ``1'a - 1/2 a'Qa - omega/2 a'a``. K-RR: ``y'a - 1/2 a'(K/lambda + m I)a``. Parameters are those
    of `primal_value`.
    """
    half_square = 0.5 * float(alpha @ products)
    if problem.is_svm:
        # omega a first: the square of a small a underflows.
        return float(alpha.sum()) - half_square - 0.5 * float((problem.hinge.shift * alpha) @ alpha)
    own = float(alpha @ alpha)
    return (
        float(problem.targets @ alpha) - half_square / problem.ridge.penalty - 0.5 * problem.samples * own
    )


def duality_gap(problem: Problem, products: np.ndarray, alpha: np.ndarray) -> float:
    """Primal minus dual value, >= 0 for feasible a.

    With ``g = Qa - 1`` and ``h_i = max(0, -g_i)``: L1 ``sum a_i g_i + C h_i``; L2
    ``sum a_i max(g_i, 0) + C (omega a_i - h_i)^2``, in which no square of a small a underflows; K-RR
    ``||r||^2 / (2 m)`` with ``r = y - K a / lambda - m a``. Parameters are those of `primal_value`.
    """
    if not problem.is_svm:
        residual = problem.targets - products / problem.ridge.penalty - problem.samples * alpha
        return float(residual @ residual) / (2 * problem.samples)
    C, slope = problem.hinge.C, products - 1.0
    short = np.maximum(-slope, 0.0)
    if problem.hinge.power == 1:
        # a g + C h: C - a of the margin is missed where it is short, a of it is in excess elsewhere.
        return float(np.sum(np.where(slope < 0, (C - alpha) * short, alpha * slope)))
    return float(np.sum(alpha * np.maximum(slope, 0.0) + C * (problem.hinge.shift * alpha - short) ** 2))
