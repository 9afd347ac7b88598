"""Part of every rank: load its columns once, run stretches at a delay, and time a collective alone."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from sstep_verify.laboratory.samples import Delay
from sstep_verify.launch.interposer import forget_interposed_counts, interposed_counts, set_delay
from sstep_verify.parallel.communicator import communicator_of
from sstep_verify.parallel.data.reading import load_local, with_bias
from sstep_verify.problems import IndexStream, Problem
from sstep_verify.problems.kernels import Kernel
from sstep_verify.problems.losses import Loss
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.production.options import Options
from sstep_verify.solvers.production.run import Run

LONGEST = 1 << 40
"""Iterations of the stream: more than any stretch makes."""

WARM = 2
"""Windows before a stretch, which compile, allocate and fill the processor's caches."""


@dataclass(frozen=True)
class Wanted:
    """What is solved.

    Parameters
    ----------
    data : str
        A LIBSVM file or the name of a data set.
    directory : str or None
        Folder of named data sets.
    kernel, loss
        The problem's.
    block, seed : int
        Coordinates of a step (b); seed of those drawn.
    bias : float
        Constant feature; 0 for none.
    """

    data: str
    directory: str | None
    kernel: Kernel
    loss: Loss
    block: int = 1
    seed: int = 0
    bias: float = 0.0

    @property
    def task(self) -> str:
        """What the targets are."""
        return "regression" if self.loss.task == "krr" else "classification"


@dataclass(frozen=True)
class Stretch:
    """What is run at a time: so many whole windows of s iterations, with one exchange and one delay."""

    s: int
    exchange: str
    windows: int
    delay: Delay


_held: dict[str, Any] = {}
"""The problem of this rank's columns, kept between calls."""


def load(comm: Any, wanted: Wanted) -> dict[str, Any]:
    """Read this rank's columns, at no delay; what is known of the data and of the MPI."""
    from mpi4py import MPI

    set_delay(0.0)
    ranks = communicator_of(comm)
    local = load_local(wanted.data, ranks, directory=wanted.directory, task=wanted.task)
    local = with_bias(local, wanted.bias, ranks)
    problem = Problem("data", local.data, local.targets, wanted.kernel, wanted.loss)
    _held.update(problem=problem, block=wanted.block, seed=wanted.seed)
    return {
        "samples": problem.samples,
        "features": local.features + bool(wanted.bias),
        "mpi": MPI.Get_library_version().split("\n")[0].strip().rstrip("\0"),
    }


def stretch(comm: Any, wanted: Stretch) -> tuple[float, int, int]:
    """Seconds, collectives and words of this rank in a stretch of a run; no set-up in it."""
    problem, s = _held["problem"], wanted.s
    stream = IndexStream("uniform", problem.samples, _held["block"], LONGEST, _held["seed"])
    set_delay(0.0)
    options = Options(exchange=wanted.exchange, columns="local")
    run = Run(options, communicator_of(comm), RunRequest(problem, stream, s, LONGEST))
    run.advance(0, WARM * s)
    gc.disable()
    try:
        comm.Barrier()
        forget_interposed_counts()
        set_delay(wanted.delay.microseconds, wanted.delay.per_byte)
        begin = time.perf_counter()
        run.advance(WARM * s, (WARM + wanted.windows) * s)
        seconds = time.perf_counter() - begin
    finally:
        set_delay(0.0)
        gc.enable()
    counted = interposed_counts().values()
    return seconds, sum(one.calls for one in counted), sum(one.words for one in counted)


def alone(comm: Any, delay: Delay, calls: int, words: int = 1) -> float:
    """Seconds of one allreduce at a delay, with nothing else being done, the mean of some in a row."""
    from mpi4py import MPI

    buffer = np.zeros(words)
    comm.Barrier()
    set_delay(delay.microseconds)
    try:
        begin = time.perf_counter()
        for _ in range(calls):
            comm.Allreduce(MPI.IN_PLACE, buffer)
        return (time.perf_counter() - begin) / calls
    finally:
        set_delay(0.0)
