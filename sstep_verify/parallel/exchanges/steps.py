"""Exchange "allreduce" of a rank that is alone: windows of long blocks are made step by step.

Each step forms the kernel rows that it draws first and uses them while they are in cache. Of a row no more
is kept than later steps read: the first places of an order in which the samples drawn last stand first, and
nothing where its coordinate is not drawn again. So a window writes and reads a part of its panel.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sstep_verify.parallel.clock import FUNCTION, PANEL, RECURRENCE, TRANSFER, Clock
from sstep_verify.parallel.communicator import Communicator
from sstep_verify.parallel.exchanges.allreduce import AllreduceExchange
from sstep_verify.parallel.exchanges.exchange import Recurrence
from sstep_verify.parallel.exchanges.step_order import StepOrder, keep_rows
from sstep_verify.parallel.packet import Packet
from sstep_verify.parallel.panels.ordered import OrderedPanel
from sstep_verify.parallel.panels.panel import Panel
from sstep_verify.trajectory import Panel as UsedPanel


class Steps(Protocol):
    """Updates of a window, step by step, from rows in the window's order of the samples."""

    def arrange(self, order: np.ndarray) -> None:
        """Begin a window in which sample ``order[p]`` stands at place p."""
        ...

    def step(
        self,
        words: np.ndarray,
        starts: np.ndarray,
        fresh: np.ndarray,
        rows: np.ndarray,
        block: np.ndarray,
        place_of: np.ndarray,
        ahead: int,
        log: np.ndarray,
    ) -> None:
        """Make one step.

        Parameters
        ----------
        words, starts : ndarray
            Kernel rows one behind the other, and where each begins.
        fresh : ndarray, shape (k, m)
            Those that this step draws first, the last k of all that are known: whole rows.
        rows, block : ndarray of int64, shape (b,)
            Rows of the step's coordinates, and the coordinates.
        place_of : ndarray of int64, shape (m,)
            Place of each sample.
        ahead : int
            First places, at which all samples stand that are drawn later.
        log : ndarray, shape (b,)
            Out: the new values.
        """
        ...


class StepsExchange(AllreduceExchange):
    """Whole kernel rows, and of those that are kept from step to step what is read again.

    Parameters
    ----------
    panel, packet, communicator, clock
        As of `AllreduceExchange`; the only rank, timers not separate.
    ordered : OrderedPanel
        Forms rows in another order.
    steps : Steps
        Makes the updates.
    most : int
        Most distinct coordinates of a window.
    shape : tuple of int
        Most steps of a window that is made this way, and coordinates of a step.
    exposed : bool
        Whether `used` may be asked: whole rows are copied for it.
    """

    def __init__(
        self,
        panel: Panel,
        packet: Packet,
        communicator: Communicator,
        clock: Clock,
        ordered: OrderedPanel,
        steps: Steps,
        most: int,
        shape: tuple[int, int],
        exposed: bool,
    ):
        super().__init__(panel, packet, communicator, clock, separate=False)
        self._ordered, self._updates = ordered, steps
        self._order, self._starts = StepOrder(panel.samples, *shape), np.empty(most, dtype=np.int64)
        self._multiples, self._words = np.arange(min(shape[1], most)) * panel.samples, most * panel.samples
        self._exposed = np.empty((most if exposed else 0, panel.samples))
        self._in_order = False

    def _steps(
        self,
        recurrence: Recurrence,
        columns: np.ndarray,
        positions: np.ndarray,
        draws: np.ndarray,
        log: np.ndarray,
    ) -> None:
        """One window; in the samples' own order where it has one step, or more than was prepared for."""
        shape = -1, recurrence.step_of(draws.size)
        blocks = draws.reshape(shape)
        self._in_order = 1 < len(blocks) <= self._order.ahead.size
        if not self._in_order:
            super()._steps(recurrence, columns, positions, draws, log)
            return
        clock, order, starts, samples = self._clock, self._order, self._starts, self._panel.samples
        clock.start()
        order.arrange(blocks)
        self._ordered.arrange(order.order)
        self._updates.arrange(order.order)
        words = self._packet.payload(self._words)
        placed, logged = positions.reshape(shape), log.reshape(shape)
        known = used = 0
        for step, last in enumerate((np.maximum.accumulate(placed.max(axis=1)) + 1).tolist()):
            rows = placed[step]
            # At the end of the buffer, in windows of every s: behind all that is kept, and in cache.
            base = words.size - (last - known) * samples
            fresh = words[base:].reshape(last - known, samples)
            if known < last:
                self._form(fresh, order.place_of[columns[known:last]])
                np.add(self._multiples[: last - known], base, out=starts[known:last])
                if self._exposed.size:
                    self._exposed[known:last, order.order] = fresh
            self._updates.step(
                words, starts, fresh, rows, blocks[step], order.place_of, order.ahead[step], logged[step]
            )
            used = keep_rows(words, starts, rows, known, order.following[step], order.ahead, used)
            clock.stop(RECURRENCE)
            known = last
        # Nobody else has a share of the sums: what was used is what the reduction gives.
        self._packet.reduce(columns.size * samples)
        clock.stop(TRANSFER)
        self.columns += columns.size

    def _form(self, fresh: np.ndarray, places: np.ndarray) -> None:
        """Form the rows of the samples at some places."""
        self._ordered.partial(fresh, places)
        self._clock.stop(PANEL)
        self._ordered.finish(fresh, places)
        self._clock.stop(FUNCTION)

    def used(self, columns: np.ndarray) -> UsedPanel:
        """Copy of the rows of the window just made."""
        if not self._in_order:
            return super().used(columns)
        return UsedPanel(columns, self._exposed[: columns.size].copy())
