"""Kernel rows over all samples in an order that changes from window to window, for a rank that is alone."""

from __future__ import annotations

import numpy as np

from sstep_verify.parallel.panels.kernel_functions import kernel_function_of
from sstep_verify.parallel.panels.products import RangedProducts
from sstep_verify.problems import Kernel


class OrderedPanel:
    """Forms the rows of a `Panel` with their entries in another order.

    Parameters
    ----------
    products : DenseProducts or FewFeatures
        Of the data.
    kernel : Kernel
        The kernel.
    norms : ndarray, shape (m,), or None
        Squared norms of the samples, where the kernel needs them.
    samples : int
        Number of samples (m).
    """

    def __init__(self, products: RangedProducts, kernel: Kernel, norms: np.ndarray | None, samples: int):
        self._ordered = products.apart()
        self._norms = None if norms is None else (norms, norms.copy())
        self._function = kernel_function_of(kernel, samples, self._ordered_norms)

    def _ordered_norms(self) -> np.ndarray:
        assert self._norms is not None
        return self._norms[1]

    def arrange(self, order: np.ndarray) -> None:
        """Let sample ``order[p]`` stand at place p from now on."""
        self._ordered.take(order)
        if self._norms is not None:
            norms, ordered = self._norms
            np.take(norms, order, out=ordered, mode="clip")

    def partial(self, panel: np.ndarray, places: np.ndarray) -> None:
        """Write the sums for the rows of the samples at `places` into `panel`, shape (c, m)."""
        self._ordered.into(panel, places)

    def finish(self, panel: np.ndarray, places: np.ndarray) -> None:
        """Kernel values of the sums, in place."""
        self._function.apply(panel, places)
