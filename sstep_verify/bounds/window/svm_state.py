"""What a window of K-SVM with its errors is made from, and its state; see bounds/window/svm_errors.py."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.compiled import compiled_borrowing
from sstep_verify.declaration import Declaration
from sstep_verify.problems.losses import Dual
from sstep_verify.rounding.arithmetic import (
    OUTWARD,
    counted,
    largest_normal,
    smallest_subnormal,
    stale_roundings,
    unit_roundoff,
)
from sstep_verify.rounding.finisher import Box, box_of, end_error
from sstep_verify.rounding.kernel.entries import KernelEntries
from sstep_verify.rounding.right_hand_side import CarriedTerms
from sstep_verify.rounding.sums import FORMS, gamma_of

U = unit_roundoff("float64")

FROM_A, WEIGHTS, GRADIENT = 0, 1, 2
"""What first gradients are made from: a, carried weights, the carried gradient itself."""

SUPPORT, MADE, USED, UNDECIDED, EVENTS = 0, 1, 2, 3, 4
"""Counts of a state: nonzero entries of a at the window's start that gradients are made from, steps of the
window that may have moved; symbols in use, undecided clips, events of the judge's steps."""

LOW, HIGH = 1, 2
"""Events of the judge's steps: clipped at 0, clipped at C."""

WEIGHT, AMPLIFICATION = 0, 1
"""Totals of a state: what no entry of A'v exceeds, largest coefficient of a symbol so far."""


class Rows(NamedTuple):
    """Rows of K, of the samples that are drawn.

    Parameters
    ----------
    values, judge_error, solver_error, terms : ndarray, shape (r, m)
        Entries in float64; what these and what the solver's are off by; sizes of the terms that the
        solver's products with them are summed from.
    underflow : ndarray, shape (r,)
        What products of a row that underflow cost a gradient of the solver.
    heights : ndarray, shape (m,)
        What an entry of A'v grows by at most for a number that multiplies a sample.
    labels, linear : ndarray, shape (m,)
        Labels (y) or ones, and the linear term of the dual.
    """

    values: np.ndarray
    judge_error: np.ndarray
    solver_error: np.ndarray
    terms: np.ndarray
    underflow: np.ndarray
    heights: np.ndarray
    labels: np.ndarray
    linear: np.ndarray


class Emphasis(NamedTuple):
    """Factors by which sizes are made larger: of products with a, of corrections, of summed increments.

    See bounds/window/split.py.
    """

    stale: float = 1.0
    corrections: float = 1.0
    accumulation: float = 1.0


NO_EMPHASIS = Emphasis()


class Arithmetic(NamedTuple):
    """The arithmetic of a solver in a window.

    Parameters
    ----------
    u, limit : float
        Unit roundoff; size that no number may exceed (`largest_normal`).
    shift : float
        Diagonal shift (omega).
    box : Box
        Ends of the box, and the threshold.
    end_error : float
        What the solver's ends are off by (rounding/finisher.py).
    form : int
        Form of the update, of rounding/sums.py.
    tree, others : int
        Roundings of a term of a product with a: at most, by the declared order of its sum; besides.
    source : int
        What first gradients are made from: `FROM_A`, `WEIGHTS` or `GRADIENT`.
    accumulations : int
        How often a frozen value is rounded as a sum of increments before a step is made from it.
    smallest_subnormal, float64_subnormal : float
        Smallest number of the solver's type and of float64.
    judge_underflow : float
        What products of a gradient of the judge lose to underflow.
    emphasis : Emphasis
        Sources of error that are made larger.
    """

    u: float
    limit: float
    shift: float
    box: Box
    end_error: float
    form: int
    tree: int
    others: int
    source: int
    accumulations: int
    smallest_subnormal: float
    float64_subnormal: float
    judge_underflow: float
    emphasis: Emphasis


class State(NamedTuple):
    """What goes on from step to step, m samples and c distinct coordinates of the windows.

    Parameters
    ----------
    now, reach : ndarray, shape (m,)
        ``y a`` of the judge; sizes of a at the window's start, and of the increments since, that gradients
        are made from.
    sample, row : ndarray of int, shape (c,)
        The sample that each coordinate is, and its row in `Rows`.
    radius : ndarray, shape (c,)
        Bound on the error of each coordinate: ``|coefficients| @ symbols``.
    start, moved, rounded, drawn : ndarray, shape (c,)
        |a| at the window's start; since then, sums of the sizes of the increments and of the roundings of
        stored sums, and how often it was drawn (r).
    carried_size, carried_error : ndarray, shape (c,)
        Size and error of a first gradient that is carried (rounding/right_hand_side.py).
    coefficients : ndarray, shape (c, k)
        Of each coordinate's error, as a signed combination of error symbols.
    symbols : ndarray, shape (k,)
        Sizes of the error symbols: the local errors made so far.
    counts : ndarray of int, shape (5,)
        By `SUPPORT`, `MADE`, `USED`, `UNDECIDED`, `EVENTS`.
    totals : ndarray, shape (2,)
        By `WEIGHT`, `AMPLIFICATION`.
    """

    now: np.ndarray
    reach: np.ndarray
    sample: np.ndarray
    row: np.ndarray
    radius: np.ndarray
    start: np.ndarray
    moved: np.ndarray
    rounded: np.ndarray
    drawn: np.ndarray
    carried_size: np.ndarray
    carried_error: np.ndarray
    coefficients: np.ndarray
    symbols: np.ndarray
    counts: np.ndarray
    totals: np.ndarray


