"""Exchange "gram": for the linear kernel, words that do not depend on the number of samples.

Each rank carries its features of w, the weights (``A'(y a)`` for a K-SVM, ``A'a`` for K-RR). A window needs
the inner products among its distinct columns and their products with w: ``c**2 + c`` words and the trailer.
The weights are updated besides the dual vector and drift from it by rounding: they are declared, and may be
formed again every some windows without any message.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sstep_verify.solver.clock import PANEL, TRANSFER
from sstep_verify.solver.exchanges.exchange import Exchange
from sstep_verify.solver.exchanges.gram_local import DenseLocal, SparseLocal
from sstep_verify.solver.packet import Packet


class GramExchange(Exchange):
    """Inner products among the drawn samples, and carried weights.

    `data`, (m, n_local): this rank's columns of the data; the packet holds ``c**2 + c`` words for the
    largest c; `rows`: largest number of distinct columns of a window; `recompute`: windows after which the
    weights are formed again; 0 for never; `before`: windows of the stream before this run, which count as
    well. Attribute `weights`, (n_local,): this rank's part of w.
    """

    def __init__(
        self,
        data: np.ndarray | sp.csr_array,
        packet: Packet,
        rows: int,
        recompute: int = 0,
        before: int = 0,
    ):
        super().__init__(packet)
        self._recompute, self._before = recompute, before
        self._plain = packet.alone and not packet.separate and not recompute
        self._local = SparseLocal(data) if sp.issparse(data) else DenseLocal(data, rows)
        self.weights: np.ndarray = np.zeros(data.shape[1])

    def parts(self, columns: np.ndarray, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As of `Exchange`, among the coordinates; products are those with w, which stands for `vector`."""
        self._clock.start()
        gram, stale = self.packet.square(columns.size)
        self.columns += columns.size
        self._guarded(PANEL, self._local.among, columns, self.weights, gram, stale)
        self.packet.reduce(gram.size + columns.size)
        self._clock.stop(TRANSFER)
        return gram, stale

    def moved(self, columns: np.ndarray, change: np.ndarray, vector: np.ndarray) -> None:
        """Add what the changes of `vector` mean for the weights, or form these again where that is due."""
        self._local.move(columns, change, self.weights)
        ended = self._before + self.packet.window + 1
        if self._recompute and ended % self._recompute == 0:
            self.restart(vector)

    def together(self, most: int) -> bool:
        """Whether windows of so many draws may be made many in one call."""
        return self._plain and self._local.together(most)

    @property
    def rows(self) -> tuple[np.ndarray | None, ...]:
        """The last arguments of `rows_among` and `rows_move`."""
        return self._local.rows

    def restart(self, vector: np.ndarray) -> None:
        """Form the weights again from the (weighted) dual vector, shape (m,)."""
        self._local.weights(vector, self.weights)
