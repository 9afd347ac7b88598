"""The results document: all a campaign found, in neutral words. It becomes ``results.json``.

Schema version 2. Everything is normalised at construction: numbers that are infinite or undefined
become None, sequences become tuples (lists inside `facts`, `parameters` and other free parts), so
that a document equals what is read back from its file.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sstep_verify.reporting.case import DRIFT, ERROR, GAP, Case, Line, Run, Series, set_fields
from sstep_verify.reporting.certified_document import Certified
from sstep_verify.reporting.plain import finite, plain
from sstep_verify.reporting.stability_document import Stability

__all__ = [
    "DRIFT",
    "ERROR",
    "GAP",
    "SCHEMA",
    "Campaign",
    "Case",
    "Line",
    "Results",
    "Run",
    "Series",
    "Summary",
]

SCHEMA = 2


@dataclass(frozen=True)
class Campaign:
    """What was planned.

    Parameters
    ----------
    name : str
        Short name, such as ``paper``.
    title : str
        Heading of the report.
    description : str
        One paragraph.
    notes : tuple of str
        Remarks a reader must see, such as "C and lambda are not stated in the paper".
    parameters : dict
        Whatever governs the campaign; `tolerated_vacuous` and `minimum_executed` belong here.
    """

    name: str
    title: str = ""
    description: str = ""
    notes: tuple[str, ...] = ()
    parameters: dict[str, object] = field(default_factory=dict)

    def __post_init__(self):
        set_fields(self, notes=tuple(self.notes), parameters=plain(self.parameters, "campaign.parameters"))


@dataclass(frozen=True)
class Summary:
    """What the campaign showed, as a whole.

    Parameters
    ----------
    sentence : str
        The one sentence of the first screen.
    exit_code : int
        0 green, 1 a FAIL, 3 inconclusive or too few executed, 4 internal error.
    counts : dict
        check -> status -> number of verdicts; see `sstep_verify.reporting.tally.tally`.
    coverage : dict
        check -> planned, executed, vacuous, terms (term -> planned, decided, seen, detectable).
    seconds : float, optional
        Wall time in seconds.
    interrupted : bool
        Whether the campaign was stopped early; what had been done is kept.
    peak_memory_bytes : int, optional
        Largest resident memory, in bytes.
    steps_judged, steps : int
        Steps (iterations) that the primary gate judged, and that the runs made.
    right_up_to : dict
        Case -> largest s such that the primary gate passed every s of the case up to it; 0 for none.
    vacuous : tuple of str
        Ids of the cases that are VACUOUS, all of them tolerated unless the sentence says otherwise.
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
    right_up_to: dict[str, object] = field(default_factory=dict)
    vacuous: tuple[str, ...] = ()

    def __post_init__(self):
        set_fields(
            self,
            exit_code=plain(self.exit_code),
            counts=plain(self.counts, "summary.counts"),
            coverage=plain(self.coverage, "summary.coverage"),
            seconds=finite(self.seconds, "summary.seconds"),
            interrupted=bool(self.interrupted),
            peak_memory_bytes=plain(self.peak_memory_bytes),
            steps_judged=plain(self.steps_judged),
            steps=plain(self.steps),
            right_up_to=plain(self.right_up_to, "summary.right_up_to"),
            vacuous=tuple(self.vacuous),
        )


@dataclass(frozen=True)
class Results:
    """The whole document.

    Parameters
    ----------
    campaign : Campaign
        What was planned.
    summary : Summary
        What was shown.
    provenance : dict
        From `sstep_verify.provenance.collect`.
    cases : tuple of Case
        In the order of the report.
    verdicts : tuple of dict
        `Verdict.as_dict()` of each; a Verdict may be given and is converted.
    schema : int
        Version of the schema, always 2.
    stability : Stability, optional
        What a stability campaign adds; left out of the file where there is none.
    certified : Certified, optional
        What a campaign of certified optima adds; likewise.

    Raises
    ------
    InputError
        If two cases share an id, or a verdict names an unknown case or lacks a field.
    """

    campaign: Campaign
    summary: Summary
    provenance: dict[str, object] = field(default_factory=dict)
    cases: tuple[Case, ...] = ()
    verdicts: tuple[dict, ...] = ()
    schema: int = SCHEMA
    stability: Stability | None = None
    certified: Certified | None = None

    def __post_init__(self):
        verdicts = tuple(plain(verdict, "verdict") for verdict in self.verdicts)
        set_fields(
            self,
            provenance=plain(self.provenance, "provenance"),
            cases=tuple(self.cases),
            verdicts=verdicts,
        )
        from sstep_verify.reporting.schema import check_consistency

        check_consistency(self)

    def as_dict(self) -> dict:
        """Plain values for strict JSON."""
        document = plain(self)
        for name in ("stability", "certified"):
            if document[name] is None:
                del document[name]
        return document

    @classmethod
    def from_dict(cls, document: dict) -> Results:
        """Validate plain values and build the document; raises InputError, see `schema.parse`."""
        from sstep_verify.reporting.schema import parse

        return parse(document)

    def verdicts_of(self, case: str) -> list[dict]:
        """Verdicts of one case, in the order of the document."""
        return [verdict for verdict in self.verdicts if verdict["case"] == case]
