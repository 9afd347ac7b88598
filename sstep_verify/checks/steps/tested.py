"""The pass that counts which errors the judged steps would have shown, by quantity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.checks.steps.effects import (
    UNKNOWN,
    certain,
    clipped_effects,
    divided,
    from_first,
    left_out,
    of_curvature,
    of_residual,
    over_bounds,
    shown_from,
    solved_effects,
    tail_of,
)
from sstep_verify.checks.steps.kept import AT_START, BEFORE, OF_LATE, UNCLIPPED
from sstep_verify.checks.steps.step_statistics import (
    BOUNDARY,
    CURVATURE,
    KERNEL,
    LABELS,
    LOWER,
    NAMES,
    OFF_DIAGONAL,
    OMEGA,
    OVERLAP,
    PENALTY,
    SAME,
    SAMPLES,
    STALE,
    STREAM,
    TAIL,
    UPPER,
    is_over,
)
from sstep_verify.compiled import inlined
from sstep_verify.rounding.box import finish, soft
from sstep_verify.rounding.sums import FROZEN
from sstep_verify.verdict import DETECTION_FACTOR

SOLVED = (
    STALE, SAMPLES, PENALTY, CURVATURE, OFF_DIAGONAL, KERNEL, SAME, OVERLAP, BOUNDARY, STREAM, TAIL,
)  # fmt: skip
"""Quantities of a K-RR's step."""


class Tested(NamedTuple):
    """What the judged steps of a run could have shown; arrays, so that compiled code can write into them.

    Parameters
    ----------
    planned, looked : ndarray of int64, shape (1,)
        Steps whose quantities were to be looked at, and those of them with a finite bound.
    seen, acts : ndarray of int64, shape (quantities,)
        Steps in which leaving the quantity out changes the result by more than twice the bound; 1 where it
        changes that of any step.
    best : ndarray of int64, shape (2, quantities)
        Iterations made before the step that `least` is of (-1: none).
    least : ndarray, shape (2, quantities)
        By sign, too large and too small: the smallest relative error of that sign in the quantity from
        which on every one changes the result of one step by twice the bound. Infinite: there is none.
    """

    planned: np.ndarray
    looked: np.ndarray
    seen: np.ndarray
    acts: np.ndarray
    best: np.ndarray
    least: np.ndarray

    @classmethod
    def nothing(cls) -> Tested:
        """Before the first step."""
        seen, acts, *best = np.zeros((4, len(NAMES)), dtype=np.int64)
        planned, looked = np.zeros((2, 1), dtype=np.int64)
        return cls(planned, looked, seen, acts, np.array(best) - 1, np.full((2, len(NAMES)), np.inf))


@inlined
def note_clipped_steps(kept, segment, tally, constants, effects, tested, errors):
    """Count what the steps of a segment of a K-SVM would have shown; see `Passed`.

    `errors`, shape (steps, 1), are those of the judge that are no part of the bounds.
    """
    steps, looked, tail = segment.draws.shape[0], 0, tail_of(segment)
    for step in range(steps):
        looked += tally.bound[step] < np.inf
        # A step without curvature ends at the limit whatever its quantities are.
        if kept.table[step, 0, UNCLIPPED] < np.inf:
            end = clipped_effects(effects, kept, step, constants, tally.bound[step], errors[step, 0])
            _clipped_step(
                kept, tally.bound[step], step, constants, effects, tested, segment.first, tail, end
            )
    tested.planned[0] += steps
    tested.looked[0] += looked


@inlined
def note_solved_steps(kept, segment, tally, constants, effects, tested, errors, sampled):
    """Count what the steps of a segment of a K-RR would have shown: all if `sampled`, else wrong ones.

    `errors`, shape (steps, b), are those of the judge that are no part of the bounds.
    """
    tail = tail_of(segment)
    for step in range(segment.draws.shape[0]):
        if not (sampled or is_over(tally, step)):
            continue
        tested.planned[0] += 1
        if tally.bound[step] < np.inf and kept.solved[step]:
            tested.looked[0] += 1
            solved_effects(effects, kept, step, constants, step >= tail)
            if step >= tail:  # What a correct step applies, whatever the logged one does.
                for place in range(kept.table.shape[1]):
                    effects[TAIL, place] += kept.residual[step, place]
            for quantity in SOLVED:
                effect = effects[quantity]
                size = over_bounds(effect, kept.left[step])
                sure = left_out(quantity) * certain(quantity, effect, kept, step, constants, size)
                _note_left_out(tested, quantity, sure, 1.0)
                if quantity != STREAM and size > 0.0:
                    error = of_residual(quantity, effect, kept, step, constants, errors[step])
                    _note_from(tested, quantity, segment.first + step, error, error)


