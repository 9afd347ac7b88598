"""The kernel matrix in float64, for measures; written apart from the solver's own kernel code."""

from __future__ import annotations

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
