"""Kernel rows in float64 with bounds on their errors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.rounding.arithmetic import (
    OUTWARD,
    smallest_subnormal,
)
from sstep_verify.rounding.kernel.factored import FactoredProducts


@dataclass(frozen=True)
class KernelEntries:
    """Float64 kernel rows with two error bounds.

    Parameters
    ----------
    values : ndarray, shape (c, m)
        Kernel entries in float64, by formulas of rounding/kernel/entries.py.
    judge_error : ndarray, shape (c, m)
        Bound on ``|values - exact|``.
    solver_error : ndarray, shape (c, m)
        Bound on ``|entry of the solver - exact|`` (delta_K) for the declared formulas.
    factored : FactoredProducts, optional
        Where products of these rows may be formed from the samples; None where from entries only.
    """

    values: np.ndarray
    judge_error: np.ndarray
    solver_error: np.ndarray
    factored: FactoredProducts | None = None

    @property
    def magnitude(self) -> np.ndarray:
        """Bound on the absolute value of both the exact and the solver's entries, shape (c, m)."""
        with np.errstate(over="ignore", invalid="ignore"):
            return (np.abs(self.values) + self.judge_error + self.solver_error) * OUTWARD

    def at(self, rows) -> KernelEntries:
        """The same for some of the rows."""
        factored = None if self.factored is None else self.factored.at(rows)
        return KernelEntries(self.values[rows], self.judge_error[rows], self.solver_error[rows], factored)

    def among(self, columns: np.ndarray) -> KernelEntries:
        """The same rows at some columns only, for entries alone."""
        return KernelEntries(
            self.values[:, columns], self.judge_error[:, columns], self.solver_error[:, columns]
        )

    @property
    def term_sizes(self) -> np.ndarray:
        """Bound on the size of the terms that an entry's product with a number is summed from, (c, m)."""
        return self.magnitude if self.factored is None else np.maximum(self.magnitude, self.factored.sizes)

    @property
    def more_roundings(self) -> int:
        """Roundings of such a term beside those of a sum of products with entries."""
        return 0 if self.factored is None else self.factored.features

    @property
    def heights(self) -> np.ndarray:
        """What an entry of A'v grows by at most for a number that multiplies each sample, shape (m,)."""
        return np.zeros(self.values.shape[1]) if self.factored is None else self.factored.heights

    def underflow_error(self, products: int, precision: str) -> np.ndarray | float:
        """Bound on what underflow costs a sum of products of entries with numbers, shape (c,).

        Parameters
        ----------
        products : int
            Number of products.
        precision : str
            Precision of the solver.
        """
        if self.factored is None:
            return products * smallest_subnormal(precision)
        return (products * self.factored.lengths + products + self.factored.features) * (
            smallest_subnormal(precision) * OUTWARD
        )
