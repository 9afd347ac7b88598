"""Terms of a verdict: whether leaving a quantity out, or a planted defect, would have been seen.

A PASS that a run would have had with its planted defect too shows nothing: it is VACUOUS.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from sstep_verify.checks.shared.finding import Finding, ratios
from sstep_verify.quantities import required_quantities
from sstep_verify.verdict import SEEN, Status, Term, Why


def term_of(
    name: str, limit: float, planned: int, decided: int, seen: int, why: Why, largest: float
) -> Term:
    """The term of a quantity with a detection limit: VACUOUS, and why, where no comparison shows it."""
    status = Status.PASS if seen else Status.VACUOUS
    return Term(name, status, limit, planned, decided, seen, None if seen else why, largest)


def quantity_terms(names: Iterable[str], findings: Sequence[Finding]) -> tuple[Term, ...]:
    """One record per quantity of a step: in how many comparisons leaving it out would have been seen.

    It would have been where its exact effect exceeds twice the bound: then a run without it is further than
    the bound from the exact end, wherever within the bound of its own exact end it is. An error that is
    tried has a rule of its own (checks/window/tries.py).
    """
    decided = [finding for finding in findings if finding.decided]
    return tuple(_term(name, len(findings), decided) for name in names)


def _term(name: str, planned: int, findings: Sequence[Finding]) -> Term:
    seen = sum(finding.shows(name) for finding in findings)
    most = max((finding.dropped.get(name, 0.0) for finding in findings), default=0.0)
    limit = min((finding.detection_limit.get(name, math.inf) for finding in findings), default=math.inf)
    if findings:
        why = Why.WITHIN_BOUND if most else Why.NO_EFFECT
    else:
        why = Why.NONE_DECIDED if planned else Why.NO_STEPS
    return term_of(name, limit, planned, len(findings), seen, why, most)


def planted_term(
    name: str, effect: float, bound: float, planned: int, executed: int, why: Why, shown: int = 1
) -> Term:
    """Return the term of an injected defect, from its effect and the bound, in so many comparisons.

    The effect is a lower bound on what the defect changes, in the unit of the bound. Where a value must be
    exact the bound is 0, and every effect is detected. `why` says why it was not tested, if so. `shown` are
    the comparisons that would detect it, where any does: the one in which its effect is largest, if no
    others are known. The defect has one size, so that there is no detection limit.
    """
    shows = effect > SEEN * bound
    return Term(
        name,
        Status.PASS if shows else Status.VACUOUS,
        math.inf,
        planned,
        executed,
        shown * shows,
        why=None if shows else why,
        largest=float(ratios(effect, bound)) if effect > 0.0 else 0.0,
    )


def most_visible(
    effects: Iterable[tuple[float, float]], default: tuple[float, float]
) -> tuple[float, float]:
    """Effect of a planted defect and bound, of several, where it shows most; else `default`."""
    return max(effects, key=lambda pair: float(ratios(*pair)), default=default)


def core_terms(terms: Iterable[Term], s: int) -> tuple[Term, ...]:
    """Those of the quantities that a PASS on steps of this s must have been able to see."""
    return tuple(term for term in terms if term.name in required_quantities(s))


def first_unseen(required: Iterable[Term]) -> Term | None:
    """The first term that makes a PASS VACUOUS: one of those required that could not have been seen."""
    return next((term for term in required if term.status is Status.VACUOUS), None)
