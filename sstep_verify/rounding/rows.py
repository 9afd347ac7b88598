"""What the steps of a run are given: kernel rows with bounds on their errors.

What is left of delta_K where a panel of mistaken rows stands instead of the kernel (`panel_entries`):
a window that is replayed over it multiplies row i of it in every step on coordinate i. The panel need not
be symmetric, and between two coordinates of the window a solver may read either of ``K_ij`` and ``K_ji``,
so the entry it used is off by at most ``|K_ij - K_ji|``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.problems import Problem
from sstep_verify.problems.losses import Dual
from sstep_verify.rounding.arithmetic import (
    ROUND_UP,
    magnitudes,
    rounded_up,
    smallest_subnormal,
)
from sstep_verify.rounding.samples import Samples, absolute_products, sample_sizes

ENTRIES_AT_ONCE = 1 << 18
"""Kernel entries held at once: what the caches of a processor hold of the arrays made of them."""


def some_rows(samples: int) -> Iterator[np.ndarray]:
    """All of so many samples, at a time as many as have `ENTRIES_AT_ONCE` kernel entries."""
    step = max(ENTRIES_AT_ONCE // samples, 1)
    for begin in range(0, samples, step):
        yield np.arange(begin, min(begin + step, samples))


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
    problem: Problem, declaration: Declaration, rows: np.ndarray, data: Samples
) -> FactoredProducts | None:
    """Products formed from the samples, shape (m, n); None unless kernel and declaration allow that."""
    if not may_factor(problem, declaration):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = rounded_up(absolute_products(data, rows), problem.features + 16)
        lengths, heights = sample_sizes(data)
        return FactoredProducts(sizes, lengths[rows] * ROUND_UP, heights, problem.features)


def may_factor(problem: Problem, declaration: Declaration) -> bool:
    """Whether a solver may form ``K v`` as ``A (A' v)``, as one that maintains weights always does."""
    rows = declaration.products == "rows" and declaration.weights is None
    return problem.kernel.linear and not rows


def largest_sample_sizes(problem: Problem) -> tuple[float, float]:
    """Largest ``sum_k |x_ik|`` and ``|x_ik|`` of the samples."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths, heights = sample_sizes(problem.data)
        return float(lengths.max(initial=0.0)) * ROUND_UP, float(heights.max(initial=0.0))


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
            return (np.abs(self.values) + self.judge_error + self.solver_error) * ROUND_UP

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
        """Roundings of such a term besides those of a sum of products with entries."""
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
            smallest_subnormal(precision) * ROUND_UP
        )


def joined(parts: list[KernelEntries]) -> KernelEntries:
    """The rows of some parts, one after the other."""
    first = parts[0].factored
    values = np.concatenate([part.values for part in parts])
    judge_error = np.concatenate([part.judge_error for part in parts])
    solver_error = np.concatenate([part.solver_error for part in parts])
    if first is None:
        return KernelEntries(values, judge_error, solver_error)
    factored = [part.factored for part in parts if part.factored is not None]
    sizes = np.concatenate([one.sizes for one in factored])
    lengths = np.concatenate([one.lengths for one in factored])
    products = FactoredProducts(sizes, lengths, first.heights, first.features)
    return KernelEntries(values, judge_error, solver_error, products)


def panel_entries(rows: np.ndarray, places: np.ndarray) -> KernelEntries:
    """Entries of a panel's rows, shape (c, m), of the window's distinct coordinates, with bounds.

    `judge_error` is the rounding of a longdouble panel to float64, `solver_error` the asymmetry.
    """
    exact = rows if rows.dtype == np.longdouble else rows.astype(np.float64)
    values = exact.astype(np.float64)
    solver_error = np.zeros(values.shape)
    with np.errstate(over="ignore"):
        between = exact[:, places]
        solver_error[:, places] = magnitudes(between - between.T) * ROUND_UP
    return KernelEntries(values, magnitudes(exact - values), solver_error)


class CompiledRows(NamedTuple):
    """Rows of K, of the samples that are drawn.

    Parameters
    ----------
    values, judge_error, solver_error, terms : ndarray, shape (r, m)
        Entries in float64; what these and what the solver's are off by; sizes of the terms that the
        solver's products with them are summed from.
    underflow : ndarray, shape (r,)
        What products of a row that underflow cost a gradient of the solver.
    heights : ndarray, shape (m,)
        What an entry of A'v grows by at most for a number that multiplies a sample.
    labels, linear : ndarray, shape (m,)
        Labels (y) or ones, and the linear term of the dual.
    """

    values: np.ndarray
    judge_error: np.ndarray
    solver_error: np.ndarray
    terms: np.ndarray
    underflow: np.ndarray
    heights: np.ndarray
    labels: np.ndarray
    linear: np.ndarray


@np.errstate(over="ignore", invalid="ignore")
def compiled_rows(entries: KernelEntries, precision: str, width: int, dual: Dual) -> CompiledRows:
    """Kernel rows for windows of `width` steps; one that is not finite promises nothing.

    A product for each entry of a, two for each step (correction and its own shift), and at most 6 in the
    constant, the shift and the curvature may underflow.
    """
    underflow = entries.underflow_error(entries.values.shape[1] + width, precision) + (
        width + 6
    ) * smallest_subnormal(precision)
    terms = entries.term_sizes
    usable = np.isfinite(terms).all(axis=1)
    terms[~usable] = np.inf
    rows = entries.values, entries.judge_error, entries.solver_error, terms
    signs, linear = (np.broadcast_to(one, entries.heights.shape) for one in (dual.signs, dual.linear))
    parts = (*rows, np.full(usable.shape, underflow), entries.heights, signs, linear)
    return CompiledRows(*(np.ascontiguousarray(part, dtype=np.float64) for part in parts))
