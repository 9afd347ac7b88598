"""Checkpoint: from where a killed run continues.

It holds the dual vector at the end of an interval, all measurements up to there, and how far the index
stream was used; the stream's seed is among the options, so its place is its whole state. Whatever else a
run keeps (kernel rows, carried weights) is dropped at the end of every interval, interrupted or not, and so
need not be kept: a resumed run makes the same operations in the same order. It must do so on the same
number of ranks; to the last bit it does on ranks of the same kinds (processor, BLAS, threads, see
`solver.communicator`). Elsewhere it continues, says so, and names both kinds among its options
from then on.

Nothing in it is believed without a look: form, ranges and digest are checked here, and training measures
the dual vector again before it claims anything of it.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.files import MALFORMED_ARRAY, open_regular
from sstep_verify.problems import Problem
from sstep_verify.solver.settings import EXCHANGES
from sstep_verify.solver.training.decisions import CAP, INTERVALS, MACHINE, SINCE, TOLERANCE
from sstep_verify.solver.training.files import write_arrays
from sstep_verify.solver.training.intervals import Place
from sstep_verify.solver.training.monitor import Measured, Values
from sstep_verify.solver.training.schedule import Segment, numbers_of

FORMAT = "sstep-verify solve checkpoint 3"

_TEXTS, _NUMBERS = ("format", "options", "data", "sha256"), ("alpha", "iterations", "values", "sequence")
UNREADABLE = (
    *MALFORMED_ARRAY, LookupError, AttributeError, OSError, MemoryError, RecursionError,
    NotImplementedError, zlib.error, zipfile.BadZipFile,
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """Where a run stands, its identity (`decisions.identity_of`), and the `data_digest` of its data."""

    place: Place
    options: Mapping[str, Any]
    data: str


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, whole, in place of an earlier one.

    Raises InputError if it cannot be written.
    """
    place = checkpoint.place
    parts: dict[str, Any] = {
        "format": FORMAT,
        "alpha": place.alpha,
        "iterations": np.array([found.iteration for found in place.history], dtype=np.int64),
        "values": np.array([tuple(found.values) for found in place.history]),
        "sequence": numbers_of(place.sequence),
        "options": json.dumps(dict(checkpoint.options)),
        "data": checkpoint.data,
    }
    write_arrays(path, **parts, sha256=_digest(parts))


def read_checkpoint(path: Path) -> Checkpoint:
    """Read what `write_checkpoint` wrote.

    Raises InputError if the file cannot be read, is truncated, or is not a checkpoint as this version
    writes it.
    """
    try:
        parts = _parts(path)
        iterations, values = parts["iterations"], parts["values"]
        _require(parts["format"] == FORMAT, f"its format is {parts['format']!r}, not {FORMAT!r}")
        _require(_digest(parts) == parts["sha256"], "its content does not have the digest that it states")
        _require(iterations.ndim == 1 and iterations.dtype == np.int64, "its iterations are not a list")
        _require(values.shape == (iterations.size, len(Values._fields)), f"its values are {values.shape}")
        _require(values.dtype == np.float64, f"its values are {values.dtype}, not float64")
        rising = iterations.size and iterations[0] >= 0 and bool(np.all(np.diff(iterations) > 0))
        _require(rising, "its iterations do not rise")
        options = json.loads(parts["options"])
        _require(isinstance(options, dict), "its options are not an object")
        rows = zip(iterations.tolist(), values.tolist(), strict=True)
        history = tuple(Measured(iteration, Values(*row)) for iteration, row in rows)
        place = Place(history[-1].iteration, parts["alpha"], history, segments_of(parts["sequence"]))
        made = place.sequence[-1].end if place.sequence else place.iteration
        _require(made == place.iteration, f"its sequence ends at {made}, not at {place.iteration}")
        return Checkpoint(place, options, parts["data"])
    except UNREADABLE as error:
        raise InputError(
            f"{path}: is not a whole checkpoint of sstep-verify solve ({error}); "
            "remove it and run without --resume"
        ) from error


def segments_of(numbers: np.ndarray) -> tuple[Segment, ...]:
    """What `numbers_of` wrote; ValueError where it is nothing of the kind."""
    _require(numbers.dtype == np.int64 and numbers.ndim == 2 and numbers.shape[1] == 3, "no sequence of s")
    ends, sizes, exchanges = numbers.T
    _require(bool(np.all(np.diff(ends, prepend=0) > 0)), "the ends of its sequence do not rise")
    _require(bool(np.all(sizes >= 1)), "its sequence has an s below 1")
    _require(bool(np.all((exchanges >= 0) & (exchanges < len(EXCHANGES)))), "it has an unknown exchange")
    return tuple(Segment(end, s, EXCHANGES[place]) for end, s, place in numbers.tolist())


def read_sequence(path: Path) -> tuple[tuple[Segment, ...], dict[str, Any]]:
    """The sequence of s in a result or a checkpoint, and the options of its run.

    Raises InputError if the file cannot be read, or its s was not tuned.
    """
    try:
        require_archive(path)
        with np.load(path, allow_pickle=False) as file:
            options = json.loads(str(file["options"]))
            tuned = isinstance(options, dict) and options.get("s") == "auto"
            _require(tuned, "its s was not tuned")
            return segments_of(file["sequence"]), options
    except UNREADABLE as error:
        raise InputError(f"{path}: holds no sequence of s of sstep-verify solve ({error})") from error


