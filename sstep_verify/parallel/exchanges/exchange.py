"""The two sides of a window: an exchange, which communicates, and a recurrence, which makes the updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from sstep_verify.parallel.clock import PANEL, RECURRENCE, WAITING, Clock
from sstep_verify.parallel.communicator import Communicator
from sstep_verify.parallel.packet import Packet
from sstep_verify.trajectory import Panel


class Recurrence(Protocol):
    """The updates of a window, from whole kernel rows or from the entries among its coordinates.

    Attributes
    ----------
    vector : ndarray, shape (m,)
        What kernel rows are multiplied with.
    """

    vector: np.ndarray

    def panel_window(
        self, panel: np.ndarray, positions: np.ndarray, draws: np.ndarray, log: np.ndarray
    ) -> None:
        """Make one window from the rows of its coordinates, shape (c, m)."""
        ...

    def step_of(self, draws: int) -> int:
        """Coordinates of a step where a window of so many draws may go step by step, else 0."""
        ...

    def step(self, panel: np.ndarray, positions: np.ndarray, block: np.ndarray, log: np.ndarray) -> None:
        """Make one step of a window from rows of which those of its coordinates are known, shape (c, m)."""
        ...

    def products(self, panel: np.ndarray) -> None:
        """Take the stale products of a window's rows, apart from its updates."""
        ...

    def stale_window(
        self, panel: np.ndarray, positions: np.ndarray, draws: np.ndarray, log: np.ndarray
    ) -> None:
        """Make the updates of the window whose `products` were just taken."""
        ...

    def small_window(
        self,
        gram: np.ndarray,
        stale: np.ndarray,
        columns: np.ndarray,
        positions: np.ndarray,
        log: np.ndarray,
    ) -> np.ndarray:
        """Make one window from gram (c, c) and stale (c,); returns the changes of `vector`, (c,)."""
        ...


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
    """

    def __init__(self, packet: Packet, communicator: Communicator, clock: Clock, separate: bool):
        self._packet, self._communicator = packet, communicator
        self._clock, self._separate = clock, separate
        self.columns = 0

    def window(
        self,
        recurrence: Recurrence,
        columns: np.ndarray,
        positions: np.ndarray,
        draws: np.ndarray,
        log: np.ndarray,
    ) -> None:
        """Make one window: sum over the ranks what it needs, and update.

        Parameters
        ----------
        recurrence : Recurrence
            Makes the updates.
        columns : ndarray of int64, shape (c,)
            Distinct coordinates of the window.
        positions : ndarray of int64, shape (s * b,)
            Place of each draw's coordinate among them.
        draws : ndarray of int64, shape (s * b,)
            Drawn coordinates.
        log : ndarray, shape (s * b,)
            Out: the new value of each drawn coordinate.
        """
        gram, stale = self.small(columns, recurrence.vector)
        recurrence.small_window(gram, stale, columns, positions, log)
        self._clock.stop(RECURRENCE)

    def small(self, columns: np.ndarray, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Kernel entries among `columns`, shape (c, c), and the products of their rows with `vector`, (c,).

        Both are valid until the next call.
        """
        raise NotImplementedError

    def used(self, columns: np.ndarray) -> Panel:
        """Copy of the kernel entries of the window just made, whose distinct coordinates are `columns`."""
        return Panel(columns, self._packet.square(columns.size)[0].copy(), columns)

    def restart(self, vector: np.ndarray) -> None:
        """Form anew what is carried beside the dual vector from the recurrence's `vector`, shape (m,)."""

    def carried(self) -> dict[str, np.ndarray]:
        """Name this rank's part of what is carried beside the dual vector, if anything is."""
        return {}

    def _share(self, form: Callable[..., None], *arguments: Any) -> None:
        """Form this rank's share of a sum; where that fails, the reduction tells all ranks."""
        packet, clock = self._packet, self._clock
        if packet.failure is None:
            try:
                form(*arguments)
            except Exception as error:
                packet.failure = error
        clock.stop(PANEL)
        if self._separate:
            self._communicator.barrier()
            clock.stop(WAITING)
