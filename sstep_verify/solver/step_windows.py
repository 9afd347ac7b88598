"""Windows of a rank that is alone, step by step: long blocks of K-RR.

Windows of long blocks of K-RR that take products with the current alpha anyway go step by step (Source:
Algorithm 4, lines 10-15): each step forms the kernel rows that it draws first and uses them while they are
in cache; those alone stay that a later step draws again. LAPACK solves the blocks.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.solver.clock import RECURRENCE
from sstep_verify.solver.exchanges.exchange import AllreduceExchange
from sstep_verify.solver.recurrences import RidgeRecurrence
from sstep_verify.solver.windows import ExchangedWindows, WindowColumns
from sstep_verify.trajectory import Panel


class StepWindows(ExchangedWindows):
    """Windows that go step by step, where they may; others at once.

    The exchange has no separate timers, and the recurrence updates in place. `block`: coordinates of a step
    (b); `exposed`: whether `used_panel` may be asked, for which rows are copied.
    """

    def __init__(
        self,
        exchange: AllreduceExchange,
        recurrence: RidgeRecurrence,
        columns: WindowColumns,
        s: int,
        block: int,
        exposed: bool,
    ):
        super().__init__(exchange, recurrence, columns, s)
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
        rows = self._packet.matrix(count, recurrence.alpha.size)
        known = kept = 0
        for step, begin in enumerate(range(0, draws.size, block)):
            own = slice(begin, begin + block)
            new = max(int(positions[own].max()) + 1 - known, 0)
            # Behind all that stay, those first that stay as well; the next step writes over the others.
            stays = last[known : known + new] > step
            order = known + np.argsort(~stays, kind="stable")
            if new:
                fresh = rows[kept : kept + new]
                exchange.form(fresh, columns[order])
                row_at[order] = np.arange(kept, kept + new)
                if self._copied.size:
                    self._copied[order] = fresh
            # New rows come first, side by side: they are in cache, and so is what is read of them at once.
            row_of = row_at[positions[own]]
            turn = np.argsort((row_of - kept) % count)
            recurrence.step(rows, row_of[turn], draws[own][turn])
            log[own] = recurrence.alpha[draws[own]]
            known, kept = known + new, kept + int(np.count_nonzero(stays))
            self._clock.stop(RECURRENCE)
        exchange.formed(columns)
        self._used = self._copied[:count]

    def used_panel(self, draws: np.ndarray) -> Panel:
        """Whole rows."""
        panel = super().used_panel(draws)
        return panel if self._used is None else Panel(panel.columns, self._used.copy())
