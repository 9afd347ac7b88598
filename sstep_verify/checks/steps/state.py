"""State of the judge of steps: a stretch of a run, and the run's own a with the judge's scratch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.checks.steps.tally import NAMES


class Stretch(NamedTuple):
    """Consecutive whole windows of a run.

    Parameters
    ----------
    draws : ndarray of int64, shape (steps,) or (steps, b)
        Coordinates drawn.
    log : ndarray, same shape
        The values they were left with.
    width : int
        Steps per window (s).
    first : int
        Iterations made before.
    closing : bool
        Whether the run ends here, so that a short window is its tail.
    sampled : ndarray of bool, shape (steps,)
        Steps that are looked at for the effect of each quantity (K-RR; of a K-SVM all are).
    """

    draws: np.ndarray
    log: np.ndarray
    width: int
    first: int
    closing: bool
    sampled: np.ndarray


class SvmState(NamedTuple):
    """The run's own a before the next step, and scratch; see `judge_svm_steps`.

    Parameters
    ----------
    labels, alpha, signed, start, moved, bounded, slack, first : ndarray, shape (m,)
        Labels; a; labels times a, now and at the window's start; |a| at the window's start plus the sizes
        of increments since; the same with what each increment used may differ by; that alone; a at the
        window's start of the coordinates it draws.
    terms : ndarray, shape (m + 2,)
        Sizes of a sum's terms.
    drawn, listed : ndarray of int64, shape (m,)
        Draws of each coordinate in this window so far; coordinates drawn before, the first ones of it.
    last : ndarray of int64, shape (1,)
        Coordinate of the step before; -1 at the beginning.
    step : ndarray, shape (1,)
        Its increment.
    """

    labels: np.ndarray
    alpha: np.ndarray
    signed: np.ndarray
    start: np.ndarray
    moved: np.ndarray
    bounded: np.ndarray
    slack: np.ndarray
    terms: np.ndarray
    first: np.ndarray
    drawn: np.ndarray
    listed: np.ndarray
    last: np.ndarray
    step: np.ndarray


class RidgeState(NamedTuple):
    """The same for blocks; see `judge_ridge_steps`.

    `start` is a at the window's start, whole; `right` a step's right-hand side, `unsure` the bound on it;
    `left` bounds what an increment, of sizes `reach`, leaves of it, entry by entry; `system`, `sizes`,
    `given`, `own` and `factor`, shape (b, b), are the block system, bounds on its entries' sizes, on the
    errors of the solver's entries and of the judge's, and its Cholesky factor.
    """

    targets: np.ndarray
    alpha: np.ndarray
    start: np.ndarray
    moved: np.ndarray
    bounded: np.ndarray
    slack: np.ndarray
    terms: np.ndarray
    first: np.ndarray
    drawn: np.ndarray
    listed: np.ndarray
    right: np.ndarray
    unsure: np.ndarray
    increment: np.ndarray
    rounding: np.ndarray
    product: np.ndarray
    residual: np.ndarray
    applied: np.ndarray
    error: np.ndarray
    left: np.ndarray
    reach: np.ndarray
    system: np.ndarray
    sizes: np.ndarray
    given: np.ndarray
    own: np.ndarray
    factor: np.ndarray
    diagonal: np.ndarray
    effects: np.ndarray
    last: np.ndarray
    step: np.ndarray


def svm_state(labels: np.ndarray, alpha: np.ndarray) -> SvmState:
    """The state of a K-SVM before its first step; labels and a, shape (m,)."""
    labels, samples = np.ascontiguousarray(labels, dtype=np.float64), alpha.size
    slack, first = np.zeros((2, samples))
    drawn, listed = np.zeros((2, samples), dtype=np.int64)
    return SvmState(
        labels, alpha, labels * alpha, labels * alpha, np.abs(alpha), np.abs(alpha), slack,
        np.zeros(samples + 2), first,
        drawn, listed, np.full(1, -1, dtype=np.int64), np.zeros(1),
    )  # fmt: skip


def ridge_state(targets: np.ndarray, alpha: np.ndarray, block: int) -> RidgeState:
    """The state of a K-RR before its first step of b coordinates; targets and a, shape (m,)."""
    targets, samples = np.ascontiguousarray(targets, dtype=np.float64), alpha.size
    right, unsure, increment, rounding, product = np.zeros((5, block))
    residual, applied, error, left, reach = np.zeros((5, block))
    system, sizes, given, own, factor = np.zeros((5, block, block))
    slack, first = np.zeros((2, samples))
    drawn, listed = np.zeros((2, samples), dtype=np.int64)
    return RidgeState(
        targets, alpha, alpha.copy(), np.abs(alpha), np.abs(alpha), slack,
        np.zeros(samples + 2), first,
        drawn, listed, right, unsure,
        increment, rounding, product, residual, applied, error, left, reach,
        system, sizes, given, own, factor,
        np.zeros(1), np.zeros((len(NAMES), block)), np.full(block, -1, dtype=np.int64), np.zeros(block),
    )  # fmt: skip
