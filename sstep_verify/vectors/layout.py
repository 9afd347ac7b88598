"""The files of a vector: those of the problem, which are an exchange folder, and of what is expected."""

from __future__ import annotations

import hashlib
import re
from importlib import resources
from pathlib import Path

import numpy as np

from sstep_verify.exchange import write_folder
from sstep_verify.solver import RunRequest
from sstep_verify.specification import broken_by
from sstep_verify.vectors.make import nearest
from sstep_verify.vectors.mistakes import EFFECTS, LEFT_OUT, MISTAKES
from sstep_verify.vectors.record import Entry, Expected, Index, Note, text_of

README_NAME, INDEX_NAME, EXPECTED_NAME = "README.md", "vectors.json", "expected.json"

PROBLEM_FILES = (
    "columns.bin", "data.bin", "data.svm", "indices.bin", "indices.txt", "initial.bin", "initial.txt",
    "points.bin", "points.txt", "problem.json", "problem.txt", "row_starts.bin", "targets.bin",
    "values.bin",
)  # fmt: skip
EXPECTED_FILES = (
    "bounds32.bin", "bounds32.txt", "bounds64.bin", "bounds64.txt", "expected.bin", EXPECTED_NAME,
    "expected.txt",
)  # fmt: skip
FILES = tuple(sorted(PROBLEM_FILES + EXPECTED_FILES))
"""All files of a vector's folder, each of which must be there, and no other."""

ID = re.compile(r"\d{3}(-[a-z0-9]+)+", re.ASCII)
"""Names of folders: no separators, no dots."""

LONGEST_ID = 60


def is_id(name: str) -> bool:
    """Whether a name may be that of a vector."""
    return len(name) <= LONGEST_ID and ID.fullmatch(name) is not None


def is_ours(name: str) -> bool:
    """Whether a name in a folder of vectors is one that we write there."""
    return name in (INDEX_NAME, README_NAME) or is_id(name)


def write_problem(request: RunRequest, folder: Path) -> None:
    """Write the problem into an existing folder."""
    write_folder(request, folder, log=False)


def expected_files(expected: Expected) -> dict[str, bytes]:
    """The files that say what is expected, by name."""
    values = [nearest(point.middles) for point in expected.points]
    found = {
        EXPECTED_NAME: text_of(expected).encode("ascii"),
        "expected.bin": _raw(values),
        "expected.txt": _lines([[value.hex() for value in row.tolist()] for row in values]),
    }
    for bits in (64, 32):
        rows = [np.array(getattr(point, f"float{bits}").entries) for point in expected.points]
        found[f"bounds{bits}.bin"] = _raw(rows)
        found[f"bounds{bits}.txt"] = _lines([[repr(value) for value in row.tolist()] for row in rows])
    return found


def readme() -> bytes:
    """What stands beside the folders, for people without Python."""
    return (resources.files("sstep_verify.vectors") / README_NAME).read_bytes()


def digest(files: dict[str, bytes]) -> str:
    """SHA-256 of what ``LC_ALL=C sha256sum *`` prints of some files."""
    lines = (f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def entry(request: RunRequest, expected: Expected, files: dict[str, bytes]) -> Entry:
    """The line of a vector in the index."""
    problem = request.problem
    return Entry(
        id=expected.id,
        digest=digest(files),
        task=problem.loss.task,
        kernel=problem.kernel.name,
        samples=problem.samples,
        features=problem.features,
        s=request.s,
        iterations=request.iterations,
        block=request.stream.block,
        has=expected.has,
        flags=tuple(shown.flag for shown in expected.flags),
    )


def index_file(entries: list[Entry]) -> bytes:
    """The index of some vectors, with notes on all flags."""
    notes = {
        one.id: Note(
            one.bug_type, one.description, EFFECTS[one.bug_type], broken_by(one.id.removesuffix(LEFT_OUT))
        )
        for one in MISTAKES
    }
    return text_of(Index(notes, tuple(entries))).encode("ascii")


def _raw(rows: list[np.ndarray]) -> bytes:
    return np.array(rows, dtype="<f8").tobytes()


def _lines(rows: list[list[str]]) -> bytes:
    return "".join(" ".join(row) + "\n" for row in rows).encode("ascii")
