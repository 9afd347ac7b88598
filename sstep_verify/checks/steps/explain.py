"""The pass that looks for what explains the steps over their bound; made after a failure only."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sstep_verify.checks.steps.effects import (
    Clipped,
    certain,
    clipped_effects,
    effects_of,
    from_first,
    larger,
    left_out,
    over_bounds,
    solved_effects,
    tail_of,
)
from sstep_verify.checks.steps.kept import AT_START, BEFORE, NEW, OLD_PRODUCT, OWN_ENTRY, PRODUCT, UNCLIPPED
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
    UPPER,
    is_over,
)
from sstep_verify.checks.steps.tested import SOLVED
from sstep_verify.compiled import inlined
from sstep_verify.diagnosis.factors import (
    BOTH,
    COUNT,
    DIAGONAL,
    ENOUGH,
    ENTRY_IN_CURVATURE,
    M_EVERYWHERE,
    PANEL_LAMBDA,
    PANEL_M,
    ROW,
    SHIFT_EVERYWHERE,
    SHIFT_IN_CURVATURE,
    SIDE_LAMBDA,
    SIDE_M,
    SIDE_STALE_M,
    SYSTEM_DIAGONAL,
    SYSTEM_LAMBDA,
    TARGETS,
    UPPER_END,
    explain,
    explain_end,
    step_at_end,
)
from sstep_verify.rounding.box import finish, soft
from sstep_verify.rounding.sums import FROZEN
from sstep_verify.verdict import DETECTION_FACTOR

if TYPE_CHECKING:
    from sstep_verify.checks.steps.judged import JudgedRun


LOOSE = 2.0**10
"""Bounds by which a correct step may miss a factor: with a large one, it rounds numbers so much larger."""


SUMMANDS = (STALE, KERNEL, SAME, OVERLAP, OFF_DIAGONAL)
"""Parts of sums of a K-RR: a doubled one moves the residual as far as an absent one, the other way."""


class Explained(NamedTuple):
    """What explains the steps over their bound; arrays, so that compiled code can write into them.

    Parameters
    ----------
    over : ndarray of int64, shape (2,)
        Steps over their bound: those that ended elsewhere, and those that ended at an end of the box.
    reproduced : ndarray of int64, shape (2, quantities)
        Those of them that leaving the quantity out explains.
    low, high : ndarray, shape (COUNT,)
        Interval of the factor on a quantity that explains all of them, empty if there is none; those after
        the quantities are of all corrections together, of the kernel row, and of parts of a step.
    fits : ndarray of int64, shape (COUNT,)
        Comparisons that told of it.
    still : ndarray of int64, shape (1,)
        K-SVM: the wrong steps that left their coordinate as it was.
    sides : ndarray of int64, shape (2, 2)
        K-SVM: steps that lead from one end of the box to the other, upwards and downwards: those that left
        their coordinate as it was, and those that were made.
    moves : ndarray of int64, shape (1,)
        K-SVM: correct steps that moved their coordinate.
    allowed : tuple of ndarray, shapes (COUNT,)
        Interval of the factor on a quantity that correct steps leave, as `low` and `high`.
    """

    over: np.ndarray
    reproduced: np.ndarray
    low: np.ndarray
    high: np.ndarray
    fits: np.ndarray
    still: np.ndarray
    sides: np.ndarray
    moves: np.ndarray
    allowed: tuple[np.ndarray, np.ndarray]

    @classmethod
    def nothing(cls) -> Explained:
        """Before the first step."""
        over, reproduced = np.zeros(2, dtype=np.int64), np.zeros((2, len(NAMES)), dtype=np.int64)
        high, fits = np.full(COUNT, np.inf), np.zeros(COUNT, dtype=np.int64)
        still, moves = np.zeros((2, 1), dtype=np.int64)
        sides, allowed = np.zeros((2, 2), dtype=np.int64), (np.full(COUNT, -np.inf), np.full(COUNT, np.inf))
        return cls(over, reproduced, -high, high, fits, still, sides, moves, allowed)

    @property
    def none_moved(self) -> bool:
        """Whether every wrong step left its coordinate as it was."""
        return bool(self.still[0] == self.over.sum())

    @property
    def sides_left_out(self) -> bool:
        """Whether the steps from one end of the box to the other are wrong, no others, and were not made.

        Those that lead upwards are looked at by themselves, and so are those that lead downwards.
        """
        left_out, made = self.sides
        return bool(0 < left_out.sum() == self.over.sum() and not made[left_out > 0].any())

    @property
    def others_moved(self) -> bool:
        """Whether enough correct steps moved to show that gradients are correct."""
        return bool(self.moves[0] >= ENOUGH)


def explained(judged: JudgedRun) -> Explained:
    """What explains the steps of a judged run that are over their bound.

    The segments that hold them are judged again: of a right run nothing is kept for this. What their
    correct steps allow is noted too.
    """
    found, correct = Explained.nothing(), Explained.nothing()
    effects = effects_of(judged.case.stream.block)
    for kept, segment, tally, clip, solve in judged.judge.again(judged.trajectory, judged.wrong):
        if clip is not None:
            explain_clipped_steps(kept, segment, tally, clip, effects, found, correct)
        else:
            explain_solved_steps(kept, segment, tally, solve, effects, found, correct)
    return found._replace(allowed=(correct.low, correct.high))


@inlined
def explain_clipped_steps(kept, segment, tally, constants, effects, found, correct):
    """Note what explains the wrong steps of a segment of a K-SVM, and what its correct steps allow."""
    for step in range(segment.draws.shape[0]):
        _note_moves(kept, segment, tally, step, constants, found)
        over, logged, bound = is_over(tally, step), segment.log[step, 0], tally.bound[step]
        at_end = int(step_at_end(constants.box, logged, bound))
        if over:
            found.over[at_end] += 1
        if kept.table[step, 0, UNCLIPPED] < np.inf and bound < np.inf:
            end = clipped_effects(effects, kept, step, constants, bound, 0.0)
            if over:
                _clipped_step(kept, step, constants, effects, end, logged, found, at_end)
                _clipped_factors(kept, step, constants, effects, end, logged, found)
            elif kept.table[step, 0, OWN_ENTRY] + constants.shift > 0.0:
                wide = Clipped(end.new, end.value, end.box, end.knot, LOOSE * end.bound, end.error)
                _clipped_factors(kept, step, constants, effects, wide, logged, correct)


@inlined
def _note_moves(kept, segment, tally, step, constants, found):
    """Note whether a step moved, and should have led to the other end; and where the upper end is."""
    entry, box, logged = kept.table[step, 0], constants.box, segment.log[step, 0]
    before, bound, over = entry[BEFORE], tally.bound[step], is_over(tally, step)
    if over:
        found.still[0] += int(abs(logged - before) <= bound)
    else:
        found.moves[0] += int(logged != before)
        if 0.0 < box.upper < np.inf and bound < np.inf:
            _end_above(found, box.upper, logged, bound)
    if box.upper < np.inf and entry[UNCLIPPED] < np.inf:
        knot = box.threshold / (entry[OWN_ENTRY] + constants.shift) if box.threshold > 0.0 else 0.0
        value = finish(box, entry[NEW], knot)
        if before == box.lower and value == box.upper:
            found.sides[int(logged != before), 0] += 1
        elif before == box.upper and value == box.lower:
            found.sides[int(logged != before), 1] += 1


@inlined
def _end_above(found, upper, logged, bound):
    """Note that a step ended at a value that is no end of the box, so that this is not below it."""
    found.high[UPPER_END] = min(found.high[UPPER_END], (upper - logged + bound) / upper)


@inlined
def explain_solved_steps(kept, segment, tally, constants, effects, found, correct):
    """Note what explains the wrong steps of a segment of a K-RR, and what its correct steps allow."""
    tail = tail_of(segment)
    for step in range(segment.draws.shape[0]):
        if is_over(tally, step):
            found.over[0] += 1
            if kept.solved[step]:
                solved_effects(effects, kept, step, constants, step >= tail)
                _solved_step(kept, step, constants, effects, found)
                _solved_factors(kept, step, constants, effects, found, 1.0)
        elif kept.solved[step]:
            solved_effects(effects, kept, step, constants, step >= tail)
            _solved_factors(kept, step, constants, effects, correct, LOOSE)


@inlined
def _clipped_step(kept, step, constants, effects, end, logged, found, at_end):
    new, value, box, knot, bound, _ = end
    entry, free = kept.table[step, 0], soft(new, knot)
    product, row = entry[PRODUCT], entry[OWN_ENTRY]
    unit = 1.0 / (row + constants.shift)
    for quantity in (STALE, KERNEL, SAME, OMEGA, BOUNDARY):
        without = finish(box, new + effects[quantity, 0], knot)
        _reproduce(found, quantity, at_end, abs(without - value), bound, abs(logged - without))
    without = finish(box, new + 0.5 * effects[CURVATURE, 0], knot)
    _reproduce(found, CURVATURE, at_end, abs(without - value), bound, abs(logged - without))
    # A wrong solver may flip the label of its own increments as well.
    flipped = finish(box, new + 2.0 * product * unit, knot)
    _reproduce(found, LABELS, at_end, abs(flipped - value), bound, abs(logged - flipped))
    if constants.sums.form == FROZEN:
        other = from_first(end, kept, step)
        _reproduce(found, OVERLAP, at_end, abs(other - value), bound, abs(logged - other))
    if free > box.upper:
        _reproduce(found, UPPER, at_end, free - box.upper, bound, abs(logged - free))
    if free < box.lower:
        _reproduce(found, LOWER, at_end, box.lower - free, bound, abs(logged - free))
    if 0.0 < box.upper < np.inf:
        if logged < free - bound:
            explain(found, UPPER_END, logged - box.upper, -box.upper, bound)
        elif logged <= free + bound and logged > box.upper:
            # The minimiser itself, beyond the end: one that is above it may have been used.
            _end_above(found, box.upper, logged, bound)
        else:
            found.low[UPPER_END] = np.inf


@inlined
def _clipped_factors(kept, step, constants, effects, end, logged, found):
    """Note the factors on quantities that lead to the logged value of a K-SVM's step."""
    entry = kept.table[step, 0]
    product, row = entry[PRODUCT], entry[OWN_ENTRY]
    unit = 1.0 / (row + constants.shift)
    for quantity in (STALE, KERNEL, SAME, OMEGA, CURVATURE):
        _explain_clipped(found, quantity, effects[quantity, 0], end, logged)
    _explain_clipped(found, BOTH, (product - entry[OLD_PRODUCT]) * unit, end, logged)
    # Of a row that is off by a factor the product is, and the curvature but for omega: the step that was
    # made solves ``(1 + delta) (K_ii theta + product) + omega theta = ...``, linear in delta.
    made = (logged - entry[BEFORE]) * row + product
    _explain_clipped(found, ROW, -made * unit, end, logged)
    moved = (logged - entry[BEFORE]) * unit
    _explain_clipped(found, ENTRY_IN_CURVATURE, -moved * row, end, logged)
    _explain_clipped(found, SHIFT_IN_CURVATURE, -moved * constants.shift, end, logged)
    # With omega off in both, (K_ii + (1 + delta) omega) theta = -(g + delta omega alpha): the error is
    # delta times omega times the new value, over the curvature.
    _explain_clipped(found, SHIFT_EVERYWHERE, -logged * constants.shift * unit, end, logged)


