"""Windows of long blocks for K-RR on a rank that is alone, step by step.

Source: Algorithm 4, lines 10-15. Where a window takes products with the current a anyway, each step forms
the kernel rows that it draws first and uses them while they are in cache; those alone are kept that a later
step draws again. LAPACK solves the blocks.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import compiled
from sstep_verify.production.exchanges.exchange import AllreduceExchange
from sstep_verify.production.messages.clock import RECURRENCE, Clock
from sstep_verify.production.panels.columns import WindowColumns
from sstep_verify.production.recurrences import Recurrence, RidgeRecurrence
from sstep_verify.production.windows import Coherent, ExchangedWindows
from sstep_verify.trajectory import Panel


class StepWindows(ExchangedWindows):
    """Windows that go step by step, where they may; others at once.

    Parameters
    ----------
    exchange : AllreduceExchange
        Of a rank that is alone, without separate timers.
    recurrence : RidgeRecurrence
        Of in-place updates.
    columns, coherent, s, clock
        As of `ExchangedWindows`.
    block : int
        Coordinates of a step (b).
    exposed : bool
        Whether `used_panel` may be asked: rows are copied for it.
    """

    def __init__(
        self,
        exchange: AllreduceExchange,
        recurrence: Recurrence,
        columns: WindowColumns,
        coherent: Coherent,
        s: int,
        clock: Clock,
        block: int,
        exposed: bool,
    ):
        super().__init__(exchange, recurrence, columns, coherent, s, clock)
        assert isinstance(recurrence, RidgeRecurrence)
        samples = recurrence.alpha.size
        most = min(s * block, samples)
        self._rows_of, self._ridge, self._block = exchange, recurrence, block
        self._used: np.ndarray | None = None
        self._copied = np.empty((most if exposed else 0, samples))
        self._places = np.empty((2, most), dtype=np.int64)

    def _window(
        self, columns: np.ndarray, positions: np.ndarray, draws: np.ndarray, log: np.ndarray
    ) -> None:
        """Make one window."""
        block, count, recurrence, exchange = self._block, columns.size, self._ridge, self._rows_of
        self._used = None
        if not (draws.size == block or recurrence.fresh(draws.size)):
            super()._window(columns, positions, draws, log)
            return
        row_at, last = self._places[:, :count]
        last[positions] = np.arange(draws.size) // block
        self._clock.start()
        rows = self._coherent.packet.matrix(count, recurrence.alpha.size)
        known = kept = 0
        for step, begin in enumerate(range(0, draws.size, block)):
            own = slice(begin, begin + block)
            new = max(int(positions[own].max()) + 1 - known, 0)
            # Behind all that is kept, at the same place in every step, and so in cache.
            fresh = rows[count - new :]
            if new:
                exchange.form(fresh, columns[known : known + new])
                row_at[known : known + new] = np.arange(count - new, count)
                if self._copied.size:
                    self._copied[known : known + new] = fresh
            recurrence.step(rows, row_at[positions[own]], draws[own], log[own])
            kept = keep_rows(rows, row_at, last, known, new, step, kept)
            known += new
            self._clock.stop(RECURRENCE)
        exchange.formed(columns)
        self._used = self._copied[:count]

    def used_panel(self, draws: np.ndarray) -> Panel:
        """Whole rows."""
        panel = super().used_panel(draws)
        return panel if self._used is None else Panel(panel.columns, self._used.copy())


@compiled
def keep_rows(rows, row_at, last, known, new, step, kept):
    """Move the new rows of a step that later ones draw to where they stay; one beyond the last of these.

    Of `rows`, (c, m), the new ones are the last. By distinct coordinate, (c,), `row_at` says where its row
    is, changed for new ones, and `last` which step draws it last; `known` were there before the step, and
    `kept` rows stayed.
    """
    for item in range(known, known + new):
        if last[item] > step:
            row, source = rows[kept], rows[row_at[item]]
            for place in range(row.size):
                row[place] = source[place]
            row_at[item] = kept
            kept += 1
    return kept
