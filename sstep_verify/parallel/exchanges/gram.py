"""Exchange "gram": for the linear kernel, words that do not depend on the number of samples.

Each rank carries its features of w, the weights (``A'(y a)`` for a K-SVM, ``A'a`` for K-RR). A window needs
the inner products among its distinct columns and their products with w: ``c**2 + c`` words and the trailer.
The weights are updated beside the dual vector and drift from it by rounding: declared state, which may be
formed anew every some windows without any message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify.parallel.clock import RECURRENCE, TRANSFER, Clock
from sstep_verify.parallel.communicator import Communicator
from sstep_verify.parallel.exchanges.exchange import Exchange, Recurrence
from sstep_verify.parallel.exchanges.gram_local import DenseLocal, SparseLocal
from sstep_verify.parallel.packet import Packet


class GramExchange(Exchange):
    """Inner products among the drawn samples, and carried weights.

    Parameters
    ----------
    data : ndarray or csr_array, shape (m, n_local)
        This rank's columns of the data.
    packet : Packet
        Sums; holds ``c**2 + c`` words for the largest c.
    communicator : Communicator
        For the barrier that tells waiting from transfer.
    clock : Clock
        Seconds per phase.
    rows : int
        Largest number of distinct columns of a window.
    separate : bool
        Tell waiting from transfer.
    recompute : int
        Windows after which the weights are formed anew; 0 for never.
    before : int
        Windows of the stream before this run, which count as well.

    Attributes
    ----------
    weights : ndarray, shape (n_local,)
        This rank's part of w.
    """

    def __init__(
        self,
        data: np.ndarray | sp.csr_array,
        packet: Packet,
        communicator: Communicator,
        clock: Clock,
        rows: int,
        separate: bool,
        recompute: int = 0,
        before: int = 0,
    ):
        super().__init__(packet, communicator, clock, separate)
        self._recompute, self._before = recompute, before
        self._plain = communicator.size == 1 and not separate and not recompute
        self._local = SparseLocal(data) if sp.issparse(data) else DenseLocal(data, rows)
        self.weights = np.zeros(data.shape[1])

    def window(
        self,
        recurrence: Recurrence,
        columns: np.ndarray,
        positions: np.ndarray,
        draws: np.ndarray,
        log: np.ndarray,
    ) -> None:
        """Make one window from its inner products and the weights; parameters as in `Exchange`."""
        gram, stale = self.small(columns, recurrence.vector)
        self.moved(columns, recurrence.small_window(gram, stale, columns, positions, log))
        ended = self._before + self._packet.window + 1
        if self._recompute and ended % self._recompute == 0:
            self.restart(recurrence.vector)
        self._clock.stop(RECURRENCE)

    def together(self, most: int) -> bool:
        """Whether windows of so many draws may be made by one call of `many`."""
        return self._plain and self._local.together(most)

    def many(
        self,
        loop: Callable[..., None],
        columns: np.ndarray,
        positions: np.ndarray,
        counts: np.ndarray,
        state: tuple[Any, ...],
        log: np.ndarray,
    ) -> None:
        """Make many windows of a rank that is alone, timed as updates; parameters as of `svm_windows`."""
        self._clock.start()
        room, weights = self._packet.room, self.weights
        loop(self._local.rows, room, columns, positions, counts, weights, state, log)
        self.columns += int(counts.sum())
        self._clock.stop(RECURRENCE)

    def restart(self, vector: np.ndarray) -> None:
        """Form the weights anew from the (weighted) dual vector, shape (m,)."""
        self._local.weights(vector, self.weights)

    def carried(self) -> dict[str, np.ndarray]:
        """Weights of the features of this rank."""
        return {"weights": self.weights}

    def small(self, columns: np.ndarray, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As of `Exchange`; the products are those with w, which stands for `vector`."""
        clock, packet, count = self._clock, self._packet, columns.size
        clock.start()
        words = count * count + count
        gram, stale = packet.square(count)
        self._share(self._local.among, columns, self.weights, gram, stale)
        packet.reduce(words)
        clock.stop(TRANSFER)
        self.columns += count
        return gram, stale

    def moved(self, columns: np.ndarray, change: np.ndarray) -> None:
        """Add what the window's changes of the (weighted) dual vector, shape (c,), mean for the weights."""
        self._local.move(columns, change, self.weights)
