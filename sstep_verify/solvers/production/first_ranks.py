"""Windows of ranks whose arithmetic differs in its last bits: rank 0's result is that of all."""

from __future__ import annotations

import numpy as np

from sstep_verify.parallel.communicator import Communicator
from sstep_verify.solvers.production.recurrences import AnyRecurrence


class FirstRanks:
    """A recurrence after whose windows every rank holds what rank 0 made: one broadcast a call.

    What is replicated (kernel function, products, updates) comes out alike on all ranks only where they are
    of one kind. Elsewhere each makes it, so that none waits longer than before, and takes over rank 0's
    values of the coordinates drawn: a, the vector that kernel rows are multiplied with, and its changes, by
    which each rank moves its part of what it carries. So a run is one that rank 0 alone could have made.

    Parameters
    ----------
    recurrence : AnyRecurrence
        Makes the windows.
    communicator : Communicator
        The ranks, more than one.
    small : bool
        Whether windows are made from the entries among their coordinates.

    Attributes
    ----------
    alpha, vector : ndarray, shape (m,)
        Those of the recurrence.
    """

    def __init__(self, recurrence: AnyRecurrence, communicator: Communicator, small: bool):
        self._own, self._communicator, self._small = recurrence, communicator, small
        self.alpha, self.vector = recurrence.alpha, recurrence.vector
        self._taken = 0

    def step_of(self, draws: int) -> int:
        """No window goes step by step where there are several ranks."""
        return 0

    def step(self, panel: np.ndarray, positions: np.ndarray, block: np.ndarray, log: np.ndarray) -> None:
        """Never called."""
        raise NotImplementedError

    def panel_window(
        self, panel: np.ndarray, positions: np.ndarray, draws: np.ndarray, log: np.ndarray
    ) -> None:
        """Make one window; see `Recurrence`."""
        self._own.panel_window(panel, positions, draws, log)
        self._take(draws, log)

    def products(self, panel: np.ndarray) -> None:
        """Take the stale products of a window's rows, apart from its updates."""
        self._own.products(panel)

    def stale_window(
        self, panel: np.ndarray, positions: np.ndarray, draws: np.ndarray, log: np.ndarray
    ) -> None:
        """Make the updates of the window whose `products` were just taken."""
        self._own.stale_window(panel, positions, draws, log)
        self._take(draws, log)

    def kept_windows(
        self, rows: np.ndarray, slot_of: np.ndarray, draws: np.ndarray, width: int, log: np.ndarray
    ) -> None:
        """Make many windows from kept rows."""
        self._own.kept_windows(rows, slot_of, draws, width, log)
        self._take(draws.ravel(), log)

    def small_window(
        self,
        gram: np.ndarray,
        stale: np.ndarray,
        columns: np.ndarray,
        positions: np.ndarray,
        log: np.ndarray,
    ) -> np.ndarray:
        """Make one window from gram (c, c) and stale (c,); returns the changes of `vector`, (c,)."""
        change = self._own.small_window(gram, stale, columns, positions, log)
        return self._take(columns, log, change)

    def make_up(self, window: int, columns: np.ndarray, draws: np.ndarray, log: np.ndarray) -> None:
        """Take part in what the others wait for where this rank has failed in a window, counted from 0."""
        if self._taken == window:
            changes = np.zeros(columns.size) if self._small else None
            self._take(columns if self._small else draws, log, changes)

    def _take(self, columns: np.ndarray, log: np.ndarray, change: np.ndarray | None = None) -> np.ndarray:
        """Take over rank 0's values at coordinates, its log and its changes; returns the changes."""
        changes = np.empty(0) if change is None else change
        parts = [self.alpha[columns], self.vector[columns], log.ravel(), changes]
        buffer = np.concatenate(parts)
        self._taken += 1
        self._communicator.broadcast(buffer)
        alpha, vector, new, changes = np.split(buffer, np.cumsum([part.size for part in parts[:-1]]))
        self.alpha[columns], self.vector[columns] = alpha, vector
        log[...] = new.reshape(log.shape)
        return changes
