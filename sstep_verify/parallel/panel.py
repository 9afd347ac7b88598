"""Kernel rows of sampled coordinates: a rank's share of the sums, and the kernel function of the sums."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sstep_verify.parallel.differences import DenseDifferences, SparseDifferences, differences_of
from sstep_verify.parallel.kernel_functions import KernelFunction, distance_function_of, kernel_function_of
from sstep_verify.parallel.packet import Packet
from sstep_verify.parallel.products import DenseProducts, SparseProducts, products_of
from sstep_verify.problems import Kernel


class Panel:
    """Forms panels: `partial` before the reduction, `finish` after it.

    Parameters
    ----------
    data : ndarray or csr_array, shape (m, n_local)
        This rank's columns of the data.
    kernel : Kernel
        The kernel.
    rbf : {"norm-expansion", "difference"}
        How squared distances of the RBF kernel are formed.
    rows : int
        Largest number of rows asked for at once.
    packet : Packet
        Reduces the squared norms of the samples where the kernel needs them: one collective of m words.

    Attributes
    ----------
    samples, words : int
        Number of samples (m); stored values of this rank's columns.
    ranged : bool
        Whether the sums with some neighbouring samples are formed without those with the others.
    """

    def __init__(
        self, data: np.ndarray | sp.csr_array, kernel: Kernel, rbf: str, rows: int, packet: Packet
    ):
        self.samples, self.words, self.ranged = data.shape[0], data.size, False
        self._function: KernelFunction
        self._sums: DenseProducts | SparseProducts | DenseDifferences | SparseDifferences
        if kernel.of_distance and rbf == "difference":
            self._sums = differences_of(data)
            self._function = distance_function_of(kernel)
            return
        products = products_of(data, rows)

        def squared_norms() -> np.ndarray:
            packet.payload(self.samples)[:] = products.squared_norms()
            packet.reduce(self.samples)
            return packet.payload(self.samples).copy()

        self._sums, self.ranged = products, isinstance(products, DenseProducts)
        self._function = kernel_function_of(kernel, self.samples, squared_norms)

    def partial(self, panel: np.ndarray, columns: np.ndarray) -> None:
        """Write this rank's share of the sums for the rows of `columns`, into `panel`, shape (c, m)."""
        self._sums.into(panel, columns)

    def part(self, panel: np.ndarray, columns: np.ndarray, first: int, last: int) -> None:
        """The same with samples first, ..., last - 1 only, shape (c, last - first); where `ranged`."""
        assert isinstance(self._sums, DenseProducts)
        self._sums.into(panel, columns, first, last)

    def finish(self, panel: np.ndarray, columns: np.ndarray, first: int = 0) -> None:
        """Kernel values of the sums, in place; panel (c, k) holds samples first, ..., first + k - 1."""
        self._function.apply(panel, columns, first)
