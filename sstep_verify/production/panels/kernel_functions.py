"""Kernel functions: from reduced inner products or squared distances to kernel values, in place.

They are applied after the reduction over features, never before it: a nonlinear function of a
partial sum is not a partial sum of the function.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Protocol

import numpy as np

from sstep_verify.compiled import compiled
from sstep_verify.problems import Kernel, LinearKernel, PolynomialKernel, RBFKernel


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

    Parameters
    ----------
    sigma : float
        Inverse squared width.
    squared_norms : ndarray, shape (m,)
        Squared norms of the samples, reduced over all ranks.
    """

    def __init__(self, sigma: float, squared_norms: np.ndarray):
        self._sigma, self._squared_norms = sigma, squared_norms

    def apply(self, panel: np.ndarray, columns: np.ndarray, first: int = 0) -> None:
        """Overwrite inner products with RBF values; the distance of a sample to itself is 0."""
        gaussian_exponents(panel, columns, first, self._squared_norms, self._sigma)
        np.exp(panel, out=panel)


class DistanceGaussian:
    """The RBF kernel of squared distances, ``exp(-sigma |x - z|^2)``.

    Parameters
    ----------
    sigma : float
        Inverse squared width.
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
