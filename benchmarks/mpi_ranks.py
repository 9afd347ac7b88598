"""Part of every rank in the MPI benchmark: load its columns, run, and time each piece of its floor."""

from __future__ import annotations

import gc
import time
import tracemalloc
from typing import Any, NamedTuple

import floor
import numpy as np
import scipy.sparse as sp
from grid import SEED

from sstep_verify.problems import Hinge, IndexStream, Problem, Ridge, kernel_from
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver.communicator import communicator_of
from sstep_verify.solver.data.reading import LocalData, load_local
from sstep_verify.solver.panels.products import FEW_FEATURES
from sstep_verify.solver.run import Run
from sstep_verify.solver.settings import Options

VECTORS = 6
"""Vectors of m words that a run holds beside data and panel: targets, dual vector, its product with the
labels or the window's increments, marks of increments, squared norms, marks of coordinates."""


class Case(NamedTuple):
    """One line of the table: data set, "svm" or "krr", kernel, b, s, and what is communicated."""

    data: str
    task: str
    kernel: str
    b: int
    s: int
    exchange: str


class Timed:
    """Wall-clock and processor seconds of one piece of work."""

    def __enter__(self):
        self._begin = time.perf_counter(), time.thread_time()
        return self

    def __exit__(self, *unused):
        self.seconds = time.perf_counter() - self._begin[0], time.thread_time() - self._begin[1]


