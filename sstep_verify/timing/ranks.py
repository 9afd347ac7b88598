"""Part of every rank: the stopwatch; its columns, loaded once, stretches at a delay, a collective alone."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sstep_verify.problems import IndexStream, Problem
from sstep_verify.problems.kernels import Kernel
from sstep_verify.problems.losses import Loss
from sstep_verify.production.data.reading import load_local
from sstep_verify.production.messages.communicator import communicator_of
from sstep_verify.production.options import Options
from sstep_verify.production.run import Run
from sstep_verify.ranks.interposer import forget_interposed_counts, interposed_counts, set_delay
from sstep_verify.solver import RunRequest
from sstep_verify.timing.measure import Delay

LONGEST = 1 << 40
"""Iterations of the stream: more than any stretch makes."""

WARM = 2
"""Windows before a stretch, which compile, allocate and fill the processor's caches."""

SEED = 0
"""Of the drawn coordinates."""


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
    from mpi4py import MPI

    set_delay(0.0)
    local = load_local(wanted.data, communicator_of(comm), directory=wanted.directory, task=wanted.task)
    problem = Problem("data", local.data, local.targets, wanted.kernel, wanted.loss)
    _held.update(problem=problem, block=wanted.block)
    return {
        "samples": problem.samples,
        "features": local.features,
        "mpi": MPI.Get_library_version().split("\n")[0].strip().rstrip("\0"),
    }


def stretch(comm: Any, s: int, exchange: str, windows: int, delay: Delay) -> tuple[float, int, int]:
    """Seconds, collectives and words of this rank in so many windows of a run; no set-up in it."""
    problem, end = _held["problem"], (WARM + windows) * s
    stream = IndexStream("uniform", problem.samples, _held["block"], LONGEST, SEED)
    set_delay(0.0)
    options = Options(exchange=exchange, columns="local")
    run = Run(options, communicator_of(comm), RunRequest(problem, stream, s, LONGEST))
    run.advance(0, WARM * s)

    def ready() -> None:
        forget_interposed_counts()
        set_delay(*delay)

    try:
        seconds = stopwatch(comm.Barrier, lambda: run.advance(WARM * s, end), ready)
    finally:
        set_delay(0.0)
    counted = interposed_counts().values()
    return seconds, sum(one.calls for one in counted), sum(one.words for one in counted)


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
