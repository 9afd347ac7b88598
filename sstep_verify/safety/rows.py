"""What the kernel rows of a problem are summed up to, where no window is given: one pass over all entries.

A window moves a by increments of which only a weighted sum T is known (svm_windows.py, ridge_windows.py).
What row i of the kernel multiplies them to is at most ``reach_i T``, with ``reach_i`` the largest entry
of the row over the weight of its column, or, for blocks of b, the root of the sum of the b largest
squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import (
    OUTWARD,
    gamma,
    magnitudes,
    rounded_up,
    smallest_subnormal,
    unit_roundoff,
)
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.solver import Declaration

ENTRIES_AT_ONCE = 1 << 18
"""Kernel entries held at once: what the caches of a processor hold of the arrays made of them."""


class Sums(NamedTuple):
    """What each row of a matrix of non-negative entries is summed up to, shape (m,).

    Parameters
    ----------
    product : ndarray
        Its product with the sizes of a.
    reach : ndarray
        What an increment of weighted size 1 is multiplied to at most.
    largest : ndarray
        Its largest entry.
    """

    product: np.ndarray
    reach: np.ndarray
    largest: np.ndarray


@dataclass(frozen=True)
class RowSizes:
    """Sizes of all kernel rows, each an upper bound for the exact and the solver's entries.

    Parameters
    ----------
    sizes, errors : Sums
        Of ``|K_il|``, and of the errors of the solver's entries (delta_K).
    held : ndarray, shape (m,)
        ``max_l |K_il| |a_l|``.
    diagonal, diagonal_errors : ndarray, shape (m,)
        K_ii in float64, and how far both the exact entry and the solver's may be from it.
    """

    sizes: Sums
    errors: Sums
    held: np.ndarray
    diagonal: np.ndarray
    diagonal_errors: np.ndarray


def diagonal_lower(problem: Problem) -> np.ndarray:
    """Lower bounds on the exact K_ii, shape (m,): norms and powers of non-negative terms."""
    data = problem.dense
    with np.errstate(over="ignore", under="ignore"):
        norms = (data * data).sum(axis=1) * (1.0 - gamma(problem.features + 1, unit_roundoff("float64")))
        return problem.kernel.diagonal(
            np.maximum(norms - problem.features * smallest_subnormal("float64"), 0.0)
        ) / (OUTWARD)


def row_sizes(
    problem: Problem, declaration: Declaration, alpha: np.ndarray, weights: np.ndarray, block: int = 1
) -> RowSizes:
    """Sum up all kernel rows.

    Parameters
    ----------
    problem : Problem
        The problem.
    declaration : Declaration
        Precision and formulas of the solver.
    alpha : ndarray, shape (m,)
        Dual vector (a).
    weights : ndarray, shape (m,)
        What one unit of an increment's weighted size moves each coordinate by, at most.
    block : int
        Coordinates that may share one increment (b); their squares are summed.

    Returns
    -------
    RowSizes
        Infinite where an entry is not finite.
    """
    samples, absolute = problem.samples, magnitudes(alpha)
    bounds, diagonal = np.zeros((8, samples)), np.zeros(samples)
    step = max(ENTRIES_AT_ONCE // samples, 1)
    for begin in range(0, samples, step):
        rows = np.arange(begin, min(begin + step, samples))
        entries, places = kernel_entries(problem, declaration, rows), np.arange(rows.size)
        diagonal[rows] = entries.values[places, rows]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            bounds[:, rows] = (
                *_sums(entries.magnitude, absolute, weights, block),
                *_sums(entries.solver_error, absolute, weights, block),
                (entries.magnitude * absolute).max(axis=1),
                (entries.judge_error + entries.solver_error)[places, rows],
            )
    bounds, diagonal = (
        np.nan_to_num(values, nan=np.inf, posinf=np.inf)
        for values in (rounded_up(bounds, samples + 16), diagonal)
    )
    return RowSizes(Sums(*bounds[:3]), Sums(*bounds[3:6]), bounds[6], diagonal, bounds[7])


def _sums(entries: np.ndarray, absolute: np.ndarray, weights: np.ndarray, block: int) -> Sums:
    """What rows of entries are summed up to, shape (c,) each."""
    return Sums(entries @ absolute, _largest_sum(entries * weights, block), entries.max(axis=1))


def _largest_sum(sizes: np.ndarray, block: int) -> np.ndarray:
    """Root of the sum of the b largest squares of each row, shape (c,)."""
    if block == 1:
        return sizes.max(axis=1)
    if block < sizes.shape[1]:
        sizes = np.partition(sizes, sizes.shape[1] - block, axis=1)[:, -block:]
    largest = sizes.max(axis=1, keepdims=True)
    # Divided by the largest, no square overflows, and none that underflows counts.
    shares = np.divide(sizes, largest, out=np.zeros_like(sizes), where=largest > 0.0)
    return largest[:, 0] * np.sqrt((shares * shares).sum(axis=1)) * OUTWARD
