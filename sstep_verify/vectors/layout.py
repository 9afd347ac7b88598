"""The files of a vector: those of the problem, which are a run folder, and of what is expected.

Vectors are written a folder each, next to an index and a README, all of it or nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable
from importlib import resources
from pathlib import Path

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.exchange import described, write_folder
from sstep_verify.files import Output, claim, shortened, whole_folder
from sstep_verify.meanings import meaning_of
from sstep_verify.protocol import RunRequest
from sstep_verify.specification import broken_by
from sstep_verify.vectors.choose import choose
from sstep_verify.vectors.make import EFFECTS, LEFT_OUT, MISTAKES, expected_of, nearest, prove
from sstep_verify.vectors.record import Entry, Expected, Index, Note, Point, text_of

README_NAME, INDEX_NAME, EXPECTED_NAME = "README.md", "vectors.json", "expected.json"

_SERIES: dict[str, tuple[Callable[[Point], Iterable[float]], Callable[[float], str]]] = {
    "bounds32": (lambda point: point.float32.entries, repr),
    "bounds64": (lambda point: point.float64.entries, repr),
    "expected": (lambda point: nearest(point.middles).tolist(), float.hex),
}
"""Rows of m float64 numbers, one a point, raw and as text: what they are, and how the text has them."""

PROBLEM_FILES = (
    "columns.bin", "data.bin", "data.svm", "indices.bin", "indices.txt", "initial.bin", "initial.txt",
    "points.bin", "points.txt", "problem.json", "problem.txt", "row_starts.bin", "targets.bin",
    "values.bin",
)  # fmt: skip
EXPECTED_FILES = (EXPECTED_NAME, *(f"{name}.{kind}" for name in _SERIES for kind in ("bin", "txt")))
FILES = tuple(sorted(PROBLEM_FILES + EXPECTED_FILES))
"""All files of a vector's folder, each of which must be there, and no other."""

ID = re.compile(r"\d{3}(-[a-z0-9]+)+", re.ASCII)
"""Names of folders: no separators, no dots."""

LONGEST_ID = 60

OF_THE_RUN = ("task", "kernel", "samples", "features", "s", "iterations", "block")
"""Fields of ``problem.json`` that stand in the index too."""

Progress = Callable[[int], object]
"""Called with 1 after each vector."""

MOST_VECTORS = 999
"""Most vectors of a folder: their names begin with three digits."""


def is_id(name: str) -> bool:
    """Whether a name may be that of a vector."""
    return len(name) <= LONGEST_ID and ID.fullmatch(name) is not None


def is_ours(name: str) -> bool:
    """Whether a name in a folder of vectors is one that we write there."""
    return name in (INDEX_NAME, README_NAME) or is_id(name)


def problem_files(request: RunRequest) -> dict[str, bytes]:
    """The files that say what is to be run, by name."""
    with tempfile.TemporaryDirectory() as scratch:
        write_folder(request, Path(scratch), log=False)
        return {name: (Path(scratch) / name).read_bytes() for name in PROBLEM_FILES}


def expected_files(expected: Expected) -> dict[str, bytes]:
    """The files that say what is expected, by name."""
    files = {EXPECTED_NAME: text_of(expected).encode("ascii")}
    for name, (values, written) in _SERIES.items():
        rows = [list(values(point)) for point in expected.points]
        files[f"{name}.bin"] = np.array(rows, dtype="<f8").tobytes()
        files[f"{name}.txt"] = "".join(" ".join(map(written, row)) + "\n" for row in rows).encode("ascii")
    return files


def readme() -> bytes:
    """What stands next to the folders, for people without Python."""
    return (resources.files("sstep_verify.vectors") / README_NAME).read_bytes()


def digest(files: dict[str, bytes]) -> str:
    """SHA-256 of what ``LC_ALL=C sha256sum *`` prints of some files."""
    lines = (f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def entry(request: RunRequest, expected: Expected, files: dict[str, bytes]) -> Entry:
    """The line of a vector in the index."""
    run = described(request, log=False)
    return Entry(
        id=expected.id,
        digest=digest(files),
        **{name: getattr(run, name) for name in OF_THE_RUN},
        has=expected.has,
        flags=tuple(shown.flag for shown in expected.flags),
    )


def index_file(entries: list[Entry]) -> bytes:
    """The index of some vectors, with notes on all flags."""
    notes = {
        mistake.name: Note(
            mistake.bug_type,
            meaning_of(mistake.name.replace(LEFT_OUT, " left out")),
            EFFECTS[mistake.bug_type],
            broken_by(mistake.name.removesuffix(LEFT_OUT)),
        )
        for mistake in MISTAKES
    }
    return text_of(Index(notes, tuple(entries))).encode("ascii")


def write_vectors(
    folder: str | Path, count: int, replace: bool = False, progress: Progress = lambda count: None
) -> list[Entry]:
    """Make the first so many vectors, 1 to `MOST_VECTORS`, the same ones in every call; returns the index.

    The folder is made with its parents; vectors that are there are replaced if that is allowed. Progress is
    called with 1 after each. An InputError says that the folder cannot be written or holds anything but
    vectors.
    """
    if os.path.isdir(folder):  # Before --force is advised, which is refused then.
        _refuse_foreign(Path(folder))
    with claim([Output("DIR", folder, replace, folder=True)]) as (target,):
        _refuse_foreign(target)
        with whole_folder(target) as partial:
            entries = []
            for id, request in map(choose, range(count)):
                expected = expected_of(id, request, prove(request))
                files = problem_files(request) | expected_files(expected)
                (partial / id).mkdir()
                for name, content in files.items():
                    (partial / id / name).write_bytes(content)
                entries.append(entry(request, expected, files))
                progress(1)
            (partial / INDEX_NAME).write_bytes(index_file(entries))
            (partial / README_NAME).write_bytes(readme())
    return entries


def _refuse_foreign(target: Path) -> None:
    """Raise InputError if a folder, where it is there, holds anything that is not ours."""
    names = [entry.name for entry in target.iterdir()] if target.is_dir() else []
    if foreign := sorted(name for name in names if not is_ours(name)):
        raise InputError(
            f"DIR {shortened(target)} holds {shortened(foreign[0])!r}, which is no part of vectors; "
            "writing them would remove it. Name another folder"
        )
