"""The production solver on ranks that carry the interposer: segments at a delay, a collective alone.

First the part of every rank, whose columns are loaded once, then `OurSolver`, which calls the ranks.
"""

from __future__ import annotations

import gc
import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sstep_verify.problems import IndexStream, Problem
from sstep_verify.problems.kernels import Kernel
from sstep_verify.problems.losses import Loss
from sstep_verify.protocol import RunRequest
from sstep_verify.ranks import run
from sstep_verify.ranks.environment import library_of
from sstep_verify.ranks.interposer import (
    build_interposer,
    forget_interposed_counts,
    interposed_counts,
    set_delay,
)
from sstep_verify.solver.communicator import communicator_of
from sstep_verify.solver.data.reading import load_local
from sstep_verify.solver.run import Run
from sstep_verify.solver.settings import Options
from sstep_verify.timing.measure import Delay, Sample, of_collectives

LONGEST = 1 << 40
"""Iterations of the stream: more than any segment makes."""

WARM = 2
"""Windows before a segment, which compile, allocate and fill the processor's caches."""

SEED = 0
"""Of the drawn coordinates."""

LIMIT = 3600.0
"""Seconds that one call of the ranks may take."""

PILOT = 256
"""Iterations, at least, of the first segment of an s, from which the length of the others follows."""

FEWEST, MOST = 2, 1 << 16
"""Windows of a segment."""

CALLS = 20
"""Collectives alone, at least."""


def stopwatch(
    barrier: Callable[[], object], work: Callable[[], object], ready: Callable[[], object] = lambda: None
) -> float:
    """Seconds of some work that all ranks begin together; `ready` comes after the barrier."""
    gc.disable()
    try:
        barrier()
        ready()
        begin = time.perf_counter()
        work()
        return time.perf_counter() - begin
    finally:
        gc.enable()


class Wanted(NamedTuple):
    """What is solved: a LIBSVM file or a data set of a folder, kernel, loss, coordinates of a step (b)."""

    data: str
    directory: str | None
    kernel: Kernel
    loss: Loss
    block: int = 1

    @property
    def task(self) -> str:
        """What the targets are."""
        return "regression" if self.loss.task == "krr" else "classification"


_held: dict[str, Any] = {}
"""The problem of this rank's columns, kept between calls."""


def load(comm: Any, wanted: Wanted) -> dict[str, Any]:
    """Read this rank's columns, at no delay; what is known of the data and of the MPI."""
    set_delay(0.0)
    local = load_local(wanted.data, communicator_of(comm), directory=wanted.directory, task=wanted.task)
    problem = Problem("data", local.data, local.targets, wanted.kernel, wanted.loss)
    _held.update(problem=problem, block=wanted.block)
    return {
        "samples": problem.samples,
        "features": local.features,
        "mpi": library_of(),
    }


def segment(comm: Any, s: int, exchange: str, windows: int, delay: Delay) -> tuple[float, int, float]:
    """Seconds, collectives and words of 8 bytes of this rank in some windows of a run; no set-up in it."""
    problem, end = _held["problem"], (WARM + windows) * s
    stream = IndexStream("uniform", problem.samples, _held["block"], LONGEST, SEED)
    set_delay(0.0)
    options = Options(exchange=exchange, columns="local")
    made = Run(options, communicator_of(comm), RunRequest(problem, stream, s, LONGEST))
    made.advance(0, WARM * s)

    def ready() -> None:
        forget_interposed_counts()
        set_delay(*delay)

    try:
        seconds = stopwatch(comm.Barrier, lambda: made.advance(WARM * s, end), ready)
    finally:
        set_delay(0.0)
    return seconds, *of_collectives(interposed_counts())


def alone(comm: Any, delay: Delay, calls: int, words: int = 1) -> float:
    """Seconds of one allreduce at a delay, with nothing else being done, the mean of some in a row."""
    from mpi4py import MPI

    buffer = np.zeros(words)

    def work() -> None:
        for _ in range(calls):
            comm.Allreduce(MPI.IN_PLACE, buffer)

    try:
        return stopwatch(comm.Barrier, work, lambda: set_delay(delay.microseconds)) / calls
    finally:
        set_delay(0.0)


class OurSolver:
    """The production solver with an exchange; rows are formed again in every window, none is kept.

    Its ranks are started with these variables of the environment, besides that of the interposer.
    MissingExtraError if the interposer cannot be built.
    """

    def __init__(self, wanted: Wanted, exchange: str = "allreduce", **variables: str):
        self.name, self._wanted, self._exchange = f"our solver, exchange {exchange}", wanted, exchange
        self._room = tempfile.TemporaryDirectory(prefix="sstep-verify-timing-")
        self._variables = variables | {"LD_PRELOAD": str(build_interposer(Path(self._room.name)))}
        self._about: dict[int, dict[str, Any]] = {}
        self._seconds: dict[tuple[int, int], float] = {}

    def _run(self, ranks: int, function: Callable[..., Any], *given: Any) -> list[Any]:
        return run(ranks, function, *given, limit=LIMIT, variables=self._variables)

    def about(self, ranks: int) -> dict[str, Any]:
        """Samples, features, and the MPI; the ranks hold the data from now on."""
        if ranks not in self._about:
            self._about[ranks] = self._run(ranks, load, self._wanted)[0]
        return self._about[ranks]

    def sample(self, s: int, ranks: int, delay: Delay, seconds: float) -> Sample:
        """One segment of about so many seconds, as far as whole windows allow."""
        self.about(ranks)
        key = (s, ranks)
        if key not in self._seconds:
            windows = max(FEWEST, PILOT // s)
            self._segment(*key, windows, Delay())  # compiles
            self._seconds[key] = self._segment(*key, windows, Delay()).seconds * s
        one = self._seconds[key] + delay.microseconds * 1e-6 * (ranks > 1)
        return self._segment(*key, min(max(math.ceil(seconds / one), FEWEST), MOST), delay)

    def _segment(self, s: int, ranks: int, windows: int, delay: Delay) -> Sample:
        of_ranks = self._run(ranks, segment, s, self._exchange, windows, delay)
        return Sample(*(max(one) / (windows * s) for one in zip(*of_ranks, strict=True)))

    def collective(self, ranks: int, delay: Delay, seconds: float, words: int = 1) -> float:
        """Seconds of a collective of some words, nothing else being done."""
        calls = max(CALLS, math.ceil(seconds / (delay.microseconds * 1e-6 + 1e-4)))
        return max(self._run(ranks, alone, delay, calls, words))
