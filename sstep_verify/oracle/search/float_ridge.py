"""K-RR in float64, with a proved bound on how far its residuals are from the exact kernel's."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from sstep_verify.bounds.kernel.entries import kernel_entries
from sstep_verify.numerics.rounding import OUTWARD, gamma, unit_roundoff
from sstep_verify.problems import Problem
from sstep_verify.solver import Declaration

ROWS = 256
"""Kernel rows formed at once."""

FACTOR_WORDS = 60_000_000
"""Words that kept Cholesky factors may take; a factor that does not fit is made anew each time."""

MOST_SHIFTS = 60
_U = unit_roundoff("float64")


class FloatRidge:
    """``K/lambda + m I`` in float64: solves, and bounds on residuals with respect to the exact kernel.

    Parameters
    ----------
    problem : Problem
        The problem.

    Attributes
    ----------
    kernel_error, kernel_norm : float
        Upper bounds on the Frobenius norms of ``K - computed K`` and of the computed K.
    """

    def __init__(self, problem: Problem):
        m = problem.samples
        own = Declaration("oracle", rbf="difference")
        self._kernel = np.empty((m, m))
        squares_error = squares = 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for begin in range(0, m, ROWS):
                rows = np.arange(begin, min(begin + ROWS, m))
                entries = kernel_entries(problem, own, rows)
                self._kernel[rows] = entries.values
                squares_error += float(np.sum(entries.own**2))
                squares += float(np.sum(entries.values**2))
        # Squares below the smallest number are lost: at most 2**-1074 each.
        lost = m * m * 2.0**-1074
        self.kernel_error = float(np.sqrt(squares_error + lost)) * OUTWARD
        self.kernel_norm = float(np.sqrt(squares + lost)) * OUTWARD
        self._samples = m
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

    def residual_bound(self, penalty: float, rhs: np.ndarray, change: np.ndarray) -> float:
        """Upper bound on ``||rhs - M change||_2`` for the exact matrix M.

        The product with the computed kernel errs by at most ``gamma_m ||K||_F ||change||``, the error of
        the computed kernel adds ``||E||_F ||change||``, and four more roundings touch each entry.
        """
        m = self._samples
        with np.errstate(over="ignore", invalid="ignore"):
            residual = rhs - (self._kernel @ change) / penalty - m * change
            length = float(np.linalg.norm(change)) * OUTWARD
            reach = self.kernel_norm * length / penalty + m * length + float(np.linalg.norm(rhs)) * OUTWARD
            kernel = self.kernel_error * length / penalty
            bound = float(np.linalg.norm(residual)) + gamma(m + 4, _U) * reach * OUTWARD + kernel
        underflow = m * m * 2.0**-1022 * (1 + 1 / penalty)
        return (bound + underflow) * OUTWARD if bound == bound else np.inf

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
