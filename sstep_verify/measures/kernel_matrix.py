"""The kernel matrix in float64, for measures: whole, or a few rows at a time where it is too large.

Written apart from the solver's own kernel code.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sstep_verify.problems import PolynomialKernel, Problem, RBFKernel

ROWS = 512
"""Rows formed at once, so that memory stays near that of the result."""


def kernel_matrix(problem: Problem) -> np.ndarray:
    """Kernel (K) of all pairs of samples in float64.

    Squared distances of the RBF kernel come from the norm expansion of centred data, which loses
    digits only between samples that are close compared with the spread of the data.

    Parameters
    ----------
    problem : Problem
        The problem.

    Returns
    -------
    ndarray, shape (m, m)
        A fresh array, exactly symmetric (8 m^2 bytes).
    """
    data, kernel = problem.dense, problem.kernel
    m = problem.samples
    if isinstance(kernel, RBFKernel):
        data = data - data.mean(axis=0)
        norms = np.einsum("ij,ij->i", data, data)
    matrix = np.empty((m, m))
    for begin in range(0, m, ROWS):
        end = min(begin + ROWS, m)
        block = data[begin:end] @ data[:end].T
        if isinstance(kernel, PolynomialKernel):
            block = (block + kernel.offset) ** kernel.degree
        elif isinstance(kernel, RBFKernel):
            distances = np.maximum(norms[begin:end, None] + norms[:end] - 2 * block, 0.0)
            block = np.exp(-kernel.sigma * distances)
        matrix[begin:end, :end] = block
        matrix[:begin, begin:end] = block[:, :begin].T
    for begin in range(0, m, ROWS):
        corner = matrix[begin : begin + ROWS, begin : begin + ROWS]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
        if isinstance(kernel, RBFKernel):
            np.fill_diagonal(corner, 1.0)
    return matrix


def matrix_bytes(samples: int) -> int:
    """Bytes of an m x m matrix of float64."""
    return 8 * samples**2


class KernelSums:
    """Sums over the kernel matrix (K) in float64, kept whole or formed `ROWS` rows at a time.

    Parameters
    ----------
    problem : Problem
        The problem.
    whole : bool
        Keep the matrix (8 m^2 bytes); else every product forms the rows it needs anew, those of the
        nonzero entries of the vector, in ``8 m (n + 3 ROWS)`` bytes.
    """

    def __init__(self, problem: Problem, *, whole: bool = True):
        self._problem = problem
        self._matrix = kernel_matrix(problem) if whole else None
        self._row_sums = np.full(problem.samples, np.nan)
        self._data, self._norms = problem.dense, np.empty(0)
        if isinstance(problem.kernel, RBFKernel) and not whole:
            self._data = self._data - self._data.mean(axis=0)
            self._norms = np.einsum("ij,ij->i", self._data, self._data)

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
            yield chunk, self._rows(chunk) if self._matrix is None else self._matrix[chunk]

    def _rows(self, places: np.ndarray) -> np.ndarray:
        kernel, rows = self._problem.kernel, self._data[places] @ self._data.T
        if isinstance(kernel, PolynomialKernel):
            return (rows + kernel.offset) ** kernel.degree
        if isinstance(kernel, RBFKernel):
            rows *= -2
            rows += self._norms
            rows += self._norms[places, None]
            np.maximum(rows, 0.0, out=rows)
            rows *= -kernel.sigma
            np.exp(rows, out=rows)
            rows[np.arange(places.size), places] = 1.0
        return rows
