"""What is communicated for a window: this rank's share is formed, summed over the ranks, and finished.

Every exchange hands the recurrence the kernel rows of a window's distinct coordinates and, but where it
takes them itself, their products with the dual vector.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sstep_verify.production.messages.clock import FUNCTION, GRADIENT, PANEL, TRANSFER, WAITING, Clock
from sstep_verify.production.messages.communicator import Communicator
from sstep_verify.production.messages.packet import Packet
from sstep_verify.production.panels.panel import Panel
from sstep_verify.trajectory import Panel as UsedPanel


class Exchange:
    """Communication that a run needs, in windows.

    Parameters
    ----------
    packet : Packet
        Sums what a window needs.
    communicator : Communicator
        For the barrier that tells waiting from transfer.
    clock : Clock
        Seconds per phase.
    separate : bool
        Tell waiting from transfer.

    Attributes
    ----------
    columns : int
        Kernel rows formed.
    whole : bool
        Whether rows are of all samples, or among the coordinates of their window.
    """

    whole = False

    def __init__(self, packet: Packet, communicator: Communicator, clock: Clock, separate: bool):
        self._packet, self._communicator = packet, communicator
        self._clock, self._separate = clock, separate
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
        return UsedPanel(columns, self._packet.square(columns.size)[0].copy(), columns)

    def restart(self, vector: np.ndarray) -> None:
        """Form anew what is carried beside the dual vector from the recurrence's `vector`, shape (m,)."""

    def carried(self) -> dict[str, np.ndarray]:
        """Name this rank's part of what is carried beside the dual vector, if anything is."""
        return {}

    def _share(self, columns: np.ndarray, form: Callable[..., None], *arguments: Any) -> None:
        """Form this rank's share of a window's sums."""
        self._guarded(form, *arguments)
        self.columns += columns.size
        self._clock.stop(PANEL)
        if self._separate:
            self._communicator.barrier()
            self._clock.stop(WAITING)

    def _guarded(self, form: Callable[..., None], *arguments: Any) -> None:
        """Form what a reduction is to sum; where that fails, it tells all ranks."""
        if self._packet.failure is None:
            try:
                form(*arguments)
            except Exception as error:
                self._packet.failure = error

    def _reduce(self, words: int) -> None:
        """Sum the first words of the packet over all ranks."""
        self._packet.reduce(words)
        self._clock.stop(TRANSFER)


class AllreduceExchange(Exchange):
    """Exchange "allreduce" (the paper's): whole kernel rows on every rank.

    Words per window: m times the distinct columns, and the trailer. The kernel function and the gradient
    are computed on every rank alike.

    Parameters
    ----------
    panel : Panel
        Forms the rows.
    packet, communicator, clock, separate
        As of `Exchange`; the packet holds at least as many rows as are asked for at once. With `separate`
        the gradient is told from the recurrence, too.
    rows : int
        Largest number of distinct columns of a window; needed with `separate`.
    """

    whole = True

    def __init__(
        self,
        panel: Panel,
        packet: Packet,
        communicator: Communicator,
        clock: Clock,
        rows: int = 0,
        separate: bool = False,
    ):
        super().__init__(packet, communicator, clock, separate)
        self._panel, self._stale = panel, np.empty(rows if separate else 0)

    def parts(self, columns: np.ndarray, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """As of `Exchange`; the recurrence takes the products, unless they are timed apart."""
        rows = self.rows(columns)
        if not self._separate:
            return rows, None
        stale = np.dot(rows, vector, out=self._stale[: columns.size])
        self._clock.stop(GRADIENT)
        return rows, stale

    def rows(self, columns: np.ndarray) -> np.ndarray:
        """Kernel rows of `columns`, shape (c, m); valid until the next call."""
        self._clock.start()
        rows = self._packet.matrix(columns.size, self._panel.samples)
        self._share(columns, self._panel.partial, rows, columns)
        self._reduce(rows.size)
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
        self._reduce(columns.size * self._panel.samples)

    def used(self, columns: np.ndarray) -> UsedPanel:
        """Copy of the rows of the window just made."""
        return UsedPanel(columns, self._packet.matrix(columns.size, self._panel.samples).copy())
