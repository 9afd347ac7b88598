"""Tries errors in one quantity of a window: those of which a verdict says that they would have shown.

What a small change does says where to try, and no more: a clip may end it, undo it, or take it on one side
only. So the window is made again with an error of either sign. That says nothing of others: a larger error
may be undone where this one shows.

A run fails where it ends further than the bound B from the exact end, and rounding puts a run with an error
anywhere around the exact end with that error. Two rules say of what it would have failed for certain:

* leaving a quantity out (checks/shared/terms.py): the exact ends with it and without it are more than 2 B
  apart. Of B = 1e-15 and ends 3e-15 apart, a run without it is within 1e-15 of its own exact end, so at
  least 2e-15 from the other.
* an error that is tried here: the exact ends are more than B + B' apart, with B' the bound of the steps
  with the error. These may be larger, or clipped elsewhere: of B' = 4e-15 the ends above are too near.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.comparison import Comparison, ratios
from sstep_verify.checks.window.compare import Rounding, RunWindow, bounded, rounding_of
from sstep_verify.oracle.replay import Replay
from sstep_verify.quantities import LOWER, UPPER, RidgeSteps, SvmSteps
from sstep_verify.recurrence.mutation import Mutation, off_by
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.verdict import DETECTION_FACTOR, Status

TELLING = 2
"""Windows of a run in which errors in a quantity are tried, those that show best that it is left out."""

DOSE = Fraction(1, 2**30)
"""Relative error of which the effect says where to try others."""

LEAST = unit_roundoff("float64")
"""Least relative error that is tried: no factor is off by less than a rounding."""

DIGITS = Context(prec=3, rounding=ROUND_CEILING)
"""Errors have so few digits, so that those printed are those tried."""

NEAR = 2.0**-20
"""Of the largest increment of a K-RR's window, so much may increments differ to share one bound.

