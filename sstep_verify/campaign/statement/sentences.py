"""What verdicts say of every sentence of the specification."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sstep_verify.campaign.statement.record import SentenceSaid
from sstep_verify.specification import Sentence, specification
from sstep_verify.verdict import Status


def sentences_of(verdicts: Sequence[dict], tasks: dict[str, str]) -> tuple[SentenceSaid, ...]:
    """The outcome of each sentence; see `SentenceSaid`.

    Parameters
    ----------
    verdicts : sequence of dict
        ``Verdict.as_dict()`` of each.
    tasks : dict of str to str
        Task of each case.
    """
    return tuple(_said(sentence, verdicts, tasks) for sentence in specification().sentences)


def _said(sentence: Sentence, verdicts: Sequence[dict], tasks: dict[str, str]) -> SentenceSaid:
    deciding = [
        one for one in verdicts if one["check"] in sentence.checks and tasks[one["case"]] in sentence.tasks
    ]
    by = {status: [one for one in deciding if one["status"] == status] for status in Status}
    failed = [one for one in by[Status.FAIL] if sentence.number in one["sentences"]]
    if failed:
        return SentenceSaid(sentence.number, "failed", _checks(failed))
    if by[Status.INCONCLUSIVE]:
        return SentenceSaid(sentence.number, "inconclusive", _checks(by[Status.INCONCLUSIVE]))
    if shown := _showing(sentence, by[Status.PASS]):
        return SentenceSaid(sentence.number, "passed", _checks(shown))
    return SentenceSaid(sentence.number, "vacuous" if deciding else "not applicable", _checks(deciding))


def _showing(sentence: Sentence, passed: Sequence[dict]) -> list[dict]:
    """The passed verdicts that show a sentence; none unless together they saw all that it prescribes."""
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