def iterations_of(path: Path, options: Mapping[str, Any], data: str) -> int:
    """Iterations of the result in a file; 0 unless it is one of a run with these options and data."""
    try:
        require_archive(path)
        with np.load(path, allow_pickle=False) as file:
            theirs, digest = json.loads(str(file["options"])), str(file["data_digest"])
            iterations = int(file["iterations"])
        same = digest == data and not list(_differences(theirs, options))
    except (*UNREADABLE, InputError):
        return 0
    return iterations if same else 0


WAYS_OUT = {
    "loss": "give --task and --C or --lambda of that run",
    "kernel": "give --kernel of that run",
    "interval": "leave out --interval",
    INTERVALS: "leave out --interval",
    "ranks": "start as many",
}
"""What to do where not just an option of that name takes the value that is kept."""

UNSAID = {"stream": "uniform", "bias": "0", INTERVALS: "all as long"}
"""Values of the options that an identity does not name, see `decisions.identity_of`."""

OPTIONS = ("block", "s", "seed", "exchange", "cache", "timers", "stream", "partition", "bias")
"""Words of an identity that are options of these names."""


def _differences(
    theirs: Mapping[str, Any], ours: Mapping[str, Any]
) -> Iterator[tuple[str, object, object]]:
    """What decides bits, and is not the same in two identities: its name, and both values."""
    for name in dict.fromkeys([*ours, *theirs]):
        if name in (MACHINE, TOLERANCE, SINCE, CAP):
            continue  # The first decides the last bits only, which the user hears; the others decide none.
        values = [one.get(name, UNSAID.get(name, "not set")) for one in (theirs, ours)]
        if values[0] != values[1]:
            yield name, *values


def refuse_other_run(path: Path, found: Checkpoint, options: Mapping[str, Any], data: str) -> None:
    """Refuse a checkpoint of another run than one of these options and data.

    Raises InputError naming what differs, both values, and the way out.
    """
    for name, theirs, ours in _differences(found.options, options):
        option = f"--{name}" if name in OPTIONS else name
        unsaid = name in UNSAID and theirs == UNSAID[name]
        way_out = f"leave out {option}" if unsaid else f"give the {option} of that run"
        raise InputError(
            f"{path}: was made with {option} = {theirs!s:.80}, but this run has {option} = {ours}; "
            f"{WAYS_OUT.get(name, way_out)}, or another --out"
        )
    if found.data != data:
        raise InputError(
            f"{path}: was made from data with digest {found.data[:16]}, but this run's have {data[:16]}; "
            "resume with the same file, or run with another --out"
        )


def refuse_impossible(path: Path, found: Checkpoint, problem: Problem) -> None:
    """Refuse a dual vector that no run on a problem can have reached.

    Raises InputError if its type or shape is wrong, or an entry is not finite or outside the box.
    """
    alpha = found.place.alpha
    faults = ""
    if alpha.dtype != np.float64 or alpha.shape != (problem.samples,):
        faults = f"{alpha.dtype} of shape {alpha.shape}, not {problem.samples} entries of float64"
    elif not np.isfinite(alpha).all():
        faults = f"not finite at entry {int(np.argmin(np.isfinite(alpha)))}"
    elif problem.is_svm and not np.all(inside := (alpha >= 0) & (alpha <= problem.hinge.upper)):
        place = int(np.argmin(inside))
        faults = f"{alpha[place]!s} at entry {place}, outside the box 0..{problem.hinge.upper:g}"
    if faults:
        raise InputError(
            f"{path}: its dual vector is {faults}; the file was changed: remove it and run without --resume"
        )


def require_archive(path: Path) -> None:
    """ValueError unless a file is regular and an archive: NumPy takes any other for pickled objects."""
    with open_regular(path, "a result or checkpoint") as content:
        _require(zipfile.is_zipfile(content), "it is no .npz file")


def _parts(path: Path) -> dict[str, Any]:
    """The members of a file, as many bytes as the file has and no more; texts as such."""
    with zipfile.ZipFile(path) as archive:
        packed = [one.filename for one in archive.infolist() if one.compress_type != zipfile.ZIP_STORED]
        _require(not packed, f"{packed[:1]} is compressed")
    with np.load(path, allow_pickle=False) as file:
        _require(set(file) == {*_TEXTS, *_NUMBERS}, f"it holds {', '.join(sorted(file))[:80]}")
        parts = {name: file[name] for name in (*_TEXTS, *_NUMBERS)}
    for name in _TEXTS:
        _require(parts[name].ndim == 0 and parts[name].dtype.kind == "U", f"{name} is not a text")
        parts[name] = str(parts[name])
    return parts


def _digest(parts: Mapping[str, Any]) -> str:
    """SHA-256 over everything but the digest (hexadecimal)."""
    found = hashlib.sha256()
    for name in sorted({*_TEXTS, *_NUMBERS} - {"sha256"}):
        value = np.asarray(parts[name])
        found.update(f"{name} {value.dtype.str} {value.shape}\n".encode())
        found.update(np.ascontiguousarray(value).tobytes())
    return found.hexdigest()


def _require(true: object, otherwise: str) -> None:
    if not true:
        raise ValueError(otherwise)
