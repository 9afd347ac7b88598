"""Exchange "allreduce" (the paper's): the partial panel of every window is summed onto all ranks.

Words per window: m times the distinct columns, and the trailer. The kernel function and the gradient are
computed on every rank alike.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.parallel.clock import FUNCTION, GRADIENT, PANEL, RECURRENCE, TRANSFER, Clock
from sstep_verify.parallel.communicator import Communicator
from sstep_verify.parallel.exchanges.exchange import Exchange, Recurrence
from sstep_verify.parallel.packet import Packet
from sstep_verify.parallel.panels.panel import Panel
from sstep_verify.trajectory import Panel as UsedPanel


class AllreduceExchange(Exchange):
    """Whole kernel rows on every rank.

    Parameters
    ----------
    panel : Panel
        Forms the rows.
    packet : Packet
        Sums them; holds at least as many rows as are asked for at once.
    communicator : Communicator
        For the barrier that tells waiting from transfer.
    clock : Clock
        Seconds per phase.
    separate : bool
        Tell waiting from transfer, and the gradient from the recurrence.
    """

    def __init__(
        self, panel: Panel, packet: Packet, communicator: Communicator, clock: Clock, separate: bool
    ):
        super().__init__(packet, communicator, clock, separate)
        self._panel, self._by_steps = panel, communicator.size == 1 and not separate

    def window(
        self,
        recurrence: Recurrence,
        columns: np.ndarray,
        positions: np.ndarray,
        draws: np.ndarray,
        log: np.ndarray,
    ) -> None:
        """Make one window from whole rows; parameters as in `Exchange`."""
        if self._by_steps and draws.size > 1 and recurrence.step_of(draws.size):
            self._steps(recurrence, columns, positions, draws, log)
            return
        rows = self.rows(columns)
        if self._separate:
            recurrence.products(rows)
            self._clock.stop(GRADIENT)
            recurrence.stale_window(rows, positions, draws, log)
        else:
            recurrence.panel_window(rows, positions, draws, log)
        self._clock.stop(RECURRENCE)

    def _steps(
        self,
        recurrence: Recurrence,
        columns: np.ndarray,
        positions: np.ndarray,
        draws: np.ndarray,
        log: np.ndarray,
    ) -> None:
        """One window of a rank alone: each step forms the rows it draws first, and finds them in cache."""
        clock, packet, samples = self._clock, self._packet, self._panel.samples
        clock.start()
        known, length = 0, recurrence.step_of(draws.size)
        rows = packet.matrix(columns.size, samples)
        for begin in range(0, draws.size, length):
            step = slice(begin, begin + length)
            new = slice(known, max(known, int(positions[step].max()) + 1))
            if known < new.stop:
                self._panel.partial(rows[new], columns[new])
                clock.stop(PANEL)
                self._panel.finish(rows[new], columns[new])
                clock.stop(FUNCTION)
            recurrence.step(rows, positions[step], draws[step], log[step])
            clock.stop(RECURRENCE)
            known = new.stop
        # Nobody else has a share of the sums: what was used is what the reduction gives.
        packet.reduce(rows.size)
        clock.stop(TRANSFER)
        self.columns += columns.size

    def rows(self, columns: np.ndarray) -> np.ndarray:
        """Kernel rows of `columns`, shape (c, m); valid until the next call."""
        clock, packet, samples = self._clock, self._packet, self._panel.samples
        clock.start()
        words = columns.size * samples
        rows = packet.matrix(columns.size, samples)
        self._share(self._panel.partial, rows, columns)
        packet.reduce(words)
        clock.stop(TRANSFER)
        self._panel.finish(rows, columns)
        clock.stop(FUNCTION)
        self.columns += columns.size
        return rows

    def used(self, columns: np.ndarray) -> UsedPanel:
        """Copy of the rows of the window just made."""
        return UsedPanel(columns, self._packet.matrix(columns.size, self._panel.samples).copy())
