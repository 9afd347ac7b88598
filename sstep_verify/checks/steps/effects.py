"""What an error in each quantity of a judged step does to that step, by what was kept of it.

Effects are per unit of a relative error: on the unclipped value of a K-SVM's step, on the residual of a
K-RR's, which is told at the logged increment.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sstep_verify.checks.steps.kept import (
    AT_START,
    BEFORE,
    NEW,
    OF_BOUNDARY,
    OF_LATE,
    OLD_PRODUCT,
    OWN_ENTRY,
    PRODUCT,
    UNCLIPPED,
)
from sstep_verify.checks.steps.residual import norm
from sstep_verify.checks.steps.tally import (
    BOUNDARY,
    CURVATURE,
    KERNEL,
    LABELS,
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
)
from sstep_verify.compiled import compiled_borrowing
from sstep_verify.rounding.box import Box, finish
from sstep_verify.rounding.sums import FROZEN


class Clipped(NamedTuple):
    """Where a K-SVM's step ends.

    Parameters
    ----------
    new, value : float
        The judge's unclipped and new value.
    box : Box
        Ends of the box.
    knot : float
        Threshold over the curvature.
    bound : float
        On the error of the unclipped value, no less than that of the stored one: a wrong quantity moves the
        unclipped value, which is known up to that only.
    """

    new: float
    value: float
    box: Box
    knot: float
    bound: float


def effects_of(block: int) -> np.ndarray:
    """Room for the effects of all quantities on a step of b coordinates, by quantity and coordinate."""
    return np.zeros((len(NAMES), block))


@compiled_borrowing
def tail_of(stretch):
    """The place of the first step of a run's last, short window in its last stretch, else past its end."""
    steps = stretch.draws.shape[0]
    return steps - steps % stretch.width if stretch.closing else steps


@compiled_borrowing
def _products(effects, entry, place, scale):
    """Set what each part of a row's product with alpha makes of it.

    These are alpha at the window's start, the increments of other coordinates and of the same one since,
    and of the window's first step the increments of the step before.
    """
    product, stale = entry[PRODUCT], entry[OLD_PRODUCT]
    same = entry[OWN_ENTRY] * scale * (entry[BEFORE] - entry[AT_START])
    effects[STALE, place], effects[SAME, place] = stale, same
    effects[KERNEL, place] = product - stale - same
    effects[BOUNDARY, place] = entry[OF_BOUNDARY]


@compiled_borrowing
def label_effect(product, same):
    """What a label of the drawn coordinate is certain to make of a product of its row with alpha.

    The part `same`, of the coordinate's own increments since the window's start, has its label squared: a
    solver may leave it out there. So an error is certain to show by what it changes with and without them;
    0 where these have opposite signs.
    """
    others = product - same
    signs = math.copysign(0.5, product) + math.copysign(0.5, others)
    return signs * np.minimum(np.abs(product), np.abs(others))


@compiled_borrowing
def clipped_effects(effects, kept, step, constants, bound):
    """Set the effects on a K-SVM's step of which the unclipped value has a bound; return where it ends.

    `bound` is that on the stored value.
    """
    entry, box = kept.table[step, 0], constants.box
    before, new, curvature = entry[BEFORE], entry[NEW], entry[OWN_ENTRY] + constants.shift
    unit, knot = 1.0 / curvature, box.threshold / curvature if box.threshold > 0.0 else 0.0
    _products(effects, entry, 0, 1.0)
    effects[OMEGA, 0] = constants.shift * before
    effects[LABELS, 0] = label_effect(entry[PRODUCT], effects[SAME, 0])
    for quantity in (STALE, KERNEL, SAME, OMEGA, BOUNDARY, LABELS):
        effects[quantity, 0] *= unit
    # What the curvature divides: the gradient, with the threshold on the side of the new value.
    effects[CURVATURE, 0] = before - (new - (knot if new > 0.0 else -knot))
    return Clipped(new, finish(box, new, knot), box, knot, max(entry[UNCLIPPED], bound))


@compiled_borrowing
def from_first(end, kept, step):
    """The new value of a K-SVM's step from the coordinate's value at the window's start.

    It is the value itself where the coordinate was not drawn before in the window, or its step is free.
    """
    entry = kept.table[step, 0]
    before = entry[BEFORE] - entry[AT_START]
    return finish(end.box, end.new - before, end.knot) + before


@compiled_borrowing
def solved_effects(effects, kept, step, constants, tail):
    """Set the effects on the residual of a K-RR's step, 0 of a quantity that it does not have.

    `tail` says whether its window is the run's last, short one.
    """
    samples, scale, count = constants.factors.modulus, 1.0 / constants.penalty, kept.table.shape[1]
    for place in range(count):
        entry, increment, applied = (
            kept.table[step, place],
            kept.increment[step, place],
            kept.applied[step, place],
        )
        _products(effects, entry, place, scale)
        others = applied - entry[OWN_ENTRY] * scale * increment - samples * increment
        frozen = samples * (entry[BEFORE] - entry[AT_START])
        effects[CURVATURE, place] = applied
        effects[OVERLAP, place] = frozen if constants.sums.form == FROZEN else 0.0
        effects[SAMPLES, place] = samples * entry[BEFORE]
        effects[PENALTY, place] = entry[PRODUCT] + applied - samples * increment
        effects[OFF_DIAGONAL, place] = others if count > 1 else 0.0
        effects[TAIL, place] = applied if tail else 0.0
        # The block before, taken again, stays as it is: the log would hold its values.
        effects[STREAM, place] = entry[OF_LATE]
    if samples * norm(kept.increment[step]) < norm(effects[SAMPLES]):
        # m is in the right-hand side and on the diagonal: reported is where an error shows least.
        for place in range(count):
            effects[SAMPLES, place] = samples * kept.increment[step, place]


@compiled_borrowing
def left_out(quantity):
    """The relative change of a quantity of K-RR that leaving it out stands for, in size.

    Of twice the system, or of K / lambda, a solver gets half the increment.
    """
    return 0.5 if quantity in (PENALTY, CURVATURE) else 1.0


@compiled_borrowing
def over_bounds(effect, left):
    """The largest ratio of an entry of an effect to its bound."""
    most = 0.0
    for value, bound in zip(effect, left):  # noqa: B905 compiled code knows no strict
        most = larger(most, value, bound)
    return most


@compiled_borrowing
def larger(most, value, bound):
    """The larger of a ratio and that of an entry and its bound; that of a 0 is 0, whatever its bound."""
    if value == 0.0:
        return most
    return max(most, abs(value) / bound if bound > 0.0 else np.inf)


@compiled_borrowing
def certain(quantity, effect, kept, step, constants, size):
    """What is left of an effect at the increment that a solver without the quantity makes, over the bounds.

    It is bounded from below by 2-norms: some entry is over its bound by as much as the whole is over the
    norm of the bounds. Where that solver leaves every entry as it is, it is `size`, the largest ratio.
    """
    left, share = kept.left[step], 0.0
    if quantity in (SAMPLES, PENALTY):
        share = 1.0
    elif quantity == OFF_DIAGONAL:
        largest = 0.0
        for value in kept.size[step]:
            largest = max(largest, value)
        # The increment without them is at least this share of the right one.
        share = constants.factors.modulus / largest
    return size if share == 0.0 else share * norm(effect) / norm(left)
