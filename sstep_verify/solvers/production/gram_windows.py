"""Windows of exchange "gram" of a rank that is alone: many of them in one compiled call.

Nobody waits for a rank that is alone, so nothing is asked of Python between one window and the next. The
operations are those of `GramExchange` window by window, in the same order, so that the bits are the same.
There is a loop for each recurrence: one that is handed a function is compiled anew in every process.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import compiled, compiled_borrowing
from sstep_verify.parallel.columns import WindowColumns
from sstep_verify.parallel.communicator import CountingCommunicator
from sstep_verify.parallel.exchanges.gram import GramExchange
from sstep_verify.parallel.exchanges.gram_local import rows_among, rows_move
from sstep_verify.parallel.packet import TRAILER
from sstep_verify.solvers.production.recurrences import AnyRecurrence, SvmRecurrence
from sstep_verify.solvers.production.ridge_window import ridge_small_window
from sstep_verify.solvers.production.svm_window import svm_small_window
from sstep_verify.solvers.production.windows import Coherent, ExchangedWindows


class LoneGramWindows(ExchangedWindows):
    """Windows of few samples, or of few features, go in one call, others one by one.

    Parameters
    ----------
    exchange : GramExchange
        Of a rank that is alone, without separate timers, which never forms its weights anew.
    recurrence, columns, coherent, s
        As of `ExchangedWindows`.
    communicator : CountingCommunicator
        Counts the reductions that are left out.
    """

    def __init__(
        self,
        exchange: GramExchange,
        recurrence: AnyRecurrence,
        columns: WindowColumns,
        coherent: Coherent,
        s: int,
        communicator: CountingCommunicator,
    ):
        super().__init__(exchange, recurrence, columns, coherent, s)
        self._gram, self._communicator = exchange, communicator

    def _alike(self, draws: np.ndarray, log: np.ndarray) -> None:
        """Make the windows whose drawn coordinates are the rows of `draws`; log their new values."""
        if not self._gram.together(draws.shape[1]):
            super()._alike(draws, log)
            return
        columns, positions, counts = self._columns.of(draws)
        recurrence = self._recurrence
        loop = svm_windows if isinstance(recurrence, SvmRecurrence) else ridge_windows
        self._gram.many(loop, columns, positions, counts, recurrence.small_state, log)
        words = counts * counts + counts + TRAILER
        self._communicator.count(counts.size, int(words.sum()))
        self.made += counts.size


@compiled
def svm_windows(rows, room, columns, positions, counts, weights, state, log):
    """Make many windows of a K-SVM.

    Parameters
    ----------
    rows : tuple
        The last arguments of `rows_among`.
    room : ndarray
        Scratch of ``c**2 + c`` words for the largest c; out: entries and products of the last window.
    columns, positions : ndarray of int64, shape (windows, s)
        Distinct coordinates of each window, and the place of each draw's among them.
    counts : ndarray of int64, shape (windows,)
        Numbers of distinct coordinates (c).
    weights : ndarray, shape (n,)
        Carried weights (w), updated.
    state : tuple
        The last arguments of `svm_small_window`.
    log : ndarray, shape (windows, s)
        Out: new values of the drawn coordinates.
    """
    for window in range(counts.size):
        make_svm_window(rows, room, columns, positions, counts, weights, state, log, window)


@compiled_borrowing
def make_svm_window(rows, room, columns, positions, counts, weights, state, log, window):
    """Make one of them."""
    count = counts[window]
    own, gram = columns[window, :count], room[: count * count].reshape(count, count)
    stale = room[count * count : count * count + count]
    rows_among(own, weights, gram, stale, *rows)
    svm_small_window(gram, stale, own, positions[window], log[window], *state)
    rows_move(own, state[3][3, :count], weights, *rows)


@compiled
def ridge_windows(rows, room, columns, positions, counts, weights, state, log):
    """Make many windows of a K-RR; arguments as of `svm_windows`, with `ridge_small_window`."""
    for window in range(counts.size):
        make_ridge_window(rows, room, columns, positions, counts, weights, state, log, window)


@compiled_borrowing
def make_ridge_window(rows, room, columns, positions, counts, weights, state, log, window):
    """Make one of them."""
    count = counts[window]
    own, gram = columns[window, :count], room[: count * count].reshape(count, count)
    stale = room[count * count : count * count + count]
    rows_among(own, weights, gram, stale, *rows)
    ridge_small_window(gram, stale, own, positions[window], log[window], *state)
    rows_move(own, state[2][2, :count], weights, *rows)
