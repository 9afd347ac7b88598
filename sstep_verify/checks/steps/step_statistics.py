"""What the judge of steps writes: distances, bounds, events.

The names of quantities stand here as numbers, for compiled code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify import quantities
from sstep_verify.compiled import inlined

NAMES = tuple(quantity.name for quantity in quantities.QUANTITIES)
"""Quantities by number."""

(
    STALE, CURVATURE, KERNEL, SAME, OVERLAP, OMEGA, LABELS, UPPER, LOWER, SAMPLES, PENALTY, OFF_DIAGONAL,
    WRITE_BACK, BOUNDARY, TAIL, STREAM,
) = np.arange(len(NAMES))  # fmt: skip
# NumPy's integers: of each constant integer of Python, compiled code has a copy of every function that it
# is given to.

STATES = ("low", "free", "high")
"""Where a value lies: on the lower limit of the box, between the two, on the upper one."""

TRANSITIONS = tuple(f"{before} to {after}" for before in STATES for after in STATES)
"""Steps of a K-SVM by where the run's own value lay before, and where the judge's own step ends.

A loss without an upper limit makes no step from or to it.
"""

EVENTS = ("free", "clip low", "clip high", "repeated", "thrice or more", "tail", *TRANSITIONS)
"""Events by number: what the judge's own step did, and what the stream holds."""

FREE, CLIP_LOW, CLIP_HIGH, REPEATED, THRICE, TAIL_STEP, FIRST_TRANSITION = np.arange(7)

LOW_STATE, FREE_STATE, HIGH_STATE = np.arange(len(STATES))


class StepStatistics(NamedTuple):
    """What judging the steps of a run gave; arrays, so that compiled code can write into them.

    Parameters
    ----------
    distance, bound : ndarray, shape (steps,)
        Per step judged: logged against judged, and the bound on it; of a block, of the entry of which the
        ratio is largest.
    events, first : ndarray of int64, shape (events,)
        How often each event happened, and the iteration where it first did (-1: never).
    """

    distance: np.ndarray
    bound: np.ndarray
    events: np.ndarray
    first: np.ndarray

    def part(self, steps: slice) -> StepStatistics:
        """The same, with some of the steps."""
        return self._replace(distance=self.distance[steps], bound=self.bound[steps])

    @property
    def over(self) -> np.ndarray:
        """Whether each step is over its bound, shape (steps,)."""
        return (self.bound < np.inf) & ~(self.distance <= self.bound)


def empty_statistics(steps: int) -> StepStatistics:
    """A tally with nothing in it, for `steps` steps."""
    events, first = np.zeros((2, len(EVENTS)), dtype=np.int64)
    return StepStatistics(np.zeros(steps), np.zeros(steps), events, first - 1)


@inlined
def event(tally, which, iteration):
    """Count an event of a step."""
    if tally.events[which] == 0:
        tally.first[which] = iteration
    tally.events[which] += 1


@inlined
def state_in(box, value):
    """Where a value lies in its box, by number, see `STATES`."""
    return FREE_STATE if box.lower < value < box.upper else LOW_STATE if value <= box.lower else HIGH_STATE


def transitions_in(lower: float, upper: float) -> tuple[str, ...]:
    """The transitions that steps in a box can make."""
    ends = {"low": lower > -np.inf, "free": lower < upper, "high": upper < np.inf}
    return tuple(name for name in TRANSITIONS if all(ends[state] for state in name.split(" to ")))


@inlined
def is_over(tally, step):
    """Whether a step is over its bound; a distance that is no number is over every bound."""
    return tally.bound[step] < np.inf and not tally.distance[step] <= tally.bound[step]
