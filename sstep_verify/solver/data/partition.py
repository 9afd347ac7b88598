"""Feature partition: which columns each rank holds.

A row of a panel multiplies each of its nonzeros with the column that it stands in, and a row has a nonzero
in a column of c nonzeros with probability c / m: a window's work is shared out as the sums of ``c^2`` are,
its memory as those of c. Text has a few columns with most of the work, so that runs of columns with equal
nonzeros leave one rank nearly all of it.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify.errors import InputError


@dataclass(frozen=True)
class Partition:
    """Which columns each rank holds.

    `starts`, int64, (P + 1,): rank p holds places ``starts[p]`` to ``starts[p + 1] - 1``; possibly none;
    `loads`, int64, (P,): nonzeros held by each rank; `works`, (P,): squares of the numbers of nonzeros of
    its columns, summed: its share of a panel's work; `order`, int32, (n,), or None: the column at each
    place, ascending within a rank; None where places are columns.
    """

    starts: np.ndarray
    loads: np.ndarray
    works: np.ndarray
    order: np.ndarray | None = None

    @property
    def imbalance(self) -> float:
        """Largest over mean nonzeros of a rank; 1 is even, and 1 where there is no nonzero at all."""
        return _over_mean(self.loads)

    @property
    def work_imbalance(self) -> float:
        """Largest over mean work of a rank; 1 is even, and 1 where there is none at all."""
        return _over_mean(self.works)

    def places(self, rank: int) -> slice:
        """Places of a rank."""
        return slice(int(self.starts[rank]), int(self.starts[rank + 1]))

    def columns(self, rank: int) -> slice | np.ndarray:
        """Columns of a rank, as an index of the second axis."""
        places = self.places(rank)
        return places if self.order is None else self.order[places]

    def with_column(self, nonzeros: int) -> Partition:
        """The same with one more column, the last, held by the last rank."""
        starts, loads, works = self.starts.copy(), self.loads.copy(), self.works.copy()
        order = self.order if self.order is None else np.append(self.order, np.int32(self.order.size))
        starts[-1] += 1
        loads[-1] += nonzeros
        works[-1] += float(nonzeros) ** 2
        return Partition(starts, loads, works, order)


def _over_mean(shares: np.ndarray) -> float:
    total = shares.sum()
    return float(shares.max() * shares.size / total) if total else 1.0


HEAVY = 1 << 14
"""Columns, those with most nonzeros, that are dealt out one by one, to the rank with the least work."""

PORTIONS = 1 << 10
"""Portions of equal nonzeros in which the others are dealt out, each shared by all ranks."""


def partition_of(nonzeros: np.ndarray, ranks: int, how: str = "work") -> Partition:
    """The partition by `dealt_partition` or `balanced_partition`, as `PARTITIONS` names them.

    Dense data, whose columns are alike, and one rank have contiguous runs either way.

    Raises what `balanced_partition` does.
    """
    counts = np.asarray(nonzeros, dtype=np.int64)
    alike = ranks == 1 or not counts.size or bool((counts == counts[0]).all())
    return PARTITIONS["contiguous" if alike else how](counts, ranks)


def dealt_partition(nonzeros: np.ndarray, ranks: int) -> Partition:
    """A partition with work and nonzeros as even as whole columns allow.

    The `HEAVY` columns are dealt out by descending nonzeros, each to the rank that has the least work; the
    others, which together make little work, so that every rank ends with as many nonzeros.

    Parameters and errors are those of `balanced_partition`.
    """
    counts = _counts(nonzeros, ranks)
    descending = np.argsort(-counts, kind="stable")
    owners = np.zeros(counts.size, dtype=np.int32)
    held = [(0.0, rank) for rank in range(ranks)]
    for column in descending[:HEAVY].tolist():
        work, rank = held[0]
        owners[column] = rank
        heapq.heapreplace(held, (work + float(counts[column]) ** 2, rank))
    heavy, rest = descending[:HEAVY], descending[HEAVY:]
    if rest.size:
        loads = np.bincount(owners[heavy], weights=counts[heavy], minlength=ranks)
        owners[rest] = _levelled(counts[rest], loads)
    order = np.argsort(owners, kind="stable").astype(np.int32)
    own = counts.astype(np.float64)
    starts = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=ranks))])
    loads = np.bincount(owners, weights=own, minlength=ranks).astype(np.int64)
    return Partition(starts, loads, np.bincount(owners, weights=own**2, minlength=ranks), order)


def _levelled(counts: np.ndarray, loads: np.ndarray) -> np.ndarray:
    """Owners of columns, in portions of which every rank takes as much as it lacks of the mean load."""
    total = float(counts.sum())
    lacks = np.maximum((loads.sum() + total) / loads.size - loads, 0.0)
    if not (total and lacks.sum()):
        return np.arange(counts.size) % loads.size
    middle = (np.cumsum(counts) - 0.5 * counts) / total * PORTIONS
    ends = np.cumsum(lacks / lacks.sum())
    return np.minimum(np.searchsorted(ends, middle % 1.0, side="right"), loads.size - 1)


def balanced_partition(nonzeros: np.ndarray, ranks: int) -> Partition:
    """The contiguous partition whose largest load is smallest.

    The least largest load is found by bisection: a load is possible iff cutting greedily, each run as
    long as it may be, needs at most `ranks` runs. Under that load, runs are then cut as near to equal
    shares of what is left as it allows, so that the last rank does not get the remnants.

    `nonzeros`, (n,): nonzeros of each column; `ranks`: number of runs (P), >= 1; may exceed n, and then
    some runs are empty. Returns . Raises InputError if `ranks` < 1 or a count is negative.
    """
    counts = _counts(nonzeros, ranks)
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
    squares = np.concatenate([[0.0], np.cumsum(counts.astype(np.float64) ** 2)])
    return Partition(starts, np.diff(before[starts]), np.diff(squares[starts]))


PARTITIONS = {"work": dealt_partition, "contiguous": balanced_partition}
"""Partitions by name: work evens out a panel's work and the nonzeros, contiguous is the paper's."""


def _counts(nonzeros: np.ndarray, ranks: int) -> np.ndarray:
    if ranks < 1:
        raise InputError(f"ranks = {ranks}, but a partition needs at least one")
    counts = np.asarray(nonzeros, dtype=np.int64)
    if counts.size and counts.min() < 0:
        raise InputError(f"column {int(np.argmin(counts))} has {counts.min()} nonzeros: must be >= 0")
    return counts


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


def local_columns(
    data: np.ndarray | sp.csr_array, columns: slice | np.ndarray
) -> np.ndarray | sp.csr_array:
    """A rank's columns of data held whole: a contiguous copy."""
    if sp.issparse(data):
        sparse: Any = data
        return sp.csr_array(sparse[:, columns])
    return np.ascontiguousarray(data[:, columns])


def padded(data: Any) -> Any:
    """Columns of this rank; one of zeros, which changes nothing, where it has none."""
    return data if data.shape[1] else with_zeros(data)


def with_zeros(data: Any) -> Any:
    """The same columns and one of zeros."""
    if isinstance(data, sp.csr_array):
        wider = (data.shape[0], data.shape[1] + 1)
        return sp.csr_array((data.data, data.indices, data.indptr), shape=wider)
    return np.hstack([data, np.zeros((data.shape[0], 1))])
