"""Windows of exchange "gram" of a rank that is alone: many of them in one compiled call.

Nobody waits for a rank that is alone, so nothing is asked of Python between one window and the next. The
operations are those of `GramExchange` window by window, in the same order, so that the bits are the same.
A loop that is handed a function is compiled anew in every process: this one asks which recurrence it has.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import compiled, compiled_borrowing
from sstep_verify.production.exchanges.gram import GramExchange
from sstep_verify.production.exchanges.gram_local import rows_among, rows_move
from sstep_verify.production.messages.clock import RECURRENCE, Clock
from sstep_verify.production.messages.communicator import CountingCommunicator
from sstep_verify.production.messages.packet import TRAILER
from sstep_verify.production.panels.columns import WindowColumns
from sstep_verify.production.recurrences import Recurrence, SvmRecurrence
from sstep_verify.production.ridge_window import ridge_window
from sstep_verify.production.svm_window import svm_window
from sstep_verify.production.windows import Coherent, ExchangedWindows


class LoneGramWindows(ExchangedWindows):
    """Windows of few samples, or of few features, go in one call, others one by one.

    Parameters
    ----------
    exchange : GramExchange
        Of a rank that is alone, without separate timers, which never forms its weights anew.
    recurrence, columns, coherent, s, clock
        As of `ExchangedWindows`.
    communicator : CountingCommunicator
        Counts the reductions that are left out.
    """

    def __init__(
        self,
        exchange: GramExchange,
        recurrence: Recurrence,
        columns: WindowColumns,
        coherent: Coherent,
        s: int,
        clock: Clock,
        communicator: CountingCommunicator,
    ):
        super().__init__(exchange, recurrence, columns, coherent, s, clock)
        self._gram, self._communicator = exchange, communicator
        state = recurrence.state
        self._states = (state, None) if isinstance(recurrence, SvmRecurrence) else (None, state)

    def _alike(self, draws: np.ndarray, log: np.ndarray) -> None:
        """Make the windows whose drawn coordinates are the rows of `draws`; log their new values."""
        gram = self._gram
        if not gram.together(draws.shape[1]):
            super()._alike(draws, log)
            return
        columns, positions, counts = self._columns.of(draws)
        self._clock.start()
        room, weights = self._coherent.packet.room, gram.weights
        gram_windows(gram.rows, room, columns, positions, counts, draws, log, weights, *self._states)
        self._clock.stop(RECURRENCE)
        gram.columns += int(counts.sum())
        words = counts * counts + counts + TRAILER
        self._communicator.count(counts.size, int(words.sum()))
        self.made += counts.size


@compiled
def gram_windows(rows, room, columns, positions, counts, draws, log, weights, svm, ridge):
    """Make many windows of a K-SVM or of K-RR.

    Parameters
    ----------
    rows : tuple
        The last arguments of `rows_among`.
    room : ndarray
        Scratch of ``c**2 + c`` words for the largest c; out: entries and products of the last window.
    columns, positions, draws : ndarray of int64, shape (windows, s * b)
        Distinct coordinates of each window, the place of each draw's among them, and the coordinates drawn.
    counts : ndarray of int64, shape (windows,)
        Numbers of distinct coordinates (c).
    log : ndarray, shape (windows, s * b)
        Out: new values of the drawn coordinates.
    weights : ndarray, shape (n,)
        Carried weights (w), updated.
    svm, ridge : tuple or None
        The last arguments of `svm_window` or of `ridge_window`; the other is None. The compiler leaves out
        what asks for None.
    """
    for window in range(counts.size):
        make_window(rows, room, columns, positions, counts, draws, log, weights, svm, ridge, window)


@compiled_borrowing
def make_window(rows, room, columns, positions, counts, draws, log, weights, svm, ridge, window):
    """Make one of them."""
    count = counts[window]
    own, gram = columns[window, :count], room[: count * count].reshape(count, count)
    stale = room[count * count : count * count + count]
    places, drawn, new = positions[window], draws[window], log[window]
    rows_among(own, weights, gram, stale, *rows)
    if svm is not None:
        svm_window(gram, stale, False, own, places, drawn, new, *svm)
        rows_move(own, svm[1][:count], weights, *rows)
    if ridge is not None:
        ridge_window(gram, stale, False, own, places, drawn, new, *ridge)
        rows_move(own, ridge[1][:count], weights, *rows)
