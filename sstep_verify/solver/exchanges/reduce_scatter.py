"""Exchange "reduce-scatter": each rank gets the sums for its share of the samples only.

Kernel function, gradient and finished panel are divided by P. What the window's updates need of it, the
kernel entries among the drawn coordinates and their gradient, is then summed onto all ranks: two
collectives a window, with m c + c**2 + c words and one trailer for c distinct columns.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sstep_verify.compiled import compiled
from sstep_verify.solver.exchanges.exchange import Exchange
from sstep_verify.solver.packet import FUNCTION, GRADIENT, TRANSFER, Packet
from sstep_verify.solver.panels.panel import Panel
from sstep_verify.solver.panels.products import TILE_WORDS

PANEL_SHARE, DATA_SHARE, LEAST_ROWS = 4, 16, 8
"""Rows formed at once before they are put in order: one in so many of the panel's (the first), and no more
words than fit in cache or than one in so many of the data's (the second), but at least so many rows."""

LEAST_BLOCK = 128
"""Samples of a rank from which on the sums with them are worth a product of their own."""


class ReduceScatterExchange(Exchange):
    """Kernel rows by samples.

    The packet holds ``c**2 + c`` words for the largest c; `rows`: largest number of distinct columns of a
    window.
    """

    def __init__(self, panel: Panel, packet: Packet, rows: int):
        super().__init__(packet)
        self._panel = panel
        samples, size = panel.samples, packet.communicator.size
        self._starts = np.arange(size + 1, dtype=np.int64) * samples // size
        self._first, self._last = self._starts[self._communicator.rank :][:2].tolist()
        self._sizes = np.diff(self._starts)
        # Rows are formed in tiles, small beside panel or data, and put in order from there; a tile of few
        # rows of much data would read all of it from memory for little.
        wide = panel.words >= DATA_SHARE * rows * samples
        tiles = 1 if wide else max(-(-rows * samples // TILE_WORDS), PANEL_SHARE)
        self._tile = min(max(-(-rows // tiles), LEAST_ROWS), rows)
        self._direct = panel.ranged and self._last - self._first >= LEAST_BLOCK
        packed = size > 1 and rows > 1 and not self._direct
        self._partial = np.empty((self._tile if packed else 0, samples))
        self._send = np.empty(rows * samples)
        self._receive = self._send if size == 1 else np.empty(rows * (self._last - self._first))

    def parts(self, columns: np.ndarray, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As of `Exchange`, among the coordinates; their rows are summed by samples."""
        clock, count = self._clock, columns.size
        clock.start()
        send = self._send[: count * self._panel.samples]
        self._share(columns, self._pack, send, columns)
        own = self._last - self._first
        receive = send if self._receive is self._send else self._receive[: count * own]
        self._communicator.reduce_scatter(send, receive, self._sizes if count == 1 else count * self._sizes)
        clock.stop(TRANSFER)
        block = receive.reshape(count, own)
        gram, stale = self.packet.square(count)
        self._guarded(self._panel.finish, block, columns, self._first)
        clock.stop(FUNCTION)
        take_own(block, columns, self._first, gram)
        np.dot(block, vector[self._first : self._last], out=stale)
        clock.stop(GRADIENT)
        self._reduce(gram.size + count)
        return gram, stale

    def _pack(self, send: np.ndarray, columns: np.ndarray) -> None:
        """Partial sums, one block of samples for each rank after the other."""
        if self._communicator.size == 1 or columns.size == 1:
            self._panel.partial(send.reshape(columns.size, -1), columns)
            return
        if self._direct:
            for block, begin, end in self._blocks(send, columns.size):
                self._panel.part(block, columns, begin, end)
            return
        for top in range(0, columns.size, self._tile):
            some = columns[top : top + self._tile]
            partial = self._partial[: some.size]
            self._panel.partial(partial, some)
            for block, begin, end in self._blocks(send, columns.size):
                block[top : top + some.size] = partial[:, begin:end]

    def _blocks(self, send: np.ndarray, count: int) -> Iterator[tuple[np.ndarray, int, int]]:
        """What goes to each rank, shape (c, last - first), with its first sample and the next one's."""
        for begin, end in zip(self._starts[:-1].tolist(), self._starts[1:].tolist(), strict=True):
            yield send[count * begin : count * end].reshape(count, end - begin), begin, end


@compiled
def take_own(block, columns, first, gram):
    """Copy the entries of the drawn samples that this rank has, zeros for the others; gram (c, c)."""
    for row in range(columns.size):
        for place in range(columns.size):
            own = columns[place] - first
            gram[row, place] = block[row, own] if 0 <= own < block.shape[1] else 0.0
