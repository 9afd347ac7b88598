"""Feature partition: which columns each rank holds, and how entries come to the rank that holds theirs.

A row of a panel multiplies each of its nonzeros with the column that it stands in, and a row has a nonzero
in a column of c nonzeros with probability c / m: a window's work is distributed as the sums of ``c^2`` are,
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
from sstep_verify.solver.communicator import Communicator


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
"""Columns, those with most nonzeros, that are distributed one by one, to the rank with the least work."""

PORTIONS = 1 << 10
"""Portions of equal nonzeros in which the others are distributed, each shared by all ranks."""


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

    The `HEAVY` columns are distributed by descending nonzeros, each to the rank that has the least work;
    the others, which together make little work, so that every rank ends with as many nonzeros.

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
    some runs are empty. Raises InputError if `ranks` < 1 or a count is negative.
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


class Entries:
    """Entries of a matrix, ordered by the place of their column and within a column by row.

    `matrix`, (rows, columns): some rows of a whole matrix; indices sorted; `first_row`: which row of the
    whole matrix its first row is; `partition`: says at which place each column is held. Attributes `rows`,
    `places`, int32, (entries,): row of an entry in the whole matrix, and place of its column; `values`,
    (entries,): what stands there.
    """

    def __init__(self, matrix: sp.csr_array, first_row: int, partition: Partition):
        by_column = matrix.tocsc()
        self._partition = partition
        self.values = by_column.data
        self.rows = by_column.indices.astype(np.int32, copy=False)
        self.rows += first_row
        widths = np.diff(by_column.indptr)
        if partition.order is not None and matrix.shape[1]:
            begins, widths = by_column.indptr[partition.order], widths[partition.order]
            # Where each entry goes: one array after another, of which none is there twice for long.
            # Beyond 2^31 entries the matrix has indices of 8 bytes, and so has this.
            kind = by_column.indptr.dtype
            taken = np.repeat((begins - np.cumsum(widths) + widths).astype(kind), widths)
            taken += np.arange(taken.size, dtype=kind)
            self.values = self.values[taken]
            self.rows = self.rows[taken]
        self.places = np.repeat(np.arange(matrix.shape[1], dtype=np.int32), widths)

    def exchange(self, communicator: Communicator) -> None:
        """Give away the entries of others' columns and take those of this rank's, from low to high ranks.

        Rows rise with ranks, so that what arrives is ordered by place within each row.
        """
        counts = np.diff(np.searchsorted(self.places, self._partition.starts))
        # One array after another: of each, what was sent is dropped before the next is received.
        self.values = communicator.alltoallv(self.values, counts)
        self.rows = communicator.alltoallv(self.rows, counts)
        self.places = communicator.alltoallv(self.places, counts)

    def assembled(self, rows: int, rank: int, dense: bool) -> np.ndarray | sp.csr_array:
        """The matrix of these entries, shape (rows, columns of the rank), C order if dense."""
        part = self._partition.places(rank)
        width = part.stop - part.start
        columns = self.places - np.int32(part.start)
        if dense:
            matrix = np.zeros((rows, width))
            matrix[self.rows, columns] = self.values
            return matrix
        return sp.coo_array((self.values, (self.rows, columns)), shape=(rows, width)).tocsr()
