"""Measurements by the solver of its own result: duality gap, objectives and residual at a dual vector.

They need one product of the whole kernel matrix with a vector. With the linear kernel that is a product
with the data and one with its transpose, and a reduction of m words; with a kept Gram matrix nothing is
communicated; otherwise the kernel rows of all coordinates that are not 0 are formed in panels and reduced,
m words each. None of it belongs to a window: it is counted apart.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sstep_verify.parallel.clock import Clock
from sstep_verify.parallel.communicator import Communicator, CountingCommunicator
from sstep_verify.parallel.exchanges.exchange import AllreduceExchange
from sstep_verify.parallel.packet import Packet
from sstep_verify.parallel.panels.panel import Panel
from sstep_verify.problems import Problem
from sstep_verify.solvers.production.options import Options
from sstep_verify.solvers.production.values import Values, norm, ridge_values, svm_values

STEP = 256
"""Rows of a kept matrix whose absolute values are taken at once."""

UNIT_ROUNDOFF = 2.0**-53


class Monitor:
    """Measures dual vectors of one problem, whose data are this rank's columns; counts the rows it forms.

    `rbf` and `panel_words` are those of `Options`.
    """

    def __init__(
        self,
        problem: Problem,
        rbf: str,
        communicator: Communicator,
        panel_words: int = Options.panel_words,
    ):
        self._problem, self._rbf, self._panel_words = problem, rbf, panel_words
        self._communicator = CountingCommunicator(communicator)
        self.columns = 0

    @property
    def counters(self) -> dict[str, int]:
        """Kernel rows formed, collectives, words handed to them by this rank."""
        counted = self._communicator
        return {"panel columns": self.columns, "collectives": counted.collectives, "words": counted.words}

    def measure(self, alpha: np.ndarray, gram: np.ndarray | None = None) -> Values:
        """Measure a dual vector, shape (m,), the same on all ranks; called by all together.

        With `gram`, shape (m, m), a kept kernel matrix, nothing is formed. The values are those of rank 0,
        so that all ranks decide alike.

        Raises
        ------
        WindowError
            If a rank could not form its share.
        """
        problem = self._problem
        with np.errstate(over="ignore", invalid="ignore"):
            if problem.is_svm:
                labels = problem.targets
                values = svm_values(problem, labels * self._product(labels * alpha, gram), alpha)
            else:
                values = ridge_values(problem, self._product(alpha, gram), alpha)
        return self._communicator.first(values)

    def attainable(self, alpha: np.ndarray, gram: np.ndarray | None = None) -> float:
        """Relative value that float64 cannot be expected to get below; see `stagnation`.

        Parameters and errors are those of `measure`; the value is that of rank 0.
        """
        problem, sizes = self._problem, np.zeros(alpha.size)
        if gram is not None:
            for begin in range(0, alpha.size, STEP):
                sizes[begin : begin + STEP] = np.abs(gram[begin : begin + STEP]) @ np.abs(alpha)
        else:
            used = np.flatnonzero(alpha)
            self.columns += used.size
            for columns, rows in self._rows(used):
                sizes += np.abs(alpha[columns]) @ np.abs(rows)
        if problem.is_svm:
            products = self._product(problem.targets * alpha, gram)
            dual = svm_values(problem, problem.targets * products, alpha).dual
            found = problem.hinge.C * UNIT_ROUNDOFF * float(np.sum(sizes)) / dual if dual > 0 else 0.0
        else:
            targets = problem.targets
            terms = np.abs(targets) + problem.samples * np.abs(alpha) + sizes / problem.ridge.penalty
            scale = norm(targets)
            found = UNIT_ROUNDOFF * norm(terms) / scale if scale > 0 else 0.0
        return self._communicator.first(found)

    def _product(self, vector: np.ndarray, gram: np.ndarray | None) -> np.ndarray:
        """The kernel matrix times a vector, shape (m,)."""
        if gram is not None:
            return gram @ vector
        if self._problem.kernel.linear:
            return linear_product(self._problem.data, self._problem.data, vector, self._communicator)
        products, used = np.zeros(vector.size), np.flatnonzero(vector)
        self.columns += used.size
        for columns, rows in self._rows(used):
            products += vector[columns] @ rows
        return products

    def _rows(self, used: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return kernel_rows(self._problem, self._rbf, used, self._communicator, self._panel_words)


def linear_product(left, right, vector: np.ndarray, communicator: Communicator) -> np.ndarray:
    """``left right' vector``, summed over all ranks in one collective.

    `left`, shape (k, n_local), and `right`, (m, n_local), are this rank's columns; the vector is (m,).
    """
    packet = Packet(communicator, left.shape[0])
    try:
        packet.payload(left.shape[0])[:] = left @ (right.T @ vector)
    except Exception as error:
        packet.failure = error
    packet.reduce(left.shape[0])
    return packet.payload(left.shape[0])


def kernel_rows(
    problem: Problem,
    rbf: str,
    columns: np.ndarray,
    communicator: Communicator,
    panel_words: int = Options.panel_words,
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Form the kernel rows of some coordinates (int64, shape (c,)), some at a time.

    Yields the next coordinates, shape (k,), and their rows, (k, m), which are valid until the next.
    """
    if columns.size == 0:
        return
    samples = problem.samples
    step = min(max(panel_words // samples, 1), columns.size)
    packet = Packet(communicator, step * samples)
    panel = Panel(problem.data, problem.kernel, rbf, step, packet)
    exchange = AllreduceExchange(panel, packet, communicator, Clock())
    for begin in range(0, columns.size, step):
        some = columns[begin : begin + step]
        yield some, exchange.rows(some)
