"""What a window of K-SVM with its errors is made from, and its state; see bounds/window/svm_errors.py."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.bounds.box_rounding import box_errors
from sstep_verify.bounds.carried import CarriedTerms
from sstep_verify.bounds.kernel.entries import KernelEntries
from sstep_verify.bounds.step.sums import FORMS
from sstep_verify.numerics.rounding import largest_normal, smallest, stale_roundings, unit_roundoff
from sstep_verify.solver import Declaration

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
    """Rows of K: entries, errors of the judge's and of the solver's, sizes of what the solver's products
    with them are summed from, (r, m); what products of a row that underflow cost a gradient, (r,); what a
    number that multiplies a sample adds to A'v at most, and labels of the samples, (m,).
    """

    values: np.ndarray
    judge: np.ndarray
    solver: np.ndarray
    terms: np.ndarray
    lost: np.ndarray
    heights: np.ndarray
    labels: np.ndarray


class Emphasis(NamedTuple):
    """Factors of the sizes of products with a and with increments, and of landings; see split.py beside."""

    stale: float = 1.0
    corrections: float = 1.0
    landing: float = 1.0


NO_EMPHASIS = Emphasis()


class Arithmetic(NamedTuple):
    """Of the solver: unit roundoff, size that no number may exceed; shift and upper end, what its own are
    off by; form of the update; roundings of a product with a by the order of its sum, and besides; what
    first gradients are made from; how often a frozen value may land before it is used; smallest number. Of
    float64: smallest number, what products of a gradient lose to underflow.
    """

    u: float
    limit: float
    shift: float
    upper: float
    upper_error: float
    shift_error: float
    form: int
    tree: int
    others: int
    source: int
    landings: int
    smallest: float
    tiny: float
    lost: float
    emphasis: Emphasis


class State(NamedTuple):
    """What goes on from step to step.

    Per sample, (m,): y a of the judge; sizes of a and its increments that gradients are made from. Per
    coordinate, (c,): its sample, its row; radius; |a| at the window's start, and since then sizes of
    increments, roundings of stored sums, draws; size and error of a first gradient that is carried.
    Coefficients, (c, k), of the k symbols, and their sizes. Counts and totals.
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
    """Curvature as computed here; errors of its entry, and of all of it; error of the solver's entry and
    shift; size of its terms; what no curvature is below, nor above.
    """

    curvature: float
    entry: float
    slack: float
    solver: float
    size: float
    least: float
    largest: float


class Sums(NamedTuple):
    """Sums for a step. The judge's product with a, sizes and errors of its terms; sizes and errors of the
    terms of the solver's gradient; what the radii of others spread, and make of errors of entries, before
    the division by the curvature.
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
def svm_rows(entries: KernelEntries, precision: str, width: int, labels: np.ndarray) -> Rows:
    """Kernel rows for windows of `width` steps; one that is not finite promises nothing.

    A product for each entry of a, two for each step (correction and its own shift), and at most 6 in the
    constant, the shift and the curvature may underflow.
    """
    lost = entries.lost(entries.values.shape[1] + width, precision) + (width + 6) * smallest(precision)
    terms = entries.term_sizes
    usable = np.isfinite(terms).all(axis=1)
    terms[~usable] = np.inf
    rows = entries.values, entries.own, entries.solver, terms
    parts = (*rows, np.full(usable.shape, lost), entries.heights, labels)
    return Rows(*(np.ascontiguousarray(part, dtype=np.float64) for part in parts))


def svm_arithmetic(
    entries: KernelEntries,
    width: int,
    shift: float,
    upper: float,
    declaration: Declaration,
    carried: CarriedTerms | None = None,
    windows: int = 1,
    emphasis: Emphasis = NO_EMPHASIS,
) -> Arithmetic:
    """A solver's arithmetic in a window of `width` steps; see `svm_window_bound` for the rest."""
    precision, samples, tiny = declaration.precision, entries.values.shape[1], smallest("float64")
    source, others = FROM_A, entries.more_roundings
    tree = stale_roundings(samples, samples, width, declaration.summation)
    if carried is not None:
        source, tree, others = GRADIENT if carried.whole else WEIGHTS, 0, carried.roundings
    return Arithmetic(
        unit_roundoff(precision), largest_normal(precision), shift, upper,
        *box_errors(upper, shift, declaration), FORMS[declaration.update], tree, others, source,
        min(windows, 2), smallest(precision), tiny, (samples + 2 * width + 6) * tiny, emphasis,
    )  # fmt: skip
