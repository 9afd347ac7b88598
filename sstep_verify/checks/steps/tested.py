"""The pass that counts which errors the judged steps would have shown, by quantity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.checks.steps.effects import (
    certain,
    clipped_effects,
    from_first,
    left_out,
    over_bounds,
    solved_effects,
    tail_of,
)
from sstep_verify.checks.steps.kept import AT_START, BEFORE, OF_LATE, UNCLIPPED
from sstep_verify.checks.steps.tally import (
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
from sstep_verify.compiled import compiled_borrowing
from sstep_verify.rounding.box import finish, soft
from sstep_verify.rounding.sums import FROZEN
from sstep_verify.verdict import SEEN

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
    seen, acts, best : ndarray of int64, shape (quantities,)
        Steps in which leaving the quantity out changes the result by more than twice the bound; 1 where it
        changes that of any step; iterations made before the step that `relative` is of (-1: none).
    relative : ndarray, shape (quantities,)
        Largest effect of a relative change of the quantity, per unit, over the bound: `SEEN` over the
        detection limit.
    """

    planned: np.ndarray
    looked: np.ndarray
    seen: np.ndarray
    acts: np.ndarray
    best: np.ndarray
    relative: np.ndarray

    @classmethod
    def nothing(cls) -> Tested:
        """Before the first step."""
        seen, acts, best = np.zeros((3, len(NAMES)), dtype=np.int64)
        planned, looked = np.zeros((2, 1), dtype=np.int64)
        return cls(planned, looked, seen, acts, best - 1, np.zeros(len(NAMES)))


@compiled_borrowing
def note_clipped_steps(kept, stretch, tally, constants, effects, tested):
    """Count what the steps of a stretch of a K-SVM would have shown; see `Passed`."""
    steps, looked, tail = stretch.draws.shape[0], 0, tail_of(stretch)
    for step in range(steps):
        if kept.table[step, 0, UNCLIPPED] < np.inf:
            looked += 1
            _clipped_step(kept, tally.bound[step], step, constants, effects, tested, stretch.first, tail)
    tested.planned[0] += steps
    tested.looked[0] += looked


@compiled_borrowing
def note_solved_steps(kept, stretch, tally, constants, effects, tested, sampled):
    """Count what the steps of a stretch of a K-RR would have shown: all if `sampled`, else wrong ones."""
    tail = tail_of(stretch)
    for step in range(stretch.draws.shape[0]):
        if not (sampled or is_over(tally, step)):
            continue
        tested.planned[0] += 1
        if tally.bound[step] < np.inf and kept.solved[step]:
            tested.looked[0] += 1
            solved_effects(effects, kept, step, constants, step >= tail)
            for quantity in SOLVED:
                effect = effects[quantity]
                size = over_bounds(effect, kept.left[step])
                sure = left_out(quantity) * certain(quantity, effect, kept, step, constants, size)
                _note(tested, quantity, stretch.first + step, sure, size, 1.0)


@compiled_borrowing
def _clipped_step(kept, bound, step, constants, effects, tested, first, tail):
    """Count what one step would have shown of an error in each quantity; `bound` is on the stored value."""
    iteration, entry = first + step, kept.table[step, 0]
    end = clipped_effects(effects, kept, step, constants, bound)
    for quantity in (STALE, KERNEL, SAME, OMEGA, BOUNDARY):
        _note_moved(tested, quantity, iteration, effects[quantity, 0], 1.0, end)
    _note_moved(tested, CURVATURE, iteration, effects[CURVATURE, 0], 0.5, end)
    _note_moved(tested, LABELS, iteration, effects[LABELS, 0], 2.0, end)
    box, u, free = end.box, constants.sums.u, soft(end.new, end.knot)
    if constants.sums.form == FROZEN and entry[BEFORE] != entry[AT_START]:
        change = abs(from_first(end, kept, step) - end.value)
        _note(tested, OVERLAP, iteration, change, 0.0, end.bound)
    if free > box.upper:
        # The end itself is known to the last bit, or to the bound of what is stored there.
        sharp = box.upper * (end.bound / max(bound, u * box.upper))
        _note(tested, UPPER, iteration, free - box.upper, sharp, end.bound)
    if free < box.lower:
        beyond = box.lower - free
        sharp = beyond * (end.bound / max(bound, u * beyond))
        _note(tested, LOWER, iteration, beyond, sharp, end.bound)
    # A coordinate stepped on twice in a row stays as it is: the log would hold its value. So does that of
    # values that are all clipped to a wrong end, of draws that were all followed.
    _note(tested, STREAM, iteration, abs(entry[OF_LATE] - end.value), 0.0, end.bound)
    if step >= tail:
        change = abs(end.value - entry[BEFORE])
        _note(tested, TAIL, iteration, change, change, end.bound)


@compiled_borrowing
def _note_moved(tested, quantity, iteration, change, size, end):
    """Note what an error in a quantity would have shown, which adds `change` to the unclipped value a unit.

    Leaving it out stands for a change of `size`.
    """
    new, value, box, knot, bound = end
    if max(size, 1.0) * abs(change) <= min(SEEN, tested.relative[quantity]) * bound:
        return  # neither seen nor better than what was seen already
    other, free = finish(box, new + size * change, knot), soft(new, knot)
    relative = abs(change) if box.lower < free < box.upper and (free != 0.0 or knot == 0.0) else 0.0
    _note(tested, quantity, iteration, abs(other - value), relative, bound)


@compiled_borrowing
def _note(tested, quantity, iteration, dropped, relative, bound):
    """Note the effects of one quantity in one step of some `bound`.

    Leaving it out changes `dropped`, a relative change of it `relative` per unit.
    """
    if dropped > 0.0:
        tested.acts[quantity] = 1
    if dropped > SEEN * bound:
        tested.seen[quantity] += 1
    if relative > tested.relative[quantity] * bound:
        tested.relative[quantity] = relative / bound if bound > 0.0 else np.inf
        tested.best[quantity] = iteration
