"""Ways to make the windows of a chunk of draws: each by an exchange of its own, or from kept rows."""

from __future__ import annotations

import numpy as np

from sstep_verify.production.exchanges.exchange import AllreduceExchange, Exchange
from sstep_verify.production.messages.clock import RECURRENCE, Clock
from sstep_verify.production.messages.packet import IncoherenceError, Packet, WindowError, sign
from sstep_verify.production.panels.columns import ColumnCache, WindowColumns
from sstep_verify.production.recurrences import Recurrence
from sstep_verify.trajectory import Panel


class Coherent:
    """Errors and signatures that keep several ranks together from window to window.

    Parameters
    ----------
    packet : Packet
        Carries failure and signature with every reduction.
    ranks : int
        Number of ranks (P).
    """

    def __init__(self, packet: Packet, ranks: int):
        self.packet, self.alone = packet, ranks == 1

    def hold_back(self, error: Exception) -> None:
        """Keep an error of this rank until all ranks can raise together."""
        if self.alone or isinstance(error, (WindowError, IncoherenceError)):
            raise error
        self.packet.failure = error

    def sign(self, alpha: np.ndarray, columns: np.ndarray) -> None:
        """Go on with the signature after a window that may have changed a at `columns`."""
        if not self.alone:
            sign(self.packet.signature, alpha.view(np.uint64), columns)


class ExchangedWindows:
    """Every window forms and exchanges what it needs.

    Parameters
    ----------
    exchange : Exchange
        Hands the recurrence what it needs.
    recurrence : Recurrence
        Makes the updates.
    columns : WindowColumns
        Finds the distinct coordinates of each window.
    coherent : Coherent
        Keeps the ranks together.
    s : int
        Iterations per window.
    clock : Clock
        Seconds per phase.

    Attributes
    ----------
    made : int
        Windows made so far.
    """

    def __init__(
        self,
        exchange: Exchange,
        recurrence: Recurrence,
        columns: WindowColumns,
        coherent: Coherent,
        s: int,
        clock: Clock,
    ):
        self._exchange, self._recurrence, self._columns = exchange, recurrence, columns
        self._coherent, self._s, self._clock, self.made = coherent, s, clock, 0

    def make(self, draws: np.ndarray, log: np.ndarray, s: int | None = None) -> None:
        """Make the windows of some draws, shape (k, b), and log their new values, shape (k, b).

        Full windows of s iterations, at most as many as those of the run, and of these where s is absent;
        then the one that is shorter. Those after one that is late are not made.
        """
        s = s or self._s
        full = draws.shape[0] // s * s
        for windows, part in ((full // s, slice(0, full)), (1, slice(full, None))):
            if draws[part].size and not self._coherent.packet.late:
                drawn = np.ascontiguousarray(draws[part].reshape(windows, -1))
                self._alike(drawn, log[part].reshape(windows, -1))

    def _alike(self, draws: np.ndarray, log: np.ndarray) -> None:
        """Make the windows whose drawn coordinates are the rows of `draws`; log their new values."""
        columns, positions, counts = self._columns.of(draws)
        recurrence, coherent, window = self._recurrence, self._coherent, self._window
        packet, alone = coherent.packet, coherent.alone
        for own, count, places, drawn, new in zip(
            columns, counts.tolist(), positions, draws, log, strict=True
        ):
            packet.window = self.made
            if count < own.size:
                own = own[:count]
            try:
                window(own, places, drawn, new)
            except Exception as error:
                coherent.hold_back(error)
                recurrence.make_up(self.made, own, new)
            self.made += 1
            if not alone:
                coherent.sign(recurrence.alpha, own)
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


class CachedWindows:
    """Windows whose rows are all in the cache go in one call; the first that lacks some fetches them.

    Parameters
    ----------
    exchange : AllreduceExchange
        Forms the rows that are not in the cache.
    cache : ColumnCache
        Keeps rows from window to window, all of them where the Gram matrix is kept.
    recurrence, coherent, s, clock
        As in `ExchangedWindows`.
    """

    def __init__(
        self,
        exchange: AllreduceExchange,
        cache: ColumnCache,
        recurrence: Recurrence,
        coherent: Coherent,
        s: int,
        clock: Clock,
    ):
        self._exchange, self._cache, self._recurrence = exchange, cache, recurrence
        self._coherent, self._s, self._clock, self.made = coherent, s, clock, 0

    def make(self, draws: np.ndarray, log: np.ndarray, s: int | None = None) -> None:
        """Make windows as `ExchangedWindows` does, in runs of hits, each but the first behind one miss."""
        cache, s, coherent, first = self._cache, s or self._s, self._coherent, 0
        while first < draws.shape[0]:
            hits = cache.hits(draws[first:], s)
            last = min(first + max(hits, 1) * s, draws.shape[0])
            if not hits:
                coherent.packet.window = self.made
                missing, slots = cache.admit(draws[first:last])
                try:
                    cache.rows[slots] = self._exchange.rows(missing)
                except Exception as error:
                    coherent.hold_back(error)
            self._clock.start()
            self._recurrence.kept_windows(cache.rows, cache.slot_of, draws[first:last], s, log[first:last])
            self._clock.stop(RECURRENCE)
            self.made += max(hits, 1)
            coherent.sign(self._recurrence.alpha, draws[first:last].ravel())
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
