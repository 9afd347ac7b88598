"""The production solver: s iterations per communication, over any communicator."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.parallel.columns import WindowColumns
from sstep_verify.parallel.communicator import Communicator, SelfCommunicator
from sstep_verify.parallel.compiled import AVAILABLE
from sstep_verify.parallel.differences import DenseDifferences, SparseDifferences, differences_of
from sstep_verify.parallel.kernel_functions import DistanceGaussian, KernelFunction, kernel_function_of
from sstep_verify.parallel.products import DenseProducts, SparseProducts, products_of
from sstep_verify.problems import Problem, RBFKernel
from sstep_verify.solver import Declaration, Observer, RunRequest
from sstep_verify.solvers.production.recurrences import recurrence_of
from sstep_verify.trajectory import Panel, Trajectory

CHUNK_DRAWS = 1 << 16
"""Coordinates whose windows are prepared in one call: amortises Python over many windows."""

GRAM_ROWS = 256
"""Rows of a kept Gram matrix that are formed, and reduced, at once."""

PHASES = ("panel", "transfer", "kernel function", "recurrence")


class ProductionSolver:
    """s-step DCD (K-SVM-L1, K-SVM-L2) and s-step BDCD (K-RR), float64; s = 1 is the classical method.

    Parameters
    ----------
    communicator : Communicator, optional
        Where partial panels are summed; one process if absent.
    update : {"in-place", "frozen"}
        Update a within the window (default), or keep the paper's form with a frozen and the
        increments summed.
    rbf : {"norm-expansion", "difference"}
        Form squared distances of the RBF kernel from inner products and norms, at the speed of a matrix
        product (default), or from differences, which keeps all digits of data far from the origin.
    keep_gram : bool
        Form the whole Gram matrix once (m*m words) and take every panel from it. Allowed up to
        `gram_limit` words.
    gram_limit : int
        Largest Gram matrix that may be kept, in words.

    Raises
    ------
    InputError
        If `update` or `rbf` is unknown, or the Gram matrix would exceed the limit.
    """

    def __init__(
        self,
        communicator: Communicator | None = None,
        *,
        update: str = "in-place",
        rbf: str = "norm-expansion",
        keep_gram: bool = False,
        gram_limit: int = 1 << 26,
    ):
        if update not in ("in-place", "frozen"):
            raise InputError(f"update = {update!r}; known: in-place, frozen")
        if rbf not in ("norm-expansion", "difference"):
            raise InputError(f"rbf = {rbf!r}; known: norm-expansion, difference")
        self._communicator = communicator or SelfCommunicator()
        self._frozen = update == "frozen"
        self._keep_gram, self._gram_limit = keep_gram, gram_limit
        self._gram: tuple[str, np.ndarray] | None = None
        self.declaration = Declaration(
            name="production",
            update=update,
            increments="summed",
            rbf=rbf,
            panels=True,
            exchange="kept-gram" if keep_gram else "allreduce",
            options={
                "gram kept": keep_gram,
                "compiled": AVAILABLE,
                "ranks": self._communicator.size,
                **({"gram rows": GRAM_ROWS} if keep_gram else {}),
            },
        )

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Make the run; `observe` is called at every recorded iteration and may end it."""
        run = _Run(self, request)
        kept: list[np.ndarray] = []
        panels: dict[int, Panel] = {}
        stops = request.stops
        stopped = "iterations"
        for place, stop in enumerate(stops):
            if place:
                run.advance(stops[place - 1], stop)
                if request.expose_panels and run.is_window(stops[place - 1], stop):
                    panels[stops[place - 1]] = run.used_panel(stops[place - 1], stop)
            kept.append(run.alpha.copy())
            if observe is not None and observe(stop, kept[-1]):
                stopped = "observer"
                break
        return Trajectory(
            s=request.s,
            start=request.start,
            iterations=np.array(stops[: len(kept)], dtype=np.int64),
            alphas=np.array(kept),
            counters=run.counters,
            timers=dict(zip(PHASES, run.seconds, strict=True)),
            stopped=stopped,
            panels=panels,
        )

    def gram_of(self, problem: Problem, run: _Run) -> np.ndarray:
        """The kept Gram matrix, formed at first use, shape (m, m)."""
        samples = problem.samples
        if samples * samples > self._gram_limit:
            raise InputError(
                f"{problem.name}: a Gram matrix of {samples} x {samples} = {samples**2} words exceeds the "
                f"limit of {self._gram_limit}; run without keep_gram or raise gram_limit"
            )
        if self._gram is None or self._gram[0] != problem.digest:
            gram = np.empty((samples, samples))
            for begin in range(0, samples, run.panel_rows):
                columns = np.arange(begin, min(begin + run.panel_rows, samples))
                run.form_panel(gram[begin : begin + columns.size], columns)
            self._gram = (problem.digest, gram)
        return self._gram[1]