@inlined
def _clipped_step(kept, bound, step, constants, effects, tested, first, tail, end):
    """Count what one step would have shown of an error in each quantity; `bound` is on the stored value."""
    iteration, entry = first + step, kept.table[step, 0]
    for quantity in (STALE, KERNEL, SAME, OMEGA, BOUNDARY):
        _note_moved(tested, quantity, iteration, effects[quantity, 0], 1.0, end)
    _note_moved(tested, LABELS, iteration, effects[LABELS, 0], 2.0, end)
    _note_curvature(tested, iteration, entry[BEFORE], effects[CURVATURE, 0], end)
    box, u, free = end.box, constants.sums.u, soft(end.new, end.knot)
    if constants.sums.form == FROZEN and entry[BEFORE] != entry[AT_START]:
        _note_left_out(tested, OVERLAP, abs(from_first(end, kept, step) - end.value), end.bound)
    # The end itself is known to the last bit, or to the bound of what is stored there. An error in it shows
    # where the step is certain to end there, be the end too far by what the step is beyond it.
    if free > box.upper:
        _note_left_out(tested, UPPER, free - box.upper, end.bound)
        if free - box.upper > DETECTION_FACTOR * end.bound:
            error = DETECTION_FACTOR * max(bound, u * box.upper) / box.upper
            _note_from(tested, UPPER, iteration, error, error)
    if free < box.lower:
        beyond = box.lower - free
        _note_left_out(tested, LOWER, beyond, end.bound)
        if beyond > DETECTION_FACTOR * end.bound:
            error = DETECTION_FACTOR * max(bound, u * beyond) / beyond
            _note_from(tested, LOWER, iteration, error, error)
    # A coordinate stepped on twice in a row stays as it is: the log would hold its value. So does that of
    # values that are all clipped to a wrong end, of draws that were all followed.
    _note_left_out(tested, STREAM, abs(entry[OF_LATE] - end.value), end.bound)
    if step >= tail:
        change = abs(end.value - entry[BEFORE])
        _note_left_out(tested, TAIL, change, end.bound)
        slope = change - UNKNOWN * max(end.bound, end.error)
        if slope > 0.0:
            error = DETECTION_FACTOR * end.bound / slope
            _note_from(tested, TAIL, iteration, error, error)


@inlined
def _note_moved(tested, quantity, iteration, change, size, end):
    """Note what an error in a quantity would have shown.

    A unit of it takes `change` from the unclipped value. Leaving it out stands for an error of -`size`.
    """
    moved = abs(change)
    if moved == 0.0:
        return
    if size * moved > DETECTION_FACTOR * end.bound or tested.acts[quantity] == 0:
        other = finish(end.box, end.new + size * change, end.knot)
        _note_left_out(tested, quantity, abs(other - end.value), end.bound)
    # What is better than what was found already moves the unclipped value by twice the bound at least.
    if max(tested.least[0, quantity], tested.least[1, quantity]) * moved > DETECTION_FACTOR * end.bound:
        _note_from(tested, quantity, iteration, shown_from(end, -change), shown_from(end, change))


@inlined
def _note_curvature(tested, iteration, before, change, end):
    """Note what an error of the curvature would have shown: doubled it halves `change`, all it moves."""
    moved = abs(change)
    if moved == 0.0:
        return
    if 0.5 * moved > DETECTION_FACTOR * end.bound or tested.acts[CURVATURE] == 0:
        _note_left_out(tested, CURVATURE, abs(divided(end, before, 1.0) - end.value), end.bound)
    if max(tested.least[0, CURVATURE], tested.least[1, CURVATURE]) * moved > DETECTION_FACTOR * end.bound:
        plus, minus = of_curvature(end, before, change)
        _note_from(tested, CURVATURE, iteration, plus, minus)


@inlined
def _note_left_out(tested, quantity, dropped, bound):
    """Note that leaving a quantity out changes a step of some `bound` by `dropped`."""
    if dropped > 0.0:
        tested.acts[quantity] = 1
    if dropped > DETECTION_FACTOR * bound:
        tested.seen[quantity] += 1


@inlined
def _note_from(tested, quantity, iteration, plus, minus):
    """Note the errors, too large and too small, from which on one step shows a quantity to be wrong."""
    if plus < tested.least[0, quantity]:
        tested.least[0, quantity], tested.best[0, quantity] = plus, iteration
    if minus < tested.least[1, quantity]:
        tested.least[1, quantity], tested.best[1, quantity] = minus, iteration
