"""What a stranger's folder of vectors holds: regular files of our names, sizes and forms, no other."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from sstep_verify.errors import InputError, SstepVerifyError
from sstep_verify.exchange import Exchanged
from sstep_verify.inputs import read_whole
from sstep_verify.outputs import shortened
from sstep_verify.problems import IndexStream, Problem, kernel_from, loss_from
from sstep_verify.records import convert, decode, strict
from sstep_verify.solver import RunRequest

MOST_BYTES, MOST_INDEX_BYTES = 1 << 20, 8 << 20
"""Largest file of a vector, and largest index, in bytes; those that are shipped have 15 kB and 150 kB."""

LIMITS = {"samples": 64, "features": 64, "iterations": 128, "block": 8, "s": 1 << 20, "degree": 8}
"""Largest vector that is proved anew: in a second or so."""

KERNEL_OF = {"linear": (), "polynomial": ("degree", "offset"), "rbf": ("sigma",)}

_FORM = strict(Exchanged, {})


class VectorError(SstepVerifyError):
    """Vectors that are refused; the message names the file and what is wrong with it.

    Parameters
    ----------
    where : str
        File at fault, from the folder of all vectors.
    fault : str
        What is wrong with it.
    """

    def __init__(self, where: str, fault: str):
        super().__init__(f"vectors refused: {shortened(where)}: {fault}")
        self.where = where


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
        found = {one.name: one for one in entries}
    for name in sorted(found.keys() | wanted.keys()):
        place = os.path.join(where, name)
        if name not in found:
            raise VectorError(place, "is missing")
        if name not in wanted:
            raise VectorError(place, "is no part of the vectors")
        entry = found[name]
        if entry.is_symlink():
            raise VectorError(place, "is a link")
        if not (entry.is_dir if wanted[name] else entry.is_file)(follow_symlinks=False):
            raise VectorError(place, f"is no {'folder' if wanted[name] else 'regular file'}")


def content_of(path: Path, where: str, most: int = MOST_BYTES) -> bytes:
    """A whole file; a VectorError if it is too large, no regular file, or cannot be read."""
    try:
        return read_whole(path, most, "a file of vectors", follow=False)
    except InputError as error:
        raise VectorError(where, str(error)) from error


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
    place = f"{where}/problem.json"
    try:
        told = _told(decode(files["problem.json"], "the file"))
    except InputError as error:
        raise VectorError(place, str(error)) from error
    for name, most in LIMITS.items():
        value = getattr(told, name)
        if value is not None and not 1 <= value <= most:
            raise VectorError(place, f"{name} is {value}, but it must lie in 1..{most}")
    m, n, iterations, block = told.samples, told.features, told.iterations, told.block
    data = _array(files, where, "data.bin", (m, n), "<f8")
    targets = _array(files, where, "targets.bin", (m,), "<f8")
    initial = _array(files, where, "initial.bin", (m,), "<f8")
    draws = _array(files, where, "indices.bin", (iterations, block), "<i8")
    stream = scratch / f"{where}.npy"
    np.save(stream, draws)
    try:
        with np.errstate(all="ignore"):
            return RunRequest(
                Problem(where, data, targets, _kernel(told), _loss(told)),
                IndexStream("file", m, block, iterations, path=str(stream)),
                told.s,
                iterations,
                initial=_within_box(initial, told),
                record=tuple(range(told.s, iterations, told.s)),
            )
    except InputError as error:
        raise VectorError(where, str(error)) from error


def _told(values: Any) -> Exchanged:
    """The fields of ``problem.json``, which has lambda where the record has penalty."""
    if isinstance(values, dict):
        if "penalty" in values:
            raise InputError("penalty: unknown field")
        values = {"penalty" if name == "lambda" else name: value for name, value in values.items()}
    convert(values, _FORM, "the file")
    told: Exchanged = convert(values, Exchanged, "the file")
    if told.kernel not in KERNEL_OF:
        raise InputError(f"kernel {told.kernel!r:.40} is unknown; known: {', '.join(KERNEL_OF)}")
    wanted = {*KERNEL_OF[told.kernel], "penalty" if told.task == "krr" else "C"}
    for name in ("degree", "offset", "sigma", "C", "penalty"):
        given = getattr(told, name) is not None
        if given != (name in wanted):
            shown = "lambda" if name == "penalty" else name
            raise InputError(f"{shown}: {'not a parameter' if given else 'missing'} of this problem")
    return told


def _kernel(told: Exchanged) -> Any:
    return kernel_from(told.kernel, **{name: getattr(told, name) for name in KERNEL_OF[told.kernel]})


def _loss(told: Exchanged) -> Any:
    parameter = told.penalty if told.task == "krr" else told.C
    if parameter is None:
        raise InputError("the parameter of the loss is missing")
    return loss_from(told.task, C=parameter, penalty=parameter)


def _within_box(initial: np.ndarray, told: Exchanged) -> np.ndarray:
    upper = told.C if told.task == "svm-l1" and told.C is not None else np.inf
    if told.task != "krr" and not ((initial >= 0) & (initial <= upper)).all():
        raise InputError("a0 leaves the box")
    return initial


def _array(files: dict[str, bytes], where: str, name: str, shape: tuple[int, ...], kind: str) -> np.ndarray:
    content, wanted = files[name], 8 * int(np.prod(shape))
    if len(content) != wanted:
        raise VectorError(f"{where}/{name}", f"has {len(content)} bytes, but {wanted} are needed")
    return np.frombuffer(content, dtype=kind).reshape(shape).astype(kind[1:])
