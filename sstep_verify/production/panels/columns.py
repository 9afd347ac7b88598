"""Distinct coordinates of each window, whose rows are formed once, and rows kept for later windows."""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import compiled
from sstep_verify.errors import InputError


@compiled
def distinct_columns(draws, stamp, mark, columns, positions, counts):
    """Find the distinct coordinates of many windows, each a row of `draws`, (windows, s * b), in one call.

    Into `columns`, of the same shape, go those of each window in order of first draw, into `positions` the
    place of each draw's coordinate among them, into `counts`, (windows,), their number. `stamp`, (2, m),
    has the mark last seen at a coordinate and its place in that window; `mark` is larger than any in it,
    and the next free one is returned.
    """
    for window in range(draws.shape[0]):
        count = 0
        for draw in range(draws.shape[1]):
            coordinate = draws[window, draw]
            if stamp[0, coordinate] != mark:
                stamp[0, coordinate] = mark
                stamp[1, coordinate] = count
                columns[window, count] = coordinate
                count += 1
            positions[window, draw] = stamp[1, coordinate]
        counts[window] = count
        mark += 1
    return mark


LARGEST_MARK = np.iinfo(np.int32).max
"""Marks that fit; before they run out, all are forgotten."""


class WindowColumns:
    """Distinct coordinates for runs of windows, with buffers that are made once.

    Parameters
    ----------
    samples : int
        Number of coordinates (m).
    draws : int
        Coordinates drawn per full window (s * b).
    windows : int
        Largest number of windows handled in one call.
    narrow : int
        Largest number of coordinates drawn in one call by windows that may draw less; 0 if there are none.
    """

    def __init__(self, samples: int, draws: int, windows: int, narrow: int = 0):
        self._stamp = np.full((2, samples), -1, dtype=np.int32)
        self._mark = 0
        self._columns = np.empty(max(windows * draws, narrow), dtype=np.int64)
        self._positions = np.empty_like(self._columns)
        self._counts = np.empty(max(windows, narrow), dtype=np.int64)

    def of(self, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Columns, positions and counts of windows given as rows of drawn coordinates."""
        windows, width = draws.shape
        if self._mark > LARGEST_MARK - windows:
            self._stamp[:] = -1
            self._mark = 0
        columns = self._columns[: draws.size].reshape(windows, width)
        positions = self._positions[: draws.size].reshape(windows, width)
        counts = self._counts[:windows]
        self._mark = distinct_columns(draws, self._stamp, self._mark, columns, positions, counts)
        return columns, positions, counts


class ColumnCache:
    """A cache of kernel rows, by slot, that all ranks fill and empty alike, without a message.

    Which rows are kept depends on the index stream and the capacity alone, and both are the same on all
    ranks: a row stays until its place is needed, the longest kept going first, but none that the current
    window needs.

    Parameters
    ----------
    samples : int
        Number of coordinates (m).
    capacity : int
        Rows kept.
    window : int
        Most distinct coordinates of a window.
    gram : ndarray, shape (m, m), optional
        All kernel rows, where they are kept from the beginning; `capacity` is m.

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

    def __init__(self, samples: int, capacity: int, window: int, gram: np.ndarray | None = None):
        if capacity < window:
            raise InputError(
                f"a cache of {capacity} kernel rows cannot hold the {window} that one window may need: "
                f"allow it at least {window * samples} words, or choose a smaller s"
            )
        self._full = gram is not None
        self.rows = np.empty((capacity, samples)) if gram is None else gram
        self.slot_of = np.full(samples, -1, dtype=np.int64) if gram is None else np.arange(samples)
        self._owner = np.full(capacity, -1, dtype=np.int64)
        self._needed = np.full(samples, -1, dtype=np.int64)
        self._missing = np.empty((2, window), dtype=np.int64)
        self._next = self._windows = 0

    def hits(self, draws: np.ndarray, width: int) -> int:
        """Number of leading windows of `width` iterations whose rows are all kept; draws (H, b)."""
        if self._full:
            return -(-draws.shape[0] // width)
        return int(leading_hits(draws, width, self.slot_of))

    def admit(self, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give slots to what a window lacks: its coordinates, in order of first draw, and their slots."""
        self._windows += 1
        count, self._next = admit_columns(
            draws, self.slot_of, self._owner, self._needed, self._windows, self._next, self._missing
        )
        return self._missing[0, :count], self._missing[1, :count]


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
