"""The recurrences of the production solver with their scratch memory, one class per loss family."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sstep_verify.problems import BoxedLoss, Problem, Ridge
from sstep_verify.solvers.production import block_solve, ridge_window, svm_window
from sstep_verify.solvers.production.options import Options

if TYPE_CHECKING:
    from sstep_verify.solvers.production.ridge_steps import RidgeSteps


class SvmRecurrence:
    """s-step DCD for K-SVM; holds a, its product with the labels, and the scratch of a window.

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

    Attributes
    ----------
    alpha : ndarray, shape (m,)
        The dual vector.
    vector : ndarray, shape (m,)
        What kernel rows are multiplied with: a times the labels.
    small_state : tuple
        The last arguments of `svm_small_window`.
    """

    def __init__(self, problem: Problem, alpha: np.ndarray, width: int, frozen: bool):
        self.alpha = np.array(alpha, dtype=np.float64)
        self._labels = problem.targets
        self.vector = self._labels * self.alpha
        self._stale, self._gradient = np.empty(width), np.empty(width)
        self._slots = np.empty(width, dtype=np.int64)
        self._delta, self._local = np.zeros(problem.samples), np.empty((4, min(width, problem.samples)))
        self._constants = (problem.hinge.shift, problem.hinge.upper, frozen)
        self.small_state = (
            self._labels, self.alpha, self.vector, self._local, self._gradient, self._delta,
            *self._constants,
        )  # fmt: skip

    def step_of(self, draws: int) -> int:
        """No window goes step by step: one coordinate a step is too little."""
        return 0

    def step(self, panel: np.ndarray, positions: np.ndarray, block: np.ndarray, log: np.ndarray) -> None:
        """Never called."""
        raise NotImplementedError

    def panel_window(
        self, panel: np.ndarray, positions: np.ndarray, draws: np.ndarray, log: np.ndarray
    ) -> None:
        """Make one window; panel (c, m), positions, draws and log (s,)."""
        svm_window.svm_panel_window(
            panel, positions, draws, self._labels, self.alpha, self.vector, self._stale, self._gradient,
            self._delta, *self._constants, log,
        )  # fmt: skip

    def products(self, panel: np.ndarray) -> None:
        """Take the stale products of a window's rows, apart from its updates."""
        np.dot(panel, self.vector, out=self._stale[: panel.shape[0]])

    def stale_window(
        self, panel: np.ndarray, positions: np.ndarray, draws: np.ndarray, log: np.ndarray
    ) -> None:
        """Make the updates of the window whose `products` were just taken."""
        svm_window.svm_stale_window(
            panel, positions, draws, self._labels, self.alpha, self.vector, self._stale, self._gradient,
            self._delta, *self._constants, log,
        )  # fmt: skip

    def kept_windows(
        self, rows: np.ndarray, slot_of: np.ndarray, draws: np.ndarray, width: int, log: np.ndarray
    ) -> None:
        """Make many windows of `width` iterations from kept rows; draws and log (H, 1)."""
        svm_window.svm_kept_windows(
            rows, slot_of, draws.ravel(), width, self._labels, self.alpha, self.vector, self._slots,
            self._gradient, self._delta, *self._constants, log.ravel(),
        )  # fmt: skip

    def small_window(
        self,
        gram: np.ndarray,
        stale: np.ndarray,
        columns: np.ndarray,
        positions: np.ndarray,
        log: np.ndarray,
    ) -> np.ndarray:
        """Make one window from gram (c, c) and stale (c,); returns the changes of `vector`, (c,)."""
        svm_window.svm_small_window(gram, stale, columns, positions, log, *self.small_state)
        return self._local[3, : columns.size]


