"""One run of the production solver on this rank: windows, exchange, recurrence, records."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sstep_verify.parallel.clock import GRADIENT, RECURRENCE, Clock
from sstep_verify.parallel.column_cache import ColumnCache
from sstep_verify.parallel.columns import WindowColumns
from sstep_verify.parallel.communicator import Communicator, CountingCommunicator
from sstep_verify.parallel.exchange_allreduce import AllreduceExchange
from sstep_verify.parallel.exchange_gram import GramExchange
from sstep_verify.parallel.exchange_reduce_scatter import ReduceScatterExchange
from sstep_verify.parallel.packet import IncoherenceError, Packet, WindowError, sign
from sstep_verify.parallel.panel import Panel
from sstep_verify.parallel.partition import balanced_partition, column_nonzeros, local_columns
from sstep_verify.problems import RBFKernel
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.production.options import GRAM_ROWS, Options
from sstep_verify.solvers.production.recurrences import recurrence_of
from sstep_verify.trajectory import Panel as UsedPanel
from sstep_verify.trajectory import fingerprint

CHUNK_DRAWS = 1 << 9
"""Coordinates whose windows are prepared in one call: amortises Python over many windows."""


class Run:
    """The state of one run.

    Parameters
    ----------
    options : Options
        How to run.
    communicator : Communicator
        The ranks.
    request : RunRequest
        What to run.
    gram : ndarray, shape (m, m), optional
        A kept Gram matrix that an earlier run formed.
    """

    def __init__(
        self,
        options: Options,
        communicator: Communicator,
        request: RunRequest,
        gram: np.ndarray | None = None,
    ):
        problem, self._request, self._options = request.problem, request, options
        samples, block = problem.samples, request.stream.block
        self._communicator = CountingCommunicator(communicator)
        self._width = max(min(request.s, request.iterations), 1)
        self.windows = self.columns = 0
        self.clock = Clock()
        most = min(self._width * block, samples)
        # Fixed for a kept Gram matrix, so that its bits do not depend on the s of the run that formed it.
        self._rows = min(GRAM_ROWS, samples) if options.keep_gram else most
        self._local = self._own_columns()
        self._packet = Packet(self._communicator, self._payload(most))
        self._exchange = self._make_exchange(most)
        initial = np.zeros(samples) if request.initial is None else request.initial
        self.recurrence = recurrence_of(problem, initial, self._width, block, options.frozen)
        self.log = np.full((request.iterations, block), np.nan) if request.log else None
        self._chunk = max(CHUNK_DRAWS // (self._width * block), 1) * self._width
        self._columns = WindowColumns(samples, self._width * block, self._chunk // self._width)
        self._cache = ColumnCache(samples, options.cached_rows(samples), most) if options.cache else None
        self._unkept = np.empty((self._chunk, block))
        self._advance = self._choose_loop(gram)
        if isinstance(self._exchange, GramExchange):
            self._exchange.restart(self.recurrence.vector)

    def _own_columns(self):
        data, size = self._request.problem.data, self._communicator.size
        if self._options.columns == "local" or size == 1:
            return data
        part = balanced_partition(column_nonzeros(data), size).columns(self._communicator.rank)
        return local_columns(data, part)

    def _payload(self, most: int) -> int:
        """Words of the largest reduction."""
        samples, kernel = self._request.problem.samples, self._request.problem.kernel
        norms = samples if isinstance(kernel, RBFKernel) and self._options.rbf == "norm-expansion" else 0
        window = self._rows * samples if self._options.exchange == "allreduce" else most * most + most
        return max(window, norms)

    def _make_exchange(self, most: int) -> AllreduceExchange | ReduceScatterExchange | GramExchange:
        options, clock, communicator, packet = self._options, self.clock, self._communicator, self._packet
        separate = options.separate_timers
        if options.exchange == "gram":
            return GramExchange(self._local, packet, communicator, clock, most, separate)
        panel = Panel(self._local, self._request.problem.kernel, options.rbf, self._rows, packet)
        if options.exchange == "reduce-scatter":
            return ReduceScatterExchange(panel, packet, communicator, clock, most, separate)
        return AllreduceExchange(panel, packet, communicator, clock, separate)

    def _choose_loop(self, gram: np.ndarray | None) -> Callable[[Run, np.ndarray, np.ndarray], None]:
        """What makes the windows of a chunk of draws, and logs them, both of shape (k, b).

        A function, not a method bound to this run: a run that refers to itself would keep its arrays, a
        kept Gram matrix among them, until the next collection of garbage.
        """
        if self._options.keep_gram:
            self.gram = gram if gram is not None else self._whole_gram()
            self._slot_of = np.arange(self._request.problem.samples)
            return Run._kept
        return Run._cached if self._cache is not None else Run._fresh

    def _whole_gram(self) -> np.ndarray:
        assert isinstance(self._exchange, AllreduceExchange)
        samples = self._request.problem.samples
        gram = np.empty((samples, samples))
        for begin in range(0, samples, self._rows):
            columns = np.arange(begin, min(begin + self._rows, samples))
            gram[begin : begin + columns.size] = self._exchange.rows(columns)
        return gram

    @property
    def alpha(self) -> np.ndarray:
        """The current dual vector, shape (m,)."""
        return self.recurrence.alpha

    @property
    def counters(self) -> dict[str, int]:
        """Windows, kernel rows formed, collectives, words handed to them by this rank."""
        counted = self._communicator
        return {
            "windows": self.windows,
            "panel columns": self._exchange.columns,
            "collectives": counted.collectives,
            "words": counted.words,
        }

    def advance(self, begin: int, end: int) -> None:
        """Make iterations begin..end-1 of the request."""
        start = self._request.start
        for first in range(begin, end, self._chunk):
            last = min(first + self._chunk, end)
            draws = self._request.stream.blocks(start + first, start + last)
            log = self._unkept[: last - first] if self.log is None else self.log[first:last]
            self._advance(self, draws, log)

    def _kept(self, draws: np.ndarray, log: np.ndarray) -> None:
        self.clock.start()
        self.recurrence.kept_windows(self.gram, self._slot_of, draws, self._request.s, log)
        self.clock.stop(RECURRENCE)
        self.windows += -(-draws.shape[0] // self._request.s)

    def _cached(self, draws: np.ndarray, log: np.ndarray) -> None:
        """Windows whose rows are all kept go in one call; the first that lacks some fetches them."""
        cache, exchange, s = self._cache, self._exchange, self._request.s
        assert cache is not None
        assert isinstance(exchange, AllreduceExchange)
        first = 0
        while first < draws.shape[0]:
            hits = cache.hits(draws[first:], s)
            last = min(first + max(hits, 1) * s, draws.shape[0])
            if not hits:
                self._packet.window = self.windows
                missing, slots = cache.admit(draws[first:last])
                try:
                    cache.rows[slots] = exchange.rows(missing)
                except Exception as error:
                    self._keep(error)
            self.clock.start()
            self.recurrence.kept_windows(cache.rows, cache.slot_of, draws[first:last], s, log[first:last])
            self.clock.stop(RECURRENCE)
            self.windows += max(hits, 1)
            self._sign(draws[first:last].ravel())
            first = last

    def _fresh(self, draws: np.ndarray, log: np.ndarray) -> None:
        """Every window forms and exchanges what it needs."""
        s = self._request.s
        full = draws.shape[0] // s * s
        for windows, part in ((full // s, slice(0, full)), (1, slice(full, None))):
            if draws[part].size:
                drawn = np.ascontiguousarray(draws[part].reshape(windows, -1))
                self._windows(drawn, log[part].reshape(windows, -1))

    def _windows(self, draws: np.ndarray, log: np.ndarray) -> None:
        """Make the windows whose drawn coordinates are the rows of `draws`; log their new values."""
        columns, positions, counts = self._columns.of(draws)
        step = self._panel_window if isinstance(self._exchange, AllreduceExchange) else self._small_window
        packet, alone = self._packet, self._communicator.size == 1
        for own, count, places, drawn, new in zip(
            columns, counts.tolist(), positions, draws, log, strict=True
        ):
            packet.window = self.windows
            own = own[:count]
            try:
                step(own, places, drawn, new)
            except Exception as error:
                self._keep(error)
            self.windows += 1
            if not alone:
                self._sign(own)

    def _panel_window(
        self, columns: np.ndarray, positions: np.ndarray, draws: np.ndarray, log: np.ndarray
    ) -> None:
        rows = self._exchange.rows(columns)  # type: ignore[union-attr]
        if self._options.separate_timers:
            self.recurrence.products(rows)
            self.clock.stop(GRADIENT)
            self.recurrence.stale_window(rows, positions, draws, log)
        else:
            self.recurrence.panel_window(rows, positions, draws, log)
        self.clock.stop(RECURRENCE)

    def _small_window(
        self, columns: np.ndarray, positions: np.ndarray, draws: np.ndarray, log: np.ndarray
    ) -> None:
        exchange, recurrence = self._exchange, self.recurrence
        assert not isinstance(exchange, AllreduceExchange)
        gram, stale = exchange.small(columns, recurrence.vector)
        change = recurrence.small_window(gram, stale, columns, positions, log)
        exchange.moved(columns, change)
        if isinstance(exchange, GramExchange) and self._options.recompute:
            self._refresh(exchange)
        self.clock.stop(RECURRENCE)

    def _refresh(self, exchange: GramExchange) -> None:
        """Form the weights anew at the end of a window, counted on the stream and not in this run."""
        ended = self._request.start // self._request.s + self.windows + 1
        if ended % self._options.recompute == 0:
            exchange.restart(self.recurrence.vector)

    def _keep(self, error: Exception) -> None:
        """Hold an error of this rank back until all ranks can raise together."""
        if self._communicator.size == 1 or isinstance(error, (WindowError, IncoherenceError)):
            raise error
        self._packet.failure = error

    def _sign(self, columns: np.ndarray) -> None:
        if self._communicator.size > 1:
            bits = self.recurrence.alpha.view(np.uint64)
            sign(self._packet.signature, bits, columns)

    def settle(self, stop: bool) -> tuple[tuple[str, ...], bool]:
        """Bring all ranks together at a record: digests of a, and whether any rank wants to stop.

        Raises
        ------
        WindowError
            If some rank has failed since the last reduction.
        """
        if self._communicator.size == 1:
            return (), stop
        self._packet.raise_failures()
        answers = self._communicator.allgather((fingerprint(self.alpha), stop))
        return tuple(digest for digest, _ in answers), any(wanted for _, wanted in answers)

    def state(self) -> dict[str, np.ndarray]:
        """What is carried beside a, gathered from all ranks: with exchange gram the weights, (n,)."""
        if not isinstance(self._exchange, GramExchange):
            return {}
        return {"weights": np.concatenate(self._communicator.allgather(self._exchange.weights))}

    def used_panel(self, begin: int, end: int) -> UsedPanel:
        """Copy of the kernel entries of the window just made: whole rows, or those among its draws."""
        start = self._request.start
        draws = self._request.stream.blocks(start + begin, start + end).reshape(1, -1)
        if self._options.keep_gram:
            columns = np.unique(draws)
            return UsedPanel(columns, self.gram[columns])
        if self._cache is not None:
            columns = np.unique(draws)
            return UsedPanel(columns, self._cache.rows[self._cache.slot_of[columns]])
        columns, _, counts = self._columns.of(np.ascontiguousarray(draws))
        count, samples = int(counts[0]), self._request.problem.samples
        drawn = columns[0, :count].copy()
        if not isinstance(self._exchange, AllreduceExchange):
            return UsedPanel(drawn, self._packet.square(count)[0].copy(), drawn)
        rows = self._packet.payload(count * samples).reshape(count, samples)
        return UsedPanel(drawn, rows.copy())
