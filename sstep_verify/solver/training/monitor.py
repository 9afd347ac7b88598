"""Measurements by the solver of its own result: duality gap, objectives and residual at a dual vector.

They need one product of the whole kernel matrix with a vector. With the linear kernel that is a product
with the data and one with its transpose, and a reduction of m words; with a kept Gram matrix nothing is
communicated; otherwise the kernel rows of all coordinates that are not 0 are formed in panels and reduced,
m words each. None of it belongs to a window: it is counted apart.

*Stagnation*: training stops because float64 attains no more, although the tolerance is not reached.
Looked at when 16, 32, 64, ... measurements were made, from the history alone, so that all ranks and a
resumed run decide alike. Training is *stagnant* iff

1. no progress: the least relative value of the later half of the measurements is more than half of that of
   the earlier half. Whatever converges like 1/t or faster halves it where t doubles;
2. out of reach: the tolerance is `FAR` times further below that least value than that is below the later
   half's median, so that it is not reached by the noise of the measurements either;
3. at the level: it is at most what float64 attains, computed at the current dual vector
   (`Monitor.attainable`): one rounding of every term changes gap or residual by as much.

K-SVM: each margin ``(Qa)_i`` is a sum of terms ``Q_ij a_j``; one rounding of each changes it by at most
``u sum_j |Q_ij| |a_j|``, and the gap, whose terms hold it times at most C (L1; for L2 its rate near the
optimum is less), by at most C times the sum. K-RR: one rounding of each term of ``y - m a - K a / lambda``
changes its norm by at most ``u || |y| + m |a| + |K| |a| / lambda ||``. Real roundings cancel: runs on duke,
colon-cancer and diabetes_scale stagnated at 0.04 to 0.8 of it.

1 and 2 are needed because the level is an upper bound: a run below it that still falls continues.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sstep_verify.problems import Problem
from sstep_verify.solver.communicator import Communicator
from sstep_verify.solver.exchanges.exchange import AllreduceExchange
from sstep_verify.solver.packet import CountingCommunicator, Packet
from sstep_verify.solver.panels.panel import Panel
from sstep_verify.solver.settings import Options
from sstep_verify.trajectory import Claim

STEP = 256
"""Rows of a kept matrix whose absolute values are taken at once."""

UNIT_ROUNDOFF = 2.0**-53

FIRST = 16
"""Measurements at which is looked for the first time; then at twice as many, and so on."""

PROGRESS, FAR = 0.5, 1.5
"""Share of the least value that must not be reached any more; see condition 2."""


class Values(NamedTuple):
    """Numbers at one dual vector.

    `gap`, `primal`, `dual`: duality gap and objectives; the dual one is the negative of what is minimised;
    `residual`: k-RR: 2-norm of ``y - M a``; NaN for K-SVM; `relative`: K-SVM: gap over dual value, which is
    never less than gap over optimal value; infinite while the dual value is not positive. K-RR: residual
    over ``||y||``.
    """

    gap: float
    primal: float
    dual: float
    residual: float
    relative: float

    def claims(self, iterations: int) -> dict[str, Claim]:
        """Claims of a trajectory of some iterations that ends here."""
        told = {"gap": self.gap, "primal": self.primal, "dual": self.dual}
        if not math.isnan(self.residual):
            told["residual"] = self.residual
        return {name: Claim(value) for name, value in told.items()} | {"iterations": Claim(iterations)}


class Measured(NamedTuple):
    """Values at an iteration, counted from the first of all."""

    iteration: int
    values: Values


def svm_values(problem: Problem, margins: np.ndarray, alpha: np.ndarray) -> Values:
    """Values of a K-SVM from its margins ``Q a``, shape (m,).

    The gap is summed from terms that are not negative for feasible a, so that it keeps its digits when it
    is small: with ``h_i = max(0, 1 - (Qa)_i)``, L1 ``(C - a_i) h_i`` where the margin is short, else
    ``a_i ((Qa)_i - 1)``; L2 ``a_i max((Qa)_i - 1, 0) + C (h_i - a_i / (2 C))^2``. No square is taken of a
    number that may be as small as C, so that nothing underflows where C is small.
    """
    hinge = problem.hinge
    short, excess = np.maximum(1.0 - margins, 0.0), np.maximum(margins - 1.0, 0.0)
    if hinge.power == 1:
        gap = float(np.sum((hinge.C - alpha) * short + alpha * excess))
    else:
        gap = float(np.sum(alpha * excess + hinge.C * (short - alpha / (2 * hinge.C)) ** 2))
    half_square = float(alpha @ margins) / 2
    primal = half_square + hinge.C * float(np.sum(short**hinge.power))
    dual = float(np.sum(alpha)) - half_square - float((hinge.shift * alpha) @ alpha) / 2
    return Values(gap, primal, dual, math.nan, gap / dual if dual > 0 else math.inf)


def ridge_values(problem: Problem, products: np.ndarray, alpha: np.ndarray) -> Values:
    """Values of a K-RR from ``K a``, shape (m,); its gap is exactly ``||y - M a||^2 / (2 m)``."""
    samples, targets, penalty = problem.samples, problem.targets, problem.ridge.penalty
    misfit = targets - products / penalty
    residual = norm(misfit - samples * alpha)
    half_square = float(alpha @ products) / (2 * penalty)
    primal = half_square + float(misfit @ misfit) / (2 * samples)
    dual = float(targets @ alpha) - half_square - samples * float(alpha @ alpha) / 2
    scale = norm(targets)
    relative = residual / scale if scale > 0 else _without_scale(residual)
    return Values(residual * residual / (2 * samples), primal, dual, residual, relative)


def norm(vector: np.ndarray) -> float:
    """The 2-norm, through a power of two that keeps squares from overflow and underflow."""
    _, exponent = math.frexp(float(np.max(np.abs(vector), initial=0.0)))
    return float(np.ldexp(np.linalg.norm(np.ldexp(vector, -exponent)), exponent))


def _without_scale(value: float) -> float:
    """A value relative to nothing: 0 stays 0, NaN stays NaN."""
    return value if value == 0 or math.isnan(value) else math.inf


def best_without_progress(history: Sequence[Measured], tolerance: float) -> float | None:
    """The least relative value of the later half, where conditions 1 and 2 hold; else None.

    Training that is to end at tolerance 0, which is never, is never stagnant.
    """
    count = len(history)
    if tolerance <= 0 or count < FIRST or count & (count - 1):
        return None
    relative = [found.values.relative for found in history]
    later = sorted(relative[count // 2 :])
    least, median = later[0], later[len(later) // 2]
    if least <= PROGRESS * min(relative[: count // 2]) or not least < math.inf:
        return None
    return least if least * (least / median) >= FAR * tolerance else None


class Monitor:
    """Measures dual vectors of one problem, whose data are this rank's columns; counts the rows it forms.

    `rbf` and `panel_words` are those of `Options`.
    """

    def __init__(
        self, problem: Problem, rbf: str, communicator: Communicator, panel_words: int = Options.panel_words
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

        Raises WindowError if a rank could not form its share.
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
        """Relative value that float64 cannot be expected to get below; see condition 3 above.

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
    exchange = AllreduceExchange(panel, packet)
    for begin in range(0, columns.size, step):
        some = columns[begin : begin + step]
        yield some, exchange.rows(some)
