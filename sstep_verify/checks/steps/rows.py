"""Kernel rows that the judge of steps multiplies, with their sizes and errors: all, or of a stretch."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sstep_verify.bounds.step.clip import entry_errors
from sstep_verify.bounds.step.residual import ridge_errors
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.steps.kept import AT_START, BEFORE, OF_BOUNDARY, OLD_PRODUCT, OWN_ENTRY, PRODUCT
from sstep_verify.compiled import compiled_borrowing, compiled_sums
from sstep_verify.declaration import Declaration
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import raise_smallest
from sstep_verify.rounding.kernel.entries import KernelEntries, kernel_entries
from sstep_verify.rounding.rows import ENTRIES_AT_ONCE, largest_sample_sizes, may_factor
from sstep_verify.rounding.sums import NOT_FACTORED, Factored, sorted_sum_error, sum_error

WHOLE_WORDS = 1 << 25
"""Entries of the rows that a case draws, up to which these are formed once: seven arrays of 256 MiB."""

STRETCH_WORDS = 1 << 22
"""Kernel entries of the rows of a stretch, where the matrix is larger than that."""

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
    """

    table: np.ndarray
    largest: np.ndarray
    judge_error: np.ndarray
    slot: np.ndarray


def entries_key(declaration: Declaration, columns: np.ndarray) -> str:
    """Name under which an oracle keeps the entries of some coordinates for a declaration."""
    return f"kernel entries of {hashlib.sha256(columns.tobytes()).hexdigest()} for {declaration!r}"


def kept_entries(
    oracle: Oracle, problem: Problem, declaration: Declaration, columns: np.ndarray
) -> KernelEntries:
    """Rows of some coordinates with their bounds, which the oracle keeps for all judges that draw these."""
    return oracle.kept(
        entries_key(declaration, columns), lambda: kernel_entries(problem, declaration, columns)
    )


