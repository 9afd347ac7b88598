"""Rates of a machine: what the solver's timers say of runs that single them out, and collectives."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec
import numpy as np
import scipy.sparse as sp

from sstep_verify.costs.prediction import Machine, Method, distinct, phases, solve_flops
from sstep_verify.costs.profiles import Profile, uniform_profile
from sstep_verify.problems import Hinge, IndexStream, Problem, Ridge, kernel_from
from sstep_verify.protocol import RunRequest
from sstep_verify.ranks import run
from sstep_verify.solver.clock import PHASES
from sstep_verify.solver.communicator import SelfCommunicator, communicator_of
from sstep_verify.solver.run import Run
from sstep_verify.solver.settings import Options
from sstep_verify.timing.measure import Tell
from sstep_verify.timing.ranks import LONGEST, stopwatch

ROWS = (1, 4, 16, 64, 256)
"""Rows of a window at which panel rates are measured."""

WORDS = (2, 32, 512, 8_192, 65_536, 524_288)
"""Float64 words of the reductions."""

CALLS, QUANTILE = 512, 0.25
"""Calls of one size at most; of their times, the one that counts: other work only adds to them."""

SEED, LEAST, MOST, REPEATS = 31, 4, 4096, 5
"""Of data and draws; windows of a timed run; runs of which the fastest counts, since what else a machine
does only adds to it."""


class Case(NamedTuple):
    """What is run: m, n, share of entries besides 0 (1: dense), kernel, b (0: K-SVM, else K-RR), s."""

    samples: int
    features: int
    density: float
    kernel: str
    block: int
    s: int

    @property
    def profile(self) -> Profile:
        """The column profile of its data."""
        entries = self.samples * self.features
        return uniform_profile("drawn", self.samples, self.features, self.density * entries)

    def problem(self) -> Problem:
        """Drawn data, the same every time."""
        generator, shape = np.random.default_rng(SEED), (self.samples, self.features)
        data: Any
        if self.density == 1:
            data = generator.standard_normal(shape) / np.sqrt(self.features)
        else:
            data = sp.random_array(shape, density=self.density, format="csr", rng=generator)
        targets = np.where(generator.random(self.samples) < 0.5, 1.0, -1.0)
        loss = Ridge(1.0) if self.block else Hinge(1.0)
        return Problem("drawn", data, targets, kernel_from(self.kernel), loss)


DENSE, SPARSE = (1000, 512, 1.0), (2000, 2000, 0.1)
"""Samples, features and density of the data of the panel rates."""

LONG, TINY = (20_000, 4, 1.0), (64, 2, 1.0)
"""Of those of functions and products with alpha; and of those where next to nothing is computed."""

CHECKS = (
    Case(700, 300, 1.0, "linear", 0, 8),
    Case(700, 300, 1.0, "rbf", 0, 32),
    Case(1500, 900, 0.15, "polynomial", 4, 8),
    Case(1500, 900, 0.15, "linear", 0, 1),
)
"""Runs that are predicted and measured at the end: none of them was used."""


class Window(NamedTuple):
    """Microseconds of a window: all of it, of the slowest rank, and of this rank by phase."""

    whole: float
    phases: dict[str, float]


def calibrate(name: str, ranks: tuple[int, ...], seconds: float, tell: Tell = lambda _: None) -> Machine:
    """Measure this machine, and collectives of some numbers of ranks (P > 1), if any.

    Each single measurement takes about so many seconds. `tell` gets what is being measured.
    """

    def phase(which: str, case: Case) -> float:
        return timed(None, case, seconds).phases[which]

    def panel(shape: tuple[int, int, float]) -> list[list[float]]:
        """Rows [c, ns a product]."""
        cases = [Case(*shape, "linear", 0, s) for s in ROWS]
        rows = [distinct(case.samples, case.s) for case in cases]
        each = cases[0].profile.shares(1).most_pairs
        return [
            [count, 1e3 * phase("panel", case) / (count * each)]
            for count, case in zip(rows, cases, strict=True)
        ]

    def entry(which: str, kernel: str) -> float:
        """Nanoseconds of an entry of the panel."""
        taken = phase(which, Case(*LONG, kernel, 0, 16))
        return 1e3 * taken / (distinct(LONG[0], 16) * LONG[0])

    tell("panel products, dense and sparse")
    dense, sparse = panel(DENSE), panel(SPARSE)
    tell("kernel functions, products with alpha, recurrences")
    polynomial, rbf = (entry("kernel function", kernel) for kernel in ("polynomial", "rbf"))
    step, correction = _recurrence({s: phase("recurrence", Case(*TINY, "linear", 0, s)) for s in (16, 512)})
    reduced: tuple[list[list[float]], list[list[float]]] = ([], [])
    for count in ranks:
        tell(f"collectives of {count} ranks")
        for rows, more in zip(reduced, collective_table(count, seconds), strict=True):
            rows += more
    block = 32
    solving = phase("recurrence", Case(1000, 4, 1.0, "linear", block, 1))
    solving -= block * step + block * (block - 1) / 2 * correction / 1e3
    least = timed(None, Case(8, 2, 1.0, "linear", 0, 1), seconds)
    machine = Machine(
        name=name,
        source=f"sstep-verify perf calibrate on {platform.machine()}, {os.cpu_count()} processors",
        error="not yet measured",
        dense=dense,
        sparse=sparse,
        polynomial=polynomial,
        rbf=rbf,
        gradient=entry("gradient", "linear"),
        step=step,
        correction=correction,
        solve=max(1e3 * solving / solve_flops(block), 0.0),
        window=max(least.whole - least.phases["recurrence"], 0.0),
        allreduce=reduced[0],
        reduce_scatter=reduced[1],
    )
    tell("runs that were not used, to see how far predictions are off")
    return msgspec.structs.replace(machine, error=_checked(machine, (1, *ranks), seconds))


def _recurrence(taken: dict[int, float]) -> tuple[float, float]:
    """Microseconds a step of a K-SVM, and nanoseconds a pair of steps of a window."""
    # Two equations: s step + s (s - 1) / 2 pair = time of a window.
    matrix = np.array([[s, s * (s - 1) / 2e3] for s in taken])
    step, pair = np.linalg.solve(matrix, np.array(list(taken.values())))
    return max(float(step), 1e-3), max(float(pair), 0.0)


def _checked(machine: Machine, ranks: tuple[int, ...], seconds: float) -> str:
    """How far predictions of `CHECKS` are from measurements, in words."""
    off = []
    for count in ranks:
        for case in CHECKS:
            method = Method("allreduce", case.kernel, not case.block, max(case.block, 1))
            predicted = phases(machine, case.profile, method, count, case.s).total * case.s
            own = timed(None, case, seconds) if count == 1 else run(count, timed, case, seconds)[0]
            off.append(abs(predicted / own.whole - 1))
    return (
        f"median {100 * np.median(off):.0f} %, at most {100 * max(off):.0f} %, over {len(off)} runs of "
        f"this solver that were not used, P = {', '.join(map(str, ranks))}; beyond these P not validated"
    )


def timed(comm: Any, case: Case, seconds: float) -> Window:
    """The fastest of some segments, after one that warms up and one that says how long they take.

    On the ranks of an mpi4py communicator; None is this process alone.
    """
    ranks, problem = SelfCommunicator() if comm is None else communicator_of(comm), case.problem()
    stream = IndexStream("uniform", problem.samples, max(case.block, 1), LONGEST, SEED)
    options = Options(separate_timers=ranks.size == 1)
    own = Run(options, ranks, RunRequest(problem, stream, case.s, LONGEST))
    ended = 0

    def window(count: int) -> Window:
        """Of the next so many."""
        nonlocal ended
        begin, ended = ended, ended + count * case.s
        stream.blocks(begin, ended)  # What is drawn at first use is no part of a window.
        before = np.array(own.clock.seconds)
        whole = stopwatch(ranks.barrier, partial(own.advance, begin, ended))
        each = 1e6 * (np.array(own.clock.seconds) - before) / count
        whole = 1e6 * max(ranks.allgather(whole)) / count
        return Window(whole, dict(zip(PHASES, each.tolist(), strict=True)))

    window(LEAST)
    count = int(np.clip(seconds * 1e6 / REPEATS / max(window(LEAST).whole, 1.0), LEAST, MOST))
    return min((window(count) for _ in range(REPEATS)), key=lambda one: one.whole)


def collective_table(ranks: int, seconds: float) -> tuple[list[list[float]], list[list[float]]]:
    """Rows [ranks, bytes, us] of allreduce and of reduce-scatter, on so many ranks.

    Each collective of one size takes about so many seconds; the slowest rank counts.
    """
    slowest = np.max(np.array(run(ranks, timed_collectives, seconds)), axis=0)
    rows = [
        [[float(ranks), 8.0 * words, float(taken)] for words, taken in zip(WORDS, part, strict=True)]
        for part in slowest
    ]
    return rows[0], rows[1]


def timed_collectives(comm: Any, seconds: float) -> list[list[float]]:
    """Microseconds of allreduce, and of reduce-scatter, by size, on this rank."""
    communicator = communicator_of(comm)
    taken: list[list[float]] = [[], []]
    for words in WORDS:
        buffer = np.zeros(words)
        counts = np.diff(np.arange(comm.size + 1) * words // comm.size)
        receive = np.empty(int(counts[comm.rank]))
        calls: tuple[Callable[[], None], ...] = (
            partial(communicator.allreduce, buffer),
            partial(communicator.reduce_scatter, buffer, receive, counts),
        )
        for rows, call in zip(taken, calls, strict=True):
            call()
            once = max(stopwatch(communicator.barrier, call) for _ in range(3))
            count = int(np.clip(seconds / max(max(communicator.allgather(once)), 1e-7), 5, CALLS))
            each = [stopwatch(communicator.barrier, call) for _ in range(count)]
            rows.append(1e6 * float(np.quantile(each, QUANTILE)))
    return taken
