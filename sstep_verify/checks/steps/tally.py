"""Counts kept by the judge of steps: events, quantities seen, mistakes that reproduce a wrong step.

The names of quantities stand here as numbers, for compiled code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify import quantities
from sstep_verify.compiled import compiled_borrowing
from sstep_verify.verdict import SEEN

NAMES = tuple(quantity.name for quantity in quantities.QUANTITIES)
"""Quantities by number."""

STALE = NAMES.index(quantities.STALE)
CURVATURE = NAMES.index(quantities.CURVATURE)
KERNEL = NAMES.index(quantities.KERNEL)
SAME = NAMES.index(quantities.SAME)
OVERLAP = NAMES.index(quantities.OVERLAP)
OMEGA = NAMES.index(quantities.OMEGA)
LABELS = NAMES.index(quantities.LABELS)
UPPER = NAMES.index(quantities.UPPER)
LOWER = NAMES.index(quantities.LOWER)
SAMPLES = NAMES.index(quantities.SAMPLES)
PENALTY = NAMES.index(quantities.PENALTY)
OFF_DIAGONAL = NAMES.index(quantities.OFF_DIAGONAL)
WRITE_BACK = NAMES.index(quantities.WRITE_BACK)
BOUNDARY = NAMES.index(quantities.BOUNDARY)
TAIL = NAMES.index(quantities.TAIL)
STREAM = NAMES.index(quantities.STREAM)

EVENTS = ("free", "clip low", "clip high", "repeated", "thrice or more", "tail")
"""Events by number: what the judge's own step did, and what the stream holds."""

FREE, CLIP_LOW, CLIP_HIGH, REPEATED, THRICE, TAIL_STEP = range(len(EVENTS))


class Tally(NamedTuple):
    """Counts of one run; arrays, so that compiled code can write into them.

    Parameters
    ----------
    distance, bound : ndarray, shape (steps,)
        Per step of the stretch judged last: logged against judged, and the bound on it; of a block, of the
        entry of which the ratio is largest.
    gradient, gradient_bound : ndarray, shape (steps, b)
        Of the same steps: the judge's gradient (K-RR: right-hand side), and how far the solver's may be
        from it; infinite where nothing is promised.
    events, first : ndarray of int64, shape (events,)
        How often each event happened, and the iteration where it first did (-1: never).
    seen : ndarray of int64, shape (quantities,)
        Steps in which leaving the quantity out changes the result by more than twice the bound.
    effect : ndarray, shape (quantities,)
        Largest effect of leaving the quantity out over the bound.
    relative : ndarray, shape (quantities,)
        Largest effect of a relative change of the quantity over the bound: 2 / detectable.
    best : ndarray of int64, shape (quantities,)
        Iterations made before the step that `relative` is of (-1: none).
    now : ndarray of int64, shape (1,)
        The same of the step that is judged.
    most : ndarray, shape (quantities,)
        Effects up to this multiple of the bound say nothing new: the smaller of `SEEN` and `relative`.
    planned, looked : ndarray of int64, shape (1,)
        Judged steps whose quantities were to be looked at, and those of them with a finite bound.
    failed : ndarray of int64, shape (1,)
        Steps over their bound.
    reproduced : ndarray of int64, shape (quantities,)
        Those of them that leaving the quantity out explains.
    low, high : ndarray, shape (quantities + 2,)
        Interval of the factor on a quantity that explains all of them, empty if there is none; the last two
        are of all corrections together, and of the kernel row.
    fits : ndarray of int64, shape (quantities + 2,)
        Comparisons that told of it.
    """

    distance: np.ndarray
    bound: np.ndarray
    gradient: np.ndarray
    gradient_bound: np.ndarray
    events: np.ndarray
    first: np.ndarray
    seen: np.ndarray
    effect: np.ndarray
    relative: np.ndarray
    best: np.ndarray
    now: np.ndarray
    most: np.ndarray
    planned: np.ndarray
    looked: np.ndarray
    failed: np.ndarray
    reproduced: np.ndarray
    low: np.ndarray
    high: np.ndarray
    fits: np.ndarray


def empty_tally(steps: int, block: int) -> Tally:
    """A tally with nothing in it, for stretches of at most `steps` steps of b coordinates."""
    count = len(NAMES)
    return Tally(
        np.zeros(steps),
        np.zeros(steps),
        np.zeros((steps, block)),
        np.full((steps, block), np.inf),
        np.zeros(len(EVENTS), dtype=np.int64),
        np.full(len(EVENTS), -1, dtype=np.int64),
        np.zeros(count, dtype=np.int64),
        np.zeros(count),
        np.zeros(count),
        np.full(count, -1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(count),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(count, dtype=np.int64),
        np.full(count + 2, -np.inf),
        np.full(count + 2, np.inf),
        np.zeros(count + 2, dtype=np.int64),
    )


def part_of(tally: Tally, part: slice) -> Tally:
    """The same counts, with the steps of a part of a stretch."""
    return tally._replace(
        distance=tally.distance[part],
        bound=tally.bound[part],
        gradient=tally.gradient[part],
        gradient_bound=tally.gradient_bound[part],
    )


@compiled_borrowing
def event(tally, which, iteration):
    """Count an event of a step."""
    if tally.events[which] == 0:
        tally.first[which] = iteration
    tally.events[which] += 1


@compiled_borrowing
def note_effects(tally, quantity, dropped, relative, bound, remainder, failed):
    """Note the effects of one quantity in one step.

    Parameters
    ----------
    tally : Tally
        Counts.
    quantity : int
        Its number.
    dropped, relative : float
        What leaving it out changes, and what a relative change of it changes, per unit.
    bound : float
        Bound of the step.
    remainder : float
        Distance of the logged step from the one without the quantity.
    failed : bool
        Whether the step is over its bound.
    """
    if dropped > tally.effect[quantity] * bound:
        tally.effect[quantity] = dropped / bound if bound > 0.0 else np.inf
    if dropped > SEEN * bound:
        tally.seen[quantity] += 1
        if failed and remainder <= bound:
            tally.reproduced[quantity] += 1
    if relative > tally.relative[quantity] * bound:
        tally.relative[quantity] = relative / bound if bound > 0.0 else np.inf
        tally.best[quantity] = tally.now[0]
        tally.most[quantity] = min(SEEN, tally.relative[quantity])
