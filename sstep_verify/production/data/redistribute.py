"""Entries of a matrix on their way from the ranks that hold them to the ranks that own their columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify.production.data.partition import Partition
from sstep_verify.production.messages.communicator import Communicator

PIECE = 1 << 22
"""Entries, or words of a dense matrix, that the first rank hands out at once: bounds its second copy."""


class Entries:
    """Entries of a matrix, ordered by the place of their column and within a column by row.

    Parameters
    ----------
    matrix : csr_array, shape (rows, columns)
        Some rows of a whole matrix; indices sorted.
    first_row : int
        Which row of the whole matrix its first row is.
    partition : Partition
        Says at which place each column is held.

    Attributes
    ----------
    rows, places : ndarray of int32, shape (entries,)
        Row of an entry in the whole matrix, and place of its column.
    values : ndarray of float64, shape (entries,)
        What stands there.
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


def pieces(data: np.ndarray | sp.csr_array) -> np.ndarray:
    """Rows at which to cut a matrix into runs of about `PIECE` entries, the first 0 and the last m."""
    samples, features = data.shape
    if sp.issparse(data):
        inner = np.searchsorted(data.indptr, np.arange(PIECE, data.nnz, PIECE))
    else:
        inner = np.arange(0, samples, max(PIECE // max(features, 1), 1))
    return np.unique([0, *inner, samples])


def scatter_sparse(
    data: sp.csr_array | None, cuts: np.ndarray, partition: Partition, communicator: Communicator
) -> sp.csr_array:
    """Columns of this rank of a CSR matrix that rank 0 holds, shape (m, n_local)."""
    received: list[Any] = []
    for begin, end in _runs(cuts):
        entries = Entries(sp.csr_array((0, 0)) if data is None else data[begin:end], 0, partition)
        entries.exchange(communicator)
        received.append(entries.assembled(end - begin, communicator.rank, dense=False))
    return sp.csr_array(sp.vstack(received, format="csr"))


def scatter_dense(
    data: np.ndarray | None, cuts: np.ndarray, partition: Partition, communicator: Communicator
) -> np.ndarray:
    """Columns of this rank of a dense matrix that rank 0 holds, shape (m, n_local), C order."""
    widths = np.diff(partition.starts)
    local = np.empty((int(cuts[-1]), int(widths[communicator.rank])))
    for begin, end in _runs(cuts):
        send, counts = np.empty(0), np.zeros_like(widths)
        if data is not None:
            owners = (partition.columns(rank) for rank in range(communicator.size))
            send = np.concatenate([data[begin:end, columns].ravel() for columns in owners])
            counts = (end - begin) * widths
        local[begin:end] = communicator.alltoallv(send, counts).reshape(end - begin, -1)
    return local


def _runs(cuts: np.ndarray) -> Iterator[tuple[int, int]]:
    return zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)
