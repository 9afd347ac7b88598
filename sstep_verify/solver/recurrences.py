"""The recurrences of the production solver with their scratch memory, one class per loss family.

And one around them, by which all ranks hold what rank 0 made, where ranks are of several kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import sstep_verify.solver.ridge_window as ridge_window
import sstep_verify.solver.svm_window as svm_window
from sstep_verify.compiled import read_only
from sstep_verify.problems import BoxedLoss, Problem, Ridge
from sstep_verify.solver.communicator import Communicator
from sstep_verify.solver.settings import Options


class Recurrence:
    """Makes the updates of windows; holds a and the scratch of a window.

    Attributes `alpha`, (m,): the dual vector; `vector`, (m,): what kernel rows are multiplied with;
    `state`: the last arguments of `svm_window` or `ridge_window`.
    """

    alpha: np.ndarray
    vector: np.ndarray
    state: tuple[Any, ...]
    _functions: tuple[Callable[..., None], Callable[..., None]]
    _slots: np.ndarray

    def window(
        self,
        rows: np.ndarray,
        stale: np.ndarray | None,
        whole: bool,
        columns: np.ndarray,
        positions: np.ndarray,
        draws: np.ndarray,
        log: np.ndarray,
    ) -> np.ndarray:
        """Make one window; unless rows are whole, returns the changes of `vector` at its coordinates first.

        `rows`, (c, m) or (c, c): kernel rows of its distinct coordinates, of all samples or among them;
        `stale`, (c,), or None: their products with `vector`; None to take them here, from whole rows;
        `whole`: whether the rows are of all samples; `columns`, int64, (c,): the coordinates; `positions`,
        `draws`, int64, (s * b,): place of each draw's coordinate among them, and the coordinate; `log`, (s
        * b,): out: the new value of each drawn coordinate.
        """
        self._functions[0](rows, stale, whole, columns, positions, draws, log, *self.state)
        return self.state[0]

    def kept_windows(
        self, rows: np.ndarray, slot_of: np.ndarray, draws: np.ndarray, width: int, log: np.ndarray
    ) -> None:
        """Make many windows of `width` iterations from kept rows; draws and log (H, b)."""
        self._functions[1](rows, slot_of, draws, width, log, self._slots, *self.state[1:])

    def make_up(self, window: int, columns: np.ndarray, log: np.ndarray) -> None:
        """Take part in what other ranks wait for where this one has failed in a window; here in nothing.

        `window` is counted from 0; `columns` (c,) and `log` (s * b,) are as of `window`.
        """


class SvmRecurrence(Recurrence):
    """s-step DCD for K-SVM; `vector` is a times the labels.

    `width`: iterations per full window (s); `frozen`: keep alpha frozen within a window (the paper's form).
    """

    def __init__(self, problem: Problem, alpha: np.ndarray, width: int, frozen: bool):
        self.alpha = np.array(alpha, dtype=np.float64)
        labels, hinge, most = read_only(problem.targets), problem.hinge, min(width, problem.samples)
        self.vector = labels * self.alpha
        self._slots = np.empty(width, dtype=np.int64)
        self._functions = svm_window.svm_window, svm_window.svm_kept_windows
        self.state = (
            np.empty(most), labels, self.alpha, self.vector, np.empty(width),
            np.empty(width), np.zeros(problem.samples), hinge.shift, hinge.upper, frozen,
        )  # fmt: skip


class RidgeRecurrence(Recurrence):
    """s-step BDCD for K-RR; `vector` is a itself.

    `width`: iterations per full window (s); `block`: coordinates per block (b); `frozen`: keep alpha frozen
    within a window (the paper's form).
    """

    def __init__(self, problem: Problem, alpha: np.ndarray, width: int, block: int, frozen: bool):
        samples, most = problem.samples, min(width * block, problem.samples)
        self.alpha = self.vector = np.array(alpha, dtype=np.float64)
        self._slots, self._frozen = np.empty(width * block, dtype=np.int64), frozen
        self._functions = ridge_window.ridge_window, ridge_window.ridge_kept_windows
        self.state = (
            np.empty(most), read_only(problem.targets), self.alpha, np.empty(width * block),
            np.zeros(samples), np.zeros((2, samples), dtype=np.int32), np.empty((block, block)),
            np.empty(block), problem.ridge.penalty, frozen,
        )  # fmt: skip

    def fresh(self, draws: int) -> bool:
        """Whether a window of so many draws takes products of each step's rows with the current alpha."""
        return ridge_window.takes_fresh_products(draws, self.alpha.size, self._frozen)

    def step(self, rows: np.ndarray, row_of: np.ndarray, block: np.ndarray) -> None:
        """Make one step of many coordinates from their whole rows; row_of and block (b,)."""
        _, targets, alpha, taken, _, _, system, rhs, penalty, _ = self.state
        ridge_window.ridge_equations(
            rows, row_of, block, targets, alpha, taken[: block.size], system, rhs, penalty
        )
        ridge_window.solve_long(system, rhs)
        alpha[block] += rhs


def recurrence_of(
    problem: Problem, alpha: np.ndarray, width: int, block: int, options: Options
) -> Recurrence:
    """Choose the recurrence for the loss of the problem."""
    match problem.loss:
        case Ridge():
            return RidgeRecurrence(problem, alpha, width, block, options.frozen)
        case BoxedLoss():  # Of which it takes those that are shipped.
            return SvmRecurrence(problem, alpha, width, options.frozen)
        case other:
            raise AssertionError(f"no recurrence is known here for the loss {other!r}")


class FirstRanks(Recurrence):
    """A recurrence after whose windows every rank holds what rank 0 made: one broadcast a call.

    What is replicated (kernel function, products, updates) comes out alike on all ranks only where they are
    of one kind. Elsewhere each makes it, so that none waits longer than before, and takes over rank 0's
    values of the coordinates drawn: a, the vector that kernel rows are multiplied with, and its changes, by
    which each rank moves its part of what it carries. So a run is one that rank 0 alone could have made.

    `communicator`: the ranks, more than one; `carries`: whether the changes are asked for, because weights
    are carried. `alpha` and `vector` are those of the recurrence.
    """

    def __init__(self, recurrence: Recurrence, communicator: Communicator, carries: bool):
        self._own, self._communicator, self._carries = recurrence, communicator, carries
        self.alpha, self.vector, self.state = recurrence.alpha, recurrence.vector, recurrence.state
        self._taken = 0

    def window(
        self,
        rows: np.ndarray,
        stale: np.ndarray | None,
        whole: bool,
        columns: np.ndarray,
        positions: np.ndarray,
        draws: np.ndarray,
        log: np.ndarray,
    ) -> np.ndarray:
        """Make one window; see `Recurrence`."""
        change = self._own.window(rows, stale, whole, columns, positions, draws, log)
        return self._take(columns, log, change)

    def kept_windows(
        self, rows: np.ndarray, slot_of: np.ndarray, draws: np.ndarray, width: int, log: np.ndarray
    ) -> None:
        """Make many windows from kept rows."""
        self._own.kept_windows(rows, slot_of, draws, width, log)
        self._take(draws.ravel(), log, self.vector[:0])

    def make_up(self, window: int, columns: np.ndarray, log: np.ndarray) -> None:
        """Send and take the numbers of a failed window, unless that was done."""
        if self._taken == window:
            self._take(columns, log, np.zeros(columns.size))

    def _take(self, columns: np.ndarray, log: np.ndarray, changes: np.ndarray) -> np.ndarray:
        """Take over rank 0's values at coordinates, its log and its changes; returns the changes."""
        changes = changes[: columns.size if self._carries else 0]
        parts = [self.alpha[columns], self.vector[columns], log.ravel(), changes]
        buffer = np.concatenate(parts)
        self._taken += 1
        self._communicator.broadcast(buffer)
        alpha, vector, new, changes = np.split(buffer, np.cumsum([part.size for part in parts[:-1]]))
        self.alpha[columns], self.vector[columns] = alpha, vector
        log[...] = new.reshape(log.shape)
        return changes
