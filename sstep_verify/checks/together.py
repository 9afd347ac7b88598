"""Verdicts on a case, looked at together: what one takes as given is not tested until another passed it.

A check that starts from something that the run recorded, and does not judge it, names the check that does
(`Check.rests_on`). Until that has passed on the same run, the quantities that the record hides are not
tested. Nor is the index stream where the run itself logged what it drew, for then its steps are compared
with its own word.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sstep_verify.checks.registry import CHECKS
from sstep_verify.checks.shared.case import Case
from sstep_verify.quantities import STREAM, required_quantities
from sstep_verify.verdict import Status, Term, Verdict, Why


def settled(case: Case, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts on a case without the quantities that they take on trust, in their order."""
    return [_without_trust(case, one, verdicts) for one in verdicts]


def _without_trust(case: Case, verdict: Verdict, verdicts: Iterable[Verdict]) -> Verdict:
    hidden = _hidden(case, verdict, verdicts)
    terms = tuple(_withdrawn(term, hidden.get(term.name)) for term in verdict.terms)
    if terms == verdict.terms:
        return verdict
    required = (hidden[name] for name in required_quantities(verdict.s) if name in hidden)
    why = next(required, None)
    if verdict.status is not Status.PASS or why is None:
        return replace(verdict, terms=terms)
    return replace(verdict, terms=terms, status=Status.VACUOUS, why=why)


def _hidden(case: Case, verdict: Verdict, verdicts: Iterable[Verdict]) -> dict[str, Why]:
    """Quantities that a verdict takes on trust, and why."""
    passed = {(one.check, one.s) for one in verdicts if one.status is Status.PASS}
    hidden = {STREAM: Why.OWN_DRAWS} if case.stream.kind == "logged" else {}
    for check, quantities in CHECKS[verdict.check].rests_on.items():
        if CHECKS[check].applies(case, verdict.s) and (check, verdict.s) not in passed:
            hidden |= dict.fromkeys(quantities, Why.ON_TRUST)
    return hidden


def _withdrawn(term: Term, why: Why | None) -> Term:
    """The term, not tested where there is a reason."""
    if why is None or not term.seen:
        return term
    return replace(term, status=Status.VACUOUS, detection_limit=math.inf, seen=0, why=why)
