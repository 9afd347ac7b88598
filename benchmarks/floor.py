"""The floor: panel product and kernel function alone, with nothing of the algorithm around them; and above
it `numpy_loop`, the solver one would write in plain NumPy.

No solver that forms its panels by BLAS, or by scattering stored columns, can be faster; the kernel function
is taken from the faster of a NumPy and a compiled version, each as fast as it could be written.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
import scipy.sparse as sp

from sstep_verify.problems import Kernel, PolynomialKernel, Problem, RBFKernel


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
def compiled_exponents(panel, own, norms, sigma):
    """Replace inner products by RBF exponents in place, one pass."""
    for row in range(panel.shape[0]):
        for column in range(panel.shape[1]):
            panel[row, column] = -sigma * max(own[row] + norms[column] - 2.0 * panel[row, column], 0.0)


@numba.njit
def compiled_scatter(indptr, indices, values, ends, rows, entries, sampled, panel):
    """Inner products of sampled sparse rows with all rows, column after column of those they touch."""
    for place in range(sampled.size):
        out = panel[place]
        out[:] = 0.0
        for entry in range(indptr[sampled[place]], indptr[sampled[place] + 1]):
            feature, value = indices[entry], values[entry]
            for other in range(ends[feature], ends[feature + 1]):
                out[rows[other]] += value * entries[other]


@numba.njit
def compiled_inner_products(indptr, indices, values, sampled, scratch, weights, gram, products):
    """Inner products among sampled sparse rows, one spread out at a time in `scratch`, which stays zero."""
    for place in range(sampled.size):
        begin, end = indptr[sampled[place]], indptr[sampled[place] + 1]
        products[place] = 0.0
        for entry in range(begin, end):
            scratch[indices[entry]] = values[entry]
            products[place] += values[entry] * weights[indices[entry]]
        for other in range(place, sampled.size):
            total = 0.0
            for entry in range(indptr[sampled[other]], indptr[sampled[other] + 1]):
                total += values[entry] * scratch[indices[entry]]
            gram[place, other] = total
            gram[other, place] = total
        for entry in range(begin, end):
            scratch[indices[entry]] = 0.0


class Products:
    """Panel products of some columns of the data, dense or CSR, shape (m, n_local), and nothing else."""

    def __init__(self, data: np.ndarray | sp.csr_array):
        self._data, self._sparse = data, sp.issparse(data)
        if self._sparse:
            # Unsigned: no compiled code for negative indices, which count from the end.
            by_row, by_column = (
                (part.indptr.astype(np.uint64), part.indices.astype(np.uint32), part.data)
                for part in (data, data.tocsc())
            )
            self._rows, self._columns = by_row, by_column
        # Ones, for zeros that are never written take no memory and are read from cache.
        self._scratch, self._weights = np.zeros(data.shape[1]), np.ones(data.shape[1])

    def panel(self, columns: np.ndarray, panel: np.ndarray) -> None:
        """Inner products of the samples `columns` with all samples, into `panel`, shape (c, m)."""
        if self._sparse:
            compiled_scatter(*self._rows, *self._columns, columns, panel)
        elif columns.size == 1:
            np.dot(self._data, self._data[columns[0]], out=panel[0])
        else:
            np.dot(self._data[columns], self._data.T, out=panel)

    def gram(self, columns: np.ndarray, gram: np.ndarray, products: np.ndarray) -> None:
        """Inner products of the samples `columns` (c, c), and theirs with some weights (c,)."""
        if self._sparse:
            compiled_inner_products(*self._rows, columns, self._scratch, self._weights, gram, products)
        else:
            sampled = self._data[columns]
            np.dot(sampled, sampled.T, out=gram)
            np.dot(sampled, self._weights, out=products)


def apply_kernel(
    kernel: Kernel, panel: np.ndarray, own: np.ndarray, norms: np.ndarray, compiled: bool
) -> None:
    """Apply a kernel function to inner products of c samples with k, shape (c, k), in place.

    Own and norms are their squared norms, (c,) and (k,); in a compiled loop or in NumPy expressions.
    """
    if isinstance(kernel, RBFKernel):
        if compiled:
            compiled_exponents(panel, own, norms, kernel.sigma)
        else:
            np.multiply(panel, 2.0 * kernel.sigma, out=panel)
            np.subtract(panel, kernel.sigma * own[:, None], out=panel)
            np.subtract(panel, kernel.sigma * norms, out=panel)
            np.minimum(panel, 0.0, out=panel)
        np.exp(panel, out=panel)
    elif isinstance(kernel, PolynomialKernel):
        if compiled:
            compiled_power(panel, kernel.degree, kernel.offset)
        else:
            base = panel + kernel.offset
            np.multiply(base, base, out=panel)
            for _ in range(kernel.degree - 2):
                np.multiply(panel, base, out=panel)


def distinct(blocks: np.ndarray, s: int) -> list[np.ndarray]:
    """Distinct coordinates of whole windows of drawn blocks, (H, b), in order of first draw.

    That is how the solver asks for them.
    """
    windows = blocks.reshape(blocks.shape[0] // s, -1).tolist()
    return [np.array(list(dict.fromkeys(window))) for window in windows]


def panels(problem: Problem, windows: list[np.ndarray], compiled: bool) -> Callable[[int], None]:
    """What forms the kernel panels of the first so many windows, by their distinct coordinates.

    They are thrown away. Data are dense; kernel functions in a compiled loop or in NumPy expressions.
    """
    products, data = Products(problem.dense), problem.dense
    norms = np.einsum("ij,ij->i", data, data)
    whole = np.empty((max(window.size for window in windows), problem.samples))

    def form(count: int) -> None:
        for columns in windows[:count]:
            panel = whole[: columns.size]
            products.panel(columns, panel)
            apply_kernel(problem.kernel, panel, norms[columns], norms, compiled)

    return form


def kernel_rows(kernel: Kernel, data: np.ndarray, norms: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Kernel rows of some samples, shape (c, m), in NumPy expressions."""
    products = data[columns] @ data.T
    if isinstance(kernel, RBFKernel):
        distances = norms[columns, None] + norms - 2.0 * products
        return np.exp(-kernel.sigma * np.maximum(distances, 0.0))
    if isinstance(kernel, PolynomialKernel):
        return (products + kernel.offset) ** kernel.degree
    return products


