"""Part of every rank in the benchmark of `--s auto`: fixed s and tuned s in turn, in one process each."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from grid import SEED

from sstep_verify.costs.known import powers_of_two
from sstep_verify.problems import Hinge, IndexStream, Problem, Ridge, kernel_from
from sstep_verify.solver.communicator import communicator_of
from sstep_verify.solver.data.reading import load_local
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training.decisions import tuner_of
from sstep_verify.solver.training.intervals import Training
from sstep_verify.solver.training.schedule import Schedule, windows_of

LONGEST = 4_000_000
"""Most iterations of a run."""


@dataclass(frozen=True)
class Cell:
    """One line of the table; exchange "auto" stands for all that the tuner may choose from."""

    data: str
    task: str
    kernel: str
    b: int
    exchange: str
    P: int

    @property
    def exchanges(self) -> tuple[str, ...]:
        """What the tuner may choose from."""
        if self.exchange != "auto":
            return (self.exchange,)
        every = ("gram", "allreduce", "reduce-scatter")
        return tuple(name for name in every if name != "gram" or self.kernel == "linear")

    @property
    def largest(self) -> int:
        """Largest s."""
        return 256 if self.task == "svm" else 1024 // self.b


class Delayed:
    """A communicator whose reductions take longer, by the seconds of `latency`, from a call on.

    Every rank spins before it enters, as long as every other: what a slower network does to a reduction.
    """

    def __init__(self, inner, latency: list[tuple[int, float]]):
        self._inner, self._latency, self.calls = inner, latency, 0
        self.rank, self.size = inner.rank, inner.size
        self.kinds, self.first = inner.kinds, inner.first
        self.allgather, self.barrier, self.alltoallv = inner.allgather, inner.barrier, inner.alltoallv

    def _wait(self) -> None:
        delay = [seconds for first, seconds in self._latency if first <= self.calls][-1]
        self.calls += 1
        end = time.perf_counter() + delay
        while time.perf_counter() < end:
            pass

    def allreduce(self, buffer) -> None:
        """Wait and sum."""
        self._wait()
        self._inner.allreduce(buffer)

    def reduce_scatter(self, send, receive, counts) -> None:
        """Wait and sum."""
        self._wait()
        self._inner.reduce_scatter(send, receive, counts)


def problem_of(comm, cell: Cell, directory: str) -> Problem:
    if cell.data.startswith("drawn"):
        samples, features = (int(part) for part in cell.data.split()[1].split("x"))
        generator = np.random.default_rng((SEED, comm.rank))
        data = generator.standard_normal((samples, features // comm.size)) / np.sqrt(features)
        labels = np.where(np.arange(samples) % 2, 1.0, -1.0)
        return Problem("drawn", data, labels, kernel_from(cell.kernel), Hinge(1.0))
    task = "regression" if cell.task == "krr" else "classification"
    local = load_local(cell.data, communicator_of(comm), directory=directory, task=task)
    loss = Ridge(1e-3) if cell.task == "krr" else Hinge(1.0)
    sigma = {"sigma": 0.01} if cell.kernel == "rbf" else {}
    return Problem(cell.data, local.data, local.targets, kernel_from(cell.kernel, **sigma), loss)


def seconds_of(comm, problem, cell: Cell, exchange: str, s: int, iterations: int, tuned=None, delayed=None):
    """Seconds of the slowest rank for a run of so many iterations; with a schedule, as it says.

    Processor time of one rank alone, which other processes touch less; wall-clock time of several.
    """
    clock = time.process_time if comm.size == 1 else time.perf_counter
    communicator = delayed or communicator_of(comm)
    stream = IndexStream("uniform", problem.samples, cell.b, iterations, SEED)
    width: dict[str, Any] = {"s": s} if tuned is None else {"s": "auto", "largest_s": s}
    settings = Settings(exchange=exchange, iterations=iterations, interval=iterations, **width)
    gc.collect()
    gc.disable()
    comm.Barrier()
    begin = clock()
    for _ in Training(problem, stream, settings, communicator, schedule=tuned).advance(iterations):
        pass
    taken = clock() - begin
    gc.enable()
    return max(comm.allgather(taken))


def measure(comm, cell: Cell, directory: str, repeats: int, seconds: float) -> dict[str, Any]:
    """Sweep all fixed s, then the best of them and the tuner in turn."""
    problem = problem_of(comm, cell, directory)
    fixed = [(name, s) for name in cell.exchanges for s in powers_of_two(cell.largest)]
    rough = {}
    for name, s in fixed:
        count = s * max(-(-32 // s), 1)
        seconds_of(comm, problem, cell, name, s, s)
        trial = seconds_of(comm, problem, cell, name, s, count) / count
        count = s * int(np.clip(0.02 / (trial * s), 2, 4000))
        rough[name, s] = min(seconds_of(comm, problem, cell, name, s, count) / count for _ in range(2))
    best = min(rough, key=rough.__getitem__)
    iterations = int(min(max(200 * best[1], seconds / rough[best]), LONGEST))
    final = [one for one in fixed if rough[one] <= 1.5 * rough[best]]
    rounds, found = [], []
    for _ in range(repeats):
        taken = {one: seconds_of(comm, problem, cell, *one, iterations) / iterations for one in final}
        tuner = tuner_of(cell.exchanges, cell.largest, comm.size, iterations)
        schedule = Schedule(tuner, comm.size)
        name, s = cell.exchanges[0], cell.largest
        auto = seconds_of(comm, problem, cell, name, s, iterations, schedule) / iterations
        rounds.append((taken, auto))
        windows = sum(1 for _ in windows_of(schedule.made, iterations))
        found.append((tuner.best.exchange, tuner.best.s, windows, len(tuner.explored)))
    return {"iterations": iterations, "rough": rough, "rounds": rounds, "found": found}


def jump(comm, cell: Cell, directory: str, before: float, after: float, calls: int) -> dict[str, Any]:
    """Let the latency jump under a tuned run, and find out from which window on s suits it again."""
    problem, inner = problem_of(comm, cell, directory), communicator_of(comm)
    taken: dict[int, list[float]] = {s: [] for s in powers_of_two(cell.largest)}
    for _ in range(3):
        for s, found in taken.items():
            delayed = Delayed(inner, [(0, after)])
            found.append(
                seconds_of(comm, problem, cell, cell.exchange, s, 20 * s, delayed=delayed) / (20 * s)
            )
    times = {s: float(np.median(found)) for s, found in taken.items()}
    iterations = 400_000
    tuner = tuner_of((cell.exchange,), cell.largest, comm.size, iterations)
    schedule, delayed = Schedule(tuner, comm.size), Delayed(inner, [(0, before), (calls, after)])
    seconds_of(comm, problem, cell, cell.exchange, cell.largest, iterations, schedule, delayed)
    sizes = [end - begin for begin, end, _ in windows_of(schedule.made, iterations)]
    setup = delayed.calls - len(sizes)
    return {"times": times, "sizes": sizes, "jump": calls - setup, "explored": tuner.explored}
