"""Primal and dual values and the duality gap in float64: series for figures, not verdicts.

The gap is not formed as a difference of two large values but as a sum of terms that are non-negative
for feasible a, so that it keeps its leading digits when it is small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.measures.kernel_matrix import KernelSums
from sstep_verify.problems import Problem

UNIT_ROUNDOFF = 2.0**-53


class Gap(NamedTuple):
    """Duality gap, primal value and dual value at one a."""

    gap: float
    primal: float
    dual: float


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
    own = float(alpha @ alpha)
    if problem.is_svm:
        return float(alpha.sum()) - half_square - 0.5 * problem.hinge.shift * own
    return (
        float(problem.targets @ alpha) - half_square / problem.ridge.penalty - 0.5 * problem.samples * own
    )


def duality_gap(problem: Problem, products: np.ndarray, alpha: np.ndarray) -> float:
    """Primal minus dual value, >= 0 for feasible a.

    With ``g = Qa - 1`` and ``h_i = max(0, -g_i)``: L1 ``sum a_i g_i + C h_i``; L2
    ``sum a_i max(g_i, 0) + (a_i - 2 C h_i)^2 / (4 C)``; K-RR ``||r||^2 / (2 m)`` with
    ``r = y - K a / lambda - m a``. Parameters are those of `primal_value`.
    """
    if not problem.is_svm:
        residual = problem.targets - products / problem.ridge.penalty - problem.samples * alpha
        return float(residual @ residual) / (2 * problem.samples)
    C, slope = problem.hinge.C, products - 1.0
    short = np.maximum(-slope, 0.0)
    if problem.hinge.power == 1:
        # a g + C h: C - a of the margin is missed where it is short, a of it is in excess elsewhere.
        return float(np.sum(np.where(slope < 0, (C - alpha) * short, alpha * slope)))
    return float(np.sum(alpha * np.maximum(slope, 0.0) + (alpha - 2 * C * short) ** 2 / (4 * C)))


def attainable_gap(problem: Problem, alpha: np.ndarray, kernel: KernelSums) -> float:
    """Gap of a K-SVM that float64 cannot be expected to get below: ``C u sum_ij |Q_ij| |a_j|``.

    Parameters
    ----------
    problem : Problem
        A K-SVM.
    alpha : ndarray, shape (m,)
        Dual vector (a) at or near the optimum.
    kernel : KernelSums
        Sums over the kernel matrix.

    Returns
    -------
    float
        In units of the objective: the rounding error of the m margins, times C.

    Raises
    ------
    InputError
        If the problem is a K-RR.
    """
    if not problem.is_svm:
        raise InputError(f"{problem.label}: attainable_gap is defined for K-SVM only")
    return problem.hinge.C * UNIT_ROUNDOFF * kernel.absolute_product(np.abs(alpha))


class GapMeasure:
    """Duality gaps of one problem, one matrix-vector product each.

    Parameters
    ----------
    problem : Problem
        The problem.
    kernel : KernelSums, optional
        Sums over its kernel matrix; without, the matrix is formed and kept (8 m^2 bytes).
    """

    def __init__(self, problem: Problem, kernel: KernelSums | None = None):
        self.problem = problem
        self._kernel = kernel or KernelSums(problem)

    def __call__(self, alpha: np.ndarray) -> Gap:
        """Gap, primal and dual value at a dual vector of shape (m,)."""
        products = self.products(alpha)
        return Gap(
            duality_gap(self.problem, products, alpha),
            primal_value(self.problem, products, alpha),
            dual_value(self.problem, products, alpha),
        )

    def products(self, alpha: np.ndarray) -> np.ndarray:
        """``Q a`` (K-SVM) or ``K a`` (K-RR), shape (m,)."""
        if not self.problem.is_svm:
            return self._kernel.product(alpha)
        labels = self.problem.targets
        return labels * self._kernel.product(labels * alpha)

    def attainable(self, alpha: np.ndarray) -> float:
        """`attainable_gap` at a dual vector of a K-SVM."""
        return attainable_gap(self.problem, alpha, self._kernel)