class Pieces:
    """What the floor is made of on this rank's columns, each piece alone; products are made once."""

    def __init__(self, comm, problem: Problem, products: floor.Products, case: Case):
        from mpi4py import MPI

        self._comm, self._case, self._in_place = comm, case, MPI.IN_PLACE
        self._products, self._kernel = products, problem.kernel
        samples = problem.samples
        most = min(case.s * case.b, samples)
        self._first = samples * comm.rank // comm.size
        self._own = samples * (comm.rank + 1) // comm.size - self._first
        self._sizes = np.diff(np.arange(comm.size + 1) * samples // comm.size)
        self._panel = np.zeros((0 if case.exchange == "gram" else most, samples))
        self._small = np.zeros(most * most + most)
        self._receive = np.empty(most * self._own)
        data = problem.data
        squares = (
            data.multiply(data).sum(axis=1) if sp.issparse(data) else np.einsum("ij,ij->i", data, data)
        )
        self._norms = np.array(squares, dtype=np.float64)
        comm.Allreduce(MPI.IN_PLACE, self._norms)

    def times(self, windows: list[np.ndarray]) -> dict[str, tuple[float, float]]:
        """Wall-clock and processor seconds of each piece, for windows of these distinct coordinates."""
        taken = {}
        with Timed() as timed:
            for columns in windows:
                if self._case.exchange == "gram":
                    square = columns.size * columns.size
                    gram = self._small[:square].reshape(columns.size, columns.size)
                    self._products.gram(columns, gram, self._small[square : square + columns.size])
                else:
                    self._products.panel(columns, self._panel[: columns.size])
        taken["product"] = timed.seconds
        taken["kernel function"] = self._function(windows)
        self._comm.Barrier()
        with Timed() as timed:
            if self._comm.size > 1:
                for columns in windows:
                    self._collective(columns.size)
        taken["collective"] = timed.seconds
        return taken

    def _function(self, windows: list[np.ndarray]) -> tuple[float, float]:
        """The faster of the two ways to write it; the values on entry are of no matter, if not extreme."""
        if self._case.kernel == "linear":
            return 0.0, 0.0
        part = slice(0, None)
        if self._case.exchange == "reduce-scatter":
            part = slice(self._first, self._first + self._own)
        fastest = (np.inf, np.inf)
        for compiled in (False, True):
            panels = self._panel.ravel()
            panels[:] = 0.0
            norms = self._norms[part]
            with Timed() as timed:
                for columns in windows:
                    panel = panels[: columns.size * norms.size].reshape(columns.size, norms.size)
                    floor.apply_kernel(self._kernel, panel, self._norms[columns], norms, compiled)
            fastest = min(fastest, timed.seconds)
        return fastest

    def _collective(self, count: int) -> None:
        samples, small = self._norms.size, self._small[: count * count + count]
        if self._case.exchange == "gram":
            self._comm.Allreduce(self._in_place, small)
            return
        send = self._panel.ravel()[: count * samples]
        if self._case.exchange == "allreduce":
            self._comm.Allreduce(self._in_place, send)
            return
        receive = self._receive[: count * self._own]
        self._comm.Reduce_scatter(send, receive, count * self._sizes)
        self._comm.Allreduce(self._in_place, small)


_held: dict[str, Any] = {}
"""The data, and the last problem made of them: kept between calls."""


def load(comm, name: str, source: str | tuple[int, int]) -> dict[str, float]:
    """Load this rank's columns from a file, or draw those of a dense matrix of a shape (m, n).

    Returns seconds taken, and the largest work of a rank over the mean.
    """
    _held.clear()
    gc.collect()
    comm.Barrier()
    begin = time.perf_counter()
    drawn = not isinstance(source, str)
    local = _drawn(comm, *source) if drawn else load_local(source, communicator_of(comm))
    comm.Barrier()
    _held.update(name=name, local=local)
    return {"seconds": time.perf_counter() - begin, "imbalance": local.partition.work_imbalance}


def _drawn(comm, samples: int, features: int) -> LocalData:
    """Columns of a dense matrix of normal numbers, with labels drawn alike on all ranks."""
    from sstep_verify.solver.data.partition import partition_of

    partition = partition_of(np.full(features, samples), comm.size)
    part = partition.places(comm.rank)
    generator = np.random.default_rng((SEED, comm.rank))
    data = generator.standard_normal((samples, part.stop - part.start))
    data /= np.sqrt(features)
    labels = np.where(np.random.default_rng(SEED).random(samples) < 0.5, 1.0, -1.0)
    return LocalData(data, labels, features, partition)


def _problem(case: Case) -> Problem:
    """The problem of a case, made once for neighbouring cases."""
    wanted = (case.data, case.kernel, case.task)
    if _held.get("problem of") != wanted:
        _held.pop("problem", None)
        local = _held["local"]
        loss = Ridge(1.0) if case.task == "krr" else Hinge(1.0)
        made = Problem(case.data, local.data, local.targets, kernel_from(case.kernel), loss)
        _held.update({"problem of": wanted, "problem": made})
    return _held["problem"]


def _products(problem: Problem) -> floor.Products:
    """The floor's products of a problem, made once for neighbouring cases."""
    if _held.get("products of") is not problem:
        _held.update({"products of": problem, "products": floor.Products(problem.data)})
    return _held["products"]


def _distinct(stream: IndexStream, begin: int, end: int, s: int) -> list[np.ndarray]:
    """Distinct coordinates of whole windows, in order of first draw, as the solver asks for them."""
    draws = stream.blocks(begin, end).reshape((end - begin) // s, -1)
    return [np.array(list(dict.fromkeys(window.tolist()))) for window in draws]


def measure(comm, case: Case, repeats: int, seconds: float) -> dict[str, Any]:
    """Time one case: one run, in whose pauses the pieces of its floor are timed.

    Stretches of the run, and the pieces in a pause, take about so many seconds. Returns the windows of a
    stretch, and of every stretch wall-clock and processor seconds of a window, of the run and each piece.
    """
    problem, s = _problem(case), case.s
    sample = IndexStream("uniform", problem.samples, case.b, 4 * s, SEED)
    pieces = Pieces(comm, problem, _products(problem), case)
    pieces.times(_distinct(sample, 0, s, s))
    trial = pieces.times(_distinct(sample, 0, 4 * s, s))
    guess = max(comm.allgather(sum(wall for wall, _ in trial.values()))) / 4
    count = int(np.clip(seconds / (guess + 1e-5), 1, 4096))
    length = count * s
    # One stretch more: the first compiles and warms up.
    stream = IndexStream("uniform", problem.samples, case.b, (repeats + 1) * length, SEED)
    request = RunRequest(problem, stream, s, stream.length)
    # Not through the solver: what it records between stretches, such as the weights of exchange gram, is no
    # part of an iteration.
    made = Run(Options(exchange=case.exchange, columns="local"), communicator_of(comm), request)
    rounds = []
    gc.disable()
    for begin in range(0, stream.length, length):
        comm.Barrier()
        with Timed() as timed:
            made.advance(begin, begin + length)
        windows = _distinct(stream, begin, begin + length, s)
        rounds.append({"run": timed.seconds, **pieces.times(windows)})
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
    problem = _problem(case)
    stream = IndexStream("uniform", problem.samples, case.b, 4 * case.s, SEED)
    request = RunRequest(problem, stream, case.s, 4 * case.s)
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
    problem, s = _problem(case), case.s
    window = s * -(-10 * problem.samples // s)
    stream = IndexStream("uniform", problem.samples, case.b, 2 * window, SEED)
    request = RunRequest(problem, stream, s, 2 * window, record=(window,))
    found: dict[str, list[float]] = {"kept": [], "formed": []}
    for _ in range(repeats + 1):
        for name, words in (("kept", problem.samples**2), ("formed", 0)):
            stamps: list[float] = []

            def note(iteration: int, alpha: np.ndarray, stamps: list[float] = stamps) -> bool:
                comm.Barrier()
                stamps.append(time.perf_counter())
                return False

            solver = ProductionSolver(
                communicator_of(comm), exchange=case.exchange, cache=words, columns="local"
            )
            solver.run(request, note)
            found[name].append((stamps[-1] - stamps[-2]) / window)
    return {name: taken[1:] for name, taken in found.items()}
