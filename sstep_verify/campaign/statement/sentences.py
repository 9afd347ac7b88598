"""What verdicts say of every sentence of the specification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from sstep_verify.campaign.statement.record import SentenceSaid
from sstep_verify.report.results import Case
from sstep_verify.specification import Sentence, specification
from sstep_verify.verdict import Status


def _on_several_ranks(case: Case) -> bool:
    ranks = case.facts.get("ranks")
    return isinstance(ranks, int) and ranks > 1


ABOUT: dict[str, Callable[[Case], bool]] = {
    "S-1.6": lambda case: case.kernel.split()[0] in ("linear", "polynomial"),
    "S-1.7": lambda case: case.kernel.split()[0] == "rbf",
    "S-2.5": lambda case: case.block > 1,
    "S-4.3": _on_several_ranks,
}
"""Problems on which a sentence says something, where that is not told by its tasks."""

NOT_TOLD = ("S-3.10",)
"""Sentences on steps of a kind of which no verdict says whether one was met: they fail, but never pass."""


def sentences_of(verdicts: Sequence[dict], cases: Sequence[Case], level: int) -> tuple[SentenceSaid, ...]:
    """The outcome of each sentence, from verdicts as plain values, their cases, and the solver's level."""
    known = {case.id: case for case in cases}
    return tuple(_said(sentence, verdicts, known, level) for sentence in specification().sentences)


def _said(
    sentence: Sentence, verdicts: Sequence[dict], cases: Mapping[str, Case], level: int
) -> SentenceSaid:
    number = sentence.number
    failed = [one for one in verdicts if one["status"] == Status.FAIL and number in one["sentences"]]
    if failed:
        return SentenceSaid(number, "failed", _checks(failed))
    deciding = _deciding(sentence, verdicts, cases, level)
    by = {status: [one for one in deciding if one["status"] == status] for status in Status}
    if by[Status.INCONCLUSIVE]:
        return SentenceSaid(number, "inconclusive", _checks(by[Status.INCONCLUSIVE]))
    if shown := _showing(sentence, by[Status.PASS]):
        return SentenceSaid(number, "passed", _checks(shown))
    return SentenceSaid(number, "vacuous" if deciding else "not applicable", _checks(deciding))


def _deciding(
    sentence: Sentence, verdicts: Sequence[dict], cases: Mapping[str, Case], level: int
) -> list[dict]:
    """The verdicts that decide a sentence; none where its sharpest check has none, for a level too low."""
    about = ABOUT.get(sentence.number, lambda case: True)
    found = [
        one
        for one in verdicts
        if one["check"] in sentence.checks
        and cases[one["case"]].task in sentence.tasks
        and about(cases[one["case"]])
    ]
    sharpest = any(one["check"] == sentence.checks[0] for one in found)
    return found if level >= sentence.level or sharpest else []


def _showing(sentence: Sentence, passed: Sequence[dict]) -> list[dict]:
    """The passed verdicts that show a sentence; none unless together they saw all that it prescribes."""
    if sentence.number in NOT_TOLD:
        return []
    if not sentence.quantities:
        return list(passed)
    seen = {
        term["name"]: one
        for one in passed
        for term in one["terms"]
        if term["name"] in sentence.quantities and term["status"] == Status.PASS
    }
    return list(seen.values()) if seen.keys() == set(sentence.quantities) else []


def _checks(verdicts: Iterable[dict]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one["check"] for one in verdicts))
