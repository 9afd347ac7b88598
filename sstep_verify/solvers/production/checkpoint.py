"""Files that are whole or not there, and the checkpoint from which a killed run goes on.

A checkpoint holds the dual vector at the end of an interval and how far the index stream was used; the
stream's seed is among the options, so its place is its whole state. Whatever else a run keeps (kernel rows,
carried weights) is dropped at the end of every interval, interrupted or not, and so need not be kept: a
resumed run makes the same operations in the same order. It does so on the same number of ranks, on a
machine of the same kind with the same libraries.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.parallel.communicator import Communicator
from sstep_verify.parallel.shares import failure_of
from sstep_verify.problems import Problem

FORMAT = "sstep-verify solve checkpoint 1"

_UNREADABLE = (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile, zlib.error)

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Where a run stands.

    Parameters
    ----------
    alpha : ndarray, shape (m,)
        Dual vector (a).
    iteration : int
        Iterations made: blocks of the index stream used.
    values : tuple of float
        What was measured there, in the order of `monitor.Values`.
    options : mapping of str to str or int
        What decides every bit of the run, by the words for it.
    data : str
        `data_digest` of what it was trained on.
    """

    alpha: np.ndarray
    iteration: int
    values: tuple[float, ...]
    options: Mapping[str, Any]
    data: str


def data_digest(problem: Problem, communicator: Communicator) -> str:
    """SHA-256 over the parts of a problem that the ranks hold (hexadecimal); called by all together."""
    return hashlib.sha256("".join(communicator.allgather(problem.digest)).encode()).hexdigest()


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, whole, in the place of an earlier one.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    write_arrays(
        path,
        format=FORMAT,
        alpha=checkpoint.alpha,
        iteration=checkpoint.iteration,
        values=np.array(checkpoint.values),
        options=json.dumps(dict(checkpoint.options)),
        data=checkpoint.data,
    )


def read_checkpoint(path: Path) -> Checkpoint:
    """Read what `write_checkpoint` wrote.

    Raises
    ------
    InputError
        If the file cannot be read, is truncated, or is no checkpoint.
    """
    try:
        with np.load(path, allow_pickle=False) as found:
            if str(found["format"]) != FORMAT:
                raise ValueError(f"its format is {str(found['format'])!r}, not {FORMAT!r}")
            checkpoint = Checkpoint(
                found["alpha"],
                int(found["iteration"]),
                tuple(found["values"].tolist()),
                json.loads(str(found["options"])),
                str(found["data"]),
            )
    except _UNREADABLE as error:
        raise InputError(
            f"{path}: is no whole checkpoint of sstep-verify solve ({error}); "
            "remove it and run without --resume"
        ) from error
    return checkpoint


def refuse_other_run(path: Path, found: Checkpoint, options: Mapping[str, Any], data: str) -> None:
    """Refuse a checkpoint of another run.

    Parameters
    ----------
    path : Path
        Where it was found.
    found : Checkpoint
        What was found.
    options, data
        Of the run that is to go on, as in `Checkpoint`.

    Raises
    ------
    InputError
        Naming what differs, both values, and the way out.
    """
    for name in (*options, *(name for name in found.options if name not in options)):
        theirs, ours = found.options.get(name, "not set"), options.get(name, "not set")
        if theirs != ours:
            raise InputError(
                f"{path}: was made with {name} = {theirs}, but this run has {name} = {ours}; "
                f"resume with {theirs}, or run with another --out"
            )
    if found.data != data:
        raise InputError(
            f"{path}: was made from data with digest {found.data[:16]}, but this run's have {data[:16]}; "
            "resume with the same file, or run with another --out"
        )


def write_arrays(path: Path, **arrays: Any) -> None:
    """Write a whole ``.npz`` file of numbers and texts; see `write_whole`."""
    write_whole(path, lambda handle: np.savez(handle, allow_pickle=False, **arrays))


def write_whole(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file under another name and rename it: whoever looks finds all of it, or what was there.

    Raises
    ------
    InputError
        If it cannot be written; what was there stays.
    """
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        with open(partial, "xb") as handle:
            write(handle)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(partial, path)
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: {error.strerror or error}; name another file"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def on_first_rank(communicator: Communicator, function: Callable[[], Value]) -> Value:
    """Call a function on rank 0 only; all ranks get its result, or raise its error.

    Raises
    ------
    InputError, MissingExtraError, ReadingError
        What it raised; the last where it was neither of the others.
    """
    value, failure, cause = None, None, None
    if communicator.rank == 0:
        try:
            value = function()
        except Exception as error:
            failure, cause = failure_of(error), error
    value, failure = communicator.allgather((value, failure))[0]
    if failure is not None:
        raise failure.error() from cause
    return value
