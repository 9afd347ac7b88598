"""Every window of a problem: kernel rows summed up, a bound on increments that confirms itself.

A window moves a by increments of which only a weighted sum T is known (safety/windows.py).
What row i of the kernel multiplies them to is at most ``reach_i T``, with ``reach_i`` the largest entry
of the row over the weight of its column, or, for blocks of b, the root of the sum of the b largest
squares.

What a step loses at most, l, and by how much its unclipped value is off, e, follow from a bound R on
the weighted sum T of the sizes of a window's increments (safety/windows.py), and T follows from l and
e: over t steps

    T <= sqrt(t) (sqrt(2 g + 2 t l) + sqrt(t) w),

g a bound on the gap where the window begins and w on the weighted size of e; K-RR has ``w = sqrt(2
l)``. R bounds T as soon as the l and w that follow from ``T <= R`` give ``T <= R`` again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import (
    ROUND_UP,
    gamma,
    magnitudes,
    rounded_up,
    smallest_subnormal,
    unit_roundoff,
)
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.rounding.rows import some_rows


class Sums(NamedTuple):
    """What each row of a matrix of non-negative entries is summed up to, shape (m,).

    Its product with the sizes of alpha; what an increment of weighted size 1 is multiplied to at most, its
    `reach`; its largest entry.
    """

    product: np.ndarray
    reach: np.ndarray
    largest: np.ndarray


@dataclass(frozen=True)
class RowSizes:
    """Sizes of all kernel rows, each an upper bound for the exact and the solver's entries.

    `sizes` are those of ``|K_il|``, `errors` those of the errors of the solver's entries (delta_K). Of
    shape (m,): `held`, ``max_l |K_il| |a_l|``; the diagonal, K_ii in float64, and how far both the exact
    entry and the solver's may be from it.
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
        ) / (ROUND_UP)


def row_sizes(
    problem: Problem, declaration: Declaration, alpha: np.ndarray, weights: np.ndarray, block: int = 1
) -> RowSizes:
    """Sum up all kernel rows; infinite where an entry is not finite.

    `weights`, shape (m,), is what one unit of an increment's weighted size moves each coordinate by, at
    most; `block` coordinates may share one increment (b), and their squares are summed.
    """
    samples, absolute = problem.samples, magnitudes(alpha)
    bounds, diagonal = np.zeros((8, samples)), np.zeros(samples)
    for rows in some_rows(samples):
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
    return largest[:, 0] * np.sqrt((shares * shares).sum(axis=1)) * ROUND_UP


ROUNDS = 60
"""Attempts to find a bound on the increments that confirms itself."""

GROWTH = 1.0 + 2.0**-10
"""Factor by which the bound is taken larger than what follows from the one before."""


class EveryWindow:
    """Every window of a problem from one vector (a), whose duality gap is g at most, in blocks of b.

    The solver updates in place from kernel entries; an InputError says that its declaration is another.
    """

    def __init__(
        self, problem: Problem, declaration: Declaration, alpha: np.ndarray, gap: float, block: int = 1
    ):
        if (
            declaration.update != "in-place"
            or declaration.products != "rows"
            or declaration.weights is not None
        ):
            raise InputError(
                f"the {declaration.name} solver declares update {declaration.update!r}, products "
                f"{declaration.products!r} and weights {declaration.weights!r}: every window is bounded "
                "only for update 'in-place', products 'rows' and no weights"
            )
        self._declaration, self._gap, self._block = declaration, max(gap, 0.0), block
        self._samples, self._start = problem.samples, magnitudes(alpha)
        self._support = int(np.count_nonzero(alpha))

    def loss(self, s: int, width: int | None = None) -> float:
        """Bound on what s steps may lose of the objective; infinite where nothing can be promised.

        The width is that of a window, if not all of them are one: 1 for the same number of classical steps.
        """
        width = width or s
        # A window that does not begin at `alpha` itself may find other coordinates moved.
        support = self._support if width == s else min(self._support + s * self._block, self._samples)
        box = self._box(s)
        moved = min(math.sqrt(2.0 * s * self._gap) * ROUND_UP, box)
        longest = self._longest(math.sqrt(2.0 * self._gap), 0.0)
        for _ in range(ROUNDS):
            step, error = self._step(support, width, moved, longest)
            loss = float(rounded_up(s * step))
            if not loss < math.inf:
                return math.inf
            fallen = math.sqrt(2.0 * self._gap + 2.0 * loss)
            follows = min(math.sqrt(s) * (fallen + math.sqrt(s) * error) * ROUND_UP, box)
            single = self._longest(fallen, error)
            if follows <= moved and single <= longest:
                return loss
            moved, longest = follows * GROWTH, single * GROWTH
        return math.inf

    def _box(self, s: int) -> float:
        """Bound on the weighted sum of all increments that holds whatever they are."""
        return math.inf

    def _longest(self, fallen: float, error: float) -> float:
        """Largest weighted size of one increment, f having fallen by ``fallen^2 / 2``; 0 where unused."""
        return 0.0

    def _step(self, support: int, width: int, moved: float, longest: float) -> tuple[float, float]:
        """Largest loss of a step and largest weighted error of an unclipped value.

        It is one in a window of so many; `support` values of alpha are no 0. Increments of weighted size
        `moved` are made before it, the largest of them of size `longest`.
        """
        raise NotImplementedError
