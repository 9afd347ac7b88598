"""Runs of the production solver that are timed, on one process or on ranks."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sstep_verify.parallel.clock import PHASES
from sstep_verify.parallel.communicator import Communicator, SelfCommunicator, communicator_of
from sstep_verify.problems import Hinge, IndexStream, Problem, Ridge, kernel_from
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.production import ProductionSolver

SEED, LEAST, REPEATS = 31, 4, 5
"""Of data and draws; windows that a timed run makes at least; runs of which the fastest counts, since what
else a machine does only adds to it."""


class Case(NamedTuple):
    """What is run.

    Parameters
    ----------
    samples, features : int
        m and n.
    density : float
        Share of entries that are not zero; 1 for a dense matrix.
    kernel : str
        Name of the kernel.
    block : int
        Coordinates a step (b); 0 for a K-SVM, else a K-RR.
    s : int
        Iterations a window.
    """

    samples: int
    features: int
    density: float
    kernel: str
    block: int
    s: int


class Measured(NamedTuple):
    """Microseconds a window: all of it, and by phase."""

    whole: float
    phases: dict[str, float]


def problem_of(case: Case) -> Problem:
    """Drawn data of a case, the same every time."""
    generator = np.random.default_rng(SEED)
    data: Any
    if case.density == 1:
        data = generator.standard_normal((case.samples, case.features)) / np.sqrt(case.features)
    else:
        data = sp.random_array(
            (case.samples, case.features), density=case.density, format="csr", rng=generator
        )
    targets = np.where(generator.random(case.samples) < 0.5, 1.0, -1.0)
    loss = Ridge(1.0) if case.block else Hinge(1.0)
    return Problem("calibration", data, targets, kernel_from(case.kernel), loss)


def timed(
    case: Case, seconds: float, exchange: str = "allreduce", communicator: Communicator | None = None
) -> Measured:
    """The fastest of some runs of a case, after one that warms up and one that says how long they take.

    Where there are ranks, `whole` is the time of the slowest, and phases are this rank's.
    """
    problem = problem_of(case)
    ranks = communicator or SelfCommunicator()
    solver = ProductionSolver(ranks, exchange=exchange, separate_timers=ranks.size == 1)
    _run(solver, problem, case, LEAST, ranks)
    short = _run(solver, problem, case, LEAST, ranks)
    windows = int(np.clip(seconds * 1e6 / REPEATS / max(short.whole, 1.0), LEAST, 4096))
    windows = max(ranks.allgather(windows))
    made = [_run(solver, problem, case, windows, ranks) for _ in range(REPEATS)]
    return min(made, key=lambda measured: measured.whole)


def _run(
    solver: ProductionSolver, problem: Problem, case: Case, windows: int, ranks: Communicator
) -> Measured:
    """One run of so many windows."""
    stream = IndexStream("uniform", problem.samples, max(case.block, 1), windows * case.s, SEED)
    stream.blocks(0, stream.length)  # What is drawn at first use is no part of a window.
    request = RunRequest(problem, stream, case.s, stream.length)
    marks: list[float] = []

    def observe(iteration: int, alpha: np.ndarray) -> bool:
        marks.append(time.perf_counter())
        return False

    made = solver.run(request, observe)
    whole = max(ranks.allgather(marks[-1] - marks[0]))
    phases = {name: 1e6 * made.timers[name] / windows for name in PHASES}
    return Measured(1e6 * whole / windows, phases)


def timed_on_rank(comm: Any, case: Case, seconds: float, exchange: str) -> float:
    """Microseconds a window of a case on the ranks of an mpi4py communicator."""
    return timed(case, seconds, exchange, communicator_of(comm)).whole
