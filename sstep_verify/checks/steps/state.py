"""State of the judge of steps: the run's own a, advanced by its log, and scratch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.checks.steps.tally import NAMES
from sstep_verify.compiled import compiled, compiled_borrowing
from sstep_verify.problems import Problem


class Block(NamedTuple):
    """Scratch of one block step of a K-RR.

    Parameters
    ----------
    right, right_bound : ndarray, shape (b,)
        Right-hand side, and bounds on its error, infinite where nothing is promised.
    increment, rounding, reach : ndarray, shape (b,)
        The logged increment, its e_t, and both sizes together.
    applied, error : ndarray, shape (b,)
        G times the increment, errors of the right-hand side.
    residual, left : ndarray, shape (b,)
        What the increment leaves of the right-hand side, and bounds on that.
    system, sizes, given, judge_error, factor : ndarray, shape (b, b)
        The block system G, bounds on its entries' sizes, on the errors of the solver's entries and of the
        judge's, and its Cholesky factor.
    """

    right: np.ndarray
    right_bound: np.ndarray
    increment: np.ndarray
    rounding: np.ndarray
    reach: np.ndarray
    applied: np.ndarray
    error: np.ndarray
    residual: np.ndarray
    left: np.ndarray
    system: np.ndarray
    sizes: np.ndarray
    given: np.ndarray
    judge_error: np.ndarray
    factor: np.ndarray


class State(NamedTuple):
    """The run's own a before the next step, and scratch.

    Parameters
    ----------
    signs, targets, alpha, signed, start : ndarray, shape (m,)
        Labels (K-RR: ones); labels or targets; a; signs times a, now (K-RR: a itself) and at the window's
        start.
    moved, bounded, increment_error : ndarray, shape (m,)
        |a| at the window's start plus the sizes of increments since; the same with what each increment used
        may differ by; that alone.
    first : ndarray, shape (m,)
        a at the window's start of the coordinates drawn so far.
    terms : ndarray, shape (m + 2,)
        Sizes of a sum's terms.
    drawn, listed : ndarray of int64, shape (m,)
        Draws of each coordinate in this window so far; coordinates drawn before, the first ones of it.
    last : ndarray of int64, shape (b,)
        Coordinates of the step before; -1 at the beginning.
    step : ndarray, shape (b,)
        Their increments.
    product : ndarray, shape (b,)
        Products of the drawn coordinates' kernel rows with a (K-RR: over lambda).
    effects : ndarray, shape (quantities, b)
        What a relative change of each quantity adds to what is judged of the step, per unit.
    """

    signs: np.ndarray
    targets: np.ndarray
    alpha: np.ndarray
    signed: np.ndarray
    start: np.ndarray
    moved: np.ndarray
    bounded: np.ndarray
    increment_error: np.ndarray
    first: np.ndarray
    terms: np.ndarray
    drawn: np.ndarray
    listed: np.ndarray
    last: np.ndarray
    step: np.ndarray
    product: np.ndarray
    effects: np.ndarray


def block_of(block: int) -> Block:
    """Scratch for steps of b coordinates."""
    return Block._make((*np.zeros((9, block)), *np.zeros((5, block, block))))


def state_of(problem: Problem, alpha: np.ndarray, block: int) -> State:
    """The state before the first step of b coordinates from a, shape (m,), which it holds."""
    signs, targets = (
        np.ascontiguousarray(one, dtype=np.float64) for one in (problem.signs, problem.targets)
    )
    signed = signs * alpha if problem.is_svm else alpha
    error, first = np.zeros((2, alpha.size))
    drawn, listed = np.zeros((2, alpha.size), dtype=np.int64)
    step, product = np.zeros((2, block))
    return State(
        signs, targets, alpha, signed, signed.copy(), np.abs(alpha), np.abs(alpha), error, first,
        np.zeros(alpha.size + 2), drawn, listed, np.full(block, -1, dtype=np.int64), step, product,
        np.zeros((len(NAMES), block)),
    )  # fmt: skip


@compiled_borrowing
def nonzero(vector):
    """Number of the entries of a vector that are not 0."""
    count = 0
    for value in vector:
        count += int(value != 0.0)
    return count


@compiled
def follow(alpha, draws, log, increment):
    """Set a to what the log says after some steps, and the last increment; draws and log (steps, b)."""
    for step in range(draws.shape[0]):
        for place in range(draws.shape[1]):
            increment[place] = log[step, place] - alpha[draws[step, place]]
            alpha[draws[step, place]] = log[step, place]
