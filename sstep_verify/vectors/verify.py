"""Proves vectors again: from the raw arrays of each problem, with more bits, and by both recurrences.

A stranger's folder holds regular files of our names, sizes and forms, no other. The raw arrays and
``problem.json`` say what the problem is. From them every file is made again, by what writes vectors, and
must agree byte by byte; a stated bound may end in a digit that other roundings give. That exact values
lie in the enclosures is proved of those that are made. So any changed field is refused, unless all files
are changed to those of another vector, which then is as true as the first.
"""

from __future__ import annotations

import math
import os
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from sstep_verify.errors import InputError, SstepVerifyError, counted
from sstep_verify.exchange import Exchanged
from sstep_verify.files import read_whole, shortened
from sstep_verify.files.records import build, decode
from sstep_verify.problems import IndexStream, Problem, kernel_from, loss_from
from sstep_verify.protocol import RunRequest
from sstep_verify.vectors import layout
from sstep_verify.vectors.layout import MOST_VECTORS
from sstep_verify.vectors.make import expected_of, prove
from sstep_verify.vectors.record import Entry, Expected, Index, VectorError, read_record, refused

MOST_BYTES, MOST_INDEX_BYTES = 1 << 20, 8 << 20
"""Largest file of a vector, and largest index, in bytes; those that are shipped have 15 kB and 150 kB."""

LIMITS = {"samples": 64, "features": 64, "iterations": 128, "block": 8, "s": 1 << 20, "degree": 8}
"""Largest vector that is proved again: in a second or so."""

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
    """Refuse a folder that does not hold exactly some names; `where` is it from that of all vectors.

    Each comes with whether it is that of a folder; regular files otherwise, and no link is either. A
    VectorError names what is missing, of another kind, or not wanted.
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
    """The run that a vector's raw arrays and ``problem.json`` describe; its index stream is put into
    `scratch`.

    A VectorError says that they describe none, or one larger than `LIMITS`.
    """
    with refused(f"{where}/problem.json"):
        described, parameters = _described(decode(files["problem.json"], "the file"))
    arrays = {name: _array(files, where, f"{name}.bin", described, *form) for name, form in _ARRAYS.items()}
    stream = scratch / f"{where}.npy"
    np.save(stream, arrays["indices"])
    with refused(where), np.errstate(all="ignore"):
        kernel = kernel_from(described.kernel, **parameters)
        parameter = parameters["penalty" if described.task == "krr" else "C"]
        loss = loss_from(described.task, parameter)
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


BITS = 640
"""Precision of the proof; vectors are made in fewer bits."""

SHOWN = 20
"""Bytes that are shown before and after a difference."""

MALFORMED = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    MemoryError,
    RecursionError,
    SstepVerifyError,
)
"""Errors of code that trusts the numbers of a vector, which may be a stranger's."""


def verify_vectors(folder: str | Path, progress: layout.Progress = lambda count: None) -> Index:
    """Prove every vector of a folder again; returns the index, now known to be right.

    The folder is one that `layout.write_vectors` wrote, or a copy; progress is called with 1 after each
    vector.

    InputError if the folder is not there, or holds nothing that is of vectors; VectorError if a file is
    missing, foreign, malformed or wrong: the first one at fault is named.
    """
    place = Path(folder)
    if not os.path.isdir(place):
        raise InputError(
            f"{shortened(place)}: is no folder; name one that python -m sstep_verify.vectors wrote"
        )
    names = {*os.listdir(place)} - {layout.README_NAME}
    if not any(map(layout.is_ours, names)):
        raise InputError(
            f"{shortened(place)}: holds no vectors; name a folder that python -m sstep_verify.vectors wrote"
        )
    index = _index(place)
    wanted = {entry.id: True for entry in index.vectors}
    listed(place, wanted | {layout.INDEX_NAME: False, layout.README_NAME: False}, "")
    _same(content_of(place / layout.README_NAME, layout.README_NAME), layout.readme(), layout.README_NAME)
    for entry in index.vectors:
        verify_vector(place / entry.id, entry)
        progress(1)
    return index


def verify_vector(folder: Path, entry: Entry) -> None:
    """Prove one vector again, and its line of the index; VectorError as of `verify_vectors`."""
    where = entry.id
    listed(folder, dict.fromkeys(layout.FILES, False), where)
    files = {name: content_of(folder / name, f"{where}/{name}") for name in layout.FILES}
    with tempfile.TemporaryDirectory() as scratch:
        request = request_from(files, where, Path(scratch))
        _same_files(files, layout.problem_files(request), where)
        stated = read_record(files[layout.EXPECTED_NAME], Expected, f"{where}/{layout.EXPECTED_NAME}")
        try:
            with np.errstate(all="ignore"):
                fresh = expected_of(where, request, prove(request, BITS), stated)
        except MALFORMED as error:
            raise VectorError(where, f"nothing can be proved of this problem: {error}") from error
        _same_files(files, layout.expected_files(fresh), where)
        line = asdict(entry)
        for name, value in asdict(layout.entry(request, fresh, files)).items():
            place = f"{layout.INDEX_NAME}: {where}: {name}"
            _same(repr(line[name]).encode(), repr(value).encode(), place)


def _index(place: Path) -> Index:
    content = content_of(place / layout.INDEX_NAME, layout.INDEX_NAME, MOST_INDEX_BYTES)
    index = read_record(content, Index, layout.INDEX_NAME)
    ids = [entry.id for entry in index.vectors]
    for name in ids:
        if not layout.is_id(name):
            raise VectorError(layout.INDEX_NAME, f"{name!r:.80} is no name of a vector's folder")
    if ids != sorted(set(ids)) or not 1 <= len(ids) <= MOST_VECTORS:
        raise VectorError(layout.INDEX_NAME, f"must list 1 to {MOST_VECTORS} vectors, each once, by name")
    _same(content, layout.index_file(list(index.vectors)), layout.INDEX_NAME)
    return index


def _same_files(stated: dict[str, bytes], proved: dict[str, bytes], where: str) -> None:
    for name, content in proved.items():
        _same(stated[name], content, f"{where}/{name}")


def _same(stated: bytes, proved: bytes, where: str) -> None:
    """Refuse what differs; the message shows both from a little before the first difference."""
    if stated == proved:
        return
    pairs = enumerate(zip(stated, proved, strict=False))
    place = next((k for k, (x, y) in pairs if x != y), min(len(stated), len(proved)))
    if place == len(stated):
        raise VectorError(where, f"ends after {counted(place, 'byte')}, but {len(proved)} are due")
    here, there = (part[max(place - SHOWN, 0) : place + SHOWN] for part in (stated, proved))
    raise VectorError(
        where, f"differs at byte {place} (from 0) from what the problem gives: {here!r}, not {there!r}"
    )
