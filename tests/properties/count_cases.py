"""Runs drawn for counting: the production solver as one rank of many, and what its reductions must be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from hypothesis import strategies as st
from simulated_rank import SimulatedCommunicator

from sstep_verify.costs.messages import (
    TRAILER,
    Counts,
    cache_misses,
    column_cache_counts,
    distinct_counts,
    distinct_of,
    drawn_windows,
    kept_gram_counts,
    panel_sizes,
    schedule,
    support_counts,
    window_counts,
)
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver.data.partition import (
    Partition,
    column_nonzeros,
    local_columns,
    padded,
    partition_of,
)
from sstep_verify.solver.settings import GRAM_ROWS
from sstep_verify.trajectory import Trajectory

LOSSES = {"svm-l1": Hinge(1.0), "svm-l2": SquaredHinge(1.0), "krr": Ridge(0.5)}
KERNELS = [LinearKernel(), PolynomialKernel(2, 1.0), RBFKernel(0.5)]
EXCHANGES = ("allreduce", "support", "reduce-scatter", "gram", "column-cache", "kept-gram")
RANKS = (1, 2, 3, 7, 64, 1000, 4096)
MOST_STEPS = 256


def made_problem(task: str, kernel, samples: int, features: int, density: float, seed: int = 0) -> Problem:
    """Data of a density, stored sparse below 1; values of one or two bits, so that no sum overflows."""
    rng = np.random.default_rng(seed)
    data = rng.integers(1, 4, (samples, features)) / 4.0 * rng.choice([-1, 1], (samples, features))
    if density < 1:
        data[rng.random(data.shape) >= density] = 0.0
        data = sp.csr_array(data)
    targets = np.where(rng.random(samples) < 0.5, 1.0, -1.0)
    return Problem("counted", data, targets, kernel, LOSSES[task])


@dataclass(frozen=True)
class CountCase:
    """A run on one rank of many; `cache` in kernel rows."""

    problem: Problem
    stream: IndexStream
    s: int
    iterations: int
    start: int
    exchange: str
    rbf: str
    cache: int
    partition: str
    update: str
    ranks: int
    columns: str = "local"

    @cached_property
    def shares(self) -> Partition:
        return partition_of(column_nonzeros(self.problem.data), self.ranks, self.partition)

    @property
    def options(self) -> dict:
        samples = self.problem.samples
        whole = self.exchange in ("column-cache", "kept-gram")
        return {
            "exchange": "allreduce" if whole else self.exchange,
            "keep_gram": self.exchange == "kept-gram",
            "cache": self.cache * samples if self.exchange == "column-cache" else 0,
            "rbf": self.rbf,
            "partition": self.partition,
            "columns": self.columns,
            "update": self.update,
        }

    @property
    def norms(self) -> bool:
        return self.problem.kernel.of_distance and self.rbf == "norm-expansion"

    def windows(self):
        return drawn_windows(self.stream, self.s, self.iterations, self.start)

    def rows_asked(self) -> list[int]:
        """Kernel rows of each reduction of rows, in order; 0 where a window needs none."""
        samples = self.problem.samples
        if self.exchange == "kept-gram":
            return [min(GRAM_ROWS, samples - begin) for begin in range(0, samples, GRAM_ROWS)]
        if self.exchange == "column-cache":
            return cache_misses(self.windows(), samples, min(self.cache, samples))
        return distinct_counts(self.windows()).tolist()

    def expected(self, rank: int = 0) -> Counts:
        samples = self.problem.samples
        if self.exchange == "kept-gram":
            return kept_gram_counts(samples, -(-self.iterations // self.s), GRAM_ROWS, self.norms)
        if self.exchange == "column-cache":
            return column_cache_counts(samples, self.rows_asked(), self.norms)
        if self.exchange == "support":
            return support_counts(samples, *self.support_sizes(rank), self.norms)
        distinct = distinct_of(distinct_counts(self.windows()))
        return window_counts(self.exchange, samples, distinct, self.norms)

    def support_sizes(self, rank: int) -> tuple[list[int], list[int]]:
        """Rows and samples of each window's panel, from what a run of the simulated rank left in its a."""
        log = play(self, rank, log=True).trajectory.log
        assert log is not None
        draws = self.stream.blocks(self.start, self.start + self.iterations)
        return panel_sizes(draws, log, self.s, np.zeros(self.problem.samples))

    def expected_calls(self, rank: int = 0) -> list[tuple[str, int]]:
        if self.exchange == "support":
            set_up = [("allreduce", self.problem.samples + TRAILER)] * self.norms
            sizes = zip(*self.support_sizes(rank), strict=True)
            return [*set_up, *(("allreduce", rows * panel + TRAILER) for rows, panel in sizes)]
        return list(schedule(self.exchange, self.problem.samples, self.rows_asked(), self.norms))


@dataclass(frozen=True)
class Played:
    """A run of one rank, with every collective that it called."""

    trajectory: Trajectory
    communicator: SimulatedCommunicator


def sampled_ranks(case: CountCase) -> list[int]:
    """First, last, one in between, and one without features if there is any."""
    empty = np.flatnonzero(np.diff(case.shares.starts) == 0)[:1].tolist()
    return sorted({0, case.ranks // 2, case.ranks - 1, *empty})


def play(case: CountCase, rank: int, log: bool = False) -> Played:
    """Run the production solver as one rank, on its columns: those it takes, or is given, as by `solve`."""
    problem = case.problem
    if case.columns == "local":
        data = padded(local_columns(problem.data, case.shares.columns(rank)))
        problem = replace(problem, data=data)
    communicator = SimulatedCommunicator(rank, case.ranks)
    solver = ProductionSolver(communicator, **case.options)
    request = RunRequest(problem, case.stream, case.s, case.iterations, start=case.start, log=log)
    return Played(solver.run(request), communicator)


@st.composite
def count_cases(draw) -> CountCase:
    task = draw(st.sampled_from(sorted(LOSSES)))
    exchange = draw(st.sampled_from(EXCHANGES))
    kernel = KERNELS[0] if exchange == "gram" else draw(st.sampled_from(KERNELS))
    samples, features = draw(st.integers(2, 40)), draw(st.integers(1, 30))
    block = draw(st.integers(1, min(5, samples))) if task == "krr" else 1
    s = draw(st.sampled_from((1, 2, 3, 16, 100, MOST_STEPS)) | st.integers(1, MOST_STEPS))
    iterations, start = draw(st.integers(0, 3 * s + 1).filter(lambda H: H <= 600)), draw(st.integers(0, 5))
    kinds = ("uniform", "epochs", "cyclic")
    return CountCase(
        made_problem(
            task, kernel, samples, features, draw(st.sampled_from((0.02, 0.3, 1.0))), draw(st.integers(0, 99))
        ),
        IndexStream(draw(st.sampled_from(kinds)), samples, block, start + iterations, seed=s),
        s, iterations, start, exchange,
        draw(st.sampled_from(("norm-expansion", "difference"))),
        draw(st.integers(min(s * block, samples), samples)),
        draw(st.sampled_from(("work", "contiguous"))),
        draw(st.sampled_from(("in-place", "frozen"))),
        draw(st.sampled_from(RANKS) | st.integers(1, 4096)),
        # Weights are gathered from all ranks, which a simulated one cannot do but for columns as they come.
        "local" if exchange == "gram" else draw(st.sampled_from(("whole", "local"))),
    )  # fmt: skip
