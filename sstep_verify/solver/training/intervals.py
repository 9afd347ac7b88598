"""Training: a run made interval by interval, measured at the end of each.

Every interval is a run of its own that begins with the dual vector the last one left, so that a run which
was killed continues as if nothing had happened, to the last bit on ranks of the same kinds (see
`checkpoint`). Of what a run keeps only a kept Gram matrix lives longer: it is formed from the data alone,
in the same order whenever it is formed.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from time import perf_counter_ns, thread_time_ns
from typing import NamedTuple

import numpy as np

from sstep_verify.errors import DivergedError, InputError
from sstep_verify.problems import IndexStream, Problem
from sstep_verify.protocol import RunRequest
from sstep_verify.solver.clock import PHASES
from sstep_verify.solver.communicator import Communicator
from sstep_verify.solver.packet import IncoherenceError, WindowError
from sstep_verify.solver.run import Run
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training.enclosure import Enclosing, Stated, due
from sstep_verify.solver.training.monitor import Measured, Monitor, Values, best_without_progress
from sstep_verify.solver.training.schedule import Schedule, Segment
from sstep_verify.trajectory import Trajectory

PROGRESS_DRAWS = 1 << 12
"""Coordinates drawn between two reports of progress."""


class Place(NamedTuple):
    """Where training stands.

    `iteration`: iterations made, the end of an interval; `alpha`, (m,): the dual vector there (a);
    `history`: all measurements up to there; where training continues, the last is made again; `sequence`:
    where s is tuned: how all iterations up to there were made.
    """

    iteration: int
    alpha: np.ndarray
    history: tuple[Measured, ...] = ()
    sequence: tuple[Segment, ...] = ()


def _unmarked(_iteration: int) -> None:
    """Nobody hears where intervals begin and end."""


class Training:
    """Makes intervals until the tolerance or the last iteration is reached, or float64 tells no more.

    Whoever iterates makes it: what comes is whether an interval has just been ended and measured, or some
    more windows of it made. All ranks do so together.

    `problem`: the problem; its data are this rank's columns; `stream`: at least as many blocks as there are
    to be iterations; complete, and with columns "local"; `place`: where an earlier training stood at the
    end of an interval; absent, all begins at 0; `schedule`: where s is tuned: says which s and exchange
    come next, beginning at the place; `log`: keep the new value of each drawn coordinate (H x b words);
    `since`: iteration from which training is to end at this tolerance, which an earlier one need not be;
    `mark`: told at which iteration an interval begins, and at which it ends, before it is measured.

    Attributes `reached`: iterations made, those before a resumption and of the interval under way included;
    `alpha`, `history`: as in `Place`, at the end of the last interval; `stopped`, `attainable`: why
    training ended, "" while it continues; if float64 attains no more, the relative value it attains;
    `counters`, `monitor`, `enclosing`: what was counted of windows, with the set-up of every interval; what
    measures, and what encloses, and count apart.

    Raises InputError if the problem does not go with the settings, the place is no end of an interval, or,
    on the way, the dual vector overflows; WindowError, IncoherenceError on the way, see
    `ProductionSolver.run`; with a note on the iteration from which windows are counted.
    """

    def __init__(
        self,
        problem: Problem,
        stream: IndexStream,
        settings: Settings,
        communicator: Communicator,
        *,
        place: Place | None = None,
        schedule: Schedule | None = None,
        log: bool = False,
        since: int = 0,
        mark: Callable[[int], None] = _unmarked,
    ):
        settings.refuse(problem)
        if schedule is not None and settings.recompute:
            raise InputError("recompute counts windows of one s: it does not go with an s that is tuned")
        place = place or Place(0, np.zeros(problem.samples))
        settings.refuse_start(place.iteration)
        self.problem, self.settings, self.schedule = problem, settings, schedule
        self._stream, self._communicator = stream, communicator
        self.monitor = Monitor(problem, settings.rbf, communicator, settings.panel_words)
        self.enclosing = Enclosing(problem, settings.rbf, communicator, settings.panel_words)
        self._stated: tuple[int, Stated] | None = None
        self._start, self._first = place.iteration, place.alpha
        self.reached, self.alpha = self._start, self._first
        self.history = [found for found in place.history if found.iteration < self._start]
        self.stopped, self.attainable, self._since = "", math.nan, since
        self.counters: Counter[str] = Counter()
        self._seconds = np.zeros(len(PHASES))
        self._gram: np.ndarray | None = None
        self._prepared: Run | None = None
        self._mark = mark
        self._log, self._logs = log, [np.empty((0, stream.block))]

    @property
    def draws(self) -> int:
        """Coordinates drawn in the longest window."""
        return self.settings.width * self._stream.block

    @property
    def iteration(self) -> int:
        """Iterations up to the last measurement."""
        return self.history[-1].iteration

    @property
    def values(self) -> Values:
        """The last measurement."""
        return self.history[-1].values

    @property
    def place(self) -> Place:
        """Where it stands, at the end of an interval."""
        sequence = () if self.schedule is None else tuple(self.schedule.made)
        return Place(self.iteration, self.alpha, tuple(self.history), sequence)

    @property
    def trajectory(self) -> Trajectory:
        """First and last dual vector, with the solver's claims."""
        made = self.iteration - self._start
        return Trajectory(
            s=self.settings.width,
            start=self._start,
            iterations=np.array([0, made] if made else [0], dtype=np.int64),
            alphas=np.array([self._first, self.alpha] if made else [self._first]),
            counters=dict(self.counters),
            timers=dict(zip(PHASES, self._seconds.tolist(), strict=True)),
            stopped=self.stopped,
            claims=self.values.claims(made),
            log=np.concatenate(self._logs) if self._log else None,
        )

    def to_the_end(self) -> Training:
        """Make all intervals; itself."""
        for _ in self:
            pass
        return self

    def __iter__(self) -> Iterator[bool]:
        """Make intervals: False after some windows of one, True where it was measured."""
        end = self.settings.end(self._start)
        if self.settings.keep_gram and self.alpha.any():
            # For the first measurement: made of the same operations as in the run that was there before.
            # The measurement of a = 0 needs no matrix.
            self._prepared = self._run_of(self._start, end, self._first)
        self._measure()
        while not self._is_over():
            for _ in self.advance(self.settings.end(self.iteration)):
                yield False
            self._measure()
            yield True

    def _measure(self) -> None:
        values = self.monitor.measure(self.alpha, self._gram)
        if not math.isfinite(values.gap):
            large, scaled = "kernel entries or the dual vector", "the data, or choose another kernel"
            if not self.problem.is_svm:
                # At a = 0 the gap is that of the targets: ||y||^2 / (2m).
                moved = bool(self.alpha.any())
                large = f"targets, {large}" if moved else "targets"
                scaled = f"the targets or {scaled}" if moved else "them"
            raise DivergedError(
                f"{self.problem.label}: at iteration {self.reached} the duality gap is {values.gap}: "
                f"{large} are so large that float64 overflows; scale {scaled}"
            )
        self.history.append(Measured(self.reached, values))

    def stated(self) -> Stated:
        """What is stated of the last dual vector measured: enclosed once; called by all ranks together."""
        if self._stated is None or self._stated[0] != self.iteration:
            self._stated = self.iteration, self.enclosing.enclose(self.alpha, self._gram)
        return self._stated[1]

    def _is_over(self) -> bool:
        """Whether training ends here; `stopped` says why."""
        self.stopped = self._looked()
        if not self.stopped and self.iteration >= self.settings.end(self.iteration):
            self.stopped = "iterations"
        elif not self.stopped:
            best = best_without_progress(self.history, self.settings.tolerance)
            if best is not None:
                attainable = self.monitor.attainable(self.alpha, self._gram)
                if best <= attainable:
                    self.stopped, self.attainable = "stagnation", attainable
        return bool(self.stopped)

    def _looked(self) -> str:
        """Why training ends by its tolerance, where a look is due: reached, or too small for float64."""
        tolerance = self.settings.tolerance
        measured = [found.values.relative for found in self.history if found.iteration >= self._since]
        if not due(measured, tolerance):
            return ""
        stated = self.stated()
        if stated.relative[1] <= tolerance:
            return "tolerance"
        return "precision" if stated.width > tolerance else ""

    def advance(self, end: int) -> Iterator[None]:
        """Make one interval up to an iteration, unmeasured; comes back after some windows."""
        begin = self.reached
        self._mark(begin)
        with self._noted(begin):
            if self.schedule is None:
                run, self._prepared = self._prepared or self._run_of(begin, end, self.alpha), None
                width = self.settings.width
                step = max(PROGRESS_DRAWS // (width * self._stream.block), 1) * width
                for first in range(0, end - begin, step):
                    self.reached = begin + run.advance(first, min(first + step, end - begin))
                    yield
            else:
                run = yield from self._advance_tuned(self.schedule, end)
            digests, _ = run.settle(stop=False)
            if len(set(digests)) > 1:
                raise IncoherenceError(run.windows - 1, digests, self._communicator.kinds)
        if self.schedule is not None and run.packet.told is not None:
            self.schedule.told(run.packet.told)
        self._close(run)
        self.alpha = run.alpha.copy()
        self._mark(self.reached)

    def _advance_tuned(self, schedule: Schedule, end: int) -> Generator[None, None, Run]:
        """Make one interval as the schedule says; the run that ended it, another one for each exchange."""
        # One rank alone waits for nobody: its processor time is not touched by other processes.
        alone = self._communicator.size == 1
        clock = thread_time_ns if alone else perf_counter_ns
        origin = shown = self.reached
        run, self._prepared, alpha = self._prepared, None, self.alpha
        while self.reached < end:
            place = self.reached
            segment = schedule.next(place, end)
            if run is None or segment.exchange != run.exchange:
                pending = None
                if run is not None:
                    pending, alpha = run.packet.time, run.alpha
                    self._close(run, place - origin)
                run, origin = self._run_of(place, end, alpha, segment.exchange), place
                run.packet.time = pending
            packet, before = run.packet, clock()
            packet.watch(schedule.limit)
            self.reached = origin + run.advance(place - origin, segment.end - origin, segment.s)
            taken = clock() - before
            if packet.told is not None:
                schedule.told(packet.told)
                packet.told = None
            if schedule.done(segment._replace(end=self.reached)):
                if alone:
                    schedule.told(taken)
                else:
                    packet.time = taken
            if (self.reached - shown) * self._stream.block >= PROGRESS_DRAWS or self.reached == end:
                shown = self.reached
                yield
        assert run is not None
        return run

    def _close(self, run: Run, made: int | None = None) -> None:
        """Keep the counts of a run that made some of its iterations, by default all."""
        self.counters.update(run.counters)
        self._seconds += run.clock.seconds
        if run.log is not None:
            self._logs.append(run.log[:made])

    def _run_of(self, begin: int, end: int, alpha: np.ndarray, exchange: str | None = None) -> Run:
        width, settings = self.settings.width, self.settings
        request = RunRequest(self.problem, self._stream, width, end - begin, begin, alpha, log=self._log)
        options = settings if exchange is None else replace(settings, exchange=exchange)
        with self._noted(begin):
            run = Run(options, self._communicator, request, self._gram, self.schedule is not None)
        if settings.keep_gram:
            self._gram = run.gram
        return run

    @contextlib.contextmanager
    def _noted(self, begin: int) -> Iterator[None]:
        """Say, with an error that counts windows, from where they are counted."""
        try:
            yield
        except (WindowError, IncoherenceError) as error:
            if not hasattr(error, "__notes__"):
                error.add_note(
                    f"windows are counted from iteration {begin}, {self.settings.width} iterations each"
                )
            raise
