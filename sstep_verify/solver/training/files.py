"""Files of a training: samples, which all ranks read together, what is written, and when.

Durations say how long the longest step of each part may take, from the input alone. They are generous
guesses for the watchdog, which adds them to its limit: too small a guess ends a slow run, too large a one
only delays the end of a run that hangs.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sstep_verify.files import Output, write_whole
from sstep_verify.problems import Problem, RBFKernel
from sstep_verify.problems.data.datasets import needs_no_file, stored_file
from sstep_verify.problems.data.svmlight import packed_as
from sstep_verify.problems.transforms import with_constant_feature
from sstep_verify.solver.communicator import Communicator, on_all_ranks
from sstep_verify.solver.data.partition import Entries, Partition, padded
from sstep_verify.solver.data.reading import LocalData, load_local, parse_shares, with_bias
from sstep_verify.solver.settings import GRAM_ROWS, Options, Settings
from sstep_verify.solver.training.intervals import PROGRESS_DRAWS, Place

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
        gone = "no checkpoint next to it to continue from; name another, or pass --force to begin again"
        result = result._replace(otherwise=gone)
    if not settings.out:
        return (result,)
    found = [
        Output(
            "the checkpoint of --out", settings.checkpoint, settings.resume or settings.force,
            otherwise="pass --resume to continue from it, or --force to begin again",
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
    samples, beyond = own.targets.size, norms and own.matrix.shape[1] > trained
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
            seconds += os.path.getsize(path) * (UNPACKED if packed_as(path) else 1) / READING
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


def data_digest(problem: Problem, communicator: Communicator) -> str:
    """SHA-256 over the parts of a problem that the ranks hold (hexadecimal); called by all together."""
    return hashlib.sha256("".join(communicator.allgather(problem.digest)).encode()).hexdigest()


def write_arrays(path: Path, **arrays: Any) -> None:
    """Write a whole ``.npz`` file of numbers and texts; see `files.write_whole`."""
    # NumPy would keep any other object by pickle, and has a parameter against that in some versions only.
    assert all(np.asarray(array).dtype.kind in "biufU" for array in arrays.values())
    write_whole(path, lambda handle: np.savez(handle, **arrays))


class Keeper:
    """Writes the place that training reached, where that is due; on rank 0.

    The first place is written at once, so that what hinders it is known early, and then one that is reached
    `seconds` or more after the last attempt. A killed run loses those seconds and the interval under way.
    A place that cannot be written is no reason to end a training: that is reported, and the next is tried.
    """

    def __init__(
        self,
        write: Callable[[Place], None],
        seconds: float,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ):
        self._write, self._seconds, self._tell, self._clock = write, seconds, tell, clock
        self._due = clock()
        self._pending: Place | None = None

    def keep(self, place: Place) -> bool:
        """Whether the place was written; where not, it is remembered."""
        self._pending = place
        if self._clock() < self._due:
            return False
        written = self.finish() is not None
        self._due = self._clock() + self._seconds
        return written

    def finish(self) -> int | None:
        """Write the last place, if that was not done; its iteration, None where nothing was written."""
        place = self._pending
        if place is None:
            return None
        try:
            self._write(place)
        except Exception as error:
            self._tell(f"warning: no checkpoint of iteration {place.iteration}: {error}")
            return None
        self._pending = None
        return place.iteration
