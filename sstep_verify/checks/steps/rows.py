"""Kernel rows that the judge of steps multiplies, with their sizes and errors: all, or of a segment."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sstep_verify.bounds.step.clip import entry_errors
from sstep_verify.bounds.step.residual import ridge_errors
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.steps.kept import AT_START, BEFORE, OF_BOUNDARY, OLD_PRODUCT, OWN_ENTRY, PRODUCT
from sstep_verify.checks.steps.weights import (
    RowSums,
    Weights,
    product_of,
    sample_sums,
    weights_of,
)
from sstep_verify.compiled import compiled_sums, inlined
from sstep_verify.oracle.facade import ROWS, Oracle
from sstep_verify.rounding.arithmetic import raise_smallest, smallest_subnormal
from sstep_verify.rounding.formulas import is_scaled
from sstep_verify.rounding.kernel.entries import kernel_entries, rows_at_once, stays_small
from sstep_verify.rounding.rows import KernelEntries, largest_sample_sizes, may_factor
from sstep_verify.rounding.samples import Samples
from sstep_verify.rounding.sums import NOT_FACTORED, Factored, sorted_sum_error, sum_error

WHOLE_WORDS = 1 << 25
"""Entries of the rows that a case draws, up to which these are formed once: three arrays of 256 MiB."""

SEGMENT_WORDS = 1 << 22
"""Kernel entries of the rows of a segment, where the matrix is larger than that."""

LEAST_SAMPLES, TIMES_SHORTER = 512, 4
"""Columns from which on products are formed from samples: from as many, and so many times their entries."""

ENTRIES, SIZES, ERRORS = range(3)
"""What a coordinate's rows are, in their order in `Rows.table`."""


class Rows(NamedTuple):
    """Rows of some coordinates.

    Parameters
    ----------
    table : ndarray, shape (c, 3, m)
        Per coordinate, side by side as a step reads them: kernel entries in float64; what roundings of
        products with them are relative to; bounds on the errors of the entries, solver's and judge's
        together (K-RR: both over lambda).
    largest, judge_error : ndarray, shape (c,)
        Largest size of an entry of each row, its error included, and largest bound on a judge's error of
        one, over lambda (K-RR; else empty).
    slot : ndarray of int64, shape (m,)
        Row of each coordinate.
    least : int
        Leading entries of a row that every product takes, whatever alpha is there.
    """

    table: np.ndarray
    largest: np.ndarray
    judge_error: np.ndarray
    slot: np.ndarray
    least: int


Form = Callable[..., KernelEntries]
"""What forms kernel rows with bounds on their errors: `kernel_entries`, or another in its place."""


