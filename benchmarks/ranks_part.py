"""Part of every rank in the benchmarks of ranks: load its columns, run, time each piece of the floor."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

import floor
import numpy as np
import scipy.sparse as sp
from grid import SEED

from sstep_verify.problems import Hinge, IndexStream, Problem, Ridge, kernel_from
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver.communicator import communicator_of
from sstep_verify.solver.data.partition import partition_of
from sstep_verify.solver.data.reading import LocalData, load_local
from sstep_verify.solver.panels.products import FEW_FEATURES
from sstep_verify.solver.run import Run
from sstep_verify.solver.settings import Options

VECTORS = 6
"""Vectors of m words that a run holds besides data and panel: targets, dual vector, its product with the
labels or the window's increments, marks of increments, squared norms, marks of coordinates."""

Times = tuple[float, float]
"""Wall-clock and processor seconds."""


class Case(NamedTuple):
    """One line of the table: data set, "svm" or "krr", kernel, b, s, and what is communicated."""

    data: str
    task: str
    kernel: str
    b: int
    s: int
    exchange: str


_held: dict[str, Any] = {}
"""The data, and the last problem made of them: kept between calls."""


def load(comm, source: str, directory: str | None, task: str | None = None) -> dict[str, float]:
    """Load this rank's columns, from a file, or those of a dense matrix that is drawn ("drawn MxN").

    Returns seconds taken, and the largest work of a rank over the mean.
    """
    _held.clear()
    gc.collect()
    comm.Barrier()
    begin = time.perf_counter()
    if source.startswith("drawn "):
        local = _drawn(comm, *map(int, source.removeprefix("drawn ").split("x")))
    else:
        local = load_local(source, communicator_of(comm), directory=directory, task=task)
    comm.Barrier()
    seconds = time.perf_counter() - begin
    _held.update(local=local, products=floor.Products(local.data))
    return {"seconds": seconds, "imbalance": local.partition.work_imbalance}


def _drawn(comm, samples: int, features: int) -> LocalData:
    """Columns of a dense matrix of normal numbers, with labels drawn alike on all ranks."""
    partition = partition_of(np.full(features, samples), comm.size)
    part = partition.places(comm.rank)
    generator = np.random.default_rng((SEED, comm.rank))
    data = generator.standard_normal((samples, part.stop - part.start))
    data /= np.sqrt(features)
    labels = np.where(np.random.default_rng(SEED).random(samples) < 0.5, 1.0, -1.0)
    return LocalData(data, labels, features, partition)


def problem_of(task: str, kernel: str, penalty: float = 1.0, **parameters: float) -> Problem:
    """A problem of the data that are held, made once for neighbouring cases."""
    wanted, local = (task, kernel, penalty, parameters), _held["local"]
    if _held.get("wanted") != wanted:
        loss = Ridge(penalty) if task == "krr" else Hinge(1.0)
        made = Problem("held", local.data, local.targets, kernel_from(kernel, **parameters), loss)
        _held.update(wanted=wanted, problem=made)
    return _held["problem"]


def both_clocks(work: Callable[[], object]) -> Times:
    """What some work takes."""
    begin = time.perf_counter(), time.thread_time()
    work()
    return time.perf_counter() - begin[0], time.thread_time() - begin[1]


def pieces_of(comm, problem: Problem, case: Case) -> Callable[[list[np.ndarray]], dict[str, Times]]:
    """What times each piece of the floor of some windows on this rank, by their distinct coordinates."""
    from mpi4py import MPI

    samples, data, products = problem.samples, problem.data, _held["products"]
    gram, scattered = case.exchange == "gram", case.exchange == "reduce-scatter"
    most, edges = min(case.s * case.b, samples), samples * np.arange(comm.size + 1) // comm.size
    sizes, own = np.diff(edges), slice(*edges[comm.rank : comm.rank + 2])
    panel, small = np.zeros(0 if gram else most * samples), np.zeros(most * most + most)
    received = np.empty(most * int(sizes[comm.rank]))
    squares = data.multiply(data).sum(axis=1) if sp.issparse(data) else np.einsum("ij,ij->i", data, data)
    norms = np.array(squares, dtype=np.float64)
    comm.Allreduce(MPI.IN_PLACE, norms)
    part = norms[own] if scattered else norms

    def product(columns: np.ndarray) -> None:
        count = columns.size
        if gram:
            square = small[: count * count].reshape(count, count)
            products.gram(columns, square, small[count * count : count * count + count])
        else:
            products.panel(columns, panel[: count * samples].reshape(count, samples))

    def function(columns: np.ndarray, compiled: bool) -> None:
        rows = panel[: columns.size * part.size].reshape(columns.size, part.size)
        floor.apply_kernel(problem.kernel, rows, norms[columns], part, compiled)

    def collective(columns: np.ndarray) -> None:
        count = columns.size
        if scattered:
            to_own = received[: count * sizes[comm.rank]]
            comm.Reduce_scatter(panel[: count * samples], to_own, count * sizes)
        if gram or scattered:
            comm.Allreduce(MPI.IN_PLACE, small[: count * count + count])
        else:
            comm.Allreduce(MPI.IN_PLACE, panel[: count * samples])

    def times(windows: list[np.ndarray]) -> dict[str, Times]:
        def each(piece: Callable[..., None], *given: bool) -> Times:
            return both_clocks(lambda: [piece(columns, *given) for columns in windows])

        taken, ways = {"product": each(product)}, []
        for compiled in (False, True) if case.kernel != "linear" else ():
            # The values on entry are of no matter, if not extreme.
            panel[:] = 0.0
            ways.append(each(function, compiled))
        taken["kernel function"] = min(ways, default=(0.0, 0.0))
        comm.Barrier()
        taken["collective"] = each(collective) if comm.size > 1 else (0.0, 0.0)
        return taken

    return times


