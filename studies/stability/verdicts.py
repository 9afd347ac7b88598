"""One verdict per case and s: the verdicts on single runs, over all conditions, merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sstep_verify.report.plain import grouped
from sstep_verify.verdict import SEVERITY, Status, Term, Verdict
from studies.report.stability.summary import power

DECISIVE = (Status.FAIL, Status.INCONCLUSIVE, Status.PASS)
"""Statuses of single runs of which the first that is met is that of all; VACUOUS where none is."""


def merged(case: str, label: str, judged: Sequence[tuple[float, Verdict]]) -> list[Verdict]:
    """Merge the verdicts of one case, each with its condition: one per check and s, in the order of s.

    FAIL and INCONCLUSIVE of any run stand; else the case passes if some run could have shown a missing
    term and none did, as it is with the windows of one run. Counts are added up, the smallest
    detectable error kept, and the comparison that is told is the one with the largest ratio.
    """
    members = grouped(judged, lambda item: (item[1].s, item[1].check))
    return [_merged(case, label, members[key]) for key in sorted(members)]


def _merged(case: str, label: str, judged: list[tuple[float, Verdict]]) -> Verdict:
    ordered = sorted(judged, key=lambda item: item[0])
    verdicts = [verdict for _, verdict in ordered]
    found = {verdict.status for verdict in verdicts}
    status = next((one for one in DECISIVE if one in found), Status.VACUOUS)
    condition, told = max(
        (item for item in ordered if item[1].status is status), key=lambda item: item[1].ratio
    )
    largest: dict[str, float] = {}
    for one, verdict in ordered:
        largest[power(one)] = max(largest.get(power(one), 0.0), verdict.ratio)
    return replace(
        told,
        case=case,
        problem=label,
        status=status,
        ratio=max(verdict.ratio for verdict in verdicts) if status is Status.PASS else told.ratio,
        planned=sum(verdict.planned for verdict in verdicts),
        executed=sum(verdict.executed for verdict in verdicts),
        terms=_terms(verdicts),
        reason=f"Condition {power(condition)}: {told.reason}",
        evidence={
            "ratio by condition": largest,
            **_steps(verdicts),
        },
    )


def _steps(verdicts: list[Verdict]) -> dict[str, object]:
    """Steps judged, and of how many, over all runs that say so."""
    told = [one for verdict in verdicts if isinstance(one := verdict.evidence.get("steps"), dict)]
    return {"steps": {key: sum(int(one[key]) for one in told) for key in ("judged", "of")}} if told else {}


def _terms(verdicts: list[Verdict]) -> tuple[Term, ...]:
    members = grouped((term for verdict in verdicts for term in verdict.terms), lambda term: term.name)
    return tuple(map(_term, members.values()))


def _term(terms: list[Term]) -> Term:
    seen = any(term.status is Status.PASS for term in terms)
    return replace(
        terms[0],
        status=Status.PASS if seen else max((term.status for term in terms), key=SEVERITY.index),
        detection_limit=min(term.detection_limit for term in terms),
        planned=sum(term.planned for term in terms),
        decided=sum(term.decided for term in terms),
        seen=sum(term.seen for term in terms),
        reason="" if seen else terms[0].reason,
    )