class JudgeRows:
    """Rows of the coordinates that runs of a case draw, at the columns that alpha reaches.

    The oracle keeps them for all cases that share data, kernel, losses' kind and these coordinates, where
    all of them together are not too many. Left out are columns of coordinates that are 0 as a run begins
    and that none of its steps draws: they meet exact zeros only. Where that changes what a solver computes,
    since a number may leave the range of its type, no column is left out (`stays_small`).

    Parameters
    ----------
    case : Case
        The case.
    oracle : Oracle
        Keeps rows.
    judge : bool
        Whether the judge's own errors are part of the errors; they are not where steps are exact.
    form : Form
        What forms rows with bounds on their errors.
    first : ndarray, shape (m,), optional
        What a run begins from; zeros if absent.
    """

    def __init__(
        self,
        case: Case,
        oracle: Oracle,
        *,
        judge: bool = True,
        form: Form = kernel_entries,
        first: np.ndarray | None = None,
    ):
        self._case, self._oracle, self._judge, self._form, self._first = case, oracle, judge, form, first
        problem, declaration = case.problem, case.formulas
        self.factored = NOT_FACTORED
        if may_factor(problem, declaration):
            self.factored = Factored(problem.features, *largest_sample_sizes(problem))
        self._some = stays_small(problem, declaration)

    def holding(self, alpha: np.ndarray) -> JudgeRows:
        """These rows, or ones that have the columns of a run that begins from alpha, shape (m,), too."""
        if (self.place[np.flatnonzero(alpha)] >= 0).all():
            return self
        return JudgeRows(self._case, self._oracle, judge=self._judge, form=self._form, first=alpha)

    @cached_property
    def columns(self) -> np.ndarray:
        """The coordinates that alpha reaches, in the order in which it does; all where none is left out."""
        stream, samples = self._case.stream, self._case.problem.samples
        if not self._some:
            return np.arange(samples, dtype=np.int64)
        drawn = stream.blocks(0, stream.length).ravel()
        reached = np.full(samples, drawn.size, dtype=np.int64)
        # Of several values for one place the last one stays: that of the first draw.
        reached[drawn[::-1]] = np.arange(drawn.size)[::-1]
        if self._first is not None:
            reached[np.flatnonzero(self._first)] = -1
        order = np.argsort(reached, kind="stable")
        return order[: np.count_nonzero(reached < drawn.size)].astype(np.int64)

    @cached_property
    def place(self) -> np.ndarray:
        """Place of each coordinate among the columns, -1 of one that is left out, shape (m,)."""
        place = np.full(self._case.problem.samples, -1, dtype=np.int64)
        place[self.columns] = np.arange(self.columns.size)
        return place

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the columns (hexadecimal)."""
        return hashlib.sha256(self.columns.tobytes()).hexdigest()

    @property
    def whole(self) -> bool:
        """Whether all rows are kept."""
        return self.columns.size**2 <= WHOLE_WORDS

    @property
    def most(self) -> int:
        """Coordinates drawn that a segment should not exceed, where not all rows are kept."""
        return max(SEGMENT_WORDS // max(self.columns.size, 1), 1)

    def longer(self, entries: int, steps: int) -> bool:
        """Whether so many steps read about as many entries of rows, or fewer, than those of samples."""
        return TIMES_SHORTER * entries > steps * self.columns.size

    @cached_property
    def weights(self) -> Weights | None:
        """The samples of the columns, where products are formed from these in less time than from rows."""
        problem, declaration = self._case.problem, self._case.formulas
        may = problem.is_svm and self._some and may_factor(problem, declaration)
        if not may or self._form is not kernel_entries or self.columns.size < LEAST_SAMPLES:
            return None
        data: Any = problem.data
        stored = data.nnz if problem.is_sparse else data.size
        if self.longer(stored, problem.samples):
            return None
        return self._oracle.kept(
            (ROWS, "samples", self._key(self.columns)),
            lambda: weights_of(problem, declaration, self.columns, judge=self._judge),
        )

    def of(self, draws: np.ndarray) -> Rows:
        """Rows of at least the coordinates drawn, which are given by their places among the columns."""
        # A judge of exact steps is asked for a few windows only.
        every = self._judge and self.whole
        rows = np.arange(self.columns.size) if every else np.unique(draws)
        if not (every or (self.whole and not self._judge)):
            return self._formed(rows)
        return self._oracle.kept(self._key(rows), lambda: self._formed(rows))

    def entries(self, coordinates: np.ndarray) -> KernelEntries:
        """Kernel rows of some coordinates, shape (c,), at all columns, with bounds on their errors."""
        return self._form(self._case.problem, self._case.formulas, coordinates)

    def _key(self, rows: np.ndarray) -> Hashable:
        """What rows depend on besides data and kernel."""
        problem, declaration = self._case.problem, self._case.formulas
        # Those of a K-SVM depend on its loss by omega, in another scale only.
        loss = "" if problem.is_svm and not is_scaled(declaration) else repr(problem.loss)
        wanted, least = (
            hashlib.sha256(rows.tobytes()).hexdigest(),
            smallest_subnormal(declaration.precision),
        )
        return ROWS, self.digest, wanted, repr(declaration), loss, least, self._judge, self._form

    @cached_property
    def _samples(self) -> Samples | None:
        """Samples of the columns; None where no column is left out."""
        return self._case.problem.data[self.columns] if self._some else None

    def _formed(self, places: np.ndarray) -> Rows:
        """The rows of some places, a part at a time: as many as the caches of a processor hold."""
        problem, count, samples = self._case.problem, places.size, self.columns.size
        table, slot = np.empty((count, 3, samples)), np.zeros(samples, dtype=np.int64)
        slot[places] = np.arange(count)
        largest, judge_error = np.zeros((2, 0 if problem.is_svm else count))
        once = rows_at_once(problem, max(samples, 1))
        for rows in (slice(at, min(at + once, count)) for at in range(0, count, once)):
            entries = self._form(problem, self._case.formulas, places[rows], self._samples)
            self._fill(entries, table[rows], largest[rows], judge_error[rows])
        return Rows(table, largest, judge_error, slot, 0 if self._some else samples)

    def _fill(self, entries: KernelEntries, table, largest, judge_error) -> None:
        """Set some rows of a table."""
        problem, precision = self._case.problem, self._case.formulas.precision
        if problem.is_svm:
            sizes, errors = entry_errors(entries, judge=self._judge)
        else:
            penalty = problem.ridge.penalty
            sizes, errors, judge_error[:] = ridge_errors(entries, penalty, precision, judge=self._judge)
            largest[:] = (sizes + errors).max(axis=1)
        table[:, ENTRIES], table[:, SIZES], table[:, ERRORS] = entries.values, sizes, errors
        for kind in (SIZES, ERRORS):
            raise_smallest(table[:, kind])


@inlined
def row_sums(rows, weights, i, state, progress):
    """`RowSums` of a coordinate, by its rows or by its sample; `progress` is what its window did before."""
    # A branch is left out before types are sought only where an argument that it asks for is None.
    of_row = RowSums(0.0, 0.0, 0.0, 0.0, 0.0)
    if rows is None:
        if weights is not None:
            of_row = sample_sums(weights, i, progress.held)
    else:
        of_row = _table_sums(rows, rows.slot[i], state, progress.reach)
    return of_row


@inlined
def entry_of(rows, weights, i, j):
    """Kernel entry of two coordinates."""
    entry = 0.0
    if rows is None:
        if weights is not None:
            entry = product_of(weights, i, j)
    else:
        entry = rows.table[rows.slot[i], ENTRIES, j]
    return entry


@inlined
def own_entry(rows, weights, i):
    """Kernel entry of a coordinate with itself, and the bound on its error."""
    entry = error = 0.0
    if rows is None:
        if weights is not None:
            entry, error = weights.own[i], weights.own_error[i]
    else:
        entry, error = rows.table[rows.slot[i], ENTRIES, i], rows.table[rows.slot[i], ERRORS, i]
    return entry, error


@compiled_sums
def _table_sums(rows, slot, state, reach):
    """The sums over a coordinate's rows, in one pass: memory gives these more slowly than they are added.

    Beyond the first `reach` entries alpha has been 0 all the time. The sums are the products of its entries
    with a now and at the window's start, the size of their terms, and what the errors of the entries and of
    the increments so far make of them.
    """
    entries, sizes, errors = rows.table[slot, ENTRIES], rows.table[slot, SIZES], rows.table[slot, ERRORS]
    product = stale = size = entry_error = increment_error = 0.0
    for place in range(reach):
        product += entries[place] * state.signed[place]
        stale += entries[place] * state.start[place]
        size += sizes[place] * state.bounded[place]
        entry_error += errors[place] * state.bounded[place]
        increment_error += sizes[place] * state.increment_error[place]
    return RowSums(product, stale, size, entry_error, increment_error)


@inlined
def right_hand_side_error(rows, weights, i, state, sums, of_row, progress, corrections, constant, own_size):
    """Bound on the error of a right-hand side with a row's product with a, and the size of its terms.

    `of_row` are the row's sums. There are two terms besides, of the sizes `constant` and `own_size`, whose
    own errors are not counted here. `corrections` counts the additions that these take. The size is that of
    all terms, errors included that are no roundings of their sum.
    """
    error = of_row.entry_error + of_row.increment_error
    total = of_row.size + own_size + constant
    # By a sample, roundings of the judge's product are among the errors of its entries.
    held = progress.held if weights is None else 0
    rounding = sum_error(sums, progress.support, corrections, held) * total
    if rows is not None:  # noqa: SIM102 an argument that is None is asked for alone, as in `row_sums`
        if sums.ordered and rounding < np.inf:
            size, reach = rows.table[rows.slot[i], SIZES], progress.reach
            terms = state.terms[: reach + 2]
            for place in range(reach):
                terms[place] = size[place] * state.bounded[place]
            terms[reach], terms[reach + 1] = own_size, constant
            rounding = min(rounding, sorted_sum_error(sums, progress.support, corrections, terms))
    return error + rounding, total + error


@inlined
def keep_row(kept, rows, weights, state, drawn, step, place, scale, product, stale, progress):
    """Keep of a drawn row, and of its products with alpha, what later passes need: it is at hand now only.

    The step is the place of it in its segment, and the other place that of the coordinate in the step.
    """
    i, boundary = drawn[place], 0.0
    sign = state.signs[i]
    if progress.steps == 0 and state.last[0] >= 0:
        for other in range(drawn.size):
            j = state.last[other]
            if j != i:
                entry = entry_of(rows, weights, i, j)
                boundary += sign * state.signs[j] * entry * scale * state.step[other]
    numbers = kept.table[step, place]
    numbers[BEFORE], numbers[AT_START] = state.alpha[i], state.first[i]
    # Of an alpha that did not move both products are the same, however their sums were rounded.
    numbers[PRODUCT], numbers[OLD_PRODUCT] = product, stale if progress.moves else product
    numbers[OF_BOUNDARY], numbers[OWN_ENTRY] = boundary, own_entry(rows, weights, i)[0]
