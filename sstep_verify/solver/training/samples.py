"""Samples to train on and to predict: read by all ranks together, their features shared out.

Durations say how long the longest step of each part may take, from the input alone. They are generous
guesses for the watchdog, which adds them to its limit: too small a guess ends a slow run, too large a one
only delays the end of a run that hangs.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sstep_verify.files import Output, write_whole
from sstep_verify.problems import Problem, RBFKernel
from sstep_verify.problems.data.datasets import needs_no_file, stored_file
from sstep_verify.problems.data.svmlight import SUFFIXES
from sstep_verify.problems.data.svmlight_lines import CLASSES
from sstep_verify.problems.transforms import with_constant_feature
from sstep_verify.solver.communicator import Communicator, on_all_ranks, on_first_rank
from sstep_verify.solver.data.partition import Entries, Partition, padded, with_zeros
from sstep_verify.solver.data.reading import LocalData, load_local, parse_shares, with_bias
from sstep_verify.solver.settings import GRAM_ROWS, Options, Settings
from sstep_verify.solver.training.intervals import PROGRESS_DRAWS, Training
from sstep_verify.solver.training.monitor import kernel_rows, linear_product

READING = 1e7
"""Bytes a second of a file that is read, by ranks that share a slow disk."""

UNPACKED = 10
"""Bytes of text for a byte of a compressed file."""

DOWNLOAD = 300.0
"""Seconds for a data set that may have to be downloaded."""

WORKING = 1e9
"""Operations a second of one rank."""

KERNEL = 10
"""Operations for a kernel function and its part of a product."""


class NewSamples(NamedTuple):
    """Samples to predict: this rank's columns, (t, n_local), and the targets of the file, (t,).

    On the last rank one more column may stand for all features that no training sample has: the 2-norm of
    those of each new sample, which gives the same distances as they do.
    """

    data: sp.csr_array
    targets: np.ndarray


class Samples(NamedTuple):
    """What one rank holds: its columns of the samples, constant feature included, and of the new ones."""

    local: LocalData
    problem: Problem
    new: NewSamples | None


def input_files(settings: Settings) -> Iterator[tuple[str, Path | None]]:
    """Words and path of each file that is read; None where a data set must be downloaded."""
    if not needs_no_file(settings.data):
        yield "DATA", stored_file(settings.data, settings.directory)
    if settings.test is not None:
        yield "--test", Path(settings.test)


def output_files(settings: Settings) -> tuple[Output, ...]:
    """All files that are written: checkpoint, result, predictions."""
    # What is there is of the run that is gone on with only where that run left its checkpoint.
    replace = settings.force or (settings.resume and settings.checkpoint.exists())
    result = Output("--out", settings.out, replace)
    if settings.resume:
        gone = "no checkpoint beside it to go on from; name another, or pass --force to begin anew"
        result = result._replace(otherwise=gone)
    if not settings.out:
        return (result,)
    found = [
        Output(
            "the checkpoint of --out", settings.checkpoint, settings.resume or settings.force,
            otherwise="pass --resume to go on from it, or --force to begin anew",
        ),
        result,
    ]  # fmt: skip
    if settings.predictions is not None:
        found.append(Output("--predictions", settings.predictions, replace))
    return tuple(found)


def read(settings: Settings, communicator: Communicator) -> Samples:
    """Read what settings name; called by all ranks together.

    Raises on all ranks what `solver.data.reading.load_local` does; ReadingError if a rank failed for
    another reason.
    """
    local = load_local(
        settings.data,
        communicator,
        directory=settings.directory,
        task="regression" if settings.ridge else "classification",
        how=settings.partition,
    )
    new = None
    if settings.test is not None:
        norms = isinstance(settings.kernel, RBFKernel)
        new = read_new_samples(Path(settings.test), local.partition, communicator, norms)
        if communicator.rank == communicator.size - 1:
            new = new._replace(data=with_constant_feature(new.data, settings.bias))
    local = with_bias(local, settings.bias, communicator)
    name = os.path.basename(settings.data)
    problem = on_all_ranks(
        communicator,
        lambda: Problem(
            name, padded(local.data), local.targets, settings.kernel, settings.loss
        ).with_finite_kernel(),
    )
    return Samples(local, problem, new)


def read_new_samples(
    path: Path, partition: Partition, communicator: Communicator, norms: bool = True
) -> NewSamples:
    """Read a LIBSVM file by all ranks together, each ending with the columns it was trained on.

    Features that the training samples do not have are 0 there, and add nothing to an inner product. To a
    distance they add their squares: with `norms` their 2-norm stands in a column of its own.

    Raises DataError as `solver.data.reading.read_local` does; ReadingError if a rank failed for another
    reason.
    """
    own, trained = parse_shares(path, communicator), int(partition.starts[-1])
    samples, beyond = own.targets.size, norms and own.features > trained
    matrix = on_all_ranks(communicator, lambda: _narrowed(own.matrix, trained, beyond))
    if beyond:
        partition = partition.with_column(samples)
    entries = Entries(matrix, own.first_row, partition)
    entries.exchange(communicator)
    local: Any = entries.assembled(samples, communicator.rank, dense=False)
    return NewSamples(local, own.targets)


def _narrowed(matrix: Any, width: int, beyond: bool) -> sp.csr_array:
    """The first columns, and with `beyond` the 2-norm of the others of each row as one more."""
    first = matrix[:, :width]
    first.resize((matrix.shape[0], width))
    if not beyond:
        return sp.csr_array(first)
    rest: Any = matrix[:, width:]
    values = [math.hypot(*rest.data[a:b]) for a, b in zip(rest.indptr[:-1], rest.indptr[1:], strict=True)]
    return sp.csr_array(sp.hstack([first, sp.csr_array(np.array(values).reshape(-1, 1))], format="csr"))


def reading_seconds(files: Iterable[Path | None]) -> float:
    """Seconds to read some files; None stands for one that may have to be downloaded."""
    seconds = 0.0
    for path in files:
        if path is None:
            seconds += DOWNLOAD
        elif os.path.exists(path):
            packed = path.suffix in SUFFIXES and path.suffix != ""
            seconds += os.path.getsize(path) * (UNPACKED if packed else 1) / READING
    return seconds


def training_seconds(local: LocalData, draws: int) -> float:
    """Seconds of the longest step of training: kernel rows of a window, or of a measurement, on one rank.

    A window draws `draws` coordinates (s b).
    """
    samples = local.targets.size
    rows = min(max(draws, GRAM_ROWS, Options.panel_words // samples), samples)
    panel = 2.0 * rows * (float(np.max(local.partition.loads)) + KERNEL * samples)
    return (panel + 2.0 * PROGRESS_DRAWS * samples) / WORKING


def prediction_seconds(local: LocalData, new: int) -> float:
    """Seconds of the longest step of the prediction of `new` samples, on one rank."""
    samples = local.targets.size
    rows = min(max(Options.panel_words // (samples + new), 1), samples)
    share = float(np.max(local.partition.loads)) * (samples + new) / samples
    return 2.0 * rows * (share + KERNEL * (samples + new)) / WORKING


def write_predictions(
    samples: Samples, training: Training, communicator: Communicator, expect: Callable[[float], None]
) -> str:
    """Write the predictions, if there are to be any; how well they agree with the targets.

    `expect` is told how many seconds they may take.
    """
    problem, new, settings = samples.problem, samples.new, training.settings
    file = settings.predictions
    if new is None or file is None:
        return ""
    expect(prediction_seconds(samples.local, new.targets.size))
    classes = samples.local.classes
    values = predict(problem, training.alpha, new, settings.rbf, communicator)
    text = as_text(problem, values, classes)
    on_first_rank(communicator, lambda: write_whole(file, lambda handle: handle.write(text)))
    return score(problem, values, new.targets, classes)


def predict(
    problem: Problem, alpha: np.ndarray, new: NewSamples, rbf: str, communicator: Communicator
) -> np.ndarray:
    """Values of new samples x: ``sum a_i y_i K(a_i, x)`` (K-SVM), ``sum a_i K(a_i, x) / lambda`` (K-RR).

    Shape (t,), of this rank's columns of what was trained on and of the new samples, by a dual vector of
    shape (m,). Raises WindowError if a rank could not form its share.
    """
    vector = problem.signs * alpha
    columns: Any = padded(new.data)
    if columns.shape[1] > problem.data.shape[1]:
        problem = replace(problem, data=with_zeros(problem.data))
    used = np.flatnonzero(vector)
    if problem.kernel.linear:
        values = linear_product(columns, problem.data, vector, communicator)
    else:
        values = np.zeros(columns.shape[0])
        # One matrix of both, so that the rows of the used samples hold their kernel with the new ones.
        joined = _joined(problem, used, columns)
        for some, rows in kernel_rows(joined, rbf, np.arange(used.size), communicator):
            values += vector[used[some]] @ rows[:, used.size :]
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
