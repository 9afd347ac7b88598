"""What a stranger's folder of vectors holds: regular files of our names, sizes and forms, no other."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.exchange import Exchanged
from sstep_verify.inputs import read_whole
from sstep_verify.inputs.records import build, decode
from sstep_verify.problems import IndexStream, Problem, kernel_from, loss_from
from sstep_verify.solver import RunRequest
from sstep_verify.vectors.record import VectorError, refused

MOST_BYTES, MOST_INDEX_BYTES = 1 << 20, 8 << 20
"""Largest file of a vector, and largest index, in bytes; those that are shipped have 15 kB and 150 kB."""

LIMITS = {"samples": 64, "features": 64, "iterations": 128, "block": 8, "s": 1 << 20, "degree": 8}
"""Largest vector that is proved anew: in a second or so."""

KERNEL_OF = {"linear": (), "polynomial": ("degree", "offset"), "rbf": ("sigma",)}
_PARAMETERS = ("degree", "offset", "sigma", "C", "penalty")

_ARRAYS = {
    "data": ("<f8", "samples", "features"),
    "targets": ("<f8", "samples"),
    "initial": ("<f8", "samples"),
    "indices": ("<i8", "iterations", "block"),
}
"""Raw arrays that the run is made from: type and shape."""


def listed(folder: Path, wanted: dict[str, bool], where: str) -> None:
    """Refuse a folder that does not hold exactly some names.

    Parameters
    ----------
    folder : Path
        The folder.
    wanted : dict of str to bool
        Names, each with whether it is that of a folder; regular files otherwise. No link is either.
    where : str
        The folder for messages, from that of all vectors; empty for that one.

    Raises
    ------
    VectorError
        If a name is missing, is of another kind, or is not wanted.
    """
    with os.scandir(folder) as entries:
        held = {entry.name: entry for entry in entries}
    for name in sorted(held.keys() | wanted.keys()):
        place = os.path.join(where, name)
        if name not in held:
            raise VectorError(place, "is missing")
        if name not in wanted:
            raise VectorError(place, "is no part of the vectors")
        entry = held[name]
        if entry.is_symlink():
            raise VectorError(place, "is a link")
        if not (entry.is_dir if wanted[name] else entry.is_file)(follow_symlinks=False):
            raise VectorError(place, f"is no {'folder' if wanted[name] else 'regular file'}")


def content_of(path: Path, where: str, most: int = MOST_BYTES) -> bytes:
    """A whole file; a VectorError if it is too large, no regular file, or cannot be read."""
    with refused(where):
        return read_whole(path, most, "a file of vectors", follow=False)


def request_from(files: dict[str, bytes], where: str, scratch: Path) -> RunRequest:
    """The run that a vector's raw arrays and ``problem.json`` describe.

    Parameters
    ----------
    files : dict of str to bytes
        Files of the vector.
    where : str
        Its id.
    scratch : Path
        An existing folder, for the index stream.

    Raises
    ------
    VectorError
        If they describe none, or one larger than `LIMITS`.
    """
    with refused(f"{where}/problem.json"):
        described, parameters = _described(decode(files["problem.json"], "the file"))
    arrays = {name: _array(files, where, f"{name}.bin", described, *form) for name, form in _ARRAYS.items()}
    stream = scratch / f"{where}.npy"
    np.save(stream, arrays["indices"])
    with refused(where), np.errstate(all="ignore"):
        kernel = kernel_from(described.kernel, **parameters)
        parameter = parameters["penalty" if described.task == "krr" else "C"]
        loss = loss_from(described.task, C=parameter, penalty=parameter)
        problem = Problem(where, arrays["data"], arrays["targets"], kernel, loss)
        initial, s, iterations = arrays["initial"], described.s, described.iterations
        if problem.is_svm and not ((initial >= 0) & (initial <= problem.hinge.upper)).all():
            raise InputError("a0 leaves the box")
        drawn = IndexStream("file", described.samples, described.block, iterations, path=str(stream))
        return RunRequest(
            problem, drawn, s, iterations, initial=initial, record=tuple(range(s, iterations, s))
        )


def _described(values: Any) -> tuple[Exchanged, dict[str, Any]]:
    """The fields of ``problem.json``, with lambda as penalty, and its parameters."""
    if isinstance(values, dict):
        if "penalty" in values:
            raise InputError("penalty: unknown field")
        values = {"penalty" if name == "lambda" else name: value for name, value in values.items()}
    described = build(values, Exchanged, "the file")
    if described.kernel not in KERNEL_OF:
        raise InputError(f"kernel {described.kernel!r:.40} is unknown; known: {', '.join(KERNEL_OF)}")
    parameters = {name: value for name in _PARAMETERS if (value := getattr(described, name)) is not None}
    wanted = {*KERNEL_OF[described.kernel], "penalty" if described.task == "krr" else "C"}
    for name in sorted(wanted ^ parameters.keys()):
        shown = "lambda" if name == "penalty" else name
        raise InputError(f"{shown}: {'missing' if name in wanted else 'not a parameter'} of this problem")
    for name, most in LIMITS.items():
        value = getattr(described, name)
        if value is not None and not 1 <= value <= most:
            raise InputError(f"{name} is {value}, but it must lie in 1..{most}")
    return described, parameters


def _array(
    files: dict[str, bytes], where: str, name: str, described: Exchanged, kind: str, *sizes: str
) -> np.ndarray:
    shape = tuple(getattr(described, size) for size in sizes)
    content, wanted = files[name], 8 * math.prod(shape)
    if len(content) != wanted:
        raise VectorError(f"{where}/{name}", f"has {len(content)} bytes, but {wanted} are needed")
    return np.frombuffer(content, dtype=kind).reshape(shape).astype(kind[1:])