def measure(comm, case: Case, repeats: int, seconds: float) -> dict[str, Any]:
    """Time one case: one run, in whose pauses the pieces of its floor are timed.

    Segments of the run, and the pieces in a pause, take about so many seconds. Returns the windows of a
    segment, and of every segment wall-clock and processor seconds of a window, of the run and each piece.
    """
    problem, s = problem_of(case.task, case.kernel), case.s
    sample = IndexStream("uniform", problem.samples, case.b, 4 * s, SEED)
    pieces = pieces_of(comm, problem, case)
    pieces(floor.distinct(sample.blocks(0, s), s))
    trial = pieces(floor.distinct(sample.blocks(0, 4 * s), s))
    guess = max(comm.allgather(sum(wall for wall, _ in trial.values()))) / 4
    count = int(np.clip(seconds / (guess + 1e-5), 1, 4096))
    length = count * s
    # One segment more: the first compiles and warms up.
    stream = IndexStream("uniform", problem.samples, case.b, (repeats + 1) * length, SEED)
    # Not through the solver: what it records between segments, such as the weights of exchange gram, is no
    # part of an iteration.
    options = Options(exchange=case.exchange, columns="local")
    made = Run(options, communicator_of(comm), RunRequest(problem, stream, s, stream.length))
    rounds = []
    gc.disable()
    for begin in range(0, stream.length, length):
        comm.Barrier()
        own = both_clocks(lambda begin=begin: made.advance(begin, begin + length))
        rounds.append({"run": own, **pieces(floor.distinct(stream.blocks(begin, begin + length), s))})
    gc.enable()
    per_window = [
        {name: (wall / count, cpu / count) for name, (wall, cpu) in times.items()} for times in rounds[1:]
    ]
    return {"windows": count, "rounds": per_window}


def memory(comm, case: Case) -> dict[str, int]:
    """Bytes of arrays of this rank in a run: what it holds of the data, and the most that the run adds.

    The formula is ``f m n / P + s b m`` (f words a value: 1 dense, 2 where panels are formed of so few
    features that the solver holds them in both orders, 3 in both sparse orders), with the exchange's own
    panels; what the vectors take is given apart.
    """
    problem = problem_of(case.task, case.kernel)
    stream = IndexStream("uniform", problem.samples, case.b, 4 * case.s, SEED)
    request = RunRequest(problem, stream, case.s, stream.length)
    options = Options(exchange=case.exchange, columns="local")
    # What a first run leaves behind, compiled functions and modules, is no array of a run; nor is what a
    # caller has recorded, hence not through the solver.
    Run(options, communicator_of(comm), request).advance(0, stream.length)
    gc.collect()
    tracemalloc.start()
    Run(options, communicator_of(comm), request).advance(0, stream.length)
    added = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    data, most = problem.data, min(case.s * case.b, problem.samples)
    parts = (data.data, data.indices, data.indptr) if sp.issparse(data) else (data,)
    held = sum(part.nbytes for part in (*parts, problem.targets))
    both = case.exchange != "gram" and data.shape[1] <= FEW_FEATURES
    words = 3 * data.nnz if sp.issparse(data) else (1 + both) * data.size
    panel, small_words = most * problem.samples, most * most + most
    words += {
        "allreduce": panel,
        "reduce-scatter": panel + small_words + (panel // comm.size if comm.size > 1 else 0),
        "gram": small_words + data.shape[1],
    }[case.exchange]
    return {"bytes": held + added, "formula": 8 * words, "vectors": 8 * VECTORS * problem.samples}


def cache(comm, case: Case, repeats: int) -> dict[str, list[float]]:
    """Seconds of an iteration after the first 10 m, with kernel rows kept and without, in turn."""
    problem, s = problem_of(case.task, case.kernel), case.s
    window = s * -(-10 * problem.samples // s)
    stream = IndexStream("uniform", problem.samples, case.b, 2 * window, SEED)
    request = RunRequest(problem, stream, s, 2 * window, record=(window,))
    stamps: list[float] = []

    def note(iteration: int, alpha: np.ndarray) -> bool:
        comm.Barrier()
        stamps.append(time.perf_counter())
        return False

    def taken(words: int) -> float:
        ranks = communicator_of(comm)
        ProductionSolver(ranks, exchange=case.exchange, cache=words, columns="local").run(request, note)
        return (stamps[-1] - stamps[-2]) / window

    rounds = [(taken(problem.samples**2), taken(0)) for _ in range(repeats + 1)][1:]
    return dict(zip(("kept", "formed"), map(list, zip(*rounds, strict=True)), strict=True))
