"""Counts over verdicts: per check and status, comparisons per check, and what they saw per term."""

from __future__ import annotations

from collections.abc import Iterable

from sstep_verify.reporting.plain import plain
from sstep_verify.verdict import SEVERITY, Status, Verdict


def tally(verdicts: Iterable[Verdict | dict]) -> dict[str, dict]:
    """Count verdicts for the summary: ``Summary(**tally(verdicts), ...)``.

    Parameters
    ----------
    verdicts : iterable of Verdict or of Verdict.as_dict()
        Of any checks and cases.

    Returns
    -------
    dict
        ``counts``: check -> status -> verdicts (all four statuses, the most severe first).
        ``coverage``: check -> planned and executed comparisons, vacuous verdicts, and per term
        planned, decided and seen comparisons and the smallest `detection_limit` (None if never seen).
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
