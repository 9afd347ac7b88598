"""The two sides of a window: an exchange, which communicates, and a recurrence, which makes the updates."""

from __future__ import annotations

from typing import Protocol

import numpy as np

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


class Exchange(Protocol):
    """Communication that a run needs, in windows.

    Attributes
    ----------
    columns : int
        Kernel rows formed.
    """

    columns: int

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
        ...

    def used(self, columns: np.ndarray) -> Panel:
        """Copy of the kernel entries of the window just made, whose distinct coordinates are `columns`."""
        ...

    def restart(self, vector: np.ndarray) -> None:
        """Form anew what is carried beside the dual vector from the recurrence's `vector`, shape (m,)."""
        ...

    def carried(self) -> dict[str, np.ndarray]:
        """Name this rank's part of what is carried beside the dual vector."""
        ...
