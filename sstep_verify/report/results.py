"""Results of a campaign as one document of plain records, written and read as ``results.json``.

Strict JSON of schema version 4; each field is checked as it is read. Everything is normalised at
construction: numbers that are infinite or undefined become None, sequences become tuples (lists inside
`facts`, `parameters` and other free parts), so that a document equals what is read back from its file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal

import msgspec

from sstep_verify.declaration import ASSUMED
from sstep_verify.errors import InputError, has_studies
from sstep_verify.files import read_whole
from sstep_verify.files.records import build, convert, decode, strict, with_field
from sstep_verify.report.case import AgainstClassical, Case, Certified
from sstep_verify.report.plain import Record, plain
from sstep_verify.verdict import SEVERITY, Status, Verdict

SCHEMA: Literal[4] = 4

BEFORE = "problems_finished_before"
"""Parameter of a campaign that was resumed: how many problems an earlier part finished; it is not timed."""

ERRORS, TOO_FEW, MULTIPLES = "errors", "too_few", "multiples_only"
"""Parameters of a campaign that met errors, by their kind; of one that compared too seldom, in records; of
one on several ranks, the numbers of ranks that divide the ``samples`` or ``features`` of every problem."""

Stored = Annotated[dict, Verdict]
"""A Verdict as plain values."""

VERDICT = with_field(strict(Verdict, {float: float | None}), "reason", str)
"""Its form in a file, with its words; a number that is infinite or undefined is null."""


@dataclass(frozen=True)
class TooFew(Record):
    """A check and a run of a case with fewer executed comparisons than are needed."""

    check: str
    case: str
    s: int
    executed: int
    planned: int
    needed: int


@dataclass(frozen=True)
class Campaign(Record):
    """The campaign as planned: a short name, such as ``paper``, the heading of the report, one paragraph.

    `notes` are remarks a reader must see, such as "C and lambda are not stated in the paper"; `parameters`
    whatever governs the campaign: `tolerated_vacuous` and `minimum_executed` belong here.
    """

    name: str
    title: str = ""
    description: str = ""
    notes: tuple[str, ...] = ()
    parameters: dict[str, object] = field(default_factory=dict)

    def errors(self, *kinds: str) -> list[str]:
        """The errors of some kinds that were met."""
        met: Any = self.parameters.get(ERRORS, {})
        return [line for kind in kinds for line in met.get(kind, ())]


@dataclass(frozen=True)
class Summary(Record):
    """The outcome of the campaign as a whole: the one sentence of the first screen, and what stands below.

    The exit code is 0 for green, 1 a FAIL, 3 inconclusive or too few executed, 4 an internal error.
    `counts` and `coverage` are those of `tally`. Wall time in seconds and the largest resident memory;
    whether the campaign was stopped early, where what had been done is kept. The steps (iterations) that
    the primary gate judged, and that the runs made. `right_at`: case -> the s, ascending, of which the
    primary gate passed a complete window and no check of that s says otherwise. `vacuous`: ids of the cases
    that are VACUOUS, all tolerated unless the sentence says otherwise. `power`: one line on what the checks
    were measured to catch in this campaign (`sstep_verify.power`); empty where that was not measured,
    or no step was decided. `told` is the error on what was not judged that the sentence tells, if any.
    `expected_failures` counts the verdicts that failed or stayed open as expected, and the cases that were
    not judged, as expected.
    """

    sentence: str
    exit_code: int
    counts: dict[str, object] = field(default_factory=dict)
    coverage: dict[str, object] = field(default_factory=dict)
    seconds: float | None = None
    interrupted: bool = False
    peak_memory_bytes: int | None = None
    steps_judged: int = 0
    steps: int = 0
    right_at: dict[str, object] = field(default_factory=dict)
    vacuous: tuple[str, ...] = ()
    power: str = ""
    told: str = ""
    expected_failures: int = 0


STUDIED = ("stability", "scaling", "sensitivity")
"""Fields that hold what studies add."""


@dataclass(frozen=True)
class Results(Record):
    """The whole document: what was planned, what was shown, cases in the order of the report, verdicts.

    Provenance is from `sstep_verify.provenance.collect`; a verdict is `Verdict.as_dict()`, to which a
    Verdict is converted; `assumed` is what every bound rests on and no check sees. Left out of the file
    where there is none: what a campaign of certified optima adds, what ``check --stability`` adds, and what
    studies add (`part_of`). InputError if two cases share an id, or a verdict names an unknown case or
    lacks a field.
    """

    campaign: Campaign
    summary: Summary
    provenance: dict[str, object] = field(default_factory=dict)
    cases: tuple[Case, ...] = ()
    verdicts: tuple[Stored, ...] = ()
    schema: Literal[4] = SCHEMA
    assumed: str = ASSUMED
    certified: Certified | None = None
    against_classical: tuple[AgainstClassical, ...] = ()
    stability: Any = None
    scaling: Any = None
    sensitivity: Any = None

    def __post_init__(self):
        made = (one.as_dict() if isinstance(one, Verdict) else one for one in self.verdicts)
        self._set(verdicts=tuple(made))
        super().__post_init__()
        known: set[str] = set()
        for case in self.cases:
            if case.id in known:
                raise InputError(f"two cases have the id {case.id!r}; ids must be unique")
            known.add(case.id)
        for place, verdict in enumerate(self.verdicts):
            convert(verdict, VERDICT, f"verdicts[{place}]")
        named = [(f"verdicts[{place}]", verdict["case"]) for place, verdict in enumerate(self.verdicts)]
        named += [("a certified row", row.case) for row in (self.certified.rows if self.certified else ())]
        named += [("a run compared with the classical one", row.case) for row in self.against_classical]
        for part in self.studies.values():
            named += part.named
        for who, case_id in named:
            if case_id not in known:
                raise InputError(f"{who} names the case {case_id!r}, which is not there")

    @property
    def studies(self) -> dict[str, Any]:
        """The parts that studies have added, by name."""
        return {name: part for name in STUDIED if (part := getattr(self, name)) is not None}

    @property
    def is_empty(self) -> bool:
        """Whether nothing was finished: no case, and nothing of a study, of which some have no cases."""
        return not self.cases and all(part == type(part)() for part in self.studies.values())

    def as_dict(self) -> dict:
        """Plain values for strict JSON."""
        document = plain(self)
        for name in ("certified", "against_classical", *STUDIED):
            if not document[name]:
                del document[name]
        return document

    def verdicts_of(self, case: str) -> list[dict]:
        """Verdicts of one case, in the order of the document."""
        return [verdict for verdict in self.verdicts if verdict["case"] == case]


def part_of(name: str) -> ModuleType:
    """The module of a part that studies add, which stands next to the package, in a clone.

    ``studies.report.NAME.part`` holds ``RECORD``, the dataclass of that field of `Results`, with what it
    names and what is broken; ``OUTCOMES``, by exit code; and ``drawn``, what the page shows of a document,
    with the ``figures``, and the ``tables`` and ``texts`` by name, of which files are made. Its templates
    are in the same folder. InputError where there are no studies.
    """
    if not has_studies():
        raise InputError(f"{name} is what a study adds, which no installed package has; do this in a clone")
    return import_module(f"studies.report.{name}.part")


def tally(verdicts: Iterable[Verdict | dict]) -> dict[str, dict]:
    """Count verdicts, or their plain values, for the summary: ``Summary(**tally(verdicts), ...)``.

    ``counts``: check -> status -> verdicts (all four statuses, the most severe first).
    ``coverage``: check -> planned and executed comparisons, vacuous verdicts, and per term planned, decided
    and seen comparisons and the smallest `detection_limit` (None if never seen).
    """
    counts: dict[str, dict[str, int]] = {}
    coverage: dict[str, dict] = {}
    for verdict in map(plain, verdicts):
        row = counts.setdefault(verdict["check"], {status.value: 0 for status in SEVERITY})
        row[verdict["status"]] += 1
        cover = coverage.setdefault(
            verdict["check"], {"planned": 0, "executed": 0, "vacuous": 0, "terms": {}}
        )
        cover["planned"] += verdict["planned"]
        cover["executed"] += verdict["executed"]
        cover["vacuous"] += verdict["status"] == Status.VACUOUS
        for term in verdict["terms"]:
            _add_term(cover["terms"], term)
    return {"counts": counts, "coverage": coverage}


def _add_term(terms: dict[str, dict], term: dict) -> None:
    total = terms.setdefault(term["name"], {"planned": 0, "decided": 0, "seen": 0, "detection_limit": None})
    for name in ("planned", "decided", "seen"):
        total[name] += term[name]
    seen = [value for value in (total["detection_limit"], term["detection_limit"]) if value is not None]
    total["detection_limit"] = min(seen, default=None)


MOST_BYTES = 256 << 20
"""Largest document that is read; the largest of the shipped campaigns has 8 MB."""

DOCUMENT = strict(Results, {Stored: VERDICT})

_SHORT_ARRAY = re.compile(r"\[\n\s*((?:(?:-?\d[\d.eE+-]*|null),?\s*)+)\]")


def dumps(results: Results) -> str:
    """The document as strict JSON text: sorted keys, no NaN or Infinity, one line per curve."""
    text = json.dumps(results.as_dict(), sort_keys=True, indent=1, allow_nan=False, ensure_ascii=False)
    return _SHORT_ARRAY.sub(lambda match: "[" + re.sub(r"\s+", " ", match[1]).strip() + "]", text) + "\n"


def loads(text: str | bytes, name: str = "results.json") -> Results:
    """Read a document from JSON text.

    InputError if it is not strict JSON or is nested too deeply, or has another schema version, or a field
    is missing, unknown or of the wrong type; the message names the field.
    """
    document = decode(text.encode("utf-8", "replace") if isinstance(text, str) else text, name)
    if not isinstance(document, dict) or "schema" not in document:
        raise InputError(f"{name}: not a results document: it has no field 'schema'")
    if document["schema"] != SCHEMA or type(document["schema"]) is not int:
        raise InputError(
            f"{name}: the document has schema version {document['schema']!r}, but this version reads "
            f"schema {SCHEMA}; read it with the version of sstep-verify that wrote it"
        )
    parts = {part: document.pop(part) for part in STUDIED if part in document}
    studied = {part: build(value, part_of(part).RECORD, f"{name}: {part}") for part, value in parts.items()}
    return replace(
        convert(msgspec.to_builtins(convert(document, DOCUMENT, name)), Results, name), **studied
    )


def load(path: str | Path) -> Results:
    """Read a ``results.json`` file.

    InputError as of `loads`, or if it cannot be read, is no regular file or has more than `MOST_BYTES`.
    """
    return loads(read_whole(path, MOST_BYTES, "a results document"), str(path))
