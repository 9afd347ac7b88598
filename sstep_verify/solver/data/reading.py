"""Data by their columns: no rank ever holds a whole file, and of a whole matrix only the first rank.

A file is shared out by bytes: each rank parses the lines that begin in its share, all together count the
nonzeros of every column, the counts decide the partition, and the entries travel to the ranks that own
their columns. Text can be entered anywhere. A compressed file cannot: rank 0 unpacks it once to find the
length of its text, then every rank unpacks it as far as its share goes and keeps nothing of what it
skips. The memory is shared out, the unpacking is not: for many ranks, unpack the file before.

Memory of a rank beside what it ends with: the entries it parsed or has under way, 28 bytes each at most,
the longest line, and some words for each column of the whole matrix while columns are counted.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify.errors import InputError
from sstep_verify.problems.data.datasets import DENSE_ABOVE, TASKS, knows, load
from sstep_verify.problems.data.svmlight import CUT, cut_looks_alike
from sstep_verify.problems.data.svmlight_lines import CLASSES, describe_mapping, two_classes
from sstep_verify.problems.transforms import with_constant_feature
from sstep_verify.solver.communicator import Communicator, on_first_rank
from sstep_verify.solver.data.entries import (
    Entries,
    parse_shares,
    pieces,
    scatter_dense,
    scatter_sparse,
)
from sstep_verify.solver.data.partition import Partition, column_nonzeros, partition_of


@dataclass(frozen=True, eq=False)
class LocalData:
    """One rank's part of a data set.

    `data`, (m, n_local): this rank's columns of the data (A), float64, C order if dense; read-only;
    `targets`, (m,): labels or targets (y) of all samples, on every rank; read-only; `features`: columns of
    the whole matrix (n); `partition`: which rank holds which columns; the same on all ranks; `task`, {"",
    "classification", "regression"}: task the targets are made for; empty if they are as they were found;
    `notes`: what a reader of a report should know, such as the mapping of labels; `classes`: what the
    labels -1 and +1 stand for where the set was found; for classification.
    """

    data: np.ndarray | sp.csr_array
    targets: np.ndarray
    features: int
    partition: Partition
    task: str = ""
    notes: tuple[str, ...] = ()
    classes: tuple[float, ...] = CLASSES

    def __post_init__(self):
        matrix = self.data
        for part in (matrix.data, matrix.indices, matrix.indptr) if sp.issparse(matrix) else (matrix,):
            part.setflags(write=False)
        self.targets.setflags(write=False)


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
    if task is not None and task not in TASKS:
        raise InputError(f"task {task!r} is unknown; known: {', '.join(TASKS)}")
    named = knows(name_or_path) or not os.path.exists(name_or_path)
    if not communicator.first(named):
        return _for_task(read_local(name_or_path, communicator, how), Path(name_or_path), task)
    whole: Any = None
    targets: Any = None

    def loaded() -> dict[str, Any]:
        nonlocal whole, targets
        found = load(name_or_path, directory=directory, task=task)
        whole, targets = found.data, found.targets
        return {"task": found.task, "notes": found.notes, "classes": found.classes}

    about = on_first_rank(communicator, loaded)
    return replace(scatter_local(whole, targets, communicator, how), **about)


def read_local(path: str | Path, communicator: Communicator, how: str = "work") -> LocalData:
    """Read one LIBSVM / svmlight file by all ranks together, each ending with its columns.

    The columns of all ranks side by side are the matrix that `problems.data.datasets.load` makes of the
    file: zeros written out are dropped, and it is dense if more than half of its values differ from 0.
    Ranks may outnumber lines and columns.

    `how`: partition, see `PARTITIONS`. Targets are as the file has them. Raises on all ranks DataError if
    the file cannot be used, with the message of the serial reader, or is not the same everywhere, and
    ReadingError if a rank failed for another reason.
    """
    matrix, first_row, targets, features, nonzeros = parse_shares(Path(path), communicator)
    samples = targets.size
    dense = nonzeros > DENSE_ABOVE * samples * features
    matrix.resize((matrix.shape[0], features))
    counts = np.full(features, samples) if dense else _counted(matrix, communicator)
    partition = partition_of(counts, communicator.size, how)
    if communicator.size == 1:
        return LocalData(matrix.toarray() if dense else matrix, targets, features, partition)
    entries = Entries(matrix, first_row, partition)
    del matrix, counts
    entries.exchange(communicator)
    return LocalData(entries.assembled(samples, communicator.rank, dense), targets, features, partition)


def scatter_local(
    data: np.ndarray | sp.csr_array | None,
    targets: np.ndarray | None,
    communicator: Communicator,
    how: str = "work",
) -> LocalData:
    """Hand out the columns of a matrix that rank 0 holds.

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
    return LocalData(local, shared, features, partition)


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
    if task is None:
        task = "classification" if np.unique(local.targets).size == 2 else "regression"
    cut = CUT if cut_looks_alike(path) else ""
    if task == "regression":
        return replace(local, task=task, notes=tuple(filter(None, [cut])))
    try:
        labels, mapping = two_classes(local.targets)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    notes = tuple(filter(None, [cut, describe_mapping(mapping)]))
    return replace(local, targets=labels, task=task, notes=notes, classes=tuple(mapping))
