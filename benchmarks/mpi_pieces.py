"""Cases of the MPI benchmark, and what their floor is made of, each piece alone."""

from __future__ import annotations

import time
from dataclasses import dataclass

import floor
import numpy as np
import scipy.sparse as sp

from sstep_verify.problems import Problem


@dataclass(frozen=True)
class Case:
    """One line of the table.

    Parameters
    ----------
    data, task, kernel, exchange : str
        Data set; "svm" or "krr"; name of the kernel; what is communicated.
    b, s : int
        Coordinates per block, iterations per window.
    """

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
    """What the floor is made of, each piece alone.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The ranks.
    problem : Problem
        This rank's columns.
    products : Products
        Their products, made once for all cases.
    case : Case
        Exchange, kernel and size of windows.
    """

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
