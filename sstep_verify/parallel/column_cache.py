"""A cache of kernel rows that all ranks fill and empty alike, without a message.

Which rows are kept depends on the index stream and the capacity alone, and both are the same on all ranks:
a row stays until its place is needed, the longest kept going first, but none that the current window needs.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import compiled
from sstep_verify.errors import InputError


class ColumnCache:
    """Kernel rows by slot.

    Parameters
    ----------
    samples : int
        Number of coordinates (m).
    capacity : int
        Rows kept.
    window : int
        Most distinct coordinates of a window.

    Attributes
    ----------
    rows : ndarray, shape (capacity, m)
        The kept rows.
    slot_of : ndarray of int64, shape (m,)
        Slot of each coordinate's row; -1 where it is not kept.

    Raises
    ------
    InputError
        If a window may need more rows than are kept.
    """

    def __init__(self, samples: int, capacity: int, window: int):
        if capacity < window:
            raise InputError(
                f"a cache of {capacity} kernel rows cannot hold the {window} that one window may need: "
                f"allow it at least {window * samples} words, or choose a smaller s"
            )
        self.rows = np.empty((capacity, samples))
        self.slot_of = np.full(samples, -1, dtype=np.int64)
        self._owner = np.full(capacity, -1, dtype=np.int64)
        self._needed = np.full(samples, -1, dtype=np.int64)
        self._missing = np.empty((2, window), dtype=np.int64)
        self._next = self._windows = 0

    def hits(self, draws: np.ndarray, width: int) -> int:
        """Number of leading windows of `width` iterations whose rows are all kept; draws (H, b)."""
        return int(leading_hits(draws, width, self.slot_of))

    def admit(self, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give slots to what a window lacks: its coordinates, in order of first draw, and their slots."""
        self._windows += 1
        count, self._next = admit_columns(
            draws, self.slot_of, self._owner, self._needed, self._windows, self._next, self._missing
        )
        return self._missing[0, :count], self._missing[1, :count]

    def clear(self) -> None:
        """Forget all rows."""
        self.slot_of[:] = -1
        self._owner[:] = -1
        self._next = 0


@compiled
def leading_hits(draws, width, slot_of):
    """Count the leading windows without a miss; a shorter last window counts as one."""
    windows = 0
    for begin in range(0, draws.shape[0], width):
        for step in range(begin, min(begin + width, draws.shape[0])):
            for place in range(draws.shape[1]):
                if slot_of[draws[step, place]] < 0:
                    return windows
        windows += 1
    return windows


@compiled
def admit_columns(draws, slot_of, owner, needed, window, place, missing):
    """Assign slots to the missing coordinates of one window; returns their number and the next slot."""
    for step in range(draws.shape[0]):
        for item in range(draws.shape[1]):
            needed[draws[step, item]] = window
    count = 0
    for step in range(draws.shape[0]):
        for item in range(draws.shape[1]):
            coordinate = draws[step, item]
            if slot_of[coordinate] >= 0:
                continue
            while owner[place] >= 0 and needed[owner[place]] == window:
                place = (place + 1) % owner.size
            if owner[place] >= 0:
                slot_of[owner[place]] = -1
            owner[place] = coordinate
            slot_of[coordinate] = place
            missing[0, count] = coordinate
            missing[1, count] = place
            count += 1
            place = (place + 1) % owner.size
    return count, place
