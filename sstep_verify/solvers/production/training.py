"""Training: a run made interval by interval, measured and kept at the end of each.

Every interval is a run of its own that begins with the dual vector the last one left, so that a run which
was killed goes on as if nothing had happened, to the last bit on ranks of the same kinds (see
`checkpoint`). Of what a run keeps only a kept Gram matrix lives longer: it is formed from the data alone,
in the same order whenever it is formed.
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from time import perf_counter_ns, thread_time_ns

import numpy as np

from sstep_verify.errors import DivergedError, InputError
from sstep_verify.parallel.clock import PHASES
from sstep_verify.parallel.communicator import Communicator
from sstep_verify.parallel.packet import IncoherenceError, WindowError
from sstep_verify.problems import IndexStream, Problem
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.production.monitor import Monitor, Values
from sstep_verify.solvers.production.options import Options
from sstep_verify.solvers.production.run import Run
from sstep_verify.solvers.production.schedule import Schedule
from sstep_verify.solvers.production.stagnation import best_without_progress
from sstep_verify.solvers.production.training_plan import (
    Measured,
    Place,
    Plan,
    Stretch,
    Trained,
    refuse_start,
)
from sstep_verify.trajectory import Trajectory

PROGRESS_DRAWS = 1 << 12
"""Coordinates drawn between two reports of progress."""


def train(
    problem: Problem,
    stream: IndexStream,
    plan: Plan,
    options: Options,
    communicator: Communicator,
    *,
    place: Place | None = None,
    schedule: Schedule | None = None,
    log: bool = False,
    progress: Callable[[int], object] = lambda iteration: None,
    measured: Callable[[Measured], object] = lambda found: None,
    keep: Callable[[Place], object] = lambda place: None,
) -> Trained:
    """Train until the tolerance or the last iteration is reached, or float64 attains no more.

    Called by all ranks together.

    Parameters
    ----------
    problem : Problem
        The problem; its data are this rank's columns.
    stream : IndexStream
        At least as many blocks as the plan has iterations.
    plan : Plan
        How long.
    options : Options
        How to run; `columns` must be "local".
    communicator : Communicator
        The ranks.
    place : Place, optional
        Where an earlier training stood at the end of an interval; absent, all begins at 0.
    schedule : Schedule, optional
        Where the plan is tuned: says which s and exchange come next, beginning at the place.
    log : bool
        Keep the new value of each drawn coordinate (H x b words).
    progress : callable
        Told the iteration from time to time.
    measured : callable
        Told every measurement.
    keep : callable
        Given the place at the end of every whole interval, on all ranks.

    Raises
    ------
    InputError
        If the problem does not go with the options, the place is no end of an interval of the plan, or the
        dual vector overflows.
    WindowError, IncoherenceError
        See `ProductionSolver.run`; with a note on the iteration from which windows are counted.
    """
    options.refuse(problem)
    if schedule is not None and options.recompute:
        raise InputError("recompute counts windows of one s: it does not go with an s that is tuned")
    training = _Training(problem, stream, plan.s, options, communicator, log, schedule)
    place = place or Place(0, np.zeros(problem.samples))
    start, first, alpha = place.iteration, place.alpha, place.alpha
    refuse_start(start, plan)
    training.prepare(start, plan.end(start), alpha)
    earlier = [found for found in place.history if found.iteration < start]
    history = [*earlier, Measured(start, training.measure(start, alpha))]
    stopped, attainable = training.stopped(history, plan, alpha)
    while not stopped:
        begin = history[-1].iteration
        end = plan.end(begin)
        alpha = training.advance(begin, end, alpha, progress)
        history.append(Measured(end, training.measure(end, alpha)))
        measured(history[-1])
        if end % plan.interval == 0:
            keep(Place(end, alpha, tuple(history), training.sequence))
        stopped, attainable = training.stopped(history, plan, alpha)
    made, values = history[-1].iteration - start, history[-1].values
    trajectory = Trajectory(
        s=plan.s,
        start=start,
        iterations=np.array([0, made] if made else [0], dtype=np.int64),
        alphas=np.array([first, alpha] if made else [first]),
        counters=dict(training.counters),
        timers=dict(zip(PHASES, training.seconds.tolist(), strict=True)),
        stopped=stopped,
        claims=values.claims(made),
        log=np.concatenate(training.logs) if log else None,
    )
    return Trained(trajectory, training.monitor.counters, tuple(history), training.sequence, attainable)


class _Training:
    """State that outlives an interval: counters, seconds, a kept Gram matrix."""

    def __init__(
        self,
        problem: Problem,
        stream: IndexStream,
        s: int,
        options: Options,
        communicator: Communicator,
        log: bool,
        schedule: Schedule | None,
    ):
        self._problem, self._stream, self._s = problem, stream, s
        self._options, self._communicator, self._schedule = options, communicator, schedule
        self.monitor = Monitor(problem, options.rbf, communicator, options.panel_words)
        self.counters: Counter[str] = Counter()
        self.seconds = np.zeros(len(PHASES))
        self._gram: np.ndarray | None = None
        self._prepared: Run | None = None
        self._log, self.logs = log, [np.empty((0, stream.block))]

    @property
    def sequence(self) -> tuple[Stretch, ...]:
        """How all iterations were made, where s is tuned."""
        return () if self._schedule is None else tuple(self._schedule.made)

    def measure(self, iteration: int, alpha: np.ndarray) -> Values:
        """Measure; raise DivergedError where an overflow leaves nothing to go on with."""
        values = self.monitor.measure(alpha, self._gram)
        if not math.isfinite(values.gap):
            raise DivergedError(
                f"{self._problem.label}: at iteration {iteration} the duality gap is {values.gap}: kernel "
                "entries or the dual vector overflow float64; scale the data, or choose another kernel"
            )
        return values

    def stopped(self, history: list[Measured], plan: Plan, alpha: np.ndarray) -> tuple[str, float]:
        """Why training ends here, "" if it goes on; and if float64 attains no more, what it attains."""
        # Tolerance 0 is never reached, not even by a gap of 0: it asks for all iterations.
        if plan.tolerance > 0 and history[-1].values.relative <= plan.tolerance:
            return "tolerance", math.nan
        if history[-1].iteration >= plan.iterations:
            return "iterations", math.nan
        best = best_without_progress(history, plan.tolerance)
        if best is not None:
            attainable = self.monitor.attainable(alpha, self._gram)
            if best <= attainable:
                return "stagnation", attainable
        return "", math.nan

    def prepare(self, begin: int, end: int, alpha: np.ndarray) -> None:
        """Form a Gram matrix that is to be kept, for the first measurement where training goes on.

        So it is made of the same operations as in the run that was there before. The measurement of a = 0
        needs no matrix.
        """
        if self._options.keep_gram and alpha.any():
            self._prepared = self._run_of(begin, end, alpha)

    def advance(
        self, begin: int, end: int, alpha: np.ndarray, progress: Callable[[int], object]
    ) -> np.ndarray:
        """Make one interval; the dual vector at its end, shape (m,)."""
        with self._noted(begin):
            if self._schedule is None:
                run, self._prepared = self._prepared or self._run_of(begin, end, alpha), None
                step = max(PROGRESS_DRAWS // (self._s * self._stream.block), 1) * self._s
                for first in range(0, end - begin, step):
                    run.advance(first, min(first + step, end - begin))
                    progress(begin + min(first + step, end - begin))
            else:
                run = self._advance_tuned(self._schedule, begin, end, alpha, progress)
            digests, _ = run.settle(stop=False)
            self._require_coherence(digests, run.windows)
        if self._schedule is not None and run.packet.told is not None:
            self._schedule.told(run.packet.told)
        self._close(run)
        return run.alpha.copy()

    def _advance_tuned(
        self,
        schedule: Schedule,
        begin: int,
        end: int,
        alpha: np.ndarray,
        progress: Callable[[int], object],
    ) -> Run:
        """Make one interval as the schedule says; the run that ended it, another one for each exchange."""
        # One rank alone waits for nobody: its processor time is not touched by other processes.
        clock = thread_time_ns if self._communicator.size == 1 else perf_counter_ns
        origin, place, shown = begin, begin, begin
        run, self._prepared = self._prepared, None
        while place < end:
            stretch = schedule.next(place, end)
            if run is None or stretch.exchange != run.exchange:
                pending = None
                if run is not None:
                    pending, alpha = run.packet.time, run.alpha
                    self._close(run, place - origin)
                run, origin = self._run_of(place, end, alpha, stretch.exchange), place
                run.packet.time = pending
            packet, before = run.packet, clock()
            packet.watch(schedule.limit)
            ended = origin + run.advance(place - origin, stretch.end - origin, stretch.s)
            taken = clock() - before
            if ended < stretch.end:
                stretch = stretch._replace(end=ended)
            if packet.told is not None:
                schedule.told(packet.told)
                packet.told = None
            if schedule.done(stretch):
                if self._communicator.size == 1:
                    schedule.told(taken)
                else:
                    packet.time = taken
            place = ended
            if (place - shown) * self._stream.block >= PROGRESS_DRAWS or place == end:
                progress(place)
                shown = place
        assert run is not None
        return run

    def _close(self, run: Run, made: int | None = None) -> None:
        """Keep the counts of a run that made some of its iterations, by default all."""
        self.counters.update(run.counters)
        self.seconds += run.clock.seconds
        if run.log is not None:
            self.logs.append(run.log[:made])

    def _run_of(self, begin: int, end: int, alpha: np.ndarray, exchange: str | None = None) -> Run:
        request = RunRequest(self._problem, self._stream, self._s, end - begin, begin, alpha, log=self._log)
        options = self._options if exchange is None else replace(self._options, exchange=exchange)
        with self._noted(begin):
            run = Run(options, self._communicator, request, self._gram, self._schedule is not None)
        if self._options.keep_gram:
            self._gram = run.gram
        return run

    @contextlib.contextmanager
    def _noted(self, begin: int) -> Iterator[None]:
        """Say, with an error that counts windows, from where they are counted."""
        try:
            yield
        except (WindowError, IncoherenceError) as error:
            if not hasattr(error, "__notes__"):
                error.add_note(f"windows are counted from iteration {begin}, {self._s} iterations each")
            raise

    def _require_coherence(self, digests: tuple[str, ...], windows: int) -> None:
        if len(set(digests)) > 1:
            raise IncoherenceError(windows - 1, digests, self._communicator.kinds)