class Pivot(NamedTuple):
    """The curvature ``eta = K_ii + omega`` of a step.

    Parameters
    ----------
    curvature : float
        As computed here.
    entry_error, judge_error : float
        What the entry in it is off by, and what all of it is.
    solver_error : float
        What the solver's entry is off by.
    size : float
        Sum of the sizes of its two terms, the solver's and the judge's.
    lower, upper : float
        What neither the exact nor the solver's curvature is below, nor above.
    """

    curvature: float
    entry_error: float
    judge_error: float
    solver_error: float
    size: float
    lower: float
    upper: float


@compiled_borrowing
def pivot_of(solver, entry, judge, given):
    """The curvature made from an entry and its errors; the solver's is a sum of two, one a quotient.

    That is within gamma_3, and a quotient that is subnormal within the smallest number.
    """
    curvature = entry + solver.shift
    if solver.shift > 0.0:
        judge, given = judge + solver.float64_subnormal, given + solver.smallest_subnormal
    size = (abs(entry) + judge + given) * OUTWARD + solver.shift
    judge_error = judge + gamma_of(2, max(solver.u, U)) * abs(curvature)
    off = judge_error + given + gamma_of(3, solver.u) * curvature
    return Pivot(curvature, judge, judge_error, given, size, curvature - off, curvature + off)


class Sums(NamedTuple):
    """Sums that a step on coordinate i makes.

    Parameters
    ----------
    product : float
        The judge's ``sum_l K_il y_l a_l``.
    judge_terms, judge_error : float
        Sizes of the terms of the judge's gradient, and what these are off by.
    terms, error : float
        The same of the solver's gradient, roundings of its sum left out.
    spread : float
        ``sum_{l != i} |K_il| radius_l``: what errors of others make of the gradient.
    inexact : float
        ``sum_l (error of K_il) radius_l``: what errors of the entries here make of that.
    """

    product: float
    judge_terms: float
    judge_error: float
    terms: float
    error: float
    spread: float
    inexact: float


def new_state(now, reach, sample, row, symbols):
    """The state of a run before its first window, with room for what every window fills in, (m,) both."""
    count = sample.size
    return State(
        now, reach, sample, row, np.zeros(count), np.zeros(count),
        np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.int64), np.zeros(count), np.zeros(count),
        np.zeros((count, symbols)), np.zeros(symbols), np.zeros(5, dtype=np.int64), np.ones(2),
    )  # fmt: skip


@np.errstate(over="ignore", invalid="ignore")
def svm_rows(entries: KernelEntries, precision: str, width: int, dual: Dual) -> Rows:
    """Kernel rows for windows of `width` steps; one that is not finite promises nothing.

    A product for each entry of a, two for each step (correction and its own shift), and at most 6 in the
    constant, the shift and the curvature may underflow.
    """
    underflow = entries.underflow_error(entries.values.shape[1] + width, precision) + (
        width + 6
    ) * smallest_subnormal(precision)
    terms = entries.term_sizes
    usable = np.isfinite(terms).all(axis=1)
    terms[~usable] = np.inf
    rows = entries.values, entries.judge_error, entries.solver_error, terms
    signs, linear = (np.broadcast_to(one, entries.heights.shape) for one in (dual.signs, dual.linear))
    parts = (*rows, np.full(usable.shape, underflow), entries.heights, signs, linear)
    return Rows(*(np.ascontiguousarray(part, dtype=np.float64) for part in parts))


def svm_arithmetic(
    entries: KernelEntries,
    width: int,
    dual: Dual,
    declaration: Declaration,
    carried: CarriedTerms | None = None,
    windows: int = 1,
    emphasis: Emphasis = NO_EMPHASIS,
) -> Arithmetic:
    """A solver's arithmetic in a window of `width` steps; see `svm_window_bound` for the rest."""
    precision, samples = declaration.precision, entries.values.shape[1]
    subnormal = smallest_subnormal("float64")
    source, others = FROM_A, entries.more_roundings
    tree = stale_roundings(samples, samples, width, declaration.summation)
    if carried is not None:
        source, tree, others = GRADIENT if carried.whole else WEIGHTS, 0, carried.roundings
    others = counted(others + int(dual.threshold > 0.0), samples, width)
    return Arithmetic(
        unit_roundoff(precision), largest_normal(precision), dual.shift, box_of(dual),
        end_error(dual, declaration), FORMS[declaration.update], tree, others, source,
        min(windows, 2), smallest_subnormal(precision), subnormal, (samples + 2 * width + 6) * subnormal,
        emphasis,
    )  # fmt: skip
