"""From comparisons to a verdict: which decides, why nothing is decided, which requirement is violated."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.comparison import Comparison, decisive, executed
from sstep_verify.checks.shared.terms import first_unseen
from sstep_verify.specification import violated_by
from sstep_verify.verdict import PLACE, HintKind, Sensitivity, Status, Verdict, Why

DOUBTS = {HintKind.AT_LIMITS}
"""Hints by which defects that reproduce a failure may not be what was done.

That they are made in a part of the run is none: there they reproduce all that is wrong.
"""


def verdict_from(
    check: str,
    case: Case,
    s: int,
    *comparisons: Comparison,
    units: str,
    bound_origin: str = "",
    terms: tuple[Sensitivity, ...] = (),
    required: Sequence[Sensitivity] | None = None,
    signs: Iterable[str] = (),
    claimed: bool = True,
    **fields: Any,
) -> Verdict:
    """Return the verdict on one run that the worst of its comparisons decides, as a record.

    Parameters
    ----------
    check, case, s : str, Case, int
        Check id, case, iterations per window of the run.
    comparisons : Comparison
        The comparisons, at least one.
    units : str
        Unit of measured and bound.
    bound_origin : str
        Module in which the bound is derived; empty for an exact comparison.
    terms : tuple of Sensitivity
        What was tested.
    required : sequence of Sensitivity, optional
        Those of them without which a PASS is VACUOUS; the first one, the planted defect, if absent.
    signs : iterable of str
        Names of other facts that were found wrong, where no defect decides which requirement is violated.
    claimed : bool
        Whether a FAIL without such a name violates the check's own requirement.
    fields
        Further fields of the `Verdict`; status, why, place, planned and executed are those of the
        comparisons if absent.

    Returns
    -------
    Verdict
    """
    comparison = decisive(comparisons)
    unseen = first_unseen(terms[:1] if required is None else required)
    passed_unseen = comparison.status is Status.PASS and unseen is not None
    status = fields.setdefault("status", Status.VACUOUS if passed_unseen else comparison.status)
    counts = {"planned": len(comparisons), "executed": executed(comparisons)}
    if status in (Status.VACUOUS, Status.INCONCLUSIVE) and "why" not in fields:
        fields["why"] = comparison.why or _why(status, comparison, unseen)
    if status is Status.FAIL and comparison.place is not None and comparison.place.end:
        known = {PLACE: [comparison.place.begin, comparison.place.end]}
        fields["evidence"] = known | fields.get("evidence", {})
    requirement = violated_by(
        check,
        case.problem.loss.task,
        fields.get("defects", ()),
        tuple(signs) or comparison.signs,
        certain=DOUBTS.isdisjoint(one.kind for one in fields.get("hints", ())),
        claimed=claimed,
    )
    return Verdict(
        check=check,
        case=case.id,
        problem=case.problem.label,
        s=s,
        block=case.stream.block,
        ratio=comparison.ratio,
        measured=comparison.measured,
        bound=comparison.bound,
        units=units,
        terms=terms,
        replay=case.replay_command,
        bound_origin=bound_origin,
        requirement=requirement if status is Status.FAIL else "",
        **(counts | {"place": comparison.place} | fields),
    )


def _why(status: Status, comparison: Comparison, unseen: Sensitivity | None) -> Why:
    """Why nothing is decided, of a comparison that does not say it itself."""
    if status is Status.VACUOUS and comparison.status is Status.PASS:
        return (unseen and unseen.why) or Why.WITHIN_BOUND
    if status is Status.VACUOUS:
        return Why.NO_BOUND
    return Why.NOT_RECORDED if comparison.upper == math.inf else Why.TOO_WIDE


def right_at_one(case: Case, verdicts: Sequence[Verdict]) -> bool:
    """Whether s = 1 is right, by one of these verdicts or as is known: then a cause lies between steps."""
    return case.classical_right or any(one.s == 1 and one.status is Status.PASS for one in verdicts)


def nothing_compared(check: str, case: Case, s: int, planned: int, why: Why, **fields: Any) -> Verdict:
    """Return the VACUOUS verdict of a check on a run of which it compared nothing."""
    nothing = Comparison(0.0, 0.0, 0.0)
    given: dict[str, Any] = {"status": Status.VACUOUS, "why": why, "planned": planned, "executed": 0}
    return verdict_from(check, case, s, nothing, units="nothing compared", **given, **fields)
