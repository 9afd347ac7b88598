"""Exchange "support": a window's panel over the samples that its products need, summed onto all ranks.

A product of a kernel row with alpha needs only the samples where alpha is not 0, and every rank knows
which. So the panel of window k has, in place of all m, the p samples

    (a != 0 where window k - 1 began), and what windows k - 1 and k draw

which hold every value of alpha that is not 0 now. Not the support of this moment: how long a reduction is
must follow from what all ranks are known to share, and that they hold the same alpha after window k - 1 is
known only from the signature that travels with reduction k (see `packet`). A rank whose alpha went astray
would otherwise hand over another number of words, and hang the others in place of being named.

Words per window: p times the distinct columns, and the trailer. Never more than exchange "allreduce", and
no message for the choice. Kernel function and gradient are computed on every rank alike, of p samples.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import compiled
from sstep_verify.problems import Kernel
from sstep_verify.solver.clock import FUNCTION, GRADIENT, PANEL, TRANSFER
from sstep_verify.solver.exchanges.exchange import Exchange
from sstep_verify.solver.packet import Packet
from sstep_verify.solver.panels.panel import Sums, sums_of
from sstep_verify.solver.panels.products import DenseProducts, FewFeatures
from sstep_verify.trajectory import Panel as UsedPanel

ROWS_AT_ONCE = 8
"""Whole rows that are formed before the places of the panel are taken from them."""


class Support:
    """An order of the samples in which those of a panel come first.

    `samples`, `rows`: number of samples (m), most distinct coordinates of a window. Attributes `order`,
    int64, (m,): sample at each place; `place_of`, int64, (m,): place of each sample.
    """

    def __init__(self, samples: int, rows: int):
        self.order, self.place_of = np.arange(samples), np.arange(samples)
        self._held, self._room = 0, np.empty(rows, dtype=np.int64)
        self._before = self._room[:0]

    def begin(self, vector: np.ndarray) -> None:
        """Begin with the samples where `vector`, shape (m,), is not 0."""
        everything = np.arange(self.order.size)
        self._held = settle(everything, vector, self.order, self.place_of, 0)
        self._before = self._room[:0]

    def bring(self, columns: np.ndarray) -> int:
        """Bring a window's distinct coordinates in; the panel has the first p places, p is returned."""
        return bring_in(self._before, columns, self.order, self.place_of, self._held)

    def leave(self, columns: np.ndarray, vector: np.ndarray) -> None:
        """Sort those out that the window before drew, by `vector`; `columns` are drawn now, and stay.

        To be called where all ranks are known to hold the same `vector`, before the window changes it.
        """
        self._held = settle(self._before, vector, self.order, self.place_of, self._held)
        self._before = self._room[: columns.size]
        self._before[:] = columns


class SupportPanel:
    """Forms panels over a part of the samples: `partial` before the reduction, `finish` after it.

    Attribute `samples`: number of samples (m).
    """

    def __init__(self, data, kernel: Kernel, rbf: str, rows: int, packet: Packet):
        self.samples = data.shape[0]
        sums, self._function, norms = sums_of(data, kernel, rbf, rows, packet)
        if isinstance(sums, FewFeatures):
            # What lies side by side changes from window to window: BLAS needs it in one order alone.
            sums = DenseProducts(data, rows)
        # The function has the norms of the first places, in the array of those of all samples.
        self._norms = None if norms is None else (norms.copy(), norms)
        self._sums: RowsKept | RowsTaken
        if isinstance(sums, DenseProducts):
            self._sums = RowsKept(sums, data)
        else:
            self._sums = RowsTaken(sums, self.samples)

    def partial(self, panel: np.ndarray, columns: np.ndarray, support: Support) -> None:
        """Write this rank's share of the sums for the rows of `columns` into `panel`, shape (c, p)."""
        self._sums.into(panel, columns, support)

    def finish(self, panel: np.ndarray, columns: np.ndarray, support: Support) -> None:
        """Kernel values of the sums, in place."""
        if self._norms is not None:
            norms, placed = self._norms
            count = panel.shape[1]
            np.take(norms, support.order[:count], out=placed[:count], mode="clip")
        self._function.apply(panel, support.place_of[columns])


class RowsKept:
    """Dense data: the rows at the first places lie side by side, so that BLAS multiplies them.

    The products are of `data`, (m, n_local), this rank's columns.
    """

    def __init__(self, products: DenseProducts, data: np.ndarray):
        self._data, self._rows = np.ascontiguousarray(data), np.empty(data.shape)
        self._products, self._row_at = products.over(self._rows), np.full(data.shape[0], -1)

    def into(self, panel: np.ndarray, columns: np.ndarray, support: Support) -> None:
        """Copy the rows that came to their place since the last time, and multiply."""
        count = panel.shape[1]
        copy_rows(self._data, support.order[:count], self._row_at, self._rows)
        self._products.into(panel, support.place_of[columns], 0, count)


