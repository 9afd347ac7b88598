"""Windows of an index stream: what they draw, how much of it is distinct, what a cache of rows lacks.

The block size (b) of K-RR follows from the sizes of a problem alone: b changes the iterates, so it is
not measured. A pass over the m coordinates costs, whatever b, m inner products of a sample with all
others, kernel entries and products of a row with a: for each coordinate ``2 Z / P + (mu + 2) m`` flops,
Z the values stored of all samples, P ranks that share them, mu flops of an entry. What grows with b are
the solves, ``b^3 / 3`` for b coordinates, made on every rank. An exact step on a block lowers the
objective at least as much as one on any of its coordinates, and with small lambda, where single
coordinates are strongly coupled, passes are far fewer: the larger b the better, as long as solves are
not what a pass costs.

So b is the largest power of two with ``b^2 / 3 <= 2 Z / P + (mu + 2) m`` that is at most m / 4, so that
a pass still has several steps, and at most `MOST`: 16 iterations a window then draw 1,024, beyond which
the entries among them (s^2 b^2, which exchange gram and reduce-scatter send) outweigh the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from sstep_verify.problems import IndexStream, Kernel, PolynomialKernel

MOST = 64
"""Largest b that is chosen."""

EXPONENTIAL = 20
"""Flops that take as long as an exponential and what belongs to it."""


def block_size(samples: int, stored: float, ranks: int, kernel: Kernel) -> int:
    """Choose b for K-RR on m samples that store Z values (m n if dense), shared by P ranks.

    It is a power of two, 1 <= b <= max(1, m / 4).
    """
    entry = kernel.degree if isinstance(kernel, PolynomialKernel) else 0
    entry = EXPONENTIAL if kernel.of_distance else entry
    work = 2 * stored / ranks + (entry + 2) * samples
    most = max(min(MOST, samples // 4), 1)
    block = 1
    while 2 * block <= most and (2 * block) ** 2 / 3 <= work:
        block *= 2
    return block


DRAWS_AT_ONCE = 1 << 20
"""Drawn coordinates that are looked at at once."""


class Distinct(NamedTuple):
    """Windows of a run (W), and their distinct coordinates (d_k), summed, and squared and summed."""

    windows: int
    total: int
    squares: int


def drawn_windows(stream: IndexStream, s: int, iterations: int, start: int = 0) -> Iterator[np.ndarray]:
    """The coordinates of a run of H iterations from a place of its stream on, some windows at a time.

    Arrays of int64, shape (windows, s * b): one window a row, in the order of the draws; the last one alone
    where it is shorter.
    """
    block = stream.block
    step = max(DRAWS_AT_ONCE // (s * block), 1) * s
    for first in range(0, iterations, step):
        draws = stream.blocks(start + first, start + min(first + step, iterations))
        full = draws.shape[0] // s * s
        for part in (draws[:full].reshape(-1, s * block), draws[full:].reshape(1, -1)):
            if part.size:
                yield part


def distinct_counts(windows: Iterable[np.ndarray]) -> np.ndarray:
    """Distinct coordinates (d_k) of each window that `drawn_windows` yields, int64, shape (W,)."""
    found = [np.zeros(0, dtype=np.int64)]
    for part in windows:
        ordered = np.sort(part, axis=1)
        found.append(1 + np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1))
    return np.concatenate(found)


def support_counts(
    draws: np.ndarray, log: np.ndarray, s: int, initial: np.ndarray
) -> tuple[list[int], list[int]]:
    """Distinct coordinates of each window (d_k), and the samples of its panel with exchange support (p_k).

    p_k counts the samples where a is not 0 as window k - 1 begins (of the first: as it begins itself) and
    those that windows k - 1 and k draw. `draws` are the coordinates of all steps, shape (H, b), `log` the
    value that each step left in them, `initial` the dual vector at the beginning, shape (m,).
    """
    held, alpha = initial != 0, np.array(initial)
    distinct, panels = [], []
    before = np.empty(0, dtype=np.int64)
    for first in range(0, draws.shape[0], s):
        window = draws[first : first + s]
        columns = np.unique(window)
        drawn = np.union1d(before, columns)
        distinct.append(columns.size)
        panels.append(int(np.count_nonzero(held) + np.count_nonzero(~held[drawn])))
        held[before] = alpha[before] != 0
        for row, values in zip(window, log[first : first + s], strict=True):
            alpha[row] = values
        before = columns
    return distinct, panels


def distinct_of(counts: np.ndarray) -> Distinct:
    """Number, sum, and sum of squares of the distinct coordinates of windows, shape (W,)."""
    return Distinct(counts.size, int(counts.sum()), int((counts * counts).sum()))


def cache_misses(windows: Iterable[np.ndarray], samples: int, capacity: int) -> list[int]:
    """Kernel rows of m that each window of `drawn_windows` lacks where so many are kept.

    The cache fills in the order of the draws; a new row then takes the place of the one kept longest, those
    of the current window apart. It holds no fewer than any window needs.
    """
    kept: set[int] = set()
    slots: list[int | None] = [None] * capacity
    place, missing = 0, []
    for window in (row for part in windows for row in part.tolist()):
        if len(kept) == samples:
            missing.append(0)  # Nothing is ever dropped from a full cache of all rows.
            continue
        needed = dict.fromkeys(window)
        lacking = [coordinate for coordinate in needed if coordinate not in kept]
        for coordinate in lacking:
            while slots[place] in needed:
                place = (place + 1) % capacity
            dropped = slots[place]
            if dropped is not None:
                kept.discard(dropped)
            slots[place] = coordinate
            kept.add(coordinate)
            place = (place + 1) % capacity
        missing.append(len(lacking))
    return missing
