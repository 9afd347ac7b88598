"""Products with kernel rows of the linear kernel that a solver forms from the samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import OUTWARD, rounded_up
from sstep_verify.solver import Declaration


@dataclass(frozen=True)
class FactoredProducts:
    """What forming ``K v`` as ``A (A' v)`` may cost, for some rows of K.

    Parameters
    ----------
    sizes : ndarray, shape (c, m)
        Bound on ``|x_i|'|x_l|``.
    lengths : ndarray, shape (c,)
        Bound on ``sum_k |x_ik|``.
    heights : ndarray, shape (m,)
        ``max_k |x_lk|``.
    features : int
        Number of features (n).
    """

    sizes: np.ndarray
    lengths: np.ndarray
    heights: np.ndarray
    features: int

    def at(self, rows) -> FactoredProducts:
        """The same for some of the rows."""
        return FactoredProducts(self.sizes[rows], self.lengths[rows], self.heights, self.features)


def factored_products(
    problem: Problem, declaration: Declaration, rows: np.ndarray
) -> FactoredProducts | None:
    """Products formed from the samples; None unless kernel and declaration allow that."""
    if not may_factor(problem, declaration):
        return None
    data = np.abs(problem.dense)
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = rounded_up(data[rows] @ data.T, problem.features + 16)
        lengths = data[rows].sum(axis=1) * OUTWARD
        return FactoredProducts(sizes, lengths, data.max(axis=1, initial=0.0), problem.features)


def may_factor(problem: Problem, declaration: Declaration) -> bool:
    """Whether a solver may form ``K v`` as ``A (A' v)``, as one that carries the weights always does."""
    rows = declaration.products == "rows" and "weights" not in declaration.state
    return problem.kernel.linear and not rows


def longest_sample(problem: Problem) -> tuple[float, float]:
    """Largest ``sum_k |x_ik|`` and ``|x_ik|`` of the samples."""
    data = np.abs(problem.dense)
    with np.errstate(over="ignore", invalid="ignore"):
        return float(data.sum(axis=1).max(initial=0.0)) * OUTWARD, float(data.max(initial=0.0))
