"""What an error in each quantity of a judged step does to that step, by what was kept of it.

Effects are per unit of a relative error: on the unclipped value of a K-SVM's step, on the residual of a
K-RR's, which is taken at the logged increment.
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
from sstep_verify.checks.steps.step_statistics import (
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
from sstep_verify.compiled import inlined
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.rounding.box import Box, finish, shifts
from sstep_verify.rounding.sums import FROZEN
from sstep_verify.verdict import DETECTION_FACTOR

SCRATCH = len(NAMES)
"""Number of the row of effects that is of no quantity."""

U = unit_roundoff("float64")

UNKNOWN = 4.0
"""Bounds that may be missing from what a unit of an error in a quantity is computed to change.

A part of a product is a difference of three, each known up to the bound of the whole. And a solver with
such an error rounds larger numbers: per unit of it by up to a bound more.
"""


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
    error : float
        On the error of `new` where that is no part of the bound, else 0.
    """

    new: float
    value: float
    box: Box
    knot: float
    bound: float
    error: float


def effects_of(block: int) -> np.ndarray:
    """Room for the effects of all quantities on a step of b coordinates, by quantity and coordinate.

    There is a row more, which is scratch.
    """
    return np.zeros((len(NAMES) + 1, block))


@inlined
def tail_of(segment):
    """The place of the first step of a run's last, short window in its last segment, else past its end."""
    steps = segment.draws.shape[0]
    return steps - steps % segment.width if segment.closing else steps


@inlined
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


@inlined
def label_effect(product, same):
    """What a label of the drawn coordinate is certain to make of a product of its row with alpha.

    The part `same`, of the coordinate's own increments since the window's start, has its label squared: a
    solver may leave it out there. So an error is certain to show by what it changes with and without them;
    0 where these have opposite signs.
    """
    others = product - same
    signs = math.copysign(0.5, product) + math.copysign(0.5, others)
    return signs * np.minimum(np.abs(product), np.abs(others))


@inlined
def clipped_effects(effects, kept, step, constants, bound, error):
    """Set the effects on a K-SVM's step of which the unclipped value has a bound; return where it ends.

    `bound` is that on the stored value, `error` as of what is returned.
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
    return Clipped(new, finish(box, new, knot), box, knot, max(entry[UNCLIPPED], bound), error)


@inlined
def shown_from(end, change):
    """The least x > 0 from which on the new value is twice its bound off: P(z + x change) and P(z).

    P is monotone and made of straight lines (rounding/box.py), so that every larger x shows as well.
    Infinite where there is none: an end of the box comes first, or no change is certain.
    """
    new, value, box, knot, bound, error = end
    need, slope = DETECTION_FACTOR * bound, abs(change) - UNKNOWN * max(bound, error)
    if not slope > 0.0:
        return np.inf
    if error > 0.0:
        # Which line z is on must be certain, and the same for all that the change needs.
        low = new - error - (need if change < 0.0 else 0.0)
        high = new + error + (need if change > 0.0 else 0.0)
        return need / slope if shifts(box, low, high, knot, 0.0) else np.inf
    room = box.upper - value if change > 0.0 else value - box.lower
    if not room >= need:
        return np.inf
    if knot > 0.0:
        # To where the soft threshold is at the value that shows; what is rounded here is needed more.
        need += 4.0 * U * (abs(new) + knot)
        there = value + need if change > 0.0 else value - need
        if there != 0.0:
            there += knot if there > 0.0 else -knot
        else:
            there = -knot if change > 0.0 else knot
        return max(there - new if change > 0.0 else new - there, need) / slope
    # What is beyond an end of the box comes back to it first.
    beyond = box.lower - new if change > 0.0 else new - box.upper
    return (max(beyond, 0.0) + need) / slope


@inlined
def divided(end, before, error):
    """The new value of a K-SVM's step by a curvature with a relative error > -1."""
    part = 1.0 / (1.0 + error)
    return finish(end.box, before + (end.new - before) * part, end.knot * part)


@inlined
def of_curvature(end, before, change):
    """Relative errors of the curvature, too large and too small, from which on a step shows them.

    An error d takes the share d / (1 + d) of all that a step moves, `change`, from it. With a threshold,
    which it divides too, what the share says is tried; the new value goes on one way as the error grows.
    """
    plus, minus = _of_share(shown_from(end, change)), _back(shown_from(end, -change))
    if end.knot > 0.0:
        if not _divided_shows(end, before, plus):
            plus = np.inf
        if not _divided_shows(end, before, -minus):
            minus = np.inf
    return plus, minus


@inlined
def _divided_shows(end, before, error):
    """Whether a step by a curvature with a relative error is certain to be twice its bound off."""
    if not -1.0 < error < np.inf:
        return False
    part = 1.0 / (1.0 + error)
    need = DETECTION_FACTOR * end.bound + (1.0 + part) * end.error + UNKNOWN * abs(part - 1.0) * end.bound
    return abs(divided(end, before, error) - end.value) >= need


@inlined
def _of_share(share):
    """The error d > 0 with d / (1 + d) = share."""
    return share / (1.0 - share) if share < 1.0 else np.inf


@inlined
def _back(share):
    """The error d in 0..1 with d / (1 - d) = share; infinite for what no curvature that is left has."""
    return share / (1.0 + share) if share < np.inf else np.inf


