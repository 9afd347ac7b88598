"""Float64 values that all judges share: the kernel matrix, the objectives.

The kernel matrix is formed whole, or a few rows at a time where it is too large, by code apart from the
solver's own. Primal and dual values and the duality gap come from products with it. The gap is not
formed as a difference of two large values but as a sum of terms that are non-negative for feasible a,
so that it keeps its leading digits when it is small.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from typing import Any

import numpy as np
from sstep_reference import Kernel as ReferenceKernel
from sstep_reference.arithmetic import Float

from sstep_verify.problems import Kernel, LinearKernel, PolynomialKernel, Problem, RBFKernel
from sstep_verify.problems.kernels import parameters_of


def primal_value(problem: Problem, products: np.ndarray, alpha: np.ndarray) -> float:
    """Primal objective at the weights that a stands for.

    K-SVM, ``w = sum a_i y_i phi(a_i)``: ``1/2 a'Qa + C sum max(0, 1 - (Qa)_i)^p``. K-RR,
    ``w = sum a_i phi(a_i) / lambda``: ``a'Ka / (2 lambda) + ||y - K a / lambda||^2 / (2 m)``.

    Parameters
    ----------
    problem : Problem
        The problem.
    products : ndarray, shape (m,)
        ``Q a`` (K-SVM) or ``K a`` (K-RR).
    alpha : ndarray, shape (m,)
        Dual vector (a).
    """
    half_square = 0.5 * float(alpha @ products)
    if problem.is_svm:
        losses = np.maximum(1.0 - products, 0.0) ** problem.hinge.power
        return half_square + problem.hinge.C * float(losses.sum())
    penalty = problem.ridge.penalty
    misfit = problem.targets - products / penalty
    return half_square / penalty + float(misfit @ misfit) / (2 * problem.samples)


def dual_value(problem: Problem, products: np.ndarray, alpha: np.ndarray) -> float:
    """Dual objective, the negative of what is minimised.

    K-SVM: ``1'a - 1/2 a'Qa - omega/2 a'a``. K-RR: ``y'a - 1/2 a'(K/lambda + m I)a``. Parameters are those
    of `primal_value`.
    """
    half_square = 0.5 * float(alpha @ products)
    if problem.is_svm:
        # omega a first: the square of a small a underflows.
        return float(alpha.sum()) - half_square - 0.5 * float((problem.hinge.shift * alpha) @ alpha)
    own = float(alpha @ alpha)
    return (
        float(problem.targets @ alpha) - half_square / problem.ridge.penalty - 0.5 * problem.samples * own
    )


def duality_gap(problem: Problem, products: np.ndarray, alpha: np.ndarray) -> float:
    """Primal minus dual value, >= 0 for feasible a.

    With ``g = Qa - 1`` and ``h_i = max(0, -g_i)``: L1 ``sum a_i g_i + C h_i``; L2
    ``sum a_i max(g_i, 0) + C (omega a_i - h_i)^2``, in which no square of a small a underflows; K-RR
    ``||r||^2 / (2 m)`` with ``r = y - K a / lambda - m a``. Parameters are those of `primal_value`.
    """
    if not problem.is_svm:
        residual = problem.targets - products / problem.ridge.penalty - problem.samples * alpha
        return float(residual @ residual) / (2 * problem.samples)
    C, slope = problem.hinge.C, products - 1.0
    short = np.maximum(-slope, 0.0)
    if problem.hinge.power == 1:
        # a g + C h: C - a of the margin is missed where it is short, a of it is in excess elsewhere.
        return float(np.sum(np.where(slope < 0, (C - alpha) * short, alpha * slope)))
    return float(np.sum(alpha * np.maximum(slope, 0.0) + C * (problem.hinge.shift * alpha - short) ** 2))


ROWS = 512
"""Rows formed at once, so that memory stays near that of the result."""


def kernel_matrix(problem: Problem) -> np.ndarray:
    """Kernel (K) of all pairs of samples in float64, shape (m, m): fresh, exactly symmetric (8 m^2 bytes).

    Squared distances of the RBF kernel come from the norm expansion of centred data, which loses digits
    only between samples that are close compared with the spread of the data.
    """
    (data, norms), m = _points(problem), problem.samples
    if not _tabled(problem):
        return kernel_rows(problem, np.arange(m))
    matrix = np.empty((m, m))
    for begin in range(0, m, ROWS):
        end = min(begin + ROWS, m)
        block = entries_of(problem.kernel, data[begin:end] @ data[:end].T, norms[begin:end], norms[:end])
        matrix[begin:end, :end] = block
        matrix[:begin, begin:end] = block[:, :begin].T
    for begin in range(0, m, ROWS):
        corner = matrix[begin : begin + ROWS, begin : begin + ROWS]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
        if problem.kernel.of_distance:
            np.fill_diagonal(corner, 1.0)
    return matrix


def _points(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Data whose inner products the entries are formed from, and squared norms: centred for RBF, else 0."""
    if not problem.kernel.of_distance:
        return problem.dense, np.zeros(problem.samples)
    centred = problem.dense - problem.dense.mean(axis=0)
    return centred, np.einsum("ij,ij->i", centred, centred)