@inlined
def _explain_clipped(found, quantity, change, end, logged):
    """Note the factor on a quantity that explains a wrong step; a unit of it moves the step by `change`."""
    new, _, box, knot, bound, _ = end
    if logged <= box.lower:
        explain_end(found, quantity, new + knot - box.lower - bound, -change)
    elif logged >= box.upper:
        explain_end(found, quantity, box.upper + knot - new - bound, change)
    elif logged == 0.0:
        explain(found, quantity, -new, change, bound + knot)
    else:
        explain(found, quantity, logged + (knot if logged > 0.0 else -knot) - new, change, bound)


@inlined
def _solved_step(kept, step, constants, effects, found):
    residual, left = kept.residual[step], kept.left[step]
    for quantity in SOLVED:
        if quantity != STREAM:  # A log that leads to its run is of draws that were followed.
            effect, change = effects[quantity], left_out(quantity)
            size = over_bounds(effect, left)
            sure = change * certain(quantity, effect, kept, step, constants, size)
            without = _without(residual, left, effect, change)
            if quantity not in SUMMANDS:
                without = min(without, _without(residual, left, effect, -change))
            _reproduce(found, quantity, 0, sure, 1.0, without)


@inlined
def _solved_factors(kept, step, constants, effects, found, loose):
    """Note the factors on quantities that lead to a K-RR's logged step, up to so many bounds."""
    residual, left, samples = kept.residual[step], kept.left[step], constants.factors.modulus
    whole = 0.0
    for value in kept.increment[step]:
        whole += value
    for place in range(left.size):
        moved, bound = residual[place], loose * left[place]
        increment, applied = kept.increment[step, place], kept.applied[step, place]
        entry = kept.table[step, place]
        for quantity in (STALE, CURVATURE, PENALTY, OFF_DIAGONAL, KERNEL, SAME):
            explain(found, quantity, moved, effects[quantity, place], bound)
        # A solver may freeze alpha over a window though it declares another form of the update.
        explain(found, OVERLAP, moved, samples * (entry[BEFORE] - entry[AT_START]), bound)
        explain(found, BOTH, moved, effects[KERNEL, place] + effects[SAME, place], bound)
        explain(found, DIAGONAL, moved, samples * increment, bound)
        own = entry[OWN_ENTRY] / constants.penalty
        explain(found, SYSTEM_DIAGONAL, moved, (own + samples) * increment, bound)
        explain(found, SYSTEM_LAMBDA, moved, applied - samples * increment, bound)
        explain(found, SIDE_LAMBDA, moved, entry[PRODUCT], bound)
        explain(found, SIDE_M, moved, samples * entry[BEFORE], bound)
        explain(found, M_EVERYWHERE, moved, samples * (whole - increment), bound)
        explain(found, SAMPLES, moved, samples * (entry[BEFORE] + increment), bound)
        target = moved + applied + samples * entry[BEFORE] + entry[PRODUCT]
        explain(found, TARGETS, moved, -target, bound)
        explain(found, SIDE_STALE_M, moved, samples * entry[AT_START], bound)
        corrected, again = entry[PRODUCT] - entry[OLD_PRODUCT], entry[BEFORE] - entry[AT_START]
        explain(found, PANEL_LAMBDA, moved, applied - samples * increment + corrected, bound)
        explain(found, PANEL_M, moved, samples * (increment + again), bound)


@inlined
def _without(residual, left, effect, change):
    """Largest entry over its bound of the residual and a multiple of a quantity's effect."""
    most = 0.0
    for place in range(effect.size):
        most = larger(most, residual[place] + change * effect[place], left[place])
    return most


@inlined
def _reproduce(found, quantity, at_end, dropped, bound, remainder):
    """Note whether leaving a quantity out, which changes `dropped`, explains a step over its bound."""
    if dropped > DETECTION_FACTOR * bound and remainder <= bound:
        found.reproduced[at_end, quantity] += 1