class _Run:
    """The state of one run: recurrence, panel, counters, seconds per phase."""

    def __init__(self, solver: ProductionSolver, request: RunRequest):
        problem, self._request = request.problem, request
        samples, block = problem.samples, request.stream.block
        self._communicator = solver._communicator
        width = max(min(request.s, request.iterations), 1)
        # Fixed for a kept Gram matrix, so that its bits do not depend on the s of the run that formed it.
        self.panel_rows = min(GRAM_ROWS if solver._keep_gram else width * block, samples)
        self.counters = dict.fromkeys(("windows", "panel columns", "collectives", "words"), 0)
        self.seconds = [0.0] * len(PHASES)
        self._products, self._function = self._formulas(problem, solver.declaration.rbf)
        initial = np.zeros(samples) if request.initial is None else request.initial
        self._recurrence = recurrence_of(problem, initial, width, block, solver._frozen)
        self._gram = solver.gram_of(problem, self) if solver._keep_gram else None
        if self._gram is None:
            self._panel = np.empty((self.panel_rows, samples))
            self._chunk = max(CHUNK_DRAWS // (width * block), 1) * width
            self._columns = WindowColumns(samples, width * block, self._chunk // width)

    @property
    def alpha(self) -> np.ndarray:
        """The current dual vector, shape (m,)."""
        return self._recurrence.alpha

    def form_panel(self, panel: np.ndarray, columns: np.ndarray) -> None:
        """Fill `panel`, shape (c, m), with kernel rows: product, reduction, kernel function."""
        begin = perf_counter()
        self._products.into(panel, columns)
        produced = perf_counter()
        self._communicator.allreduce(panel)
        reduced = perf_counter()
        self._function.apply(panel, columns)
        seconds = self.seconds
        seconds[0] += produced - begin
        seconds[1] += reduced - produced
        seconds[2] += perf_counter() - reduced
        counters = self.counters
        counters["panel columns"] += columns.size
        counters["collectives"] += 1
        counters["words"] += panel.size

    def advance(self, begin: int, end: int) -> None:
        """Make iterations begin..end-1 of the request."""
        s, start = self._request.s, self._request.start
        self.counters["windows"] += -(-(end - begin) // s)
        if self._gram is not None:
            clock = perf_counter()
            for first in range(begin, end, CHUNK_DRAWS // s * s or s):
                last = min(first + (CHUNK_DRAWS // s * s or s), end)
                self._recurrence.gram_windows(
                    self._gram, self._request.stream.blocks(start + first, start + last), s
                )
            self.seconds[3] += perf_counter() - clock
            return
        for first in range(begin, end, self._chunk):
            draws = self._request.stream.blocks(start + first, start + min(first + self._chunk, end))
            full = draws.shape[0] // s * s
            self._windows(draws[:full].reshape(-1, s * draws.shape[1]))
            if full < draws.shape[0]:
                self._windows(draws[full:].reshape(1, -1))

    def is_window(self, begin: int, end: int) -> bool:
        """Whether iterations begin..end-1 are one whole window."""
        s = self._request.s
        return begin % s == 0 and (
            end - begin == s or (end - begin < s and end == self._request.iterations)
        )

    def used_panel(self, begin: int, end: int) -> Panel:
        """Copy of the kernel rows of the window just made."""
        start = self._request.start
        draws = self._request.stream.blocks(start + begin, start + end).reshape(1, -1)
        if self._gram is not None:
            columns = np.unique(draws)
            return Panel(columns, self._gram[columns])
        columns, _, counts = self._columns.of(np.ascontiguousarray(draws))
        return Panel(columns[0, : counts[0]].copy(), self._panel[: counts[0]].copy())

    def _windows(self, draws: np.ndarray) -> None:
        """Make the windows whose drawn coordinates are the rows of `draws`."""
        if draws.shape[0] == 0:
            return
        columns, positions, counts = self._columns.of(np.ascontiguousarray(draws))
        panel, step, form = self._panel, self._recurrence.panel_window, self.form_panel
        seconds, clock = self.seconds, perf_counter
        for window, count in enumerate(counts.tolist()):
            rows = panel[:count]
            form(rows, columns[window, :count])
            begin = clock()
            step(rows, positions[window], draws[window])
            seconds[3] += clock() - begin

    def _formulas(
        self, problem: Problem, rbf: str
    ) -> tuple[DenseProducts | SparseProducts | DenseDifferences | SparseDifferences, KernelFunction]:
        """What is summed over the ranks, and the function of it that is the kernel."""
        kernel = problem.kernel
        if isinstance(kernel, RBFKernel) and rbf == "difference":
            return differences_of(problem.data), DistanceGaussian(kernel.sigma)
        products = products_of(problem.data, self.panel_rows)
        norms = products.squared_norms
        return products, kernel_function_of(kernel, problem.samples, lambda: self._reduced(norms()))

    def _reduced(self, norms: np.ndarray) -> np.ndarray:
        """Squared norms summed over the ranks, shape (m,): the one message of the set-up."""
        self._communicator.allreduce(norms)
        self.counters["collectives"] += 1
        self.counters["words"] += norms.size
        return norms