@inlined
def of_residual(quantity, effect, kept, step, constants, error):
    """The relative error of a quantity from which on a K-RR's step shows it, of either sign.

    Let e be the effect, at the increment of a right solver, and G the block system. What an error d in one
    of the sums changes in the residual is d e. One in the system changes the increment too: it leaves
    d (I + d W)^-1 e, of which the norm is at least d |e| / (1 + d w), w the norm of W:

    * curvature: W = I, so that every entry is divided alike;
    * m: W is m G^-1, of a norm up to 1, or 0 where only the right-hand side has the error;
    * lambda: d / (1 + d) times (I - d / (1 + d) W)^-1 e, or for d < 0 at least d |e|, as w <= 1;
    * off-diagonal entries O: W = O G^-1 = I - D G^-1, D the diagonal, of a norm up to 1 + |D| / m.

    The norm grows with d, so that from where it exceeds twice that of the bounds every error shows. A
    smaller one shows where it is large in one entry, which it changes by d w |e| / (1 - d w) at most.

    What is changed in the residual changes the increment as well, and the bounds grow with that, by
    `Kept.growth` of its norm each.
    """
    left, moved = kept.left[step], _feedback(quantity, kept, step, constants)
    whole, wide, drift = norm(effect), norm(left), 0.0
    grown = DETECTION_FACTOR * kept.growth[step]
    room = whole * (1.0 - grown * np.sqrt(effect.size))
    room -= UNKNOWN * (wide + norm(error)) + DETECTION_FACTOR * moved * wide
    least = DETECTION_FACTOR * wide / room if room > 0.0 else np.inf
    if quantity != CURVATURE and moved > 0.0:
        if not moved * least < 0.5:
            return least
        drift = whole * moved * least / (1.0 - moved * least)
    for place in range(effect.size):
        need = DETECTION_FACTOR * left[place]
        room = abs(effect[place]) - UNKNOWN * max(left[place], error[place]) - drift - moved * need
        room -= grown * (whole + drift)
        if room > 0.0:
            least = min(least, need / room)
    return least


@inlined
def _feedback(quantity, kept, step, constants):
    """What an error in a quantity of the block system makes of its own effect a unit, at most: w."""
    if quantity == OFF_DIAGONAL:
        return 1.0 + largest(kept.size[step]) / constants.factors.modulus
    return 1.0 if quantity in (CURVATURE, PENALTY, SAMPLES) else 0.0


@inlined
def largest(values):
    """The largest of some values >= 0."""
    most = 0.0
    for value in values:
        most = max(most, value)
    return most


@inlined
def from_first(end, kept, step):
    """The new value of a K-SVM's step from the coordinate's value at the window's start.

    It is the value itself where the coordinate was not drawn before in the window, or its step is free.
    """
    entry = kept.table[step, 0]
    before = entry[BEFORE] - entry[AT_START]
    return finish(end.box, end.new - before, end.knot) + before


@inlined
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
    # m is in the right-hand side and on the diagonal: reported is where an error shows least, or in both.
    if samples * norm(kept.increment[step]) < norm(effects[SAMPLES]):
        for place in range(count):
            effects[SAMPLES, place] = samples * kept.increment[step, place]
    both = effects[SCRATCH]
    for place in range(count):
        both[place] = samples * (kept.table[step, place, BEFORE] + kept.increment[step, place])
    if norm(both) < norm(effects[SAMPLES]):
        for place in range(count):
            effects[SAMPLES, place] = both[place]


@inlined
def left_out(quantity):
    """The relative change of a quantity of K-RR that leaving it out stands for, in size.

    Of twice the system, or of K / lambda, a solver gets half the increment.
    """
    return 0.5 if quantity in (PENALTY, CURVATURE) else 1.0


@inlined
def over_bounds(effect, left):
    """The largest ratio of an entry of an effect to its bound."""
    most = 0.0
    for value, bound in zip(effect, left):  # noqa: B905 compiled code knows no strict
        most = larger(most, value, bound)
    return most


@inlined
def larger(most, value, bound):
    """The larger of a ratio and that of an entry and its bound; that of a 0 is 0, whatever its bound."""
    if value == 0.0:
        return most
    return max(most, abs(value) / bound if bound > 0.0 else np.inf)


@inlined
def certain(quantity, effect, kept, step, constants, size):
    """What is left of an effect at the increment that a solver without the quantity makes, over the bounds.

    It is bounded from below by 2-norms: some entry is over its bound by as much as the whole is over the
    norm of the bounds. Where that solver leaves every entry as it is, it is `size`, the largest ratio.
    """
    left, share = kept.left[step], 0.0
    if quantity in (SAMPLES, PENALTY):
        share = 1.0
    elif quantity == OFF_DIAGONAL:
        # The increment without them is at least this share of the right one.
        share = constants.factors.modulus / largest(kept.size[step])
    whole, growth = norm(effect), kept.growth[step]
    if share != 0.0:
        return share * whole / (norm(left) + growth * np.sqrt(effect.size) * share * whole)
    most = 0.0
    for place in range(effect.size):
        most = larger(most, effect[place], left[place] + growth * whole)
    return min(size, most)
