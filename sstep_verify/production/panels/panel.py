"""Kernel rows of sampled coordinates: a rank's share of the sums, and the kernel function of the sums."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sstep_verify.problems import Kernel
from sstep_verify.production.messages.packet import Packet
from sstep_verify.production.panels.differences import DenseDifferences, SparseDifferences, differences_of
from sstep_verify.production.panels.kernel_functions import (
    KernelFunction,
    distance_function_of,
    kernel_function_of,
)
from sstep_verify.production.panels.products import RangedProducts, SparseProducts, products_of


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

    Returns
    -------
    sums : DenseProducts, FewFeatures, SparseProducts, DenseDifferences or SparseDifferences
        Forms the sums.
    function : KernelFunction
        The function of them.
    norms : ndarray, shape (m,), or None
        The squared norms that it holds, if any.
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
