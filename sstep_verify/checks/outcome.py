"""From an enclosure and a bound to a verdict: the rule, the largest ratio, the record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from sstep_verify.checks.case import Case
from sstep_verify.verdict import Status, Term, Verdict


@dataclass(frozen=True)
class Finding:
    """One comparison: an enclosure of what was measured, and the bound on it.

    Parameters
    ----------
    what : str
        What was compared, with both values, for the reason of the verdict.
    lower, upper : float
        Enclosure of the measured value, >= 0.
    bound : float
        Bound on it; infinite where none can be derived.
    """

    what: str
    lower: float
    upper: float
    bound: float

    @property
    def status(self) -> Status:
        """FAIL iff the lower end exceeds the bound, PASS iff the upper end does not.

        VACUOUS where the value is known and the bound infinite: no defect could exceed it.
        """
        if self.lower > self.bound:
            return Status.FAIL
        if self.bound == math.inf and self.upper < math.inf:
            return Status.VACUOUS
        return Status.PASS if self.upper <= self.bound < math.inf else Status.INCONCLUSIVE

    @property
    def measured(self) -> float:
        """The end of the enclosure that the status hangs on."""
        return self.lower if self.status is Status.FAIL else self.upper

    @property
    def ratio(self) -> float:
        """Measured / bound; 0 where the value must be exact and is, and where there is no bound."""
        if self.measured == 0.0 or not self.bound < math.inf:
            return 0.0
        return self.measured / self.bound if self.bound > 0.0 else math.inf


class Compared(Protocol):
    """What a verdict quotes of a comparison."""

    @property
    def ratio(self) -> float:
        """Measured / bound."""
        ...

    @property
    def measured(self) -> float:
        """The value measured."""
        ...

    @property
    def bound(self) -> float:
        """The bound on it."""
        ...


def decisive(findings: list[Finding]) -> Finding:
    """The finding that a verdict on all of them rests on: the worst status, then the largest ratio."""
    order = (Status.PASS, Status.VACUOUS, Status.INCONCLUSIVE, Status.FAIL)
    return max(findings, key=lambda finding: (order.index(finding.status), finding.ratio))


def planted_term(name: str, effect: float, bound: float, planned: int, executed: int, reason: str) -> Term:
    """What a planted defect of a known effect would have shown against a bound.

    Parameters
    ----------
    name : str
        Name of the defect.
    effect : float
        Lower bound on what it changes, in the unit of the bound.
    bound : float
        The bound; 0 where a value must be exact, and then any effect is seen.
    planned, executed : int
        Comparisons.
    reason : str
        Why it would not have been seen, used only if it would not.
    """
    seen = effect > 2 * bound  # then even a run at the near end of its own bound exceeds it
    detectable = bound / effect if effect > 0.0 else math.inf
    status = Status.PASS if seen else Status.VACUOUS
    return Term(
        name, status, detectable, planned, executed, executed if seen else 0, "" if seen else reason
    )


def with_planted(status: Status, terms: tuple[Term, ...]) -> Status:
    """A PASS whose first term, the planted defect, could not have been seen is VACUOUS."""
    unseen = bool(terms) and terms[0].status is Status.VACUOUS
    return Status.VACUOUS if status is Status.PASS and unseen else status


def verdict_on(
    check: str,
    case: Case,
    s: int,
    status: Status,
    compared: Compared,
    reason: str,
    *,
    units: str,
    planned: int,
    executed: int,
    terms: tuple[Term, ...] = (),
    evidence: dict[str, object] | None = None,
) -> Verdict:
    """The verdict on one run of a case, from what was decided about it.

    Parameters
    ----------
    check : str
        Check id.
    case : Case
        The case.
    s : int
        Iterations per window of the run.
    status : Status
        What was decided.
    compared : Compared
        The comparison that decided it, for ratio, measured and bound.
    reason : str
        Why.
    units : str
        Unit of measured and bound.
    planned, executed : int
        Comparisons planned and decided.
    terms : tuple of Term
        What planted defects would have shown.
    evidence : dict
        Further values for the report.
    """
    return Verdict(
        check=check,
        case=case.id,
        problem=case.problem.label,
        s=s,
        block=case.stream.block,
        status=status,
        ratio=compared.ratio,
        measured=compared.measured,
        bound=compared.bound,
        units=units,
        planned=planned,
        executed=executed,
        terms=terms,
        reason=reason,
        replay=case.replay_command,
        evidence=evidence or {},
    )


def record(
    check: str,
    case: Case,
    s: int,
    finding: Finding,
    *,
    units: str,
    planned: int,
    executed: int,
    origin: str,
    causes: str,
    terms: tuple[Term, ...] = (),
    evidence: dict[str, object] | None = None,
) -> Verdict:
    """The verdict on one run that a finding decides, with its reason in words.

    Parameters
    ----------
    check, case, s, units, planned, executed, terms, evidence
        As in `verdict_on`; the first term decides on VACUOUS.
    finding : Finding
        The comparison that decides.
    origin : str
        Where the bound comes from.
    causes : str
        Likely causes of a failure.
    """
    status = with_planted(finding.status, terms)
    reason = (
        f"{finding.what}: measured {finding.measured:.3g}, bound {finding.bound:.3g} {units} ({origin})."
    )
    if status is Status.VACUOUS and finding.status is Status.PASS:
        reason += f" This run could not have shown the defect {terms[0].name!r}: {terms[0].reason}."
    elif status is Status.VACUOUS:
        reason += " There is no bound for this input, so no defect could have exceeded it."
    elif status is Status.FAIL:
        reason += f" Likely causes: {causes}."
    elif status is Status.INCONCLUSIVE:
        reason += (
            f" The enclosure [{finding.lower:.3g}, {finding.upper:.3g}] of the measured value holds "
            "the bound, or nothing is known of it."
        )
    return verdict_on(
        check, case, s, status, finding, reason,
        units=units, planned=planned, executed=executed, terms=terms, evidence=evidence,
    )  # fmt: skip
