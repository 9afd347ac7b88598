"""What the kernel rows of a problem are summed up to, where no window is given: one pass over all entries.

A window moves a by increments of which only a weighted sum T is known (svm_windows.py, ridge_windows.py).
What row i of the kernel multiplies them to is at most ``reach_i T``, with ``reach_i`` the largest entry
of the row over the weight of its column, or, for blocks of b, the root of the sum of the b largest
squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.bounds.kernel.entries import kernel_entries
from sstep_verify.errors import InputError
from sstep_verify.numerics.rounding import (
    OUTWARD,
    gamma,
    magnitudes,
    rounded_up,
    smallest_subnormal,
    unit_roundoff,
)
from sstep_verify.problems import Problem
from sstep_verify.solver import Declaration

ENTRIES_AT_ONCE = 1 << 18
"""Kernel entries held at once: what the caches of a processor hold of the arrays made of them."""


@dataclass(frozen=True)
class RowSizes:
    """Sizes of all kernel rows, each an upper bound for the exact and the solver's entries, shape (m,).

    Parameters
    ----------
    sizes, errors : ndarray
        ``sum_l |K_il| |a_l|``, and the same of the errors of the solver's entries (delta_K).
    reach, reach_errors : ndarray
        What an increment of weighted size 1 is multiplied to at most, and by the errors of the entries.
    largest, held : ndarray
        ``max_l |K_il|`` and ``max_l |K_il| |a_l|``.
    entry_errors : ndarray
        ``max_l delta_il``.
    diagonal, diagonal_errors : ndarray
        K_ii in float64, and how far both the exact entry and the solver's may be from it.
    """

    sizes: np.ndarray
    errors: np.ndarray
    reach: np.ndarray
    reach_errors: np.ndarray
    largest: np.ndarray
    held: np.ndarray
    entry_errors: np.ndarray
    diagonal: np.ndarray
    diagonal_errors: np.ndarray


def require_judged(declaration: Declaration) -> None:
    """Refuse a solver that the bounds over all windows are not derived for.

    Raises
    ------
    InputError
        Unless a is updated in place, products are formed from kernel entries and nothing is carried.
    """
    if declaration.update != "in-place" or declaration.products != "rows" or declaration.state:
        raise InputError(
            f"the {declaration.name} solver declares update {declaration.update!r}, products "
            f"{declaration.products!r} and state {declaration.state!r}: every window is bounded only for "
            "update 'in-place', products 'rows' and no carried state"
        )


def least_diagonal(problem: Problem) -> np.ndarray:
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
    found = np.zeros((9, samples))
    step = max(ENTRIES_AT_ONCE // samples, 1)
    for begin in range(0, samples, step):
        rows = np.arange(begin, min(begin + step, samples))
        entries = kernel_entries(problem, declaration, rows)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            sizes, errors = entries.magnitude, entries.solver_error
            places = np.arange(rows.size)
            found[:, rows] = (
                sizes @ absolute,
                errors @ absolute,
                _largest_sum(sizes * weights, block),
                _largest_sum(errors * weights, block),
                sizes.max(axis=1),
                (sizes * absolute).max(axis=1),
                errors.max(axis=1),
                entries.values[places, rows],
                (entries.judge_error + errors)[places, rows],
            )
    bounded = rounded_up(found, samples + 16)
    bounded[7] = found[7]
    return RowSizes(*np.nan_to_num(bounded, nan=np.inf, posinf=np.inf))


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
