"""Cards of failures: where, both values, by how much, which known defects reproduce it, and more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from sstep_verify.meanings import number_of
from sstep_verify.report.plain import short
from sstep_verify.report.telling import record_of
from sstep_verify.report.verdicts import Failure
from sstep_verify.report.words import (
    CONTRADICTIONS,
    EXPECTED_AS,
    RESIDUAL,
    brief_hints,
    first_line,
    is_too_long,
    passed_in_words,
    place,
)
from sstep_verify.specification import text_of
from sstep_verify.verdict import LOG, WORST_STEP, HintKind, Verdict

MOST_CARDS = 6
"""Cards that are open; those of further groups are folded."""


class Line(NamedTuple):
    """One line of a card; `wide` is a number that is set in letters of one width."""

    name: str
    text: str
    wide: bool = False


OTHER = {
    "exact": "Exact",
    "limit": "Limit",
    "first run": "First run",
    "s = 1": "With s = 1",
    "expected": "Expected",
}
"""What stands before the other value of a place."""


def lines(failure: Failure) -> list[Line]:
    """The lines of the card of some failures, those of the first case."""
    verdict = record_of(failure.verdict)
    return [*_place(verdict, failure), *_size(verdict), *_cause(failure), *_hints(verdict)]


def _place(verdict: Verdict, failure: Failure) -> Iterator[Line]:
    at = verdict.place
    problem = failure.cases[0].id
    if (
        at is None
        or verdict.violations
        or at.item in CONTRADICTIONS
        or not (where := place(replace(verdict, place=_bare(at))))
    ):
        yield Line("Where", problem)
        yield Line("What", first_line(verdict))
        return
    s = f", s = {verdict.s}" if failure.of_runs else ""
    yield Line("Where", f"{where.partition(': ')[0]}{s}, in {problem}")
    named = where.partition(": ")[2] or "value"
    if at.found is not None:
        yield Line("Found", f"{named} = {at.found!r}", True)
    if at.expected is not None:
        yield Line(OTHER[EXPECTED_AS.get(verdict.check, "expected")], repr(at.expected), True)


def _hints(verdict: Verdict) -> Iterator[Line]:
    """The hints that the terminal shows too; readings of a vector have a line of their own."""
    others = [hint for hint in verdict.hints if hint.kind is not HintKind.READING]
    if said := " ".join(brief_hints(others)):
        yield Line("Hint", said)


def _bare(at: Any) -> Any:
    return replace(at, found=None, expected=None)


def _size(verdict: Verdict) -> Iterator[Line]:
    if not verdict.executed or verdict.violations or verdict.measured == verdict.bound == 0:
        return
    step = verdict.evidence.get(WORST_STEP)
    at = f", at step {step}" if step else ""
    # The first number is the ratio; another step may be off by more, within a larger bound.
    # Over an allowed 0 the ratio is infinite, however small the error is.
    ratio = short(verdict.ratio) if verdict.ratio < math.inf else "infinite"
    measured = "residual" if verdict.bound_origin == RESIDUAL else "error"
    measured = "norm of the increment" if is_too_long(verdict, step) else measured
    error = f"{measured} {short(verdict.measured)}, allowed {short(verdict.bound)}{at}"
    yield Line("Largest ratio", f"{ratio}: {error}")


def _cause(failure: Failure) -> Iterator[Line]:
    if failure.causes:
        yield Line(failure.label, "; ".join(failure.causes))
        yield from _factors(failure.verdict["defects"])
    elif failure.readings:
        yield Line("May be", ", or ".join(failure.readings))
    elif failure.tried:
        yield Line("Known defect", "none that was tried reproduces it")
    if number := failure.requirement:
        name = "May violate" if failure.possible else "Violates"
        yield Line(name, f"{number}: {text_of(number)}")
    if said := [f"{one['check']}: {first_line(record_of(one))}" for one in failure.before]:
        yield Line("Also", " ".join(said))
    if failure.others:
        # A program may leave its log and its final alpha only; what others judge is then made from the log.
        at = failure.verdict["place"]
        of_log = ". Alpha that was not recorded is that of the log." if at and at["item"] == LOG else ""
        yield Line("Fail too", ", ".join(failure.others) + of_log)
    if passed := failure.stands[0].passed:
        yield Line("Pass", passed_in_words(failure.check, passed))
    if failure.known:
        yield Line("Fail as expected", ", ".join(failure.known))


def _equal(defect: dict[str, Any]) -> str:
    """What a factor is in symbols of the problem; nothing where that is not known."""
    symbol = defect.get("symbol", "")
    return f" = {symbol}" * bool(symbol)


def _factors(defects: list[dict[str, Any]]) -> Iterator[Line]:
    """The factor of each defect that has one, with its name where there are several defects."""
    found = {
        ", ".join(one["names"]): f"{number_of(one['factor'])}{_equal(one)}"
        for one in defects
        if one.get("factor") is not None
    }
    if len(defects) == 1:
        yield from (Line("Factor", factor, True) for factor in found.values())
    elif found:
        yield Line("Factors", "; ".join(f"{factor} ({name})" for name, factor in found.items()), True)