class RidgeRecurrence:
    """s-step BDCD for K-RR; holds a and the scratch of a window.

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
    long_block, panel_words : int
        See `Options`.

    Attributes
    ----------
    alpha, vector : ndarray, shape (m,)
        The dual vector, under both names: kernel rows are multiplied with it as it is.
    small_state : tuple
        The last arguments of `ridge_small_window`.
    """

    def __init__(
        self,
        problem: Problem,
        alpha: np.ndarray,
        width: int,
        block: int,
        frozen: bool,
        long_block: int = Options.long_block,
        panel_words: int = Options.panel_words,
    ):
        samples = problem.samples
        self.alpha = self.vector = np.array(alpha, dtype=np.float64)
        self._targets, self._block, self._long_block = problem.targets, block, long_block
        self._panel_words = panel_words
        most = min(width * block, samples)
        self._reduced, self._local = np.empty(most), np.empty((3, most))
        self._stale, self._slots = np.empty((width, block)), np.empty((width, block), dtype=np.int64)
        self._delta = np.zeros(samples)
        self._touched = np.zeros((2, samples), dtype=np.int32)
        self._system, self._rhs = np.empty((block, block)), np.empty(block)
        self._penalty, self._frozen = problem.ridge.penalty, frozen
        self.small_state = (
            self._targets, self.alpha, self._local, self._stale, self._delta, self._touched, self._system,
            self._rhs, self._penalty, self._frozen,
        )  # fmt: skip

    def step_of(self, draws: int) -> int:
        """Coordinates of a step (b) where a window of so many draws may go step by step, else 0.

        Long blocks, with products of each step's rows and the current a: a window of one step, or one
        that takes such products anyway.
        """
        block = self._block
        long = block >= self._long_block and not self._frozen
        one = draws == block
        fresh = ridge_window.takes_fresh_products(draws, self.alpha.size, self._frozen)
        return block if long and (one or fresh) else 0

    def steps(self) -> RidgeSteps:
        """What makes windows of such steps from rows in another order of the samples."""
        from sstep_verify.solvers.production.ridge_steps import RidgeSteps

        made = self.alpha, self._targets, self._system, self._rhs, self._penalty
        return RidgeSteps(*made, self._panel_words)

    def step(self, panel: np.ndarray, positions: np.ndarray, block: np.ndarray, log: np.ndarray) -> None:
        """Make one step from the rows known by now; positions, block and log (b,)."""
        ridge_window.ridge_equations(
            panel, positions, block, 0, block.size, self._targets, self.alpha, self._stale[0], self._system,
            self._rhs, self.alpha.size, self._penalty,
        )  # fmt: skip
        block_solve.solve_long(self._system, self._rhs)
        ridge_window.ridge_moves(block, self.alpha, self._rhs, log)

    def panel_window(
        self, panel: np.ndarray, positions: np.ndarray, draws: np.ndarray, log: np.ndarray
    ) -> None:
        """Make one window; panel (c, m), positions, draws and log (s * b,)."""
        ridge_window.ridge_panel_window(
            panel, positions, draws, self._targets, self.alpha, self._reduced, self._stale, self._delta,
            self._touched, self._system, self._rhs, self._penalty, self._frozen, log,
        )  # fmt: skip

    def products(self, panel: np.ndarray) -> None:
        """Take the stale products of a window's rows, apart from its updates."""
        np.dot(panel, self.alpha, out=self._reduced[: panel.shape[0]])

    def stale_window(
        self, panel: np.ndarray, positions: np.ndarray, draws: np.ndarray, log: np.ndarray
    ) -> None:
        """Make the updates of the window whose `products` were just taken."""
        fresh = ridge_window.takes_fresh_products(draws.size, self.alpha.size, self._frozen)
        ridge_window.ridge_stale_window(
            panel, positions, draws, self._targets, self.alpha, self._reduced, self._stale, self._delta,
            self._touched, self._system, self._rhs, self._penalty, self._frozen, fresh, log,
        )  # fmt: skip

    def kept_windows(
        self, rows: np.ndarray, slot_of: np.ndarray, draws: np.ndarray, width: int, log: np.ndarray
    ) -> None:
        """Make many windows of `width` iterations from kept rows; draws and log (H, b)."""
        ridge_window.ridge_kept_windows(
            rows, slot_of, draws, width, self._targets, self.alpha, self._slots, self._stale, self._delta,
            self._touched, self._system, self._rhs, self._penalty, self._frozen, log,
        )  # fmt: skip

    def small_window(
        self,
        gram: np.ndarray,
        stale: np.ndarray,
        columns: np.ndarray,
        positions: np.ndarray,
        log: np.ndarray,
    ) -> np.ndarray:
        """Make one window from gram (c, c) and stale (c,); returns the changes of `vector`, (c,)."""
        ridge_window.ridge_small_window(gram, stale, columns, positions, log, *self.small_state)
        return self._local[2, : columns.size]


AnyRecurrence = SvmRecurrence | RidgeRecurrence


def recurrence_of(
    problem: Problem, alpha: np.ndarray, width: int, block: int, options: Options
) -> AnyRecurrence:
    """Choose the recurrence for the loss of the problem."""
    match problem.loss:
        case Ridge():
            return RidgeRecurrence(
                problem, alpha, width, block, options.frozen, options.long_block, options.panel_words
            )
        case BoxedLoss():  # Of which it takes those that are shipped.
            return SvmRecurrence(problem, alpha, width, options.frozen)
        case other:
            raise AssertionError(f"no recurrence is known here for the loss {other!r}")
