"""Samples to train on and to predict: read by all ranks together, their features shared out."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sstep_verify.parallel.communicator import Communicator
from sstep_verify.parallel.data.partition import Partition, padded
from sstep_verify.parallel.data.reading import LocalData, load_local, with_bias
from sstep_verify.parallel.data.redistribute import Entries
from sstep_verify.parallel.data.shares import parse_shares
from sstep_verify.problems import Problem, RBFKernel
from sstep_verify.problems.bias import with_constant_feature
from sstep_verify.problems.data import embedded
from sstep_verify.problems.data.datasets import stored_file
from sstep_verify.problems.data.svmlight import require_content
from sstep_verify.training.agreement import on_all_ranks
from sstep_verify.training.request import TrainingRequest


class NewSamples(NamedTuple):
    """Samples to predict.

    Parameters
    ----------
    data : csr_array, shape (t, n_local)
        This rank's columns. On the last rank one more may stand for all features that no training sample
        has: the 2-norm of those of each new sample, which gives the same distances as they do.
    targets : ndarray, shape (t,)
        Targets as the file has them, on every rank.
    """

    data: sp.csr_array
    targets: np.ndarray


@dataclass(frozen=True, eq=False)
class Samples:
    """What one rank holds of the samples.

    Parameters
    ----------
    local : LocalData
        Its columns of the training samples, constant feature included.
    problem : Problem
        The problem they make.
    new : NewSamples or None
        Its columns of the samples to predict.
    """

    local: LocalData
    problem: Problem
    new: NewSamples | None


def input_files(request: TrainingRequest) -> Iterator[tuple[str, Path | None]]:
    """Words and path of each file that a request reads; None where a data set must be downloaded."""
    if not embedded.knows(request.data):
        yield "DATA", stored_file(request.data, request.directory)
    if request.test is not None:
        yield "--test", Path(request.test)


def read(request: TrainingRequest, communicator: Communicator) -> Samples:
    """Read what a request names; called by all ranks together.

    Raises
    ------
    InputError, DataError, MissingExtraError
        As `parallel.data.reading.load_local` does; on all ranks.
    ReadingError
        If a rank failed for another reason.
    """
    local = load_local(
        request.data,
        communicator,
        directory=request.directory,
        task=request.task,
        how=request.partition,
    )
    new = None
    if request.test is not None:
        norms = isinstance(request.kernel, RBFKernel)
        new = read_new_samples(Path(request.test), local.partition, communicator, norms)
        if communicator.rank == communicator.size - 1:
            new = new._replace(data=with_constant_feature(new.data, request.bias))
    local = with_bias(local, request.bias, communicator)
    name = os.path.basename(request.data)
    problem = on_all_ranks(
        communicator,
        lambda: Problem(
            name, padded(local.data), local.targets, request.kernel, request.loss
        ).with_finite_kernel(),
    )
    return Samples(local, problem, new)


def read_new_samples(
    path: Path, partition: Partition, communicator: Communicator, norms: bool = True
) -> NewSamples:
    """Read a LIBSVM file by all ranks together, each ending with the columns it was trained on.

    Features that the training samples do not have are 0 there, and add nothing to an inner product. To a
    distance they add their squares: with `norms` their 2-norm stands in a column of its own.

    Raises
    ------
    DataError
        As `parallel.data.reading.read_local` does.
    ReadingError
        If a rank failed for another reason.
    """
    block, reports = parse_shares(path, communicator, None)
    samples = sum(report.samples for report in reports)
    require_content(path, sum(r.lines for r in reports), samples, sum(r.stored for r in reports))
    targets = np.concatenate(communicator.allgather(block.targets))
    trained = int(partition.starts[-1])
    beyond = norms and max(report.features for report in reports) > trained
    matrix = on_all_ranks(communicator, lambda: _narrowed(block.matrix, trained, beyond))
    if beyond:
        partition = partition.with_column(samples)
    entries = Entries(matrix, sum(report.samples for report in reports[: communicator.rank]), partition)
    entries.exchange(communicator)
    local: Any = entries.assembled(samples, communicator.rank, dense=False)
    return NewSamples(local, targets)


def _narrowed(matrix: Any, width: int, beyond: bool) -> sp.csr_array:
    """The first columns, and with `beyond` the 2-norm of the others of each row as one more."""
    first = matrix[:, :width]
    first.resize((matrix.shape[0], width))
    if not beyond:
        return sp.csr_array(first)
    rest: Any = matrix[:, width:]
    values = [math.hypot(*rest.data[a:b]) for a, b in zip(rest.indptr[:-1], rest.indptr[1:], strict=True)]
    return sp.csr_array(sp.hstack([first, sp.csr_array(np.array(values).reshape(-1, 1))], format="csr"))
