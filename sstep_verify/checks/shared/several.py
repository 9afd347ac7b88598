"""Several comparisons of one run in one verdict: which decides, and where a planted defect shows most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Finding, decisive, ratios
from sstep_verify.checks.shared.outcome import record
from sstep_verify.verdict import Status, Verdict


def executed(findings: Iterable[Finding]) -> int:
    """Comparisons that were made: those of which something is known."""
    return sum(finding.status is not Status.INCONCLUSIVE for finding in findings)


def most_visible(
    effects: Iterable[tuple[float, float]], default: tuple[float, float]
) -> tuple[float, float]:
    """Effect of a planted defect and bound, of several, where it shows most; else `default`."""
    return max(effects, key=lambda pair: float(ratios(*pair)), default=default)


def record_of(check: str, case: Case, s: int, findings: Sequence[Finding], **rest: Any) -> Verdict:
    """The verdict on one run that several comparisons decide.

    Parameters
    ----------
    check, case, s
        As in `record`.
    findings : sequence of Finding
        The comparisons, at least one.
    **rest
        Further arguments of `record`; planned and executed are those of the comparisons if absent.
    """
    counted = {"planned": len(findings), "executed": executed(findings), **rest}
    return record(check, case, s, decisive(findings), **counted)
