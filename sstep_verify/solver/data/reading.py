"""Data by their columns: no rank ever holds a whole file, and of a whole matrix only the first rank.

A file is distributed by bytes: each rank parses the lines that begin in its share, all together count the
nonzeros of every column, the counts decide the partition, and the entries travel to the ranks that own
their columns. Text can be entered anywhere. A compressed file cannot: rank 0 unpacks it once to find the
length of its text, then every rank unpacks it as far as its share goes and keeps nothing of what it
skips. The memory is distributed, the unpacking is not: for many ranks, unpack the file before.

Memory of a rank besides what it ends with: the entries it parsed or has under way, 28 bytes each at most,
the longest line, and some words for each column of the whole matrix while columns are counted.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sstep_verify.errors import DataError, SstepVerifyError
from sstep_verify.problems.data.datasets import (
    DENSE_ABOVE,
    file_sha256,
    knows,
    labelled,
    load,
    notes_on,
    task_for,
)
from sstep_verify.problems.data.labels import CLASSES, describe_numbers
from sstep_verify.problems.data.svmlight import read_block, require_content, text_length
from sstep_verify.problems.transforms import with_constant_feature
from sstep_verify.solver.communicator import (
    Communicator,
    failure_of,
    listed,
    on_first_rank,
    raise_first,
)
from sstep_verify.solver.data.partition import Entries, Partition, column_nonzeros, partition_of


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
    failure: SstepVerifyError | None = None


class Share(NamedTuple):
    """A rank's rows of a matrix, zeros dropped, and what all ranks know of the whole.

    `matrix`: the rows, as wide as the whole; `first_row`: which row of the whole its first one is;
    `targets`, (m,): those of all samples; `dense`: whether it is to be held so.
    """

    matrix: Any
    first_row: int
    targets: np.ndarray
    dense: bool


def parse_shares(path: Path, communicator: Communicator) -> Share:
    """Parse this rank's share of a file's lines; called by all ranks together.

    `path`: the file, the same on every rank. Raises on all ranks what the first that failed met, DataError,
    MissingExtraError or ReadingError, with the message of the serial reader; a line is counted from the
    file's first.
    """
    begin, end = _share(path, communicator)
    matrix: Any = None
    cause = None
    try:
        block = read_block(path, begin=begin, end=end)
        matrix, stored = block.matrix, block.matrix.nnz
        matrix.eliminate_zeros()
        digest = file_sha256(path) if communicator.size > 1 else ""
        own = Report(digest, block.lines, *block.matrix.shape, stored, matrix.nnz)
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
    samples = sum(report.samples for report in reports)
    require_content(path, sum(r.lines for r in reports), samples, sum(r.stored for r in reports))
    features = max(report.features for report in reports)
    matrix.resize((matrix.shape[0], features))
    return Share(
        matrix,
        sum(report.samples for report in reports[: communicator.rank]),
        np.concatenate(communicator.allgather(block.targets)),
        sum(report.nonzeros for report in reports) > DENSE_ABOVE * samples * features,
    )


def _share(path: Path, communicator: Communicator) -> tuple[int, int | None]:
    """First byte of this rank's share of the text, and the first after it."""
    rank, size = communicator.rank, communicator.size
    length = communicator.first(text_length(path) if rank == 0 and size > 1 else None)
    if length is None:
        # One rank, or a text whose end cannot be found: rank 0 will say on which line that is.
        return 0, None if rank == 0 else 0
    return length * rank // size, length * (rank + 1) // size


@dataclass(frozen=True, eq=False)
class LocalData:
    """One rank's part of a data set.

    `data`, (m, n_local): this rank's columns of the data (A), float64, C order if dense; `targets`, (m,):
    labels or targets (y) of all samples, on every rank; `features`: columns of the whole matrix (n);
    `partition`: which rank holds which columns; the same on all ranks; `notes`: what a reader of a report
    should know, such as the mapping of labels; `classes`: what the labels -1 and +1 stand for where the set
    was found; for classification.
    """

    data: np.ndarray | sp.csr_array
    targets: np.ndarray
    features: int
    partition: Partition
    notes: tuple[str, ...] = ()
    classes: tuple[float, ...] = CLASSES


