"""Relative solution error against a known optimum: a series for figures."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sstep_verify.numerics.rounding import norm


class KnownOptimum(Protocol):
    """What `ErrorMeasure` needs of an optimum: its centre and the proved relative error of that."""

    @property
    def alpha(self) -> np.ndarray:
        """Solution, shape (m,)."""

    @property
    def relative(self) -> float:
        """Bound on its error over its norm."""


def relative_error(alpha: np.ndarray, optimum: np.ndarray) -> float:
    """``||a - a*||_2 / ||a*||_2``; where a* is 0: 0 if a is 0, else infinite.

    Parameters
    ----------
    alpha, optimum : ndarray, shape (m,)
        Dual vector (a) and solution (a*).
    """
    distance, size = norm(alpha - optimum), norm(optimum)
    if size == 0:
        return 0.0 if distance == 0 else float("inf")
    return distance / size


class ErrorMeasure:
    """Relative solution errors with respect to one optimum.

    Parameters
    ----------
    optimum : RidgeOptimum or another optimum with `alpha` and `relative`
        The solution.

    Attributes
    ----------
    floor : float
        Relative error of the optimum itself; smaller values of the measure mean nothing.
    """

    def __init__(self, optimum: KnownOptimum):
        self._optimum = optimum.alpha
        self.floor = optimum.relative

    def __call__(self, alpha: np.ndarray) -> float:
        """Relative error of a dual vector of shape (m,)."""
        return relative_error(alpha, self._optimum)
