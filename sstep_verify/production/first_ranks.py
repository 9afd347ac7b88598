"""Windows of ranks whose arithmetic differs in its last bits: rank 0's result is that of all."""

from __future__ import annotations

import numpy as np

from sstep_verify.production.messages.communicator import Communicator
from sstep_verify.production.recurrences import Recurrence


class FirstRanks(Recurrence):
    """A recurrence after whose windows every rank holds what rank 0 made: one broadcast a call.

    What is replicated (kernel function, products, updates) comes out alike on all ranks only where they are
    of one kind. Elsewhere each makes it, so that none waits longer than before, and takes over rank 0's
    values of the coordinates drawn: a, the vector that kernel rows are multiplied with, and its changes, by
    which each rank moves its part of what it carries. So a run is one that rank 0 alone could have made.

    Parameters
    ----------
    recurrence : Recurrence
        Makes the windows.
    communicator : Communicator
        The ranks, more than one.
    carries : bool
        Whether the changes are asked for, because weights are carried.

    Attributes
    ----------
    alpha, vector : ndarray, shape (m,)
        Those of the recurrence.
    """

    def __init__(self, recurrence: Recurrence, communicator: Communicator, carries: bool):
        self._own, self._communicator, self._carries = recurrence, communicator, carries
        self.alpha, self.vector, self.state = recurrence.alpha, recurrence.vector, recurrence.state
        self._taken = 0

    def window(
        self,
        rows: np.ndarray,
        stale: np.ndarray | None,
        whole: bool,
        columns: np.ndarray,
        positions: np.ndarray,
        draws: np.ndarray,
        log: np.ndarray,
    ) -> np.ndarray:
        """Make one window; see `Recurrence`."""
        change = self._own.window(rows, stale, whole, columns, positions, draws, log)
        return self._take(columns, log, change)

    def kept_windows(
        self, rows: np.ndarray, slot_of: np.ndarray, draws: np.ndarray, width: int, log: np.ndarray
    ) -> None:
        """Make many windows from kept rows."""
        self._own.kept_windows(rows, slot_of, draws, width, log)
        self._take(draws.ravel(), log, self.vector[:0])

    def make_up(self, window: int, columns: np.ndarray, log: np.ndarray) -> None:
        """Send and take the numbers of a failed window, unless that was done."""
        if self._taken == window:
            self._take(columns, log, np.zeros(columns.size))

    def _take(self, columns: np.ndarray, log: np.ndarray, changes: np.ndarray) -> np.ndarray:
        """Take over rank 0's values at coordinates, its log and its changes; returns the changes."""
        if not self._carries:
            changes = changes[:0]
        parts = [self.alpha[columns], self.vector[columns], log.ravel(), changes]
        buffer = np.concatenate(parts)
        self._taken += 1
        self._communicator.broadcast(buffer)
        alpha, vector, new, changes = np.split(buffer, np.cumsum([part.size for part in parts[:-1]]))
        self.alpha[columns], self.vector[columns] = alpha, vector
        log[...] = new.reshape(log.shape)
        return changes
