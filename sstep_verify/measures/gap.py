"""Duality gaps of one problem in float64, and what float64 can attain: series for figures, not verdicts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.numerics.kernel_matrix import KernelSums
from sstep_verify.numerics.objective import dual_value, duality_gap, primal_value
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import unit_roundoff


class Gap(NamedTuple):
    """Duality gap, primal value and dual value at one a."""

    gap: float
    primal: float
    dual: float


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
        signs = self.problem.signs
        return signs * self._kernel.product(signs * alpha)

    def attainable(self, alpha: np.ndarray) -> float:
        """Gap of a K-SVM that float64 cannot be expected to get below: ``C u sum_ij |Q_ij| |a_j|``.

        The rounding error of the m margins at an a of shape (m,) near the optimum, times C.

        Raises
        ------
        InputError
            If the problem is a K-RR.
        """
        if not self.problem.is_svm:
            raise InputError(f"{self.problem.label}: attainable_gap is defined for K-SVM only")
        sums = self._kernel.absolute_product(np.abs(alpha))
        return self.problem.hinge.C * unit_roundoff("float64") * sums