The shared bound holds with any value. It is that of increments larger by twice as much, and a bound on a
K-RR's window reads increments by their sizes only, in which it grows (rounding/block/local.py). A larger
value makes it looser, by about as much; with a smaller one more tries have a bound of their own.
"""

FOLD, FOLDS = 4, 3
"""If that does not show, so many times as much, so often."""


@dataclass(frozen=True, eq=False)
class Tries:
    """A replayed window, in which errors are tried.

    Parameters
    ----------
    case : Case
        The case.
    window : RunWindow
        The window.
    replay : Replay
        Its replay.
    bound, resolved : ndarray, shape (k,)
        The bound, and the smallest change that the solver's precision resolves.
    """

    case: Case
    window: RunWindow
    replay: Replay
    bound: np.ndarray
    resolved: np.ndarray

    def effect(self, mutation: Mutation) -> float:
        """What a mutation is certain to change, over the bound, where that is most."""
        made = self._tried(mutation)
        return 0.0 if made is None else float(ratios(made[0], self._visible).max())

    def guess(self, name: str) -> float:
        """The relative error of a quantity that may show, by what a small one does; or infinite."""
        small = off_by(name, DOSE)
        effect = 0.0 if small is None else self.effect(small)
        return max(DETECTION_FACTOR * float(DOSE) / effect, LEAST) if effect else math.inf

    def shows(self, name: str, relative: Fraction) -> bool:
        """Whether a relative error in a quantity is certain to show.

        By the second rule above: its effect exceeds the bound and that of the steps with the error.
        """
        mutation = off_by(name, relative)
        made = None if mutation is None else self._tried(mutation)
        if made is None or not (made[0] > self._visible).any():
            return False
        change, steps = made
        reach = self._visible + np.maximum(self._bound(name, float(relative), steps), self.resolved)
        return bool((change > reach).any())

    @cached_property
    def flat(self) -> bool:
        """Whether a step has no curvature, so that it ends at an end of the box whatever is left out."""
        problem, places = self.case.problem, self.replay.places
        if not problem.is_svm or problem.boxed.shift > 0:
            return False
        return bool((self._rounding.rows.values[np.arange(places.size), places] == 0.0).any())

    @cached_property
    def _visible(self) -> np.ndarray:
        return np.maximum(self.bound, self.resolved)

    @cached_property
    def _rounding(self) -> Rounding:
        return rounding_of(self.case, self.replay.places, self.window)

    @cached_property
    def _bound_near(self) -> np.ndarray:
        """K-RR: the bound of all windows whose increments are near those of this one; see `NEAR`."""
        steps = self.replay.steps
        assert isinstance(steps, RidgeSteps)
        # Twice, since what is near is decided with rounded differences.
        more = np.copysign(2 * NEAR * np.abs(steps.increments).max(initial=0.0), steps.increments)
        larger = replace(self.replay, steps=replace(steps, increments=steps.increments + more))
        return bounded(self.case, larger, self.window, self._rounding)[1]

    def _tried(self, mutation: Mutation) -> tuple[np.ndarray, SvmSteps | RidgeSteps] | None:
        """What a mutation is certain to change, where there is a bound, and its steps."""
        made = self.replay.tried(mutation) if self.replay.tried else None
        return None if made is None else (made[0][: self.bound.size], made[1])

    def _bound(self, name: str, relative: float, steps: SvmSteps | RidgeSteps) -> np.ndarray:
        """The bound on what rounding does to a run with the error, which makes these steps."""
        if isinstance(steps, RidgeSteps) and _near(steps, self.replay.steps):
            return self._bound_near
        case, mutated, dual = self.case, replace(self.replay, steps=steps), None
        if name == UPPER:
            dual = case.problem.dual._replace(upper=case.problem.dual.upper * (1.0 + relative))
        _, bound = bounded(case, mutated, self.window, self._rounding, dual)
        if name == LOWER:
            # Of what is below the lower end a part stays, with its error.
            dual = case.problem.dual._replace(lower=-math.inf)
            _, below = bounded(case, mutated, self.window, self._rounding, dual)
            bound = bound + abs(relative) * below
        return bound


def _near(one: RidgeSteps, other: SvmSteps | RidgeSteps) -> bool:
    """Whether the increments of two windows of a K-RR are near each other."""
    assert isinstance(other, RidgeSteps)
    largest = np.abs(other.increments).max(initial=0.0)
    return bool((np.abs(one.increments - other.increments) <= NEAR * largest).all())


def telling(comparisons: Sequence[Comparison], name: str) -> list[int]:
    """Places of the windows in which errors in a quantity are to be tried, the best first."""
    acting = [
        place
        for place, one in enumerate(comparisons)
        if one.tried is not None and one.status is Status.PASS and name in one.dropped
    ]
    return sorted(acting, key=lambda place: -comparisons[place].dropped[name])[:TELLING]


def kept_telling(comparisons: Sequence[Comparison], names: Iterable[str]) -> list[Comparison]:
    """The comparisons, without what none of the named quantities is to be tried in."""
    kept = {place for name in names for place in telling(comparisons, name)}
    return [
        one if place in kept or one.tried is None else replace(one, tried=None)
        for place, one in enumerate(comparisons)
    ]


def with_limits(comparisons: Sequence[Comparison], names: Iterable[str]) -> list[Comparison]:
    """The comparisons with the error of either sign in each quantity that was tried and would have shown.

    Each sign shows in one of at most `TELLING` windows. Where a window of the run fails, none is tried.
    """
    limits: list[dict[str, float]] = [{} for _ in comparisons]
    failed = any(one.status is Status.FAIL for one in comparisons)
    for name in () if failed else names:
        windows = telling(comparisons, name)
        tries = [comparisons[place].tried for place in windows]
        shown = any(one.shows(name) for one in comparisons)
        # What may be left out altogether may be off by as much.
        if shown or (name == UPPER and any(one.flat for one in tries)):
            limit = _limit(name, tries)
            if limit < math.inf:
                limits[windows[0]][name] = limit
    return [
        replace(one, detection_limit=known, tried=None)
        for one, known in zip(comparisons, limits, strict=True)
    ]


def _limit(name: str, tries: Sequence[Tries]) -> float:
    """The first of a few errors < 1 of which either sign shows in some window; infinite if none does."""
    guess = min((one.guess(name) for one in tries), default=math.inf)
    for fold in range(FOLDS + 1):
        if not guess * FOLD**fold < 1.0:
            break
        error = Fraction(float(DIGITS.create_decimal(Decimal(guess * FOLD**fold))))
        if all(any(one.shows(name, sign * error) for one in tries) for sign in (1, -1)):
            return float(error)
    return math.inf
