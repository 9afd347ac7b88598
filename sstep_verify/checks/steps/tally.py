"""What the judge of steps writes: events, quantities seen, mistakes that reproduce it.

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

(
    STALE, CURVATURE, KERNEL, SAME, OVERLAP, OMEGA, LABELS, UPPER, LOWER, SAMPLES, PENALTY, OFF_DIAGONAL,
    WRITE_BACK, BOUNDARY, TAIL, STREAM,
) = range(len(NAMES))  # fmt: skip

EVENTS = ("free", "clip low", "clip high", "repeated", "thrice or more", "tail")
"""Events by number: what the judge's own step did, and what the stream holds."""

FREE, CLIP_LOW, CLIP_HIGH, REPEATED, THRICE, TAIL_STEP = range(len(EVENTS))


class Block(NamedTuple):
    """Scratch of one block step; of a K-SVM's, with b = 1, only what is said of it.

    Parameters
    ----------
    right : ndarray, shape (b,)
        Right-hand side.
    increment, rounding, reach : ndarray, shape (b,)
        The logged increment, its e_t, and both sizes together.
    applied, applied_error, error : ndarray, shape (b,)
        G times the increment, bounds on the errors of that, and of the right-hand side.
    residual, left : ndarray, shape (b,)
        What the increment leaves of the right-hand side, and bounds on that (K-SVM: on the value stored).
    size : ndarray, shape (b,)
        Bounds on the diagonal of the block system G.
    system, factor : ndarray, shape (b, b)
        G, and its Cholesky factor.
    """

    right: np.ndarray
    increment: np.ndarray
    rounding: np.ndarray
    reach: np.ndarray
    applied: np.ndarray
    applied_error: np.ndarray
    error: np.ndarray
    residual: np.ndarray
    left: np.ndarray
    size: np.ndarray
    system: np.ndarray
    factor: np.ndarray


class Tally(NamedTuple):
    """Counts of one run; arrays, so that compiled code can write into them.

    Parameters
    ----------
    distance, bound : ndarray, shape (steps,)
        Per step judged: logged against judged, and the bound on it; of a block, of the entry of which the
        ratio is largest.
    events, first : ndarray of int64, shape (events,)
        How often each event happened, and the iteration where it first did (-1: never).
    now, planned, looked : ndarray of int64, shape (1,)
        Iterations made before the step that is judged; judged steps whose quantities were to be looked at,
        and those of them with a finite bound.
    at_end : ndarray of int64, shape (1,)
        1 where the step that is judged ended at an end of the box, 0 elsewhere.
    over : ndarray of int64, shape (2,)
        Steps over their bound: those that ended elsewhere, and those that ended at an end of the box.
    reproduced : ndarray of int64, shape (2, quantities)
        Those of them that leaving the quantity out explains.
    seen, acts, best : ndarray of int64, shape (quantities,)
        Steps in which leaving the quantity out changes the result by more than twice the bound; 1 where it
        changes that of any step; iterations made before the step that `relative` is of (-1: none).
    relative : ndarray, shape (quantities,)
        Largest effect of a relative change of the quantity, per unit, over the bound: `SEEN` over the
        detection limit.
    low, high : ndarray, shape (quantities + 2,)
        Interval of the factor on a quantity that explains all steps over their bound, empty if there is
        none; the last two are of all corrections together, and of the kernel row.
    fits : ndarray of int64, shape (quantities + 2,)
        Comparisons that told of it.
    """

    distance: np.ndarray
    bound: np.ndarray
    events: np.ndarray
    first: np.ndarray
    now: np.ndarray
    planned: np.ndarray
    looked: np.ndarray
    at_end: np.ndarray
    over: np.ndarray
    reproduced: np.ndarray
    seen: np.ndarray
    acts: np.ndarray
    best: np.ndarray
    relative: np.ndarray
    low: np.ndarray
    high: np.ndarray
    fits: np.ndarray

    def part(self, first: int) -> Tally:
        """The same, with the steps from one on."""
        return self._replace(distance=self.distance[first:], bound=self.bound[first:])


def block_of(block: int) -> Block:
    """Scratch for steps of b coordinates."""
    return Block._make((*np.zeros((10, block)), *np.zeros((2, block, block))))


def empty_tally(steps: int) -> Tally:
    """A tally with nothing in it, for `steps` steps."""
    count = len(NAMES)
    now, planned, looked, at_end = np.zeros((4, 1), dtype=np.int64)
    seen, acts, best, *reproduced = np.zeros((5, count), dtype=np.int64)
    events, first = np.zeros((2, len(EVENTS)), dtype=np.int64)
    high, fits = np.full(count + 2, np.inf), np.zeros(count + 2, dtype=np.int64)
    return Tally(
        np.zeros(steps), np.zeros(steps), events, first - 1, now, planned, looked, at_end,
        np.zeros(2, dtype=np.int64), np.array(reproduced), seen, acts, best - 1, np.zeros(count), -high,
        high, fits,
    )  # fmt: skip


@compiled_borrowing
def event(tally, which, iteration):
    """Count an event of a step."""
    if tally.events[which] == 0:
        tally.first[which] = iteration
    tally.events[which] += 1


@compiled_borrowing
def count_step(tally, step, distance, bound, free_or_clipped):
    """Note the distance and the bound of a step; returns whether it is over that."""
    tally.distance[step], tally.bound[step] = distance, bound
    event(tally, free_or_clipped, tally.now[0])
    failed = bound < np.inf and not distance <= bound
    if failed:
        tally.over[tally.at_end[0]] += 1
    return failed


@compiled_borrowing
def note_reproduced(tally, quantity, dropped, bound, remainder):
    """Note whether leaving a quantity out, which changes `dropped`, explains a step over its bound."""
    if dropped > SEEN * bound and remainder <= bound:
        tally.reproduced[tally.at_end[0], quantity] += 1


@compiled_borrowing
def note_effects(tally, quantity, dropped, relative, bound, remainder, failed):
    """Note the effects of one quantity in one step of some `bound`.

    Leaving it out changes `dropped`, a relative change of it `relative` per unit; `remainder` is the
    distance of the logged step from the one without it, `failed` whether the step is over its bound.
    """
    if dropped > 0.0:
        tally.acts[quantity] = 1
    if dropped > SEEN * bound:
        tally.seen[quantity] += 1
    if failed:
        note_reproduced(tally, quantity, dropped, bound, remainder)
    if relative > tally.relative[quantity] * bound:
        tally.relative[quantity] = relative / bound if bound > 0.0 else np.inf
        tally.best[quantity] = tally.now[0]


@compiled_borrowing
def label_effect(product, same):
    """What a label of the drawn coordinate is certain to make of a product of its row with a.

    The part `same`, of the coordinate's own increments since the window's start, has its label squared: a
    solver may leave it out there. So an error is certain to show by what it changes with and without them;
    0 where these have opposite signs.
    """
    others = product - same
    return 0.5 * (np.sign(product) + np.sign(others)) * np.minimum(np.abs(product), np.abs(others))
