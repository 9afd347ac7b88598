"""Proves vectors anew: from the raw arrays of each problem, with more bits, and by both recurrences.

The raw arrays and ``problem.json`` say what the problem is. From them every file is made again, by what
writes vectors, and must agree byte by byte; a stated bound may end in a digit that other roundings give.
That exact values lie in the enclosures is proved of those that are made. So any changed field is refused,
unless all files are changed to those of another vector, which then is as true as the first.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import asdict
from pathlib import Path

import numpy as np

from sstep_verify.errors import InputError, SstepVerifyError
from sstep_verify.outputs import shortened
from sstep_verify.vectors import layout
from sstep_verify.vectors.layout import MOST_VECTORS
from sstep_verify.vectors.make import expected_of, prove
from sstep_verify.vectors.read import MOST_INDEX_BYTES, content_of, listed, request_from
from sstep_verify.vectors.record import Entry, Expected, Index, VectorError, read_record

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
    """Prove every vector of a folder anew.

    Parameters
    ----------
    folder : str or Path
        Folder that `layout.write_vectors` wrote, or a copy.
    progress : callable
        Called with 1 after each.

    Returns
    -------
    Index
        The index, now known to be right.

    Raises
    ------
    InputError
        If the folder is not there, or holds nothing that is of vectors.
    VectorError
        If a file is missing, foreign, malformed or wrong; the first one at fault is named.
    """
    place = Path(folder)
    if not os.path.isdir(place):
        raise InputError(f"{shortened(place)}: is no folder; name one that sstep-verify vectors wrote")
    names = {*os.listdir(place)} - {layout.README_NAME}
    if not any(map(layout.is_ours, names)):
        raise InputError(
            f"{shortened(place)}: holds no vectors; name a folder that sstep-verify vectors wrote"
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
    """Prove one vector anew, and its line of the index.

    Raises
    ------
    VectorError
        As `verify_vectors`.
    """
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
    here, there = (part[max(place - SHOWN, 0) : place + SHOWN] for part in (stated, proved))
    raise VectorError(
        where, f"differs at byte {place} (from 0) from what the problem gives: {here!r}, not {there!r}"
    )
