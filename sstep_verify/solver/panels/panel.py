"""Kernel rows of sampled coordinates: a rank's share of the sums, and their kernel function, in place.

Kernel functions are applied after the reduction over features, never before it: a nonlinear function of a
partial sum is not a partial sum of the function.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from sstep_verify.compiled import compiled
from sstep_verify.problems import Kernel, LinearKernel, PolynomialKernel, RBFKernel
from sstep_verify.solver.packet import Packet
from sstep_verify.solver.panels.differences import DenseDifferences, SparseDifferences, differences_of
from sstep_verify.solver.panels.products import RangedProducts, SparseProducts, products_of


class Panel:
    """Forms panels: `partial` before the reduction, `finish` after it.

    `data`, (m, n_local): this rank's columns of the data; `rbf`, {"norm-expansion", "difference"}: how
    squared distances of the RBF kernel are formed; `rows`: largest number of rows asked for at once;
    `packet`: reduces the squared norms of the samples where the kernel needs them: one collective of m
    words. Attributes `samples`, `words`: number of samples (m); stored values of this rank's columns;
    `ranged`: whether the sums with some neighbouring samples are formed without those with the others.
    """

    def __init__(
        self, data: np.ndarray | sp.csr_array, kernel: Kernel, rbf: str, rows: int, packet: Packet
    ):
        self.samples, self.words = data.shape[0], data.size
        self._sums, self._function, _ = sums_of(data, kernel, rbf, rows, packet)
        self.ranged = isinstance(self._sums, RangedProducts)

    def partial(self, panel: np.ndarray, columns: np.ndarray) -> None:
        """Write this rank's share of the sums for the rows of `columns`, into `panel`, shape (c, m)."""
        self._sums.into(panel, columns)

    def part(self, panel: np.ndarray, columns: np.ndarray, first: int, last: int) -> None:
        """The same with samples first, ..., last - 1 only, shape (c, last - first); where `ranged`."""
        assert isinstance(self._sums, RangedProducts)
        self._sums.into(panel, columns, first, last)

    def finish(self, panel: np.ndarray, columns: np.ndarray, first: int = 0) -> None:
        """Kernel values of the sums, in place; panel (c, k) holds samples first, ..., first + k - 1."""
        self._function.apply(panel, columns, first)


Sums = RangedProducts | SparseProducts | DenseDifferences | SparseDifferences
"""What forms a rank's share of the sums of whole rows."""


def sums_of(
    data: np.ndarray | sp.csr_array, kernel: Kernel, rbf: str, rows: int, packet: Packet
) -> tuple[Sums, KernelFunction, np.ndarray | None]:
    """Choose how sums are formed and the function of them; parameters as of `Panel`.

    Returns what forms the sums, the function of them, and the squared norms, (m,), that it holds, if any.
    """
    if kernel.of_distance and rbf == "difference":
        return differences_of(data), distance_function_of(kernel), None
    products, samples = products_of(data, rows), data.shape[0]
    reduced: list[np.ndarray] = []

    def squared_norms() -> np.ndarray:
        packet.payload(samples)[:] = products.squared_norms()
        packet.reduce(samples)
        reduced.append(packet.payload(samples).copy())
        return reduced[0]

    function = kernel_function_of(kernel, samples, squared_norms)
    return products, function, reduced[0] if reduced else None


class KernelFunction(Protocol):
    """Turns a panel of inner products, or of squared distances, into kernel values."""

    def apply(self, panel: np.ndarray, columns: np.ndarray, first: int = 0) -> None:
        """Overwrite `panel`, shape (c, k), whose row p belongs to sample ``columns[p]``.

        Its columns are samples first, ..., first + k - 1: all m, or a rank's share of them.
        """
        ...


class Identity:
    """The linear kernel: inner products are kernel values."""

    def apply(self, panel: np.ndarray, columns: np.ndarray, first: int = 0) -> None:
        """Leave the panel as it is."""


class Power:
    """The polynomial kernel by repeated multiplication: ``degree - 1`` roundings after the sum."""

    def __init__(self, degree: int, offset: float, samples: int):
        self._degree, self._offset = degree, offset
        self._base = np.empty(samples)

    def apply(self, panel: np.ndarray, columns: np.ndarray, first: int = 0) -> None:
        """Overwrite inner products with ``(offset + product)**degree``."""
        raise_entries(panel, self._base, self._degree, self._offset)


class Gaussian:
    """The RBF kernel by norm expansion, ``exp(-sigma (|x|^2 + |z|^2 - 2<x,z>))``.

    `sigma`: inverse squared width; `squared_norms`, (m,): squared norms of the samples, reduced over all
    ranks.
    """

    def __init__(self, sigma: float, squared_norms: np.ndarray):
        self._sigma, self._squared_norms = sigma, squared_norms

    def apply(self, panel: np.ndarray, columns: np.ndarray, first: int = 0) -> None:
        """Overwrite inner products with RBF values; the distance of a sample to itself is 0."""
        gaussian_exponents(panel, columns, first, self._squared_norms, self._sigma)
        np.exp(panel, out=panel)


class DistanceGaussian:
    """The RBF kernel of squared distances, ``exp(-sigma |x - z|^2)``.

    `sigma`: inverse squared width.
    """

    def __init__(self, sigma: float):
        self._sigma = sigma

    def apply(self, panel: np.ndarray, columns: np.ndarray, first: int = 0) -> None:
        """Overwrite squared distances with RBF values; that of a sample to itself is 0 as it comes."""
        np.multiply(panel, -self._sigma, out=panel)
        np.exp(panel, out=panel)


@compiled
def raise_entries(panel, base, degree, offset):
    """Replace each entry x by (offset + x)**degree; `base` is scratch of one row."""
    for row in range(panel.shape[0]):
        values = panel[row]
        for column in range(values.size):
            base[column] = values[column] + offset
            values[column] = base[column]
        for _ in range(degree - 1):
            for column in range(values.size):
                values[column] *= base[column]


@compiled
def gaussian_exponents(panel, columns, first, squared_norms, sigma):
    """Replace each inner product by the exponent -sigma * max(squared distance, 0)."""
    norms = squared_norms[first : first + panel.shape[1]]
    for row in range(panel.shape[0]):
        own = squared_norms[columns[row]]
        for column in range(panel.shape[1]):
            distance = own + norms[column] - 2.0 * panel[row, column]
            panel[row, column] = -sigma * max(distance, 0.0)
        if 0 <= columns[row] - first < panel.shape[1]:
            panel[row, columns[row] - first] = 0.0


@singledispatch
def kernel_function_of(kernel: Kernel, samples: int, squared_norms) -> KernelFunction:
    """Choose the function of inner products, for m samples; `squared_norms` is called if norms are needed.

    The production solver's table of kernels: ``kernel_function_of.register`` adds one.
    """
    raise TypeError(f"no kernel function is known for {kernel}: add one to kernel_function_of")


@kernel_function_of.register
def _(kernel: LinearKernel, samples, squared_norms):
    return Identity()


@kernel_function_of.register
def _(kernel: PolynomialKernel, samples, squared_norms):
    return Power(kernel.degree, kernel.offset, samples)


@kernel_function_of.register
def _(kernel: RBFKernel, samples, squared_norms):
    return Gaussian(kernel.sigma, squared_norms())


@singledispatch
def distance_function_of(kernel: Kernel) -> KernelFunction:
    """Choose the function of squared distances; only kernels that are `of_distance` have one."""
    raise TypeError(f"no function of squared distances is known for {kernel}: add one")


@distance_function_of.register
def _(kernel: RBFKernel):
    return DistanceGaussian(kernel.sigma)
