"""Reductions and words of a run, exactly, for every exchange; windows of an index stream.

With W = ceil(H/s) windows (the last one shorter), d_k distinct coordinates in window k, m samples, and the
set-up Z = 1 where the RBF kernel is formed by norm expansion (the squared norms, m words) and else 0:

    allreduce        W + Z reductions, m (sum d_k + Z) words
    reduce-scatter   2 W + Z reductions, m (sum d_k + Z) + sum (d_k**2 + d_k) words
    gram             W reductions, sum (d_k**2 + d_k) words (linear kernel)
    support          W + Z reductions, sum (d_k p_k) + m Z words; p_k, which depends on the run's a, as
                     `panel_sizes` has it, at most m
    kept-gram        ceil(m / R) + Z reductions, m (m + Z) words, R rows in each; or
                     Z and m Z where an earlier run left the matrix
    column-cache     as allreduce, but a window asks only for the rows that are not kept, and not at all if
                     none is missing

and in every reduction, except the first of the two of reduce-scatter, the words of a trailer: none where a
solver declares none (`Exchange.trailer`), of ours two (status, signature); where s is tuned on several
ranks three, the third being the time from which all ranks choose s alike. Every rank hands the same words
to the same reductions, so what one rank counts is the critical path, and P times that the total.

Source: Theorems 1 and 2, "Bandwidth" and "Latency": H b m words in H reductions (Algorithm 3, line 6),
s b m words in each of H / s (Algorithm 4, line 10). Exchange allreduce is that but for coordinates that a
window draws twice, which are sent once, the trailer, and Z.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from sstep_verify.problems import IndexStream
from sstep_verify.trajectory import ALLREDUCE, REDUCE_SCATTER

TRAILER = 2
"""Words besides the payload of a reduction: status and signature; one more, the time, where s is tuned."""

COUNTED = ("windows", "panel columns", "collectives", "words")
"""What a rank counts, in the order of `Counts`."""


class Reduction(NamedTuple):
    """One reduction: which collective, and the float64 words that each rank hands to it."""

    name: str
    words: int


class Counts(NamedTuple):
    """What a rank counts in a run: windows made, kernel rows formed, reductions, words handed to them."""

    windows: int
    columns: int
    collectives: int
    words: int

    @property
    def counters(self) -> dict[str, int]:
        """The counts by the names that a trajectory has for them."""
        return dict(zip(COUNTED, self, strict=True))


def _counts(
    samples: int,
    norms: bool,
    windows: int,
    columns: int,
    collectives: int,
    words: int,
    trailer: int = TRAILER,
) -> Counts:
    """Counts with the set-up (Z), and so many words besides the payload of each reduction."""
    collectives += norms
    return Counts(windows, columns, collectives, words + samples * norms + trailer * collectives)


def window_counts(
    exchange: str, samples: int, distinct: Distinct, norms: bool, trailer: int = TRAILER
) -> Counts:
    """Counts of a run on m samples whose every window exchanges what it needs.

    Exchange is allreduce, reduce-scatter or gram. With `norms` the set-up reduces the squared norms of the
    samples (Z); never with gram. `trailer` are the words besides the payload of a reduction.
    """
    windows, total, squares = distinct
    small, panel = squares + total, samples * total
    words = {"gram": small, "reduce-scatter": panel + small}.get(exchange, panel)
    counts = _counts(samples, norms, windows, total, windows, words, trailer)
    # The first of the two reductions of reduce-scatter has no trailer.
    more = windows if exchange == "reduce-scatter" else 0
    return counts._replace(collectives=counts.collectives + more)


def of_kinds(exchange: str, samples: int, counts: Mapping[str, int]) -> dict[str, tuple[int, int | None]]:
    """Calls and words of each kind of reduction, of counts by their names; words None where not among them.

    All are allreduces, but the first of the two of a window with exchange reduce-scatter.
    """
    split = exchange == "reduce-scatter"
    scattered, words = counts["windows"] * split, samples * counts["panel columns"] * split
    rest = counts["words"] - words if "words" in counts else None
    return {ALLREDUCE: (counts["collectives"] - scattered, rest), REDUCE_SCATTER: (scattered, words)}


def kept_gram_counts(
    samples: int, windows: int, rows: int, norms: bool, formed: bool = True, trailer: int = TRAILER
) -> Counts:
    """Counts of a run that keeps all m kernel rows, and sums `rows` at once where it forms them."""
    columns = samples if formed else 0
    collectives = -(-columns // min(rows or samples, samples))
    return _counts(samples, norms, windows, columns, collectives, samples * columns, trailer)


def support_counts(
    samples: int, distinct: list[int], panels: list[int], norms: bool, trailer: int = TRAILER
) -> Counts:
    """Counts of a run whose window k has d_k rows over p_k of the m samples."""
    words = sum(rows * panel for rows, panel in zip(distinct, panels, strict=True))
    return _counts(samples, norms, len(distinct), sum(distinct), len(distinct), words, trailer)


def column_cache_counts(samples: int, missing: list[int], norms: bool, trailer: int = TRAILER) -> Counts:
    """Counts of a run whose windows ask for the rows that they lack, one number a window."""
    columns = sum(missing)
    asking = sum(map(bool, missing))
    return _counts(samples, norms, len(missing), columns, asking, samples * columns, trailer)


def schedule(
    exchange: str, samples: int, counts: Iterable[int], norms: bool, trailer: int = TRAILER
) -> Iterator[Reduction]:
    """Every reduction of a run on m samples, in order; with `norms` that of their squared norms first.

    Counts are the kernel rows that each window asks for, d_k or what a cache lacks; of exchange kept-gram
    those of each portion of the matrix.
    """
    if norms:
        yield Reduction(ALLREDUCE, samples + trailer)
    for count in counts:
        small = count * count + count + trailer
        if exchange == "gram":
            yield Reduction(ALLREDUCE, small)
        elif exchange == "reduce-scatter":
            yield Reduction(REDUCE_SCATTER, count * samples)
            yield Reduction(ALLREDUCE, small)
        elif count:
            yield Reduction(ALLREDUCE, count * samples + trailer)


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


def panel_sizes(
    draws: np.ndarray, log: np.ndarray, s: int, initial: np.ndarray
) -> tuple[list[int], list[int]]:
    """Distinct coordinates of each window (d_k), and the samples of its panel with exchange support (p_k).

    p_k counts the samples where alpha is not 0 as window k - 1 begins (of the first: as it begins itself)
    and those that windows k - 1 and k draw. `draws` are the coordinates of all steps, shape (H, b), `log`
    the value that each step left in them, `initial` the dual vector at the beginning, shape (m,).
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