@singledispatch
def entries_of(kernel: Kernel, products: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Kernel entries from inner products, shape (c, k), which may be written over, and squared norms.

    The judges' table of kernels in float64: ``entries_of.register`` adds one. Entries of a kernel that is
    not in it are those of the reference, in float64 and one by one: right, and slow.
    """
    raise TypeError(f"no entries in float64 are known for {kernel}: add them to entries_of")


@entries_of.register
def _linear(kernel: LinearKernel, products: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return products


@entries_of.register
def _polynomial(
    kernel: PolynomialKernel, products: np.ndarray, left: np.ndarray, right: np.ndarray
) -> np.ndarray:
    products += kernel.offset
    return products**kernel.degree


@entries_of.register
def _rbf(kernel: RBFKernel, products: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    products *= 2
    np.subtract(left[:, None] + right, products, out=products)
    np.maximum(products, 0.0, out=products)
    products *= -kernel.sigma
    return np.exp(products, out=products)


def kernel_rows(
    problem: Problem, places: np.ndarray, points: tuple[np.ndarray, np.ndarray] | None = None
) -> np.ndarray:
    """Kernel rows of some samples in float64, shape (c, m); `points` where they were made before."""
    if not _tabled(problem):
        given: Any = problem.dense
        reference = ReferenceKernel(Float(), given, problem.kernel.name, **parameters_of(problem.kernel))
        return np.array(reference.columns(places.tolist()))
    data, norms = points or _points(problem)
    rows = entries_of(problem.kernel, data[places] @ data.T, norms[places], norms)
    if problem.kernel.of_distance:
        rows[np.arange(places.size), places] = 1.0
    return rows


def _tabled(problem: Problem) -> bool:
    """Whether a kernel stands in the table."""
    return entries_of.dispatch(type(problem.kernel)) is not entries_of.dispatch(object)


class KernelSums:
    """Sums over the kernel matrix (K) in float64, kept whole or formed `ROWS` rows at a time.

    Parameters
    ----------
    problem : Problem
        The problem.
    whole : bool
        Keep the matrix (8 m^2 bytes); else every product forms the rows it needs again, those of the
        nonzero entries of the vector, in ``8 m (n + 3 ROWS)`` bytes.
    """

    def __init__(self, problem: Problem, *, whole: bool = True):
        self._problem = problem
        self._matrix = kernel_matrix(problem) if whole else None
        self._row_sums = np.full(problem.samples, np.nan)
        self._points = None if whole else _points(problem)

    def product(self, vector: np.ndarray) -> np.ndarray:
        """``K v``, shape (m,)."""
        if self._matrix is not None:
            return self._matrix @ vector
        total = np.zeros(vector.size)
        for places, rows in self._panels(np.flatnonzero(vector)):
            total += vector[places] @ rows
            self._row_sums[places] = np.abs(rows).sum(axis=1)
        return total

    def absolute_product(self, weights: np.ndarray) -> float:
        """``sum_ij |K_ij| v_j`` for v >= 0, shape (m,); sums of rows are kept."""
        used = np.flatnonzero(weights)
        for places, rows in self._panels(used[np.isnan(self._row_sums[used])]):
            self._row_sums[places] = np.abs(rows).sum(axis=1)
        return float(self._row_sums[used] @ weights[used])

    def largest_off_diagonal(self) -> float:
        """Largest absolute entry off the diagonal; 0 if there is none."""
        largest = 0.0
        for places, rows in self._panels(np.arange(self._problem.samples)):
            absolute = np.abs(rows)
            absolute[np.arange(places.size), places] = 0.0
            largest = max(largest, float(absolute.max(initial=0.0)))
        return largest

    def _panels(self, places: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows of the matrix at some places, a few at a time."""
        for begin in range(0, places.size, ROWS):
            chunk = places[begin : begin + ROWS]
            if self._matrix is None:
                yield chunk, kernel_rows(self._problem, chunk, self._points)
            else:
                yield chunk, self._matrix[chunk]
