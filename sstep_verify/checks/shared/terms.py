"""Terms of a verdict: whether leaving a quantity out, or a planted defect, would have been seen.

A PASS that a run would have had with its planted defect too shows nothing: it is VACUOUS.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from sstep_verify.checks.shared.comparison import Comparison, ratios
from sstep_verify.quantities import required_quantities
from sstep_verify.verdict import DETECTION_FACTOR, Sensitivity, Status, Why


def term_of(
    name: str, limit: float, planned: int, decided: int, seen: int, why: Why, largest: float
) -> Sensitivity:
    """The term of a quantity with a detection limit: VACUOUS, and why, where no comparison shows it."""
    status = Status.PASS if seen else Status.VACUOUS
    return Sensitivity(name, status, limit, planned, decided, seen, None if seen else why, largest)


def quantity_terms(names: Iterable[str], comparisons: Sequence[Comparison]) -> tuple[Sensitivity, ...]:
    """One record per quantity of a step: in how many comparisons leaving it out would have been seen.

    It would have been where its exact effect exceeds twice the bound: then a run without it is further than
    the bound from the exact end, wherever within the bound of its own exact end it is. An error that is
    tried has a rule of its own (checks/window/tries.py).
    """
    decided = [comparison for comparison in comparisons if comparison.decided]
    return tuple(_term(name, len(comparisons), decided) for name in names)


def _term(name: str, planned: int, comparisons: Sequence[Comparison]) -> Sensitivity:
    seen = sum(comparison.shows(name) for comparison in comparisons)
    most = max((comparison.dropped.get(name, 0.0) for comparison in comparisons), default=0.0)
    limit = min(
        (comparison.detection_limit.get(name, math.inf) for comparison in comparisons), default=math.inf
    )
    if comparisons:
        why = Why.WITHIN_BOUND if most else Why.NO_EFFECT
    else:
        why = Why.NONE_DECIDED if planned else Why.NO_STEPS
    return term_of(name, limit, planned, len(comparisons), seen, why, most)


def planted_term(
    name: str, effect: float, bound: float, planned: int, executed: int, why: Why, shown: int = 1
) -> Sensitivity:
    """Return the term of an injected defect, from its effect and the bound, in so many comparisons.

    The effect is a lower bound on what the defect changes, in the unit of the bound. Where a value must be
    exact the bound is 0, and every effect is detected. `why` says why it was not tested, if so. `shown` are
    the comparisons that would detect it, where any does: the one in which its effect is largest, if no
    others are known. The defect has one size, so that there is no detection limit.
    """
    shows = effect > DETECTION_FACTOR * bound
    return Sensitivity(
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


def core_terms(terms: Iterable[Sensitivity], s: int) -> tuple[Sensitivity, ...]:
    """Those of the quantities that a PASS on steps of this s must have been able to see."""
    return tuple(term for term in terms if term.name in required_quantities(s))


def first_unseen(required: Iterable[Sensitivity]) -> Sensitivity | None:
    """The first term that makes a PASS VACUOUS: one of those required that could not have been seen."""
    return next((term for term in required if term.status is Status.VACUOUS), None)
