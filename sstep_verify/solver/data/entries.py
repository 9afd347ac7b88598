"""A matrix on its way to ranks: parsed in shares of a file, one a rank, sent to who owns its columns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sstep_verify.errors import DataError
from sstep_verify.problems.data.svmlight import read_block, require_content, text_length
from sstep_verify.solver.communicator import Communicator, Failure, failure_of, listed, raise_first
from sstep_verify.solver.data.partition import Partition


class Report(NamedTuple):
    """A rank's findings in its share of a file.

    `digest`: SHA-256 of the file as stored (hexadecimal); empty where there is one rank; `lines`,
    `samples`, `features`: lines, those of them with a sample, and the largest index met; `stored`,
    `nonzeros`: values on the lines, and those that differ from 0; `failure`: why there is nothing of all
    this.
    """

    digest: str = ""
    lines: int = 0
    samples: int = 0
    features: int = 0
    stored: int = 0
    nonzeros: int = 0
    failure: Failure | None = None


class Share(NamedTuple):
    """A rank's rows of a file, zeros dropped, and what all ranks know of the whole.

    `matrix`: the rows, as wide as the largest index met; `first_row`: which row of the file its first one
    is; `targets`, (m,): those of all samples; `features`: largest index met by any rank; `nonzeros`:
    values that differ from 0.
    """

    matrix: Any
    first_row: int
    targets: np.ndarray
    features: int
    nonzeros: int


def parse_shares(path: Path, communicator: Communicator) -> Share:
    """Parse this rank's share of a file's lines; called by all ranks together.

    `path`: the file, the same on every rank. Raises on all ranks what the first that failed met, DataError,
    MissingExtraError or ReadingError, with the message of the serial reader; a line is counted from the
    file's first.
    """
    begin, end = _share(path, communicator)
    block, cause = None, None
    try:
        block = read_block(path, begin=begin, end=end)
        matrix, stored = block.matrix, block.matrix.nnz
        matrix.eliminate_zeros()
        digest = _digest(path) if communicator.size > 1 else ""
        own = Report(digest, block.lines, *matrix.shape, stored, matrix.nnz)
    except Exception as error:
        own, cause = Report(failure=failure_of(error)), error
    reports = communicator.allgather(own)
    raise_first([report.failure for report in reports], cause, [report.lines for report in reports])
    digests = [report.digest[:12] for report in reports]
    if len(set(digests)) > 1:
        raise DataError(
            f"{path}: is not the same file on all ranks, its SHA-256 begins with {listed(digests)}; "
            "put it where all ranks see it"
        )
    assert block is not None
    samples = sum(report.samples for report in reports)
    require_content(path, sum(r.lines for r in reports), samples, sum(r.stored for r in reports))
    return Share(
        block.matrix,
        sum(report.samples for report in reports[: communicator.rank]),
        np.concatenate(communicator.allgather(block.targets)),
        max(report.features for report in reports),
        sum(report.nonzeros for report in reports),
    )


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _share(path: Path, communicator: Communicator) -> tuple[int, int | None]:
    """First byte of this rank's share of the text, and the first after it."""
    rank, size = communicator.rank, communicator.size
    length = communicator.first(text_length(path) if rank == 0 and size > 1 else None)
    if length is None:
        # One rank, or a text whose end cannot be found: rank 0 will say on which line that is.
        return 0, None if rank == 0 else 0
    return length * rank // size, length * (rank + 1) // size


PIECE = 1 << 22
"""Entries, or words of a dense matrix, that the first rank hands out at once: bounds its second copy."""


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
