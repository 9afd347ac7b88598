"""From findings to a verdict: what planted defects would have shown, which decides, the reason, the record.

A reason says what a bound is mostly made of that no rounding of the run makes: stored or written so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sstep_verify.bounds.largest_number import largest_number, largest_value
from sstep_verify.checks.shared.case import Case, plain_request
from sstep_verify.checks.shared.finding import Finding, decisive, ratios
from sstep_verify.quantities import STREAM, WRITE_BACK
from sstep_verify.rounding.arithmetic import TYPES, held_problem
from sstep_verify.runs import asked_of
from sstep_verify.specification import violated_by
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import PLACE, SEEN, Hint, HintKind, Status, Term, Verdict, Why

DOUBTS = {HintKind.AT_LIMITS, HintKind.PART_OF_RUN}
"""Hints by which defects that reproduce a failure may not be what was done."""

FIRST = "first a"
"""Sign of a run that starts elsewhere."""

NO_LOG = "no step log"
"""Sign of a log that was left out, is of another shape or was not filled: it contradicts nothing."""


def planted(name: str, effect: float, bound: float, planned: int, executed: int, why: Why) -> Term:
    """Return the term of an injected defect, from its effect and the bound, in so many comparisons.

    The effect is a lower bound on what the defect changes, in the unit of the bound. Where a value must be
    exact the bound is 0, and every effect is detected. `why` says why it was not tested, if so.
    """
    shows = effect > SEEN * bound
    return Term(
        name,
        Status.PASS if shows else Status.VACUOUS,
        SEEN * bound / effect if effect > 0.0 else math.inf,
        planned,
        executed,
        executed * shows,
        why=None if shows else why,
        largest=float(ratios(effect, bound)) if effect > 0.0 else 0.0,
    )


def verdict_from(
    check: str,
    case: Case,
    s: int,
    *findings: Finding,
    units: str,
    bound_origin: str = "",
    terms: tuple[Term, ...] = (),
    signs: Iterable[str] = (),
    claimed: bool = True,
    **fields: Any,
) -> Verdict:
    """Return the verdict on one run that the worst of its findings decides, as a record.

    Parameters
    ----------
    check, case, s : str, Case, int
        Check id, case, iterations per window of the run.
    findings : Finding
        The comparisons, at least one.
    units : str
        Unit of measured and bound.
    bound_origin : str
        Module in which the bound is derived; empty for an exact comparison.
    terms : tuple of Term
        What was tested; the first one decides on VACUOUS.
    signs : iterable of str
        Names of other facts that were found wrong, where no defect decides which requirement is violated.
    claimed : bool
        Whether a FAIL without such a name violates the check's own requirement.
    fields
        Further fields of the `Verdict`; status, why, place, planned and executed are those of the findings
        if absent.

    Returns
    -------
    Verdict
    """
    finding = decisive(findings)
    status = fields.setdefault("status", with_planted(finding.status, terms))
    counts = {"planned": len(findings), "executed": executed(findings)}
    if status in (Status.VACUOUS, Status.INCONCLUSIVE) and "why" not in fields:
        fields["why"] = finding.why or _why(status, finding, terms)
    if status is Status.FAIL and finding.place is not None and finding.place.end:
        known = {PLACE: [finding.place.begin, finding.place.end]}
        fields["evidence"] = known | fields.get("evidence", {})
    requirement = violated_by(
        check,
        case.problem.loss.task,
        fields.get("defects", ()),
        tuple(signs) or finding.signs,
        certain=DOUBTS.isdisjoint(one.kind for one in fields.get("hints", ())),
        claimed=claimed,
    )
    return Verdict(
        check=check,
        case=case.id,
        problem=case.problem.label,
        s=s,
        block=case.stream.block,
        ratio=finding.ratio,
        measured=finding.measured,
        bound=finding.bound,
        units=units,
        terms=terms,
        replay=case.replay_command,
        bound_origin=bound_origin,
        requirement=requirement if status is Status.FAIL else "",
        **(counts | {"place": finding.place} | fields),
    )


def _why(status: Status, finding: Finding, terms: Sequence[Term]) -> Why:
    """Why nothing is decided, of a finding that does not say it itself."""
    if status is Status.VACUOUS and finding.status is Status.PASS:
        return terms[0].why or Why.WITHIN_BOUND
    if status is Status.VACUOUS:
        return Why.NO_BOUND
    return Why.NOT_RECORDED if finding.upper == math.inf else Why.TOO_WIDE


def most_visible(
    effects: Iterable[tuple[float, float]], default: tuple[float, float]
) -> tuple[float, float]:
    """Effect of a planted defect and bound, of several, where it shows most; else `default`."""
    return max(effects, key=lambda pair: float(ratios(*pair)), default=default)


def worst_entry(ends: np.ndarray, bound: np.ndarray) -> tuple[int, Finding]:
    """The worst of comparisons, by enclosures, shape (2, n), and bounds, shape (n,): its place, and it."""
    entries = [Finding(*row) for row in np.vstack([ends, bound]).T.tolist()]
    worst = decisive(entries)
    return next(place for place, entry in enumerate(entries) if entry is worst), worst


def executed(findings: Iterable[Finding]) -> int:
    """Comparisons that were made: those of which something is known."""
    return sum(finding.status is not Status.INCONCLUSIVE for finding in findings)


def finite_promised(case: Case, trajectory: Trajectory) -> bool:
    """Whether no correct run can form a number that its precision does not hold."""
    asked = trajectory.asked or asked_of(plain_request(case, trajectory.s))
    held = held_problem(case.problem, case.formulas)
    if held is None:
        return False
    drawn = held, case.formulas, min(asked.s, max(asked.iterations, 1)), case.stream.block
    if trajectory.log is not None:
        logged = np.asarray(trajectory.log).ravel()
        first = np.argmin(np.isfinite(logged)) if not np.isfinite(logged).all() else logged.size
        before = np.concatenate([asked.initial, logged[:first]])
        largest = float(np.abs(before).max(initial=0.0))
    else:
        largest = largest_value(*drawn, asked.iterations, asked.initial)
    return largest_number(*drawn, largest) < float(np.finfo(TYPES[case.formulas.precision]).max)


def facts(signs: Iterable[str]) -> tuple[Hint, ...]:
    """Hints for what two recorded alpha contradict, by the signs of it."""
    found, moved = set(signs), {STREAM, WRITE_BACK}
    kinds = {HintKind.UNDRAWN_MOVED: moved <= found, HintKind.STARTED_ELSEWHERE: FIRST in found}
    return tuple(Hint(kind) for kind, told in kinds.items() if told)


def right_at_one(case: Case, verdicts: Sequence[Verdict]) -> bool:
    """Whether s = 1 is right, by one of these verdicts or as is known: then a cause lies between steps."""
    return case.classical_right or any(one.s == 1 and one.status is Status.PASS for one in verdicts)


def with_planted(status: Status, terms: Sequence[Term]) -> Status:
    """A PASS whose first term, the planted defect, could not have been seen is VACUOUS."""
    unseen = bool(terms) and terms[0].status is Status.VACUOUS
    return Status.VACUOUS if status is Status.PASS and unseen else status


def nothing_compared(check: str, case: Case, s: int, planned: int, why: Why, **fields: Any) -> Verdict:
    """Return the VACUOUS verdict of a check on a run of which it compared nothing."""
    nothing = Finding(0.0, 0.0, 0.0)
    given: dict[str, Any] = {"status": Status.VACUOUS, "why": why, "planned": planned, "executed": 0}
    return verdict_from(check, case, s, nothing, units="nothing compared", **given, **fields)
