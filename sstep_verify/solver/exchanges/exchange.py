"""What is communicated for a window: this rank's share is formed, summed over the ranks, and finished.

Every exchange hands the recurrence the kernel rows of a window's distinct coordinates and, but where it
takes them itself, their products with the dual vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sstep_verify.compiled import compiled
from sstep_verify.problems import Kernel
from sstep_verify.solver.clock import FUNCTION, GRADIENT, PANEL, TRANSFER, WAITING
from sstep_verify.solver.packet import Packet
from sstep_verify.solver.panels.panel import Panel
from sstep_verify.solver.panels.products import TILE_WORDS
from sstep_verify.trajectory import Panel as UsedPanel


class Exchange:
    """Communication that a run needs, in windows.

    `packet` sums what a window needs, and tells waiting from transfer. Attributes `columns`: kernel rows
    formed; `whole`: whether rows are of all samples, or among the coordinates of their window;
    `weights`: this rank's part of the weights, where they are maintained besides the dual vector.
    """

    whole = False
    weights: np.ndarray | None = None

    def __init__(self, packet: Packet):
        self.packet = packet
        self._communicator, self._clock = packet.communicator, packet.clock
        self.columns = 0

    def parts(self, columns: np.ndarray, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Kernel rows of a window's distinct coordinates, and their products with `vector`.

        Both are as `Recurrence.window` takes them, and valid until the next call.
        """
        raise NotImplementedError

    def moved(self, columns: np.ndarray, change: np.ndarray, vector: np.ndarray) -> None:
        """Take note of the changes of `vector` that a window made at its coordinates, shape (c,)."""

    def used(self, columns: np.ndarray) -> UsedPanel:
        """Copy of the kernel entries of the window just made, whose distinct coordinates are `columns`."""
        return UsedPanel(columns, self.packet.square(columns.size)[0].copy(), columns)

    def restart(self, vector: np.ndarray) -> None:
        """Form again what is carried besides the dual vector from the recurrence's `vector`, shape (m,)."""

    def _guarded(self, phase: int, form: Callable[..., None], *arguments: Any) -> None:
        """Form what a reduction is to sum, as one phase; where that fails, it tells all ranks."""
        packet = self.packet
        if packet.failure is None:
            try:
                form(*arguments)
            except Exception as error:
                packet.failure = error
        self._clock.stop(phase)
        if packet.separate and phase == PANEL:
            self._communicator.barrier()
            self._clock.stop(WAITING)


