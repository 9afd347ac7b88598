"""K-RR in float64: solutions that a search begins from; nothing is known of their errors."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from sstep_verify.numerics.kernel_matrix import kernel_matrix
from sstep_verify.numerics.rounding import unit_roundoff
from sstep_verify.problems import Problem

FACTOR_WORDS = 60_000_000
"""Words that kept Cholesky factors may take; a factor that does not fit is made anew each time."""

MOST_SHIFTS = 60
_U = unit_roundoff("float64")


class FloatRidge:
    """``K/lambda + m I`` in float64.

    Parameters
    ----------
    problem : Problem
        The problem.
    """

    def __init__(self, problem: Problem):
        with np.errstate(over="ignore", invalid="ignore"):
            self._kernel = kernel_matrix(problem)
        self._samples = problem.samples
        self._factors: dict[float, tuple] = {}

    def solve(self, penalty: float, rhs: np.ndarray) -> np.ndarray:
        """Approximate solution of ``(K/lambda + m I) x = rhs``, shape (m,); always finite."""
        factor = self._factors.get(penalty)
        if factor is None:
            factor = self._factor(penalty)
            if (len(self._factors) + 1) * self._samples**2 <= FACTOR_WORDS:
                self._factors[penalty] = factor
        with np.errstate(over="ignore", invalid="ignore"):
            solution = scipy.linalg.cho_solve(factor, rhs, check_finite=False)
        return solution if np.isfinite(solution).all() else np.zeros(self._samples)

    def _factor(self, penalty: float) -> tuple:
        """Cholesky factor, of the matrix shifted as little as lets it exist in float64."""
        m = self._samples
        shift = 0.0
        for _ in range(MOST_SHIFTS):
            with np.errstate(over="ignore", invalid="ignore"):
                matrix = self._kernel / penalty
                diagonal = matrix.diagonal() + m
                np.fill_diagonal(matrix, diagonal + shift)
                try:
                    # The transpose is the same matrix in the order that needs no copy.
                    return scipy.linalg.cho_factor(
                        matrix.T, lower=True, overwrite_a=True, check_finite=False
                    )
                except np.linalg.LinAlgError:
                    shift = max(4 * shift, m * _U * float(diagonal.max()))
        return np.full((m, m), np.nan), True
