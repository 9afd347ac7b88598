"""Reductions and words of a run, exactly, for every exchange.

With W = ceil(H/s) windows (the last one shorter), d_k distinct coordinates in window k, m samples, and the
set-up Z = 1 where the RBF kernel is formed by norm expansion (the squared norms, m words) and else 0:

    allreduce        W + Z reductions, m (sum d_k + Z) words
    reduce-scatter   2 W + Z reductions, m (sum d_k + Z) + sum (d_k**2 + d_k) words
    gram             W reductions, sum (d_k**2 + d_k) words (linear kernel)
    support          W + Z reductions, sum (d_k p_k) + m Z words; p_k, which depends on the run's a, as
                     `windows.support_counts` has it, at most m
    kept-gram        ceil(m / R) + Z reductions, m (m + Z) words, R rows in each; or
                     Z and m Z where an earlier run left the matrix
    column-cache     as allreduce, but a window asks only for the rows that are not kept, and not at all if
                     none is missing

and two words (status, signature) in every reduction, except the first of the two of reduce-scatter; where s
is tuned on several ranks three, the third being the time from which all ranks choose s alike. Every
rank hands the same words to the same reductions, so what one rank counts is the critical path, and P times
that the total.

Source: Theorems 1 and 2, "Bandwidth" and "Latency": H b m words in H reductions (Algorithm 3, line 6),
s b m words in each of H / s (Algorithm 4, line 10). Exchange allreduce is that but for coordinates that a
window draws twice, which are sent once, the trailer, and Z.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sstep_verify.costs.windows import Distinct

TRAILER = 2
"""Words beside the payload of a reduction: status and signature; one more, the time, where s is tuned."""

ALLREDUCE, REDUCE_SCATTER = "allreduce", "reduce_scatter"
"""Names of the two kinds of reductions."""

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


def window_counts(
    exchange: str, samples: int, distinct: Distinct, norms: bool, trailer: int = TRAILER
) -> Counts:
    """Counts of a run on m samples whose every window exchanges what it needs.

    Exchange is allreduce, reduce-scatter or gram. With `norms` the set-up reduces the squared norms of the
    samples (Z); never with gram. `trailer` are the words beside the payload of a reduction.
    """
    windows, setup = distinct.windows, int(norms)
    panel, small = samples * (distinct.total + setup), distinct.squares + distinct.total
    match exchange:
        case "gram":
            return Counts(windows, distinct.total, windows, small + trailer * windows)
        case "reduce-scatter":
            words = panel + small + trailer * (windows + setup)
            return Counts(windows, distinct.total, 2 * windows + setup, words)
    collectives = windows + setup
    return Counts(windows, distinct.total, collectives, panel + trailer * collectives)


def kept_gram_counts(samples: int, windows: int, rows: int, norms: bool, formed: bool = True) -> Counts:
    """Counts of a run that keeps all m kernel rows, and sums `rows` at once where it forms them."""
    setup, columns = int(norms), samples if formed else 0
    collectives = -(-columns // min(rows or samples, samples)) + setup
    words = samples * (columns + setup) + TRAILER * collectives
    return Counts(windows, columns, collectives, words)


def support_counts(samples: int, distinct: Iterable[int], panels: Iterable[int], norms: bool) -> Counts:
    """Counts of a run whose window k has d_k rows over p_k of the m samples."""
    rows, setup = list(distinct), int(norms)
    collectives = len(rows) + setup
    words = sum(row * panel for row, panel in zip(rows, panels, strict=True))
    return Counts(len(rows), sum(rows), collectives, words + samples * setup + TRAILER * collectives)


def column_cache_counts(samples: int, missing: Iterable[int], norms: bool) -> Counts:
    """Counts of a run whose windows ask for the rows that they lack, one number a window."""
    lacking = list(missing)
    columns, setup = sum(lacking), int(norms)
    collectives = sum(map(bool, lacking)) + setup
    words = samples * (columns + setup) + TRAILER * collectives
    return Counts(len(lacking), columns, collectives, words)


def schedule(exchange: str, samples: int, counts: Iterable[int], norms: bool) -> Iterator[Reduction]:
    """Every reduction of a run on m samples, in order; with `norms` that of their squared norms first.

    Counts are the kernel rows that each window asks for, d_k or what a cache lacks; of exchange kept-gram
    those of each portion of the matrix.
    """
    if norms:
        yield Reduction(ALLREDUCE, samples + TRAILER)
    for count in counts:
        small = count * count + count + TRAILER
        if exchange == "gram":
            yield Reduction(ALLREDUCE, small)
        elif exchange == "reduce-scatter":
            yield Reduction(REDUCE_SCATTER, count * samples)
            yield Reduction(ALLREDUCE, small)
        elif count:
            yield Reduction(ALLREDUCE, count * samples + TRAILER)
