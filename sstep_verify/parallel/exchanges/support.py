"""Exchange "support": a window's panel over the samples that its products need, summed onto all ranks.

Words per window: p times the distinct columns, and the trailer, for the p samples of `support`: those
where a is not 0, and what this window and the one before draw. Never more than exchange "allreduce", and no
message for the choice. Kernel function and gradient are computed on every rank alike, of p samples.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.parallel.clock import FUNCTION, GRADIENT, TRANSFER, Clock
from sstep_verify.parallel.communicator import Communicator
from sstep_verify.parallel.exchanges.exchange import Exchange
from sstep_verify.parallel.exchanges.support_panel import Support, SupportPanel, small_parts
from sstep_verify.parallel.packet import Packet
from sstep_verify.trajectory import Panel as UsedPanel


class SupportExchange(Exchange):
    """Kernel rows over the support, on every rank.

    Parameters
    ----------
    panel : SupportPanel
        Forms the rows.
    packet : Packet
        Sums them; holds at least as many whole rows as a window has.
    communicator : Communicator
        For the barrier that tells waiting from transfer.
    clock : Clock
        Seconds per phase.
    rows : int
        Largest number of distinct columns of a window.
    separate : bool
        Tell waiting from transfer.
    """

    def __init__(
        self,
        panel: SupportPanel,
        packet: Packet,
        communicator: Communicator,
        clock: Clock,
        rows: int,
        separate: bool,
    ):
        super().__init__(packet, communicator, clock, separate)
        self._panel = panel
        self._support, self._vector = Support(panel.samples, rows), np.empty(panel.samples)
        self._gram, self._stale = np.empty(rows * rows), np.empty(rows)

    def small(self, columns: np.ndarray, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As of `Exchange`; its rows are summed over the support."""
        support, count, clock = self._support, columns.size, self._clock
        rows = self._reduced(columns)
        try:
            self._panel.finish(rows, columns, support)
            clock.stop(FUNCTION)
            gram, stale = self._gram[: count * count].reshape(count, count), self._stale[:count]
            small_parts(rows, columns, support.order, support.place_of, vector, self._vector, gram, stale)
        finally:
            # The reduction has shown that all ranks hold this vector. Also where this rank failed since:
            # the next reduction, which tells the others, is as long as theirs.
            support.leave(columns, vector)
        clock.stop(GRADIENT)
        return gram, stale

    def _reduced(self, columns: np.ndarray) -> np.ndarray:
        """Sums for the rows of `columns` over the first places, shape (c, p); valid until the next call."""
        clock, packet, support = self._clock, self._packet, self._support
        clock.start()
        count = support.bring(columns)
        words = columns.size * count
        rows = packet.payload(words).reshape(columns.size, count)
        self._share(self._panel.partial, rows, columns, support)
        packet.reduce(words)
        clock.stop(TRANSFER)
        self.columns += columns.size
        return rows

    def used(self, columns: np.ndarray) -> UsedPanel:
        """Copy of the kernel entries among the coordinates of the window just made."""
        count = columns.size
        return UsedPanel(columns, self._gram[: count * count].reshape(count, count).copy(), columns)

    def restart(self, vector: np.ndarray) -> None:
        """Begin with the support of the recurrence's `vector`, shape (m,)."""
        self._support.begin(vector)
