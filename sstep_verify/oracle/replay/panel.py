"""A solver's own kernel rows as the kernel of a replay, its entries exact numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sstep_reference.arithmetic import Arithmetic
from sstep_reference.kernels import Columns

from sstep_verify.trajectory import Panel


class PanelColumns(Columns):
    """Serves row i of a panel where a kernel serves its column i.

    Steps on coordinate i of the reference and of the mutable recurrence read column i alone, so a panel
    that is not symmetric is replayed by its rows.

    Parameters
    ----------
    arithmetic : Arithmetic
        Number system; float32, float64 and longdouble entries are taken exactly.
    panel : Panel
        The rows, shape (c, m), all finite.
    """

    def __init__(self, arithmetic: Arithmetic, panel: Panel):
        super().__init__(arithmetic, panel.entries.shape[1])
        self._panel = panel
        self._row = {int(column): row for row, column in enumerate(panel.columns)}

    def values(self, i: int, count: int) -> Sequence[Any]:
        """First `count` entries of row i of the panel.

        Raises
        ------
        KeyError
            If the panel has no row i.
        """
        number = self.arithmetic.number
        return [number(entry) for entry in self._panel.entries[self._row[i], :count].tolist()]
