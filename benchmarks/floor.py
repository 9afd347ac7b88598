"""The floor: panel product and kernel function alone, with nothing of the algorithm around them.

No solver that forms its panels by BLAS can be faster; the kernel function is taken from the faster of a
NumPy and a compiled version, each as fast as it could be written.
"""

from __future__ import annotations

import numba
import numpy as np

from sstep_verify.problems import PolynomialKernel, Problem, RBFKernel


@numba.njit
def compiled_power(panel, degree, offset):
    """Raise the entries of a panel in place, one pass."""
    for row in range(panel.shape[0]):
        for column in range(panel.shape[1]):
            base = panel[row, column] + offset
            value = base
            for _ in range(degree - 1):
                value *= base
            panel[row, column] = value


@numba.njit
def compiled_exponents(panel, columns, norms, sigma):
    """Replace inner products by RBF exponents in place, one pass."""
    for row in range(panel.shape[0]):
        own = norms[columns[row]]
        for column in range(panel.shape[1]):
            panel[row, column] = -sigma * max(own + norms[column] - 2.0 * panel[row, column], 0.0)


class Floor:
    """Forms the kernel panels of given windows and throws them away.

    Parameters
    ----------
    problem : Problem
        Gives data and kernel; dense data.
    windows : list of ndarray of int64
        Distinct coordinates of each window.
    compiled : bool
        Kernel function in a compiled loop or in NumPy expressions.
    """

    def __init__(self, problem: Problem, windows: list[np.ndarray], compiled: bool):
        self._data, self._kernel, self._compiled = problem.dense, problem.kernel, compiled
        self._norms = np.einsum("ij,ij->i", problem.dense, problem.dense)
        self._windows = windows
        self._panel = np.empty((max(window.size for window in windows), problem.samples))

    def __call__(self, count: int) -> None:
        """Form the panels of the first `count` windows."""
        data, transposed = self._data, self._data.T
        for columns in self._windows[:count]:
            panel = self._panel[: columns.size]
            if columns.size == 1:
                np.dot(data, data[columns[0]], out=panel[0])
            else:
                np.dot(data[columns], transposed, out=panel)
            self._apply(panel, columns)

    def _apply(self, panel: np.ndarray, columns: np.ndarray) -> None:
        kernel = self._kernel
        if isinstance(kernel, RBFKernel):
            if self._compiled:
                compiled_exponents(panel, columns, self._norms, kernel.sigma)
            else:
                np.multiply(panel, 2.0 * kernel.sigma, out=panel)
                np.subtract(panel, kernel.sigma * self._norms[columns, None], out=panel)
                np.subtract(panel, kernel.sigma * self._norms, out=panel)
                np.minimum(panel, 0.0, out=panel)
            np.exp(panel, out=panel)
        elif isinstance(kernel, PolynomialKernel):
            if self._compiled:
                compiled_power(panel, kernel.degree, kernel.offset)
            else:
                base = panel + kernel.offset
                np.multiply(base, base, out=panel)
                for _ in range(kernel.degree - 2):
                    np.multiply(panel, base, out=panel)
