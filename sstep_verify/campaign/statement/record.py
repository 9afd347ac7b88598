"""The statement as a record, and its form in a file: strict JSON, with a digest of every field."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from typing import Any, Literal

from sstep_verify.adapters.program import ProgramFile
from sstep_verify.adapters.python import is_foreign
from sstep_verify.campaign.profile import Chosen
from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.inputs.records import build, decode
from sstep_verify.report.plain import plain

SCHEMA: Literal[2] = 2

MOST_BYTES = 16 << 20
"""Largest statement that is read; one of profile ci has 100 kB."""

Outcome = Literal["passed", "failed", "vacuous", "inconclusive", "not applicable"]


@dataclass(frozen=True)
class Judged:
    """The solver, as its author describes it.

    `name` is ``module:object``, or the name of a program; `program` how that was started, what it leaves,
    how it draws, None of a Python object; `declaration` what it says it is, on one rank: the bounds are for
    exactly this. Anything else is an InputError.
    """

    name: str
    program: ProgramFile | None
    declaration: Declaration

    def __post_init__(self) -> None:
        if self.program is None and not is_foreign(self.name):
            raise InputError(f"name {self.name!r:.60} is no module:object, and no program is described")
        if self.declaration.ranks != 1:
            raise InputError(
                f"declaration.ranks is {self.declaration.ranks}, but it stands for one rank here"
            )


@dataclass(frozen=True)
class Extreme:
    """The largest of some numbers, and where it was met.

    `value` is rounded up to two digits, and None if it is infinite.
    """

    value: float | None
    check: str
    case: str
    s: int


@dataclass(frozen=True)
class SentenceSaid:
    """What the verdicts of some checks say of one sentence of the specification.

    failed: a FAIL names it among those that it may break. inconclusive: a check that decides it could not.
    passed: a check that decides it passed, and saw the quantities that it prescribes. vacuous: it was
    judged, and nothing showed it. not applicable: no check that decides it judged such a problem.
    """

    number: str
    outcome: Outcome
    checks: tuple[str, ...]


@dataclass(frozen=True)
class ProblemSaid:
    """One problem on some number of ranks, by its id in the profile.

    `right_at` are the s at which it is right, of those that were run; `samples` and `features` the shape of
    its data. `runs` is the folder of its recorded runs, `sha256` the digest of that folder's list of
    digests.
    """

    id: str
    status: str
    right_at: tuple[int, ...]
    s: tuple[int, ...]
    samples: int
    features: int
    runs: str
    sha256: str


@dataclass(frozen=True)
class VerdictSaid:
    """One verdict.

    `ratio` is measured / bound and `detection_limit` the smallest relative error in the kernel correction
    that would have been seen, both rounded up to two digits, and None if infinite or undefined; `planned`
    and `executed` count comparisons; `sentences` are those that it is about, of a FAIL those that it may
    break.
    """

    check: str
    case: str
    s: int
    status: str
    ratio: float | None
    detection_limit: float | None
    planned: int
    executed: int
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Statement:
    """What a solver was found to be.

    `schema` is the version of this form, `specification` that of the specification, `outcome` that of the
    whole, as the exit codes 0, 1 and 3 of ``check``. `worst_ratio` is the largest measured / bound,
    `worst_detection_limit` the largest of the relative errors in the kernel correction that each run would
    have shown. `shortfalls` are what was compared too seldom, or was vacuous and is not tolerated; `data`
    the SHA-256 of each data set, `environment` as `sstep_verify.provenance.collect` has it, and `digests`
    the SHA-256 of every other field.
    """

    schema: Literal[2]
    specification: str
    outcome: Literal["passed", "failed", "inconclusive"]
    solver: Judged
    asked: Chosen
    worst_ratio: Extreme | None
    worst_detection_limit: Extreme | None
    sentences: tuple[SentenceSaid, ...]
    problems: tuple[ProblemSaid, ...]
    verdicts: tuple[VerdictSaid, ...]
    shortfalls: tuple[str, ...]
    data: dict[str, str]
    environment: dict[str, object]
    digests: dict[str, str]


def digests_of(values: dict[str, Any]) -> dict[str, str]:
    """SHA-256 of every field but `digests`, as JSON with sorted keys and no white space."""
    return {
        item.name: hashlib.sha256(
            json.dumps(values[item.name], sort_keys=True, separators=(",", ":")).encode()
        ).hexdigest()
        for item in fields(Statement)
        if item.name != "digests"
    }


def statement_text(statement: Statement) -> str:
    """The statement as strict JSON."""
    return json.dumps(plain(statement), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def statement_from(content: bytes, where: str) -> Statement:
    """Read a statement, but do not look at its digests; InputError if it is none of this version."""
    values = decode(content, where)
    if not isinstance(values, dict) or values.get("schema") != SCHEMA or values["schema"] is True:
        raise InputError(f"{where}: schema: is no statement of schema {SCHEMA}")
    return build(values, Statement, where)
