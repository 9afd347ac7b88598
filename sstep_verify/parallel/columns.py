"""Distinct coordinates of each window: the panel holds a column once, however often it is drawn."""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import compiled


@compiled
def distinct_columns(draws, stamp, mark, columns, positions, counts):
    """Find the distinct coordinates of many windows in one call.

    Parameters
    ----------
    draws : ndarray of int64, shape (windows, s * b)
        Coordinates drawn, one window a row.
    stamp : ndarray of int32, shape (2, m)
        Scratch: row 0 the mark last seen at a coordinate, row 1 its place in that window.
    mark : int
        A value larger than any in `stamp`; the next free one is returned.
    columns : ndarray of int64, shape (windows, s * b)
        Out: the distinct coordinates of each window in order of first draw.
    positions : ndarray of int64, shape (windows, s * b)
        Out: place of each draw's coordinate among the distinct ones.
    counts : ndarray of int64, shape (windows,)
        Out: number of distinct coordinates.

    Returns
    -------
    int
        The next free mark.
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
