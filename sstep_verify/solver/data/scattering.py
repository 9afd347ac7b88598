"""A data set that rank 0 holds, handed out to the ranks by their columns, a piece after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify.solver.communicator import Communicator
from sstep_verify.solver.data.partition import Entries, Partition, column_nonzeros, partition_of

PIECE = 1 << 22
"""Entries, or words of a dense matrix, that the first rank hands out at once: bounds its second copy."""


def scatter_local(
    data: np.ndarray | sp.csr_array | None,
    targets: np.ndarray | None,
    communicator: Communicator,
    how: str = "work",
) -> tuple[np.ndarray | sp.csr_array, np.ndarray, int, Partition]:
    """Hand out the columns of a matrix that rank 0 holds; the first fields of a `reading.LocalData`.

    `data`, (m, n), or None: samples by features (A) on rank 0, CSR with sorted indices; None on the others;
    `targets`, (m,), or None: labels or targets (y) on rank 0; None on the others; `how`: partition, see
    `PARTITIONS`. What is returned is dense or CSR as `data`; rank 0 still holds the whole as well.
    """
    head = None
    if data is not None:
        partition = partition_of(column_nonzeros(data), communicator.size, how)
        own = np.array(targets, dtype=np.float64)
        head = (data.shape[1], sp.issparse(data), pieces(data), partition, own)
    features, sparse, cuts, partition, shared = communicator.first(head)
    whole: Any = data
    local = (scatter_sparse if sparse else scatter_dense)(whole, cuts, partition, communicator)
    return local, shared, features, partition


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