def load_local(
    name_or_path: str | Path,
    communicator: Communicator,
    *,
    directory: str | Path | None = None,
    task: str | None = None,
    how: str = "work",
) -> LocalData:
    """Load a data set by name, or any LIBSVM file by path, as `problems.data.datasets.load` does.

    A file is read by all ranks together. A named set is loaded, and checked against what is pinned of
    it, by rank 0, which then hands out the columns.

    `how`: partition, see `PARTITIONS`; the rest, and on all ranks what is raised, is as of
    `problems.data.datasets.load`.
    """
    named = knows(name_or_path) or not os.path.exists(name_or_path)
    if not communicator.first(named):
        return _for_task(read_local(name_or_path, communicator, how), Path(name_or_path), task)
    data: Any = None

    def loaded() -> tuple[int, bool, dict[str, Any]]:
        nonlocal data
        found = load(name_or_path, directory=directory, task=task)
        data = found.data
        about = {"targets": found.targets, "notes": found.notes, "classes": found.classes}
        return data.shape[1], not sp.issparse(data), about

    features, dense, about = on_first_rank(communicator, loaded)
    # The others have no row of it.
    matrix = sp.csr_array((0, features) if data is None else data)
    return replace(_shared_out(Share(matrix, 0, about["targets"], dense), communicator, how), **about)


def read_local(path: str | Path, communicator: Communicator, how: str = "work") -> LocalData:
    """Read one LIBSVM / svmlight file by all ranks together, each ending with its columns.

    The columns of all ranks side by side are the matrix that `problems.data.datasets.load` makes of the
    file: zeros written out are dropped, and it is dense if more than half of its values differ from 0.
    Ranks may outnumber lines and columns.

    `how`: partition, see `PARTITIONS`. Targets are as the file has them. Raises on all ranks DataError if
    the file cannot be used, with the message of the serial reader, or is not the same everywhere, and
    ReadingError if a rank failed for another reason.
    """
    return _shared_out(parse_shares(Path(path), communicator), communicator, how)


def _shared_out(share: Share, communicator: Communicator, how: str) -> LocalData:
    """A rank's columns of a matrix, of which each has some rows."""
    matrix, first_row, targets, dense = share
    del share  # What is handed out is dropped before the columns are put together.
    samples, features = targets.size, matrix.shape[1]
    counts = np.full(features, samples) if dense else _counted(matrix, communicator)
    partition = partition_of(counts, communicator.size, how)
    if communicator.size == 1:
        return LocalData(matrix.toarray() if dense else matrix, targets, features, partition)
    entries = Entries(matrix, first_row, partition)
    del matrix, counts
    entries.exchange(communicator)
    return LocalData(entries.assembled(samples, communicator.rank, dense), targets, features, partition)


def with_bias(local: LocalData, bias: float, communicator: Communicator) -> LocalData:
    """The same with a constant feature of this value appended; 0 appends none.

    It is held by the last rank, whatever its load; new samples are read by the features of the file, so
    they are read before it is appended.
    """
    if not bias:
        return local
    partition = local.partition.with_column(local.targets.size)
    last = communicator.rank == communicator.size - 1
    data = with_constant_feature(local.data, bias) if last else local.data
    note = f"a constant feature, {bias:g}, stands last in the data, in place of a bias"
    return replace(
        local, data=data, features=local.features + 1, partition=partition, notes=(*local.notes, note)
    )


def _counted(matrix: sp.csr_array, communicator: Communicator) -> np.ndarray:
    """Nonzeros of each column, over all ranks."""
    counts = column_nonzeros(matrix).astype(np.float64)
    communicator.allreduce(counts)
    return counts.astype(np.int64)


def _for_task(local: LocalData, path: Path, task: str | None) -> LocalData:
    """The same with targets made for a task, by the rules of `problems.data.datasets.load`."""
    notes = notes_on(path)
    if (task or task_for(local.targets)) == "regression":
        return replace(local, notes=(*notes, *filter(None, [describe_numbers(local.targets)])))
    labels, notes, classes = labelled(local.targets, str(path), notes)
    return replace(local, targets=labels, notes=notes, classes=classes)