class AllreduceExchange(Exchange):
    """Exchange "allreduce" (the paper's): whole kernel rows on every rank.

    Words per window: m times the distinct columns, and the trailer. The kernel function and the gradient
    are computed on every rank alike.

    The packet holds at least as many rows as are asked for at once. With `separate` the gradient is timed
    apart from the recurrence, too; `rows`: largest number of distinct columns of a window; needed with
    `separate`.
    """

    whole = True

    def __init__(self, panel: Panel, packet: Packet, rows: int = 0):
        super().__init__(packet)
        self._panel, self._stale = panel, np.empty(rows if packet.separate else 0)

    def parts(self, columns: np.ndarray, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """As of `Exchange`; the recurrence takes the products, unless they are timed apart."""
        rows = self.rows(columns)
        if not self.packet.separate:
            return rows, None
        stale = np.dot(rows, vector, out=self._stale[: columns.size])
        self._clock.stop(GRADIENT)
        return rows, stale

    def rows(self, columns: np.ndarray) -> np.ndarray:
        """Kernel rows of `columns`, shape (c, m); valid until the next call."""
        self._clock.start()
        rows = self.packet.matrix(columns.size, self._panel.samples)
        self.columns += columns.size
        self._guarded(PANEL, self._panel.partial, rows, columns)
        self.packet.reduce(rows.size)
        self._clock.stop(TRANSFER)
        self._panel.finish(rows, columns)
        self._clock.stop(FUNCTION)
        return rows

    def form(self, panel: np.ndarray, columns: np.ndarray) -> None:
        """Form the rows of `columns` into `panel`, shape (k, m), where there is one rank."""
        self._panel.partial(panel, columns)
        self._clock.stop(PANEL)
        self._panel.finish(panel, columns)
        self._clock.stop(FUNCTION)

    def formed(self, columns: np.ndarray) -> None:
        """Count a window whose rows were formed apart: nobody else has a share of their sums."""
        self.columns += columns.size
        self.packet.reduce(columns.size * self._panel.samples)
        self._clock.stop(TRANSFER)

    def used(self, columns: np.ndarray) -> UsedPanel:
        """Copy of the rows of the window just made."""
        return UsedPanel(columns, self.packet.matrix(columns.size, self._panel.samples).copy())


PANEL_SHARE, DATA_SHARE, LEAST_ROWS = 4, 16, 8
"""Rows formed at once before they are put in order: one in so many of the panel's (the first), and no more
words than fit in cache or than one in so many of the data's (the second), but at least so many rows."""

LEAST_BLOCK = 128
"""Samples of a rank from which on the sums with them are worth a product of their own."""


class ReduceScatterExchange(Exchange):
    """Exchange "reduce-scatter": each rank gets the sums for its share of the samples only.

    Kernel function, gradient and finished panel are divided by P. What the window's updates need of it, the
    kernel entries among the drawn coordinates and their gradient, is then summed onto all ranks: two
    collectives a window, with m c + c**2 + c words and one trailer for c distinct columns.

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
        # Rows are formed in tiles, small compared with panel or data, and put in order from there; a tile
        # of few rows of much data would read all of it from memory for little.
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
        clock, packet, count = self._clock, self.packet, columns.size
        clock.start()
        send = self._send[: count * self._panel.samples]
        self.columns += count
        self._guarded(PANEL, self._pack, send, columns)
        own = self._last - self._first
        receive = send if self._receive is self._send else self._receive[: count * own]
        self._communicator.reduce_scatter(send, receive, self._sizes if count == 1 else count * self._sizes)
        clock.stop(TRANSFER)
        block = receive.reshape(count, own)
        gram, stale = packet.square(count)
        self._guarded(FUNCTION, self._panel.finish, block, columns, self._first)
        take_own(block, columns, self._first, gram)
        np.dot(block, vector[self._first : self._last], out=stale)
        clock.stop(GRADIENT)
        packet.reduce(gram.size + count)
        clock.stop(TRANSFER)
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


COLLECTIVE_SECONDS = 2e-5
"""What one more small collective is taken to cost; between 3 and 25 us on a few ranks of one machine."""

LINEAR_SECONDS, POLYNOMIAL_SECONDS, RBF_SECONDS = 4e-10, 1e-9, 4e-9
"""Time of one panel entry after the reduction: its share of the gradient, and its kernel function."""


FEW_SAMPLES = 128
"""Samples up to which one rank forms all their inner products, in the time of ten passes at most: a product
of matrices makes some four times the operations of a pass in the same time."""


def choose_exchange(
    *,
    samples: int,
    s: int,
    block: int,
    iterations: int,
    ranks: int,
    kernel: Kernel,
    memory: int,
    stored: float = 0.0,
) -> tuple[str, int, str]:
    """Choose from the sizes of a run.

    `samples`: number of samples (m); `s`, `block`, `iterations`: iterations per window, coordinates per
    block (b), iterations in all (H); `ranks`: number of ranks (P); `memory`: words that a rank may spend on
    kernel rows; `stored`: values of all samples together, for a linear kernel on one rank. Returns the
    exchange, words for kept kernel rows (0 for none), and the reason in one sentence.
    """
    most = min(s * block, samples)
    panel, small = samples * most, most * most + most
    few = samples <= FEW_SAMPLES and samples * samples <= min(memory, 3 * stored)
    if kernel.linear and ranks == 1 and few and iterations * block > samples:
        reason = (
            f"a step with a row of {samples} products that is kept needs fewer operations than one with"
        )
        return "allreduce", samples * samples, f"linear kernel: {reason} {stored / samples:.3g} values"
    if kernel.linear and small < panel:
        reason = f"{small} words of products a window instead of {panel}, whatever the number of samples"
        return "gram", 0, f"linear kernel: {reason}"
    if samples * samples <= memory and iterations * block > samples:
        draws = iterations * block
        reason = f"all {samples} kernel rows fit in {memory} words, and {draws} draws use a row "
        uses = draws / samples
        mean = f"{uses:.3g}" if uses < 100 else f"{uses:.0f}"
        reason += f"{mean} times on average: every row is formed once and kept"
        return "allreduce", samples * samples, reason
    saved = panel * (1 - 1 / ranks) * _entry_seconds(kernel)
    if ranks > 1 and (panel > memory or saved > COLLECTIVE_SECONDS):
        reason = (
            f"{panel} panel entries a window: kernel function and gradient of {samples // ranks} samples"
        )
        reason += f" a rank, not {samples}, are taken to be worth one more collective"
        return "reduce-scatter", 0, reason
    reason = (
        f"{panel} panel entries a window on {ranks} rank{'s' * (ranks > 1)}: taken to be too few for a "
    )
    return "allreduce", 0, f"{reason}second collective to pay"


def _entry_seconds(kernel: Kernel) -> float:
    if kernel.linear:
        return LINEAR_SECONDS
    return RBF_SECONDS if kernel.of_distance else POLYNOMIAL_SECONDS