class JudgeRows:
    """Rows of the coordinates that a case draws.

    The oracle keeps their entries for all cases that share data, kernel and these coordinates: all of them
    where more than half are drawn. `judge` says whether the judge's own errors are part of the errors; they
    are not where steps are exact.
    """

    def __init__(self, case: Case, oracle: Oracle, *, judge: bool = True):
        self._case, self._oracle, self._judge = case, oracle, judge
        problem, declaration = case.problem, case.formulas
        self.factored = NOT_FACTORED
        if may_factor(problem, declaration):
            self.factored = Factored(problem.features, *largest_sample_sizes(problem))
        self._every: Rows | None = None

    @cached_property
    def columns(self) -> np.ndarray:
        """The coordinates that the case draws, ascending; all of them where these are more than half."""
        stream, samples = self._case.stream, self._case.problem.samples
        drawn = np.unique(stream.blocks(0, stream.length)).astype(np.int64)
        return drawn if 2 * drawn.size <= samples else np.arange(samples, dtype=np.int64)

    @cached_property
    def whole(self) -> bool:
        """Whether their rows are kept, all of them."""
        return self.columns.size * self._case.problem.samples <= WHOLE_WORDS

    @cached_property
    def _place(self) -> np.ndarray:
        """Row of each coordinate among those that are kept, -1 of one that is not, shape (m,)."""
        place = np.full(self._case.problem.samples, -1, dtype=np.int64)
        if self.whole:
            place[self.columns] = np.arange(self.columns.size)
        return place

    @property
    def most(self) -> int:
        """Coordinates drawn that a stretch should not exceed, where not all rows are kept."""
        return max(STRETCH_WORDS // self._case.problem.samples, 1)

    def of(self, draws: np.ndarray) -> Rows:
        """Rows of at least the coordinates drawn."""
        # A judge of exact steps is asked for a few windows only.
        if not self._judge or not self._kept(draws):
            columns, slot = np.unique(draws), np.zeros(self._case.problem.samples, dtype=np.int64)
            slot[columns] = np.arange(columns.size)
            return self._bounded(self.entries(columns), slot)
        if self._every is None:
            self._every = self._bounded(self._all_entries(), self._place)
        return self._every

    def entries(self, coordinates: np.ndarray) -> KernelEntries:
        """Kernel rows of some coordinates, shape (c,), with bounds on their errors."""
        if not self._kept(coordinates):
            return kernel_entries(self._case.problem, self._case.formulas, coordinates)
        return self._all_entries().at(self._place[coordinates])

    def _kept(self, coordinates: np.ndarray) -> bool:
        """Whether the oracle keeps the rows of all these coordinates."""
        return bool((self._place[coordinates] >= 0).all())

    def _all_entries(self) -> KernelEntries:
        return kept_entries(self._oracle, self._case.problem, self._case.formulas, self.columns)

    def _bounded(self, entries: KernelEntries, slot: np.ndarray) -> Rows:
        """The table of all rows, some at a time: as many as the caches of a processor hold."""
        count, samples = entries.values.shape
        table = np.empty((count, 3, samples))
        ridge = not self._case.problem.is_svm
        largest, judge_error = np.zeros((2, count if ridge else 0))
        once = max(ENTRIES_AT_ONCE // samples, 1)
        for rows in (slice(at, min(at + once, count)) for at in range(0, count, once)):
            self._fill(entries.at(rows), table[rows], largest[rows], judge_error[rows])
        return Rows(table, largest, judge_error, slot)

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


class RowSums(NamedTuple):
    """What the rows of a coordinate make of a: see `row_sums`."""

    product: float
    stale: float
    size: float
    entry_error: float
    increment_error: float


@compiled_sums
def row_sums(rows, slot, state):
    """The sums over a coordinate's rows, in one pass: memory gives these more slowly than they are added.

    They are the products of its entries with a now and at the window's start, the size of their terms, and
    what the errors of the entries and of the increments so far make of them.
    """
    entries, sizes, errors = rows.table[slot, ENTRIES], rows.table[slot, SIZES], rows.table[slot, ERRORS]
    product = stale = size = entry_error = increment_error = 0.0
    for place in range(entries.size):
        product += entries[place] * state.signed[place]
        stale += entries[place] * state.start[place]
        size += sizes[place] * state.bounded[place]
        entry_error += errors[place] * state.bounded[place]
        increment_error += sizes[place] * state.increment_error[place]
    return RowSums(product, stale, size, entry_error, increment_error)


@compiled_borrowing
def right_hand_side_error(rows, slot, state, sums, of_row, progress, corrections, constant, own_size):
    """Bound on the error of a right-hand side with a row's product with a, and the size of its terms.

    `of_row` are the row's sums. There are two terms besides, of the sizes `constant` and `own_size`, whose
    own errors are not counted here. `corrections` counts the additions that these take. The size is that of
    all terms, errors included that are no roundings of their sum.
    """
    error = of_row.entry_error + of_row.increment_error
    total = of_row.size + own_size + constant
    rounding = sum_error(sums, progress.support, corrections, progress.held) * total
    if sums.ordered and rounding < np.inf:
        terms, size = state.terms, rows.table[slot, SIZES]
        for place in range(size.size):
            terms[place] = size[place] * state.bounded[place]
        terms[size.size], terms[size.size + 1] = own_size, constant
        rounding = min(rounding, sorted_sum_error(sums, progress.support, corrections, terms))
    return error + rounding, total + error


@compiled_borrowing
def keep_row(kept, rows, state, drawn, step, place, scale, product, stale, progress):
    """Keep of a drawn row, and of its products with alpha, what later passes need: it is at hand now only.

    The step is the place of it in its stretch, and the other place that of the coordinate in the step.
    """
    i, boundary = drawn[place], 0.0
    row, sign = rows.table[rows.slot[i], ENTRIES], state.signs[i]
    if progress.steps == 0 and state.last[0] >= 0:
        for other in range(drawn.size):
            j = state.last[other]
            if j != i:
                boundary += sign * state.signs[j] * row[j] * scale * state.step[other]
    entry = kept.table[step, place]
    entry[BEFORE], entry[AT_START] = state.alpha[i], state.first[i]
    # Of an alpha that did not move both products are the same, however their sums were rounded.
    entry[PRODUCT], entry[OLD_PRODUCT] = product, stale if progress.moves else product
    entry[OF_BOUNDARY], entry[OWN_ENTRY] = boundary, row[i]
