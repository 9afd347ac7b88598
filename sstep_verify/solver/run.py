"""The production solver, s iterations per communication over any communicator, and one run on this rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from sstep_verify.problems.problem import fingerprint
from sstep_verify.protocol import Observer, RunRequest
from sstep_verify.solver.clock import PHASES
from sstep_verify.solver.communicator import Communicator, SelfCommunicator
from sstep_verify.solver.data.partition import column_nonzeros, local_columns, partition_of
from sstep_verify.solver.exchanges.exchange import AllreduceExchange, Exchange, ReduceScatterExchange
from sstep_verify.solver.packet import CountingCommunicator, Packet
from sstep_verify.solver.panels.panel import Panel
from sstep_verify.solver.recurrences import FirstRanks, Recurrence, RidgeRecurrence, recurrence_of
from sstep_verify.solver.settings import GRAM_ROWS, Options
from sstep_verify.solver.windows import (
    CachedWindows,
    ColumnCache,
    ExchangedWindows,
    WindowColumns,
    whole_gram,
)
from sstep_verify.trajectory import BROADCASTS, Trajectory
from sstep_verify.trajectory import Panel as UsedPanel

CHUNK_DRAWS = 1 << 9
"""Coordinates whose windows are prepared in one call: amortises Python over many windows."""


class Run:
    """The state of one run.

    `gram`, (m, m): a kept Gram matrix that an earlier run formed; `tuned`: whether windows may be of any s
    up to the request's, and reductions carry the time word; `room`: memory of an earlier run's packet.
    Attributes `gram`, (m, m), or None: the Gram matrix, if it is kept; `log`, (H, b), or None: new values
    of the drawn coordinates, if asked for; `alpha`, (m,): the current dual vector; `exchange`: what is
    communicated; `packet`: what is summed, and the time word where s is tuned; `columns`: features that
    this rank takes of the data, None where it takes them as they are.
    """

    def __init__(
        self,
        options: Options,
        communicator: Communicator,
        request: RunRequest,
        gram: np.ndarray | None = None,
        tuned: bool = False,
        room: np.ndarray | None = None,
    ):
        problem, self._request, self._options = request.problem, request, options
        samples, block = problem.samples, request.stream.block
        self._communicator = CountingCommunicator(communicator)
        # No subclass: one may look at every reduction.
        self._alone = type(communicator) is SelfCommunicator
        self._order: np.ndarray | None = None
        self.columns: slice | np.ndarray | None = None
        self._width = max(min(request.s, request.iterations), 1)
        most = min(self._width * block, samples)
        # Fixed for a kept Gram matrix, so that its bits do not depend on the s of the run that formed it.
        self._rows = min(GRAM_ROWS, samples) if options.keep_gram else most
        separate = options.separate_timers
        self.packet = Packet(self._communicator, self._payload(most), tuned, room, separate)
        self.clock, self.exchange = self.packet.clock, options.exchange
        self.recurrence: Recurrence
        self.recurrence = recurrence_of(problem, request.first, self._width, block, options)
        # Where the ranks' arithmetic differs in its last bits rank 0's decides; elsewhere nothing is sent.
        if communicator.size > 1 and len(set(communicator.kinds)) > 1:
            carries = options.exchange == "gram"
            self.recurrence = FirstRanks(self.recurrence, self._communicator, carries)
        self.alpha = self.recurrence.alpha
        self.log = np.full((request.iterations, block), np.nan) if request.log else None
        self._chunk = self._chunk_of(self._width)
        self._tuned = tuned
        self._unkept = np.empty((max(self._chunk, self._chunk_of(1)) if tuned else self._chunk, block))
        self.gram = gram
        self._exchange = self._exchange_of(most)
        self._windows = self._windows_of(self._exchange, most)
        self._exchange.restart(self.recurrence.vector)

    def _payload(self, most: int) -> int:
        """Words of the largest reduction."""
        samples, kernel = self._request.problem.samples, self._request.problem.kernel
        norms = samples if kernel.of_distance and self._options.rbf == "norm-expansion" else 0
        of_rows = self._options.exchange in ("allreduce", "support")
        window = self._rows * samples if of_rows else most * most + most
        return max(window, norms)

    def _own_columns(self):
        data, size = self._request.problem.data, self._communicator.size
        if self._options.columns == "local" or size == 1:
            return data
        partition = partition_of(column_nonzeros(data), size, self._options.partition)
        self._order, self.columns = partition.order, partition.columns(self._communicator.rank)
        return local_columns(data, self.columns)

    def _exchange_of(self, most: int) -> Exchange:
        """The exchange of windows with at most so many rows; what others need is not loaded."""
        options, kernel, packet = self._options, self._request.problem.kernel, self.packet
        data = self._own_columns()
        if options.exchange == "gram":
            from sstep_verify.solver.exchanges.gram import GramExchange

            before = self._request.start // self._request.s
            return GramExchange(data, packet, most, options.recompute, before)
        given = data, kernel, options.rbf, self._rows, packet
        if options.exchange == "support":
            from sstep_verify.solver.exchanges.support import SupportExchange, SupportPanel

            return SupportExchange(SupportPanel(*given), packet, most)
        kind = AllreduceExchange if options.exchange == "allreduce" else ReduceScatterExchange
        return kind(Panel(*given), packet, most)

    def _windows_of(self, exchange: Exchange, most: int) -> ExchangedWindows | CachedWindows:
        """How windows are made: from rows that are kept, many in one call, step by step, or one by one."""
        request, recurrence, options = self._request, self.recurrence, self._options
        samples, block = request.problem.samples, request.stream.block
        if options.keep_gram or options.cache:
            assert isinstance(exchange, AllreduceExchange)
            if options.keep_gram and self.gram is None:
                self.gram = whole_gram(exchange, samples, self._rows)
            rows = samples if options.keep_gram else options.cached_rows(samples)
            return CachedWindows(
                exchange, recurrence, ColumnCache(samples, rows, most, self.gram), request.s
            )
        windows, narrow = self._chunk // self._width, CHUNK_DRAWS if self._tuned else 0
        columns = WindowColumns(samples, self._width * block, windows, narrow)
        if self._alone and self.exchange == "gram":
            from sstep_verify.solver.exchanges.gram import GramExchange
            from sstep_verify.solver.single_rank import SingleRankGramWindows

            assert isinstance(exchange, GramExchange)
            return SingleRankGramWindows(exchange, recurrence, columns, request.s, self._communicator)
        if (
            self.packet.alone
            and not (options.separate_timers or options.frozen)
            and block >= options.long_block
            and isinstance(recurrence, RidgeRecurrence)
            and isinstance(exchange, AllreduceExchange)
        ):
            from sstep_verify.solver.step_windows import StepWindows

            return StepWindows(exchange, recurrence, columns, request.s, block, request.expose_panels)
        return ExchangedWindows(exchange, recurrence, columns, request.s)

    @property
    def windows(self) -> int:
        """Windows made so far."""
        return self._windows.made

    @property
    def counters(self) -> dict[str, int]:
        """Windows, kernel rows formed, collectives, words handed to them by this rank."""
        counted = self._communicator
        found = {
            "windows": self.windows,
            "panel columns": self._exchange.columns,
            "collectives": counted.collectives,
            "words": counted.words,
        }
        return found | ({BROADCASTS: counted.broadcasts} if counted.broadcasts else {})

    def _chunk_of(self, s: int) -> int:
        """Iterations whose windows of s are prepared in one call."""
        return max(CHUNK_DRAWS // (s * self._request.stream.block), 1) * s

    def advance(self, begin: int, end: int, s: int | None = None) -> int:
        """Make iterations begin..end-1 of the request, in windows of s, by default the request's.

        Returns where it ended: after a window that is late no other is made.
        """
        start, chunk = self._request.start, self._chunk if s is None else self._chunk_of(s)
        for first in range(begin, end, chunk):
            last, made = min(first + chunk, end), self.windows
            draws = self._request.stream.blocks(start + first, start + last)
            log = self._unkept[: last - first] if self.log is None else self.log[first:last]
            self._windows.make(draws, log, s)
            if self.packet.late:
                return min(first + (self.windows - made) * (s or self._width), end)
        return end

    def settle(self, stop: bool) -> tuple[tuple[str, ...], bool]:
        """Bring all ranks together at a record: digests of alpha, and whether any rank wants to stop.

        A time that no reduction has sent yet is sent here.

        Raises WindowError if some rank has failed since the last reduction.
        """
        packet = self.packet
        if packet.alone:
            return (), stop
        packet.raise_failures()
        answers = self._communicator.allgather((fingerprint(self.alpha), stop, packet.time))
        if packet.time is not None:
            packet.time, packet.told = None, sum(time for _, _, time in answers)
        return tuple(digest for digest, *_ in answers), any(wanted for _, wanted, _ in answers)

    def weights(self) -> np.ndarray | None:
        """The weights that exchange gram maintains, gathered from all ranks, (n,); None of the others."""
        part = self._exchange.weights
        if part is None:
            return None
        # One number for each feature, of which each rank has those of its columns.
        whole = np.concatenate(self._communicator.allgather(part))
        found = np.empty_like(whole)
        found[slice(None) if self._order is None else self._order] = whole
        return found

    def used_panel(self, begin: int, end: int) -> UsedPanel:
        """Copy of the kernel entries of the window just made: whole rows, or those among its draws."""
        start = self._request.start
        return self._windows.used_panel(self._request.stream.blocks(start + begin, start + end))


class ProductionSolver:
    """Run s-step DCD (K-SVM-L1, K-SVM-L2) and s-step BDCD (K-RR) in float64; s = 1 is the classical method.

    Parameters
    ----------
    communicator : Communicator, optional
        The ranks, all of which make the same calls; one process if absent.
    **options
        See `sstep_verify.solver.settings.Options`.

    Attributes
    ----------
    columns : slice or ndarray or None
        Features that this rank took of the data of the last run; None if it took all of them.

    Raises
    ------
    InputError
        If an option is unusable.

    Examples
    --------
    >>> from sstep_verify import Hinge, IndexStream, LinearKernel, Problem, ProductionSolver, RunRequest
    >>> problem = Problem("small", [[1.0, 0.0], [0.0, 2.0]], [1, -1], LinearKernel(), Hinge(C=1.0))
    >>> stream = IndexStream("cyclic", samples=2, block=1, length=4)
    >>> ProductionSolver().run(RunRequest(problem, stream, s=2, iterations=4)).final.tolist()
    [1.0, 0.25]
    """

    def __init__(self, communicator: Communicator | None = None, **options: Any):
        self._communicator = communicator or SelfCommunicator()
        self._options = Options(**options)
        self._gram: tuple[str, np.ndarray] | None = None
        self._room: np.ndarray | None = None
        self.columns: slice | np.ndarray | None = None
        self.declaration = self._options.declaration(self._communicator.size)

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Make the run; `observe` is called at every recorded iteration and may end it.

        On several ranks it is called on each, and the run ends if any of them ends it.

        Raises
        ------
        InputError
            If the problem does not go with the options.
        WindowError
            If a rank failed: on all ranks, in the same window.
        IncoherenceError
            If the ranks no longer hold the same dual vector.
        """
        self._options.refuse(request.problem)
        # The largest memory of a run is kept for the next: the system takes as long to give out new memory
        # as a window takes to fill it.
        room, self._room = self._room, None
        kept = self._gram is not None and self._gram[0] == request.problem.digest
        gram = self._gram[1] if self._gram is not None and kept else None
        run = Run(self._options, self._communicator, request, gram, room=room)
        self.columns = run.columns
        if run.gram is not None:
            self._gram = (request.problem.digest, run.gram)
        stops, stopped = request.stops, "iterations"
        alphas = np.empty((len(stops), request.problem.samples))
        panels: dict[int, UsedPanel] = {}
        digests: dict[int, tuple[str, ...]] = {}
        weights: list[np.ndarray | None] = []
        for place, stop in enumerate(stops):
            if place:
                begin = stops[place - 1]
                run.advance(begin, stop)
                # Runs are recorded at ends of windows.
                if request.expose_panels and stop - begin <= request.s:
                    panels[begin] = run.used_panel(begin, stop)
            alphas[place] = run.alpha
            found, ended = run.settle(observe is not None and observe(stop, alphas[place]))
            if found:
                digests[stop] = found
            weights.append(run.weights())
            if ended:
                stopped = "observer"
                break
        self._room = run.packet.room
        made = stops[: len(weights)]
        return Trajectory(
            s=request.s,
            start=request.start,
            iterations=np.array(made, dtype=np.int64),
            alphas=alphas[: len(made)],
            counters=run.counters,
            timers=dict(zip(PHASES, run.clock.seconds, strict=True)),
            stopped=stopped,
            panels=panels,
            weights=None if weights[0] is None else np.array(weights),
            fingerprints=digests,
            log=None if run.log is None else run.log[: made[-1]],
        )
