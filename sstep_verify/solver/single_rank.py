"""Windows of a rank that is alone, for which nobody waits: many in one compiled call.

Exchange "gram" makes many windows in one call: the operations are those of `GramExchange` window by window,
in the same order, so that the bits are the same. A loop that is handed a function is compiled again in
every process: this one asks which recurrence it has.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import compiled, inlined
from sstep_verify.solver.clock import RECURRENCE
from sstep_verify.solver.exchanges.gram import GramExchange
from sstep_verify.solver.exchanges.gram_local import rows_among, rows_move
from sstep_verify.solver.packet import TRAILER, CountingCommunicator
from sstep_verify.solver.recurrences import Recurrence, SvmRecurrence
from sstep_verify.solver.ridge_window import ridge_window
from sstep_verify.solver.svm_window import svm_window
from sstep_verify.solver.windows import ExchangedWindows, WindowColumns


class SingleRankGramWindows(ExchangedWindows):
    """Windows of few samples, or of few features, go in one call, others one by one.

    The exchange has no separate timers, and never forms its weights again; the communicator counts the
    reductions that are left out.
    """

    def __init__(
        self,
        exchange: GramExchange,
        recurrence: Recurrence,
        columns: WindowColumns,
        s: int,
        communicator: CountingCommunicator,
    ):
        super().__init__(exchange, recurrence, columns, s)
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
        room, weights = self._packet.room, gram.weights
        gram_windows(gram.rows, room, columns, positions, counts, draws, log, weights, *self._states)
        self._clock.stop(RECURRENCE)
        gram.columns += int(counts.sum())
        words = counts * counts + counts + TRAILER
        self._communicator.count(counts.size, int(words.sum()))
        self.made += counts.size


@compiled
def gram_windows(rows, room, columns, positions, counts, draws, log, weights, svm, ridge):
    """Make many windows of a K-SVM or of K-RR.

    `rows`: the last arguments of `rows_among`; `room`: scratch of ``c**2 + c`` words for the largest c;
    out: entries and products of the last window; `columns`, `positions`, `draws`, int64, (windows, s * b):
    distinct coordinates of each window, the place of each draw's among them, and the coordinates drawn;
    `counts`, int64, (windows,): numbers of distinct coordinates (c); `log`, (windows, s * b): out: new
    values of the drawn coordinates; `weights`, (n,): carried weights (w), updated; `svm`, `ridge`: the last
    arguments of `svm_window` or of `ridge_window`; the other is None. The compiler leaves out what asks for
    None.
    """
    for window in range(counts.size):
        make_window(rows, room, columns, positions, counts, draws, log, weights, svm, ridge, window)


@inlined
def make_window(rows, room, columns, positions, counts, draws, log, weights, svm, ridge, window):
    """Make one of them."""
    count = counts[window]
    own, gram = columns[window, :count], room[: count * count].reshape(count, count)
    stale = room[count * count : count * count + count]
    places, drawn, new = positions[window], draws[window], log[window]
    rows_among(own, weights, gram, stale, *rows)
    if svm is not None:
        svm_window(gram, stale, False, own, places, drawn, new, *svm)
        rows_move(own, svm[0], weights, *rows)
    if ridge is not None:
        ridge_window(gram, stale, False, own, places, drawn, new, *ridge)
        rows_move(own, ridge[0], weights, *rows)
