"""The recurrences of the production solver with their scratch memory, one class per loss family."""

from __future__ import annotations

import numpy as np

from sstep_verify.problems import Problem, Ridge
from sstep_verify.solvers.production import ridge_window, svm_window


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
    """

    def __init__(self, problem: Problem, alpha: np.ndarray, width: int, frozen: bool):
        self.alpha = np.array(alpha, dtype=np.float64)
        self._labels = problem.targets
        self._weighted = self._labels * self.alpha
        self._stale, self._gradient = np.empty(width), np.empty(width)
        self._delta = np.zeros(problem.samples)
        self._shift, self._upper, self._frozen = problem.hinge.shift, problem.hinge.upper, frozen

    def panel_window(self, panel: np.ndarray, positions: np.ndarray, draws: np.ndarray) -> None:
        """Make one window; panel (c, m), positions and draws (s,)."""
        svm_window.svm_panel_window(
            panel, positions, draws, self._labels, self.alpha, self._weighted, self._stale,
            self._gradient, self._delta, self._shift, self._upper, self._frozen,
        )  # fmt: skip

    def gram_windows(self, gram: np.ndarray, draws: np.ndarray, width: int) -> None:
        """Make many windows of `width` iterations from the kept Gram matrix; draws (H, 1)."""
        svm_window.svm_gram_windows(
            gram, draws.ravel(), width, self._labels, self.alpha, self._weighted, self._gradient,
            self._delta, self._shift, self._upper, self._frozen,
        )  # fmt: skip


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
    """

    def __init__(self, problem: Problem, alpha: np.ndarray, width: int, block: int, frozen: bool):
        samples = problem.samples
        self.alpha = np.array(alpha, dtype=np.float64)
        self._targets, self._block = problem.targets, block
        self._reduced = np.empty(min(width * block, samples))
        self._stale = np.empty((width, block))
        self._delta = np.zeros(samples)
        self._touched = np.zeros((2, samples), dtype=np.int64)
        self._system, self._rhs = np.empty((block, block)), np.empty(block)
        self._penalty, self._frozen = problem.ridge.penalty, frozen

    def panel_window(self, panel: np.ndarray, positions: np.ndarray, draws: np.ndarray) -> None:
        """Make one window; panel (c, m), positions and draws (s * b,)."""
        ridge_window.ridge_panel_window(
            panel, positions.reshape(-1, self._block), draws.reshape(-1, self._block), self._targets,
            self.alpha, self._reduced, self._stale, self._delta, self._touched, self._system, self._rhs,
            self._penalty, self._frozen,
        )  # fmt: skip

    def gram_windows(self, gram: np.ndarray, draws: np.ndarray, width: int) -> None:
        """Make many windows of `width` iterations from the kept Gram matrix; draws (H, b)."""
        ridge_window.ridge_gram_windows(
            gram, draws, width, self._targets, self.alpha, self._stale, self._delta, self._touched,
            self._system, self._rhs, self._penalty, self._frozen,
        )  # fmt: skip


def recurrence_of(problem: Problem, alpha, width: int, block: int, frozen: bool):
    """Choose the recurrence for the loss of the problem."""
    if isinstance(problem.loss, Ridge):
        return RidgeRecurrence(problem, alpha, width, block, frozen)
    return SvmRecurrence(problem, alpha, width, frozen)