class RowsTaken:
    """Any other sums: whole rows are formed, some at once, and the places taken from them.

    `sums`: forms whole rows; `samples`: number of samples (m).
    """

    def __init__(self, sums: Sums, samples: int):
        self._sums, self._whole = sums, np.empty((ROWS_AT_ONCE, samples))

    def into(self, panel: np.ndarray, columns: np.ndarray, support: Support) -> None:
        """Form rows over all samples, and take."""
        order = support.order[: panel.shape[1]]
        for first in range(0, columns.size, ROWS_AT_ONCE):
            some = columns[first : first + ROWS_AT_ONCE]
            whole = self._whole[: some.size]
            self._sums.into(whole, some)
            np.take(whole, order, axis=1, out=panel[first : first + some.size], mode="clip")


class SupportExchange(Exchange):
    """Kernel rows over the support, on every rank.

    The packet holds at least as many whole rows as a window has; `rows`: largest number of distinct columns
    of a window.
    """

    def __init__(self, panel: SupportPanel, packet: Packet, rows: int):
        super().__init__(packet)
        self._panel = panel
        self._support, self._vector = Support(panel.samples, rows), np.empty(panel.samples)
        self._gram, self._stale = np.empty(rows * rows), np.empty(rows)

    def parts(self, columns: np.ndarray, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """As of `Exchange`, among the coordinates; their rows are summed over the support."""
        support, count, clock = self._support, columns.size, self._clock
        rows = self._reduced(columns)
        try:
            self._panel.finish(rows, columns, support)
            clock.stop(FUNCTION)
            gram, stale = self._gram[: count * count].reshape(count, count), self._stale[:count]
            small_parts(rows, columns, support.order, support.place_of, vector, self._vector, gram, stale)
        finally:
            # The reduction has shown that all ranks hold this vector. Also where this rank failed since:
            # the next reduction, which tells the others, is as long as theirs.
            support.leave(columns, vector)
        clock.stop(GRADIENT)
        return gram, stale

    def _reduced(self, columns: np.ndarray) -> np.ndarray:
        """Sums for the rows of `columns` over the first places, shape (c, p); valid until the next call."""
        self._clock.start()
        shape = columns.size, self._support.bring(columns)
        rows = self.packet.payload(shape[0] * shape[1]).reshape(shape)
        self.columns += columns.size
        self._guarded(PANEL, self._panel.partial, rows, columns, self._support)
        self.packet.reduce(rows.size)
        self._clock.stop(TRANSFER)
        return rows

    def used(self, columns: np.ndarray) -> UsedPanel:
        """Copy of the kernel entries among the coordinates of the window just made."""
        count = columns.size
        return UsedPanel(columns, self._gram[: count * count].reshape(count, count).copy(), columns)

    def restart(self, vector: np.ndarray) -> None:
        """Begin with the support of the recurrence's `vector`, shape (m,)."""
        self._support.begin(vector)


@compiled
def bring_in(before, columns, order, place_of, last):
    """Put coordinates that are not among the first `last` places behind them; the new `last`."""
    for coordinates in (before, columns):
        for coordinate in coordinates:
            place = place_of[coordinate]
            if place >= last:
                other = order[last]
                order[place], place_of[other] = other, place
                order[last], place_of[coordinate] = coordinate, last
                last += 1
    return last


@compiled
def settle(columns, vector, order, place_of, held):
    """Put coordinates before place `held` where `vector` is not 0, behind where it is; the new `held`."""
    for coordinate in columns:
        place, there = place_of[coordinate], vector[coordinate] != 0.0
        if there == (place < held):
            continue
        if not there:
            held -= 1
        other = order[held]
        order[place], place_of[other] = other, place
        order[held], place_of[coordinate] = coordinate, held
        if there:
            held += 1
    return held


@compiled
def copy_rows(data, order, row_at, rows):
    """Copy the samples of the first places to `rows`, but those that are there already (`row_at`)."""
    for place in range(order.size):
        if row_at[place] != order[place]:
            row_at[place] = order[place]
            rows[place] = data[order[place]]


@compiled
def small_parts(rows, columns, order, place_of, vector, part, gram, stale):
    """What the updates of a window need of the kernel rows of `columns` over the first places, (c, p).

    Out: `gram`, (c, c), the entries among the coordinates, and `stale`, (c,), the products of the rows with
    `vector`, (m,), of which `part`, (m,), gets what stands at the places. `order` and `place_of` as in
    `Support`.
    """
    count, width = rows.shape
    for place in range(width):
        part[place] = vector[order[place]]
    for row in range(count):
        for other in range(count):
            gram[row, other] = rows[row, place_of[columns[other]]]
    if count == 1:
        stale[0] = np.dot(rows[0], part[:width])
    else:
        np.dot(rows, part[:width], stale)
