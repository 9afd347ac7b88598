"""The recurrences of the production solver with their scratch memory, one class per loss family."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sstep_verify.problems import BoxedLoss, Problem, Ridge
from sstep_verify.production import block_solve, ridge_window, svm_window
from sstep_verify.production.options import Options


class Recurrence:
    """Makes the updates of windows; holds a and the scratch of a window.

    Attributes
    ----------
    alpha : ndarray, shape (m,)
        The dual vector.
    vector : ndarray, shape (m,)
        What kernel rows are multiplied with.
    state : tuple
        The last arguments of `svm_window` or `ridge_window`.
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
        """Make one window; the changes of `vector` at its coordinates, shape (c,), unless rows are whole.

        Parameters
        ----------
        rows : ndarray, shape (c, m) or (c, c)
            Kernel rows of its distinct coordinates, of all samples or among them.
        stale : ndarray, shape (c,), or None
            Their products with `vector`; None to take them here, from whole rows.
        whole : bool
            Whether the rows are of all samples.
        columns : ndarray of int64, shape (c,)
            The coordinates.
        positions, draws : ndarray of int64, shape (s * b,)
            Place of each draw's coordinate among them, and the coordinate.
        log : ndarray, shape (s * b,)
            Out: the new value of each drawn coordinate.
        """
        self._functions[0](rows, stale, whole, columns, positions, draws, log, *self.state)
        return self.state[1][: columns.size]

    def kept_windows(
        self, rows: np.ndarray, slot_of: np.ndarray, draws: np.ndarray, width: int, log: np.ndarray
    ) -> None:
        """Make many windows of `width` iterations from kept rows; draws and log (H, b)."""
        self._functions[1](rows, slot_of, draws, width, log, self._slots, *self.state[2:])

    def make_up(self, window: int, columns: np.ndarray, log: np.ndarray) -> None:
        """Take part in what other ranks wait for where this one has failed in a window; here in nothing.

        `window` is counted from 0; `columns` (c,) and `log` (s * b,) are as of `window`.
        """


class SvmRecurrence(Recurrence):
    """s-step DCD for K-SVM; `vector` is a times the labels.

    Parameters
    ----------
    problem : Problem
        A K-SVM.
    alpha : ndarray, shape (m,)
        Start vector; copied.
    width : int
        Iterations per full window (s).
    frozen : bool
        Keep a frozen within a window (the paper's form).
    """

    def __init__(self, problem: Problem, alpha: np.ndarray, width: int, frozen: bool):
        self.alpha = np.array(alpha, dtype=np.float64)
        labels, hinge, most = problem.targets, problem.hinge, min(width, problem.samples)
        self.vector = labels * self.alpha
        self._slots = np.empty(width, dtype=np.int64)
        self._functions = svm_window.svm_window, svm_window.svm_kept_windows
        self.state = (
            np.empty(most), np.empty(most), labels, self.alpha, self.vector, np.empty(width),
            np.empty(width), np.zeros(problem.samples), hinge.shift, hinge.upper, frozen,
        )  # fmt: skip


class RidgeRecurrence(Recurrence):
    """s-step BDCD for K-RR; `vector` is a itself.

    Parameters
    ----------
    problem : Problem
        A K-RR.
    alpha : ndarray, shape (m,)
        Start vector; copied.
    width : int
        Iterations per full window (s).
    block : int
        Coordinates per block (b).
    frozen : bool
        Keep a frozen within a window (the paper's form).
    """

    def __init__(self, problem: Problem, alpha: np.ndarray, width: int, block: int, frozen: bool):
        samples, most = problem.samples, min(width * block, problem.samples)
        self.alpha = self.vector = np.array(alpha, dtype=np.float64)
        self._slots, self._frozen = np.empty(width * block, dtype=np.int64), frozen
        self._functions = ridge_window.ridge_window, ridge_window.ridge_kept_windows
        self.state = (
            np.empty(most), np.empty(most), problem.targets, self.alpha, np.empty(width * block),
            np.zeros(samples), np.zeros((2, samples), dtype=np.int32), np.empty((block, block)),
            np.empty(block), problem.ridge.penalty, frozen,
        )  # fmt: skip

    def fresh(self, draws: int) -> bool:
        """Whether a window of so many draws takes products of each step's rows with the current a."""
        return ridge_window.takes_fresh_products(draws, self.alpha.size, self._frozen)

    def step(self, rows: np.ndarray, row_of: np.ndarray, block: np.ndarray, log: np.ndarray) -> None:
        """Make one step of many coordinates from their whole rows; row_of, block and log (b,)."""
        _, _, targets, alpha, taken, _, _, system, rhs, penalty, _ = self.state
        ridge_window.ridge_equations(
            rows, row_of, block, 0, block.size, targets, alpha, taken[: block.size], system, rhs, penalty
        )
        block_solve.solve_long(system, rhs)
        ridge_window.ridge_moves(block, alpha, rhs, log)


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
