"""Ways to make the windows of a chunk of draws: each by an exchange of its own, or from kept rows.

The distinct coordinates of each window are found first: a row is formed once, and may be kept for later.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import compiled
from sstep_verify.errors import InputError
from sstep_verify.solver.clock import RECURRENCE
from sstep_verify.solver.exchanges.exchange import AllreduceExchange, Exchange
from sstep_verify.solver.recurrences import Recurrence
from sstep_verify.trajectory import Panel


class Windows:
    """Makes windows of s iterations by an exchange and a recurrence; `made` says how many so far."""

    def __init__(self, exchange: Exchange, recurrence: Recurrence, s: int):
        self._exchange, self._recurrence, self._s, self.made = exchange, recurrence, s, 0
        self._packet, self._clock = exchange.packet, exchange.packet.clock


class ExchangedWindows(Windows):
    """Every window, whose distinct coordinates `columns` finds, forms and exchanges what it needs."""

    def __init__(self, exchange: Exchange, recurrence: Recurrence, columns: WindowColumns, s: int):
        super().__init__(exchange, recurrence, s)
        self._columns = columns

    def make(self, draws: np.ndarray, log: np.ndarray, s: int | None = None) -> None:
        """Make the windows of some draws, shape (k, b), and log their new values, shape (k, b).

        Full windows of s iterations, at most as many as those of the run, and of these where s is absent;
        then the one that is shorter. Those after one that is late are not made.
        """
        s = s or self._s
        full = draws.shape[0] // s * s
        for windows, part in ((full // s, slice(0, full)), (1, slice(full, None))):
            if draws[part].size and not self._packet.late:
                drawn = np.ascontiguousarray(draws[part].reshape(windows, -1))
                self._alike(drawn, log[part].reshape(windows, -1))

    def _alike(self, draws: np.ndarray, log: np.ndarray) -> None:
        """Make the windows whose drawn coordinates are the rows of `draws`; log their new values."""
        columns, positions, counts = self._columns.of(draws)
        recurrence, packet, window = self._recurrence, self._packet, self._window
        for own, count, places, drawn, new in zip(
            columns, counts.tolist(), positions, draws, log, strict=True
        ):
            packet.window = self.made
            if count < own.size:
                own = own[:count]
            try:
                window(own, places, drawn, new)
            except Exception as error:
                packet.hold_back(error)
                recurrence.make_up(self.made, own, new)
            self.made += 1
            if not packet.alone:
                packet.sign(recurrence.alpha, own)
                if packet.late:
                    return

    def _window(
        self, columns: np.ndarray, positions: np.ndarray, draws: np.ndarray, log: np.ndarray
    ) -> None:
        """Make one window; parameters as of `Recurrence.window`."""
        exchange, recurrence = self._exchange, self._recurrence
        rows, stale = exchange.parts(columns, recurrence.vector)
        change = recurrence.window(rows, stale, exchange.whole, columns, positions, draws, log)
        exchange.moved(columns, change, recurrence.vector)
        self._clock.stop(RECURRENCE)

    def used_panel(self, draws: np.ndarray) -> Panel:
        """Copy of the kernel entries of the window just made, from its draws, shape (s, b).

        Whole rows, or the entries among the drawn coordinates, as the exchange has them.
        """
        columns, _, counts = self._columns.of(np.ascontiguousarray(draws).reshape(1, -1))
        return self._exchange.used(columns[0, : int(counts[0])].copy())


class CachedWindows(Windows):
    """Windows whose rows are all in the cache go in one call; the first that lacks some fetches them.

    The cache keeps rows from window to window, all of them where the Gram matrix is kept.
    """

    def __init__(self, exchange: AllreduceExchange, recurrence: Recurrence, cache: ColumnCache, s: int):
        super().__init__(exchange, recurrence, s)
        self._rows_of, self._cache = exchange, cache

    def make(self, draws: np.ndarray, log: np.ndarray, s: int | None = None) -> None:
        """Make windows as `ExchangedWindows` does, in runs of hits, each but the first behind one miss."""
        cache, s, packet, first = self._cache, s or self._s, self._packet, 0
        while first < draws.shape[0]:
            hits = cache.hits(draws[first:], s)
            last = min(first + max(hits, 1) * s, draws.shape[0])
            if not hits:
                packet.window = self.made
                missing, slots = cache.admit(draws[first:last])
                try:
                    cache.rows[slots] = self._rows_of.rows(missing)
                except Exception as error:
                    packet.hold_back(error)
            self._clock.start()
            self._recurrence.kept_windows(cache.rows, cache.slot_of, draws[first:last], s, log[first:last])
            self._clock.stop(RECURRENCE)
            self.made += max(hits, 1)
            packet.sign(self._recurrence.alpha, draws[first:last].ravel())
            first = last

    def used_panel(self, draws: np.ndarray) -> Panel:
        """Rows of the window, from the cache."""
        columns = np.unique(draws)
        return Panel(columns, self._cache.rows[self._cache.slot_of[columns]])


def whole_gram(exchange: AllreduceExchange, samples: int, rows: int) -> np.ndarray:
    """Form the Gram matrix, shape (m, m), some rows at once."""
    gram = np.empty((samples, samples))
    for begin in range(0, samples, rows):
        columns = np.arange(begin, min(begin + rows, samples))
        gram[begin : begin + columns.size] = exchange.rows(columns)
    return gram


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

    `samples`: number of coordinates (m); `draws`: coordinates drawn per full window (s * b); `windows`:
    largest number of windows handled in one call; `narrow`: largest number of coordinates drawn in one call
    by windows that may draw less; 0 if there are none.
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

    `samples`: number of coordinates (m); `capacity`: rows kept; `window`: most distinct coordinates of a
    window; `gram`, (m, m): all kernel rows, where they are kept from the beginning; `capacity` is m.
    Attributes `rows`, (capacity, m): the kept rows; `slot_of`, int64, (m,): slot of each coordinate's row;
    -1 where it is not kept. Raises InputError if a window may need more rows than are kept.
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
