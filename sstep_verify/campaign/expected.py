"""Expected failures: those that a list names do not fail a run, and those that it names in vain do."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from sstep_verify.campaign.messages import REFUSED, State
from sstep_verify.checks.registry import CHECKS
from sstep_verify.errors import InputError, closest
from sstep_verify.inputs import read_whole
from sstep_verify.inputs.records import build, table_from
from sstep_verify.report.results import Case, Results
from sstep_verify.verdict import Status, Verdict

MOST_BYTES = 1 << 20

UNFILLED = "to be filled in"
"""Reason that is written where nobody has given one."""

UNSETTLED = (Status.FAIL, Status.INCONCLUSIVE)

KINDS = (*(f"{check}: {status}" for check in CHECKS for status in UNSETTLED), REFUSED)
"""Kinds of failures: a check with what it said, or that the problem was not judged."""


@dataclass(frozen=True)
class ExpectedFailure:
    """A failure that is known, whatever the s: id of the case, one of `KINDS`, and why it stays.

    InputError if the kind is unknown, or there is no reason.
    """

    id: str
    kind: str
    reason: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(
                f"kind {self.kind!r} of {self.id!r} is unknown{closest(self.kind, KINDS)}; known: CHECK: "
                f"FAIL, CHECK: INCONCLUSIVE and {REFUSED!r}, with CHECK one of {', '.join(CHECKS)}"
            )
        if not self.reason.strip():
            raise InputError(f"{self.id!r}, {self.kind!r}: reason is empty; say why this failure is known")


@dataclass(frozen=True)
class _File:
    """The list in a file."""

    expected: tuple[ExpectedFailure, ...] = ()


def read_expected(path: str | Path, known: Collection[str]) -> tuple[ExpectedFailure, ...]:
    """Read a list of expected failures: a TOML file with tables ``[[expected]]``.

    All ids of cases are `known`. InputError if it cannot be read, an entry is unusable or stands twice, or
    names no case.
    """
    what = "a list of expected failures"
    table = table_from(read_whole(path, MOST_BYTES, what), str(path), what)
    failures = build(table, _File, str(path)).expected
    count = Counter((failure.id, failure.kind) for failure in failures)
    for failure in failures:
        if count[failure.id, failure.kind] > 1:
            raise InputError(f"{path}: {failure.id!r}, {failure.kind!r} stands twice")
        if failure.id not in known:
            meant = closest(failure.id, known)
            raise InputError(f"{path}: {failure.id!r} names no case{meant}; remove it, or mend its id")
    return failures


def expected_text(results: Results, known: Iterable[ExpectedFailure] = ()) -> str:
    """A list of what fails in some results; reasons that are known are kept."""
    reasons = {(one.id, one.kind): one.reason for one in known}
    met = [
        (one["case"], f"{one['check']}: {one['status']}")
        for one in results.verdicts
        if one["status"] in UNSETTLED
    ]
    ids = planned_ids(results)
    refused = results.campaign.errors(REFUSED)
    met += [(one, REFUSED) for one in ids if any(_is_of(error, one) for error in refused)]
    # A basic string of TOML is one of JSON.
    quoted = partial(json.dumps, ensure_ascii=False)
    tables = (
        f"[[expected]]\nid = {quoted(case)}\nkind = {quoted(kind)}\n"
        f"reason = {quoted(reasons.get((case, kind), UNFILLED))}\n"
        for case, kind in dict.fromkeys(met)
    )
    head = "# Failures that are known: they do not fail the run. One that is met no more does.\n"
    return "\n".join([head, *tables])


def planned_ids(results: Results) -> list[str]:
    """Ids of all cases that were to be run."""
    planned = results.campaign.parameters.get("planned", ())
    return [str(one) for one in planned] if isinstance(planned, list) else []


def _is_of(error: str, case: str) -> bool:
    """Whether an error is that of a case: it begins with the id."""
    return error.startswith((f"{case}: ", f"{case}, check "))


@dataclass(frozen=True)
class Met:
    """What of a run was expected.

    `statuses` are those that were not: of cases, or of single verdicts of a case with others that were.
    `cases` are the ids of those with an expected failure; what is missing for it is missing of them.
    `not_judged` cases are expected not to be judged, and were not; `refused` are the errors of others.
    `lines` has every failure that was met as expected, with its reason, `stale` every entry that was not
    met.
    """

    statuses: set[Status]
    cases: set[str] = field(default_factory=set)
    not_judged: int = 0
    refused: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)


def meet(
    expected: Sequence[ExpectedFailure], cases: Sequence[Case], verdicts: Sequence[Verdict], state: State
) -> Met:
    """Hold what was found against what was expected of the cases that were to be run.

    Of an interrupted run nothing is stale.
    """
    wanted = {(one.id, one.kind) for one in expected}
    errors = state.errors[REFUSED]
    unjudged = [
        one.id for one in expected if one.kind == REFUSED and any(_is_of(e, one.id) for e in errors)
    ]
    unsettled = [one for one in verdicts if one.status in UNSETTLED]
    found = {(one.case, f"{one.check}: {one.status}") for one in unsettled}
    found |= {(case, REFUSED) for case in unjudged}
    excused = {case for case, _ in found & wanted}
    statuses = {Status(case.status) for case in cases if case.id not in excused}
    statuses |= {one.status for one in unsettled if (one.case, f"{one.check}: {one.status}") not in wanted}
    lines = [(f"{one.id}, {one.kind}: {one.reason}", (one.id, one.kind) in found) for one in expected]
    return Met(
        statuses,
        excused,
        len(unjudged),
        [error for error in errors if not any(_is_of(error, case) for case in unjudged)],
        [line for line, met in lines if met],
        [line for line, met in lines if not met and not state.interrupted],
    )
