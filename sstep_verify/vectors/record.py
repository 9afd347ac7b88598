"""``expected.json`` and ``vectors.json``: what they hold, as text, and read with every field checked."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal, TypeVar

from sstep_verify.errors import InputError, SstepVerifyError
from sstep_verify.files import shortened
from sstep_verify.files.records import build, decode

VERSION: Literal[1] = 1

REPEATED, AT_ZERO, AT_C, SHORT, STARTED, ZERO_ROW, OFFSET = (
    "repeated-coordinate",
    "clip-at-zero",
    "clip-at-C",
    "short-last-window",
    "start-not-zero",
    "zero-row",
    "offset-data",
)


class VectorError(SstepVerifyError):
    """Vectors that are refused; the message names the file and what is wrong with it.

    `where` is the file at fault, from the folder of all vectors.
    """

    def __init__(self, where: str, fault: str):
        super().__init__(f"vectors rejected: {shortened(where)}: {fault}")
        self.where = where


@contextlib.contextmanager
def refused(where: str) -> Iterator[None]:
    """What no input may be is refused of a file of vectors."""
    try:
        yield
    except InputError as error:
        raise VectorError(where, str(error)) from error


@dataclass(frozen=True)
class Bounds:
    """How far a correct solver of one precision may be at one point.

    `entries` has the largest distance of each coordinate from the float64 number nearest to its middle,
    `norm` that from the exact a in the M-norm, M = K/lambda + m I; None for a K-SVM.
    """

    entries: tuple[float, ...]
    norm: float | None


@dataclass(frozen=True)
class Point:
    """The exact a at one point.

    So many iterations were made; each exact coordinate is within `radius` of its middle, all decimals.
    Bounds are by precision of the solver.
    """

    iteration: int
    middles: tuple[str, ...]
    radius: str
    float64: Bounds
    float32: Bounds


@dataclass(frozen=True)
class Shown:
    """A mistake that the vector shows.

    `flag` is its name, see the notes of ``vectors.json``, `iteration` the first point at which it puts a
    coordinate further off than twice the float64 bound, `coordinate` the one that is furthest off, from 0,
    and `effect` a decimal, how far it is off at least. `float32` says whether it puts one, at any point,
    further off than twice the float32 bound.
    """

    flag: str
    iteration: int
    coordinate: int
    effect: str
    float32: bool


@dataclass(frozen=True)
class Expected:
    """What is expected of a solver of one vector.

    `id` is the name of the vector's folder, `has` says what is out of the ordinary in it. The points are
    a0, the ends of all windows and the last a, the flags those of the mistakes it shows.
    """

    id: str
    has: tuple[str, ...]
    points: tuple[Point, ...]
    flags: tuple[Shown, ...]
    format: Literal["sstep-vector"] = "sstep-vector"
    version: Literal[1] = VERSION


@dataclass(frozen=True)
class Note:
    """What a flag says.

    The kind of the mistake, what goes wrong, what becomes of a solver that makes it, and the numbers of the
    sentences of docs/spec.md that it breaks.
    """

    bug_type: str
    description: str
    effect: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """One line of the index.

    The name of the vector's folder, SHA-256 of what ``sha256sum *`` prints in it, what is solved, m, n, s,
    H and b; the rest is as in ``expected.json``.
    """

    id: str
    digest: str
    task: str
    kernel: str
    samples: int
    features: int
    s: int
    iterations: int
    block: int
    has: tuple[str, ...]
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Index:
    """All vectors of a folder.

    The notes say what each flag does, the vectors stand by id.
    """

    notes: dict[str, Note]
    vectors: tuple[Entry, ...]
    format: Literal["sstep-vectors"] = "sstep-vectors"
    version: Literal[1] = VERSION


Read = TypeVar("Read", Expected, Index)

_INNERMOST = re.compile(r"\[\n[^\[\]{}]*\]")


def text_of(record: Expected | Index) -> str:
    """A record as JSON, each innermost list on one line."""
    text = json.dumps(asdict(record), indent=1, allow_nan=False)
    return _INNERMOST.sub(lambda match: re.sub(r"\n\s*", " ", match[0]), text) + "\n"


def read_record(content: bytes, kind: type[Read], where: str) -> Read:
    """An `Expected` or an `Index` from what its file holds; a VectorError names the field at fault."""
    with refused(where):
        return build(decode(content, "the file"), kind, "the file")
