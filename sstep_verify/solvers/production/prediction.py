"""Prediction: what a trained dual vector says of new samples, each rank holding its columns of both."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sstep_verify.parallel.communicator import Communicator
from sstep_verify.parallel.partition import Partition
from sstep_verify.parallel.redistribute import Entries
from sstep_verify.parallel.shares import parse_shares
from sstep_verify.problems import LinearKernel, Problem
from sstep_verify.problems.labels import CLASSES
from sstep_verify.problems.svmlight import require_content
from sstep_verify.solvers.production.monitor import kernel_rows, linear_product


class NewSamples(NamedTuple):
    """Samples to predict.

    Parameters
    ----------
    data : csr_array, shape (t, n_local)
        This rank's columns.
    targets : ndarray, shape (t,)
        Targets as the file has them, on every rank.
    """

    data: sp.csr_array
    targets: np.ndarray


def read_new_samples(path: Path, partition: Partition, communicator: Communicator) -> NewSamples:
    """Read a LIBSVM file by all ranks together, each ending with the columns it was trained on.

    Raises
    ------
    DataError
        As `parallel.reading.read_local` does, also for a feature that the training data do not have.
    MissingExtraError
        If scikit-learn is not installed.
    ReadingError
        If a rank failed for another reason.
    """
    block, reports = parse_shares(path, communicator, int(partition.starts[-1]))
    samples = sum(report.samples for report in reports)
    require_content(path, sum(r.lines for r in reports), samples, sum(r.stored for r in reports))
    targets = np.concatenate(communicator.allgather(block.targets))
    entries = Entries(block.matrix, sum(report.samples for report in reports[: communicator.rank]))
    entries.exchange(partition, communicator)
    local: Any = entries.assembled(samples, partition.columns(communicator.rank), dense=False)
    return NewSamples(local, targets)


def predict(
    problem: Problem, alpha: np.ndarray, new: sp.csr_array, rbf: str, communicator: Communicator
) -> np.ndarray:
    """Values of new samples x: ``sum a_i y_i K(a_i, x)`` (K-SVM), ``sum a_i K(a_i, x) / lambda`` (K-RR).

    Parameters
    ----------
    problem : Problem
        What was trained on; its data are this rank's columns.
    alpha : ndarray, shape (m,)
        Dual vector (a).
    new : csr_array, shape (t, n_local)
        This rank's columns of the new samples.
    rbf : {"norm-expansion", "difference"}
        How squared distances are formed.
    communicator : Communicator
        The ranks.

    Returns
    -------
    ndarray, shape (t,)

    Raises
    ------
    WindowError
        If a rank could not form its share.
    """
    vector = problem.targets * alpha if problem.is_svm else alpha
    used = np.flatnonzero(vector)
    if isinstance(problem.kernel, LinearKernel):
        values = linear_product(new, problem.data, vector, communicator)
    else:
        values = np.zeros(new.shape[0])
        # One matrix of both, so that the rows of the used samples hold their kernel with the new ones.
        joined = _joined(problem, used, new)
        for columns, rows in kernel_rows(joined, rbf, np.arange(used.size), communicator):
            values += vector[used[columns]] @ rows[:, used.size :]
    return values if problem.is_svm else values / problem.ridge.penalty


def _joined(problem: Problem, used: np.ndarray, new: sp.csr_array) -> Problem:
    """The used samples above the new ones, as a problem whose targets nobody asks for."""
    own: Any = problem.data[used]
    data: Any = (
        sp.vstack([own, new], format="csr") if problem.is_sparse else np.vstack([own, new.toarray()])
    )
    return Problem(problem.name, data, np.ones(data.shape[0]), problem.kernel, problem.loss)


def score(
    problem: Problem, values: np.ndarray, targets: np.ndarray, classes: tuple[float, ...] = CLASSES
) -> str:
    """How well predicted values, shape (t,), agree with targets, in words.

    The targets of a K-SVM are compared with the classes as training found them, `classes`: what -1 and +1
    stand for. Where they hold anything else, no agreement can be told.
    """
    if not problem.is_svm:
        return f"root mean square error {np.sqrt(np.mean((values - targets) ** 2)):.6g}"
    foreign = np.setdiff1d(targets, classes)
    if foreign.size:
        known = " and ".join(f"{value:.17g}" for value in classes)
        return f"accuracy unknown: targets hold {foreign[0]:.17g}, the training set {known}"
    right = int(np.sum(np.where(values > 0, classes[1], classes[0]) == targets))
    return f"accuracy {right / targets.size:.2%} ({right} of {targets.size})"


def as_text(problem: Problem, values: np.ndarray, classes: tuple[float, ...] = CLASSES) -> bytes:
    """One line for a new sample: class and decision value (K-SVM), or value (K-RR), in full precision."""
    if problem.is_svm:
        names = [f"{label:+.17g}" if classes == CLASSES else f"{label:.17g}" for label in classes]
        lines = [f"{names[value > 0]} {value!r}" for value in values.tolist()]
    else:
        lines = [repr(value) for value in values.tolist()]
    return ("\n".join(lines) + "\n").encode("ascii")
