"""Feature partition: contiguous runs of columns, one a rank, balanced by nonzeros."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sstep_verify.errors import InputError


@dataclass(frozen=True)
class Partition:
    """Which columns each rank holds.

    Parameters
    ----------
    starts : ndarray of int64, shape (P + 1,)
        Rank p holds columns ``starts[p]`` to ``starts[p + 1] - 1``; possibly none.
    loads : ndarray of int64, shape (P,)
        Nonzeros held by each rank.
    """

    starts: np.ndarray
    loads: np.ndarray

    @property
    def imbalance(self) -> float:
        """Largest load over mean load; 1 is even, and 1 where there is no nonzero at all."""
        total = int(self.loads.sum())
        return float(self.loads.max() * self.loads.size / total) if total else 1.0

    def columns(self, rank: int) -> slice:
        """Columns of a rank."""
        return slice(int(self.starts[rank]), int(self.starts[rank + 1]))


def balanced_partition(nonzeros: np.ndarray, ranks: int) -> Partition:
    """The contiguous partition whose largest load is smallest.

    The least largest load is found by bisection: a load is possible iff cutting greedily, each run as
    long as it may be, needs at most `ranks` runs. Under that load, runs are then cut as near to equal
    shares of what is left as it allows, so that the last rank does not get the remnants.

    Parameters
    ----------
    nonzeros : ndarray of int, shape (n,)
        Nonzeros of each column.
    ranks : int
        Number of runs (P), >= 1; may exceed n, and then some runs are empty.

    Returns
    -------
    Partition

    Raises
    ------
    InputError
        If `ranks` < 1 or a count is negative.
    """
    if ranks < 1:
        raise InputError(f"ranks = {ranks}, but a partition needs at least one")
    counts = np.asarray(nonzeros, dtype=np.int64)
    if counts.size and counts.min() < 0:
        raise InputError(f"column {int(np.argmin(counts))} has {counts.min()} nonzeros: must be >= 0")
    before = np.concatenate([[0], np.cumsum(counts)])
    total = int(before[-1])
    low, high = max(int(counts.max(initial=0)), -(-total // ranks)), total
    while low < high:
        middle = (low + high) // 2
        if _cuts(before, ranks, middle)[-1] == counts.size:
            high = middle
        else:
            low = middle + 1
    starts = _shares(before, ranks, low)
    return Partition(starts, before[starts[1:]] - before[starts[:-1]])


def _cuts(before: np.ndarray, ranks: int, limit: int) -> np.ndarray:
    """Greedy cuts: every run as long as the limit on its load allows."""
    starts = np.zeros(ranks + 1, dtype=np.int64)
    for rank in range(ranks):
        starts[rank + 1] = np.searchsorted(before, before[starts[rank]] + limit, side="right") - 1
    return starts


def _shares(before: np.ndarray, ranks: int, limit: int) -> np.ndarray:
    """Cuts near equal shares of what is left, none of a load above the limit, all columns placed."""
    columns = before.size - 1
    # The first column from which the ranks after `rank` can take everything within the limit.
    least = np.zeros(ranks + 1, dtype=np.int64)
    least[ranks] = columns
    for rank in range(ranks - 1, -1, -1):
        least[rank] = np.searchsorted(before, before[least[rank + 1]] - limit, side="left")
    starts = np.zeros(ranks + 1, dtype=np.int64)
    for rank in range(ranks):
        begin = before[starts[rank]]
        share = begin + (before[-1] - begin) / (ranks - rank)
        place = int(np.searchsorted(before, share, side="left"))
        if place > starts[rank] and share - before[place - 1] < before[min(place, columns)] - share:
            place -= 1
        most = int(np.searchsorted(before, begin + limit, side="right")) - 1
        starts[rank + 1] = min(max(place, least[rank + 1], starts[rank]), most)
    starts[ranks] = columns
    return starts


def column_nonzeros(data: np.ndarray | sp.csr_array) -> np.ndarray:
    """Stored entries of each column: nonzeros of a sparse matrix, m for each column of a dense one."""
    if sp.issparse(data):
        return np.bincount(data.indices, minlength=data.shape[1]).astype(np.int64)
    return np.full(data.shape[1], data.shape[0], dtype=np.int64)


def local_columns(data: np.ndarray | sp.csr_array, part: slice) -> np.ndarray | sp.csr_array:
    """A rank's columns of data held whole: a contiguous copy."""
    if sp.issparse(data):
        return sp.csr_array(data[:, part])
    return np.ascontiguousarray(data[:, part])