def numpy_loop(problem: Problem, blocks: np.ndarray, s: int) -> np.ndarray:
    """Run s-step DCD or BDCD from a = 0 on drawn blocks (H, b), vectorised, with no compiled loop.

    Returns the dual vector after H iterations, shape (m,); the data are dense.
    """
    data, norms = problem.dense, np.einsum("ij,ij->i", problem.dense, problem.dense)
    alpha = np.zeros(problem.samples)
    window_of = _svm_window if problem.is_svm else _ridge_window
    for begin in range(0, blocks.shape[0], s):
        window = blocks[begin : begin + s]
        columns, positions = np.unique(window, return_inverse=True)
        panel = kernel_rows(problem.kernel, data, norms, columns)
        window_of(problem, panel, positions.reshape(window.shape), window, alpha)
    return alpha


def _svm_window(problem: Problem, panel, positions, window, alpha) -> None:
    labels, draws, rows = problem.targets, window[:, 0], positions[:, 0]
    shift, upper = problem.hinge.shift, problem.hinge.upper
    signs = labels[draws]
    gradient = signs * (panel @ (labels * alpha))[rows] - 1.0
    coupling = panel[rows][:, draws] * signs[:, None] * signs
    curvature = coupling.diagonal() + shift
    for place, i in enumerate(draws):
        slope = gradient[place] + shift * alpha[i]
        new = upper if curvature[place] == 0 else min(max(alpha[i] - slope / curvature[place], 0.0), upper)
        gradient[place + 1 :] += coupling[place, place + 1 :] * (new - alpha[i])
        alpha[i] = new


def _ridge_window(problem: Problem, panel, positions, window, alpha) -> None:
    samples, penalty = problem.samples, problem.ridge.penalty
    for rows, block in zip(positions, window, strict=True):
        own = panel[rows]
        system = own[:, block] / penalty
        system[np.diag_indices(block.size)] += samples
        rhs = problem.targets[block] - samples * alpha[block] - own @ alpha / penalty
        alpha[block] += np.linalg.solve(system, rhs)
