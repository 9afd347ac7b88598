"""Proves vectors anew: from the raw arrays of each problem, with more bits, and by both recurrences.

The raw arrays and ``problem.json`` say what the problem is. From them every other file is made again: those
of the problem, which must agree byte by byte, and what is expected, where exact values must lie in the
stated enclosures and everything stated must be what is found. So any changed field is refused, unless all
files are changed to those of another vector, which then is as true as the first.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from sstep_verify.errors import InputError, SstepVerifyError
from sstep_verify.oracle.verify.kernel import ball_ends
from sstep_verify.outputs import shortened
from sstep_verify.solver import RunRequest
from sstep_verify.vectors import layout
from sstep_verify.vectors.decimals import same_bound
from sstep_verify.vectors.make import Proved, expected_of, prove
from sstep_verify.vectors.read import MOST_INDEX_BYTES, VectorError, content_of, listed, request_from
from sstep_verify.vectors.record import Bounds, Entry, Expected, Index, Point, expected_from, index_from
from sstep_verify.vectors.write import MOST_VECTORS

BITS = 640
"""Precision of the proof; vectors are made in fewer bits."""

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


def verify_vectors(folder: str | Path, told: Callable[[int], object] = lambda proved: None) -> Index:
    """Prove every vector of a folder anew.

    Parameters
    ----------
    folder : str or Path
        Folder that `write.write_vectors` wrote, or a copy.
    told : callable
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
        told(1)
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
        again = Path(scratch) / "again"
        again.mkdir()
        layout.write_problem(request, again)
        for name in layout.PROBLEM_FILES:
            _same(files[name], (again / name).read_bytes(), f"{where}/{name}")
        _verify_expected(where, request, files)
        _verify_entry(entry, layout.entry(request, _expected(where, files), files))


def _verify_expected(where: str, request: RunRequest, files: dict[str, bytes]) -> None:
    stated = _expected(where, files)
    try:
        with np.errstate(all="ignore"):
            proved = prove(request, BITS)
            fresh = expected_of(where, request, proved)
    except MALFORMED as error:
        raise VectorError(where, f"nothing can be proved of this problem: {error}") from error
    place = f"{where}/{layout.EXPECTED_NAME}"
    if len(stated.points) != len(fresh.points):
        raise VectorError(place, f"has {len(stated.points)} points, but the run has {len(fresh.points)}")
    for number, (one, other) in enumerate(zip(stated.points, fresh.points, strict=True)):
        _verify_point(f"{place}: points[{number}]", one, other, proved)
    for name in ("id", "has", "flags"):
        if getattr(stated, name) != getattr(fresh, name):
            at = _first_difference(getattr(stated, name), getattr(fresh, name))
            raise VectorError(place, f"{name}: {at}")
    for name, content in layout.expected_files(stated).items():
        _same(files[name], content, f"{where}/{name}")


def _verify_point(place: str, stated: Point, fresh: Point, proved: Proved) -> None:
    """Exact values lie in the stated enclosures; what is stated is what is found."""
    if stated.iteration != fresh.iteration or stated.radius != fresh.radius:
        raise VectorError(place, f"iteration and radius are {stated.iteration}, {stated.radius:.40}, not "
                          f"{fresh.iteration}, {fresh.radius}")  # fmt: skip
    if stated.middles != fresh.middles:
        raise VectorError(place, f"middles: {_first_difference(stated.middles, fresh.middles)}")
    radius = Fraction(stated.radius)
    for number, middle in enumerate(stated.middles):
        # The s-step recurrence reaches an end of the box by a sum, never exactly: `prove` compared both.
        runs = (proved.classical,) if not radius else (proved.classical, proved.sstep)
        if not all(_encloses(Fraction(middle), radius, run[stated.iteration][number]) for run in runs):
            raise VectorError(place, f"middles[{number}]: the exact a is not within the radius of it")
    for name in ("float64", "float32"):
        if not _same_bounds(getattr(stated, name), getattr(fresh, name), proved, name, stated.iteration):
            raise VectorError(place, f"{name}: is not the bound of this run")


def _encloses(middle: Fraction, radius: Fraction, ball: Any) -> bool:
    lower, upper = ball_ends(ball)
    return max(upper - middle, middle - lower) <= radius


def _same_bounds(stated: Bounds, fresh: Bounds, proved: Proved, name: str, end: int) -> bool:
    found = proved.bounds[name][end]
    if len(stated.entries) != len(fresh.entries) or (stated.norm is None) != (found.norm is None):
        return False
    pairs = list(zip(stated.entries, found.entries.tolist(), strict=True))
    if stated.norm is not None and found.norm is not None:
        pairs.append((stated.norm, found.norm))
    return all(same_bound(one, other) for one, other in pairs)


def _verify_entry(stated: Entry, fresh: Entry) -> None:
    for name, value in asdict(fresh).items():
        if asdict(stated)[name] != value:
            raise VectorError(
                layout.INDEX_NAME, f"{fresh.id}: {name} is {asdict(stated)[name]!r:.80}, not {value!r:.80}"
            )


def _index(place: Path) -> Index:
    content = content_of(place / layout.INDEX_NAME, layout.INDEX_NAME, MOST_INDEX_BYTES)
    try:
        index = index_from(content, "the file")
    except InputError as error:
        raise VectorError(layout.INDEX_NAME, str(error)) from error
    ids = [entry.id for entry in index.vectors]
    for one in ids:
        if not layout.is_id(one):
            raise VectorError(layout.INDEX_NAME, f"{one!r:.80} is no name of a vector's folder")
    if ids != sorted(set(ids)) or not 1 <= len(ids) <= MOST_VECTORS:
        raise VectorError(layout.INDEX_NAME, f"must list 1 to {MOST_VECTORS} vectors, each once, by name")
    _same(content, layout.index_file(list(index.vectors)), layout.INDEX_NAME)
    return index


def _expected(where: str, files: dict[str, bytes]) -> Expected:
    try:
        return expected_from(files[layout.EXPECTED_NAME], "the file")
    except InputError as error:
        raise VectorError(f"{where}/{layout.EXPECTED_NAME}", str(error)) from error


def _same(found: bytes, made: bytes, where: str) -> None:
    if found != made:
        place = next(
            (k for k, (one, other) in enumerate(zip(found, made, strict=False)) if one != other),
            min(len(found), len(made)),
        )
        raise VectorError(where, f"differs at byte {place} (from 0) from what the problem gives")


def _first_difference(stated: Any, fresh: Any) -> str:
    for number in range(max(len(stated), len(fresh))):
        one, other = (part[number] if number < len(part) else None for part in (stated, fresh))
        if one != other:
            return f"[{number}] is {one!r:.120}, not {other!r:.120}"
    return "differs"
