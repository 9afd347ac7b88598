"""One K-SVM window of a sweep: the judge's own steps, and the radius of a correct solver around its end.

Compiled; the derivation is that of bounds/sweep/svm.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.bounds.sweep.swept import HIGH, LOW
from sstep_verify.compiled import compiled
from sstep_verify.numerics.rounding import OUTWARD, smallest, unit_roundoff

U, TINY = unit_roundoff("float64"), smallest("float64")


class Box(NamedTuple):
    """Diagonal shift (omega), upper end (nu), and what the solver's may be off by."""

    shift: float
    upper: float
    shift_error: float
    upper_error: float


class Arithmetic(NamedTuple):
    """Of the solver: unit roundoff and smallest number, most roundings of a stale product, whether a is
    frozen and how often a value may then be stored before it is used; roundings of a term more where
    products are formed from the samples (n).
    """

    u: float
    least: float
    cap: int
    frozen: bool
    stores: int
    more: int


class Begun(NamedTuple):
    """What a window begins with, on its c distinct coordinates.

    Kernel entries between them (signed by both labels), bounds on their size, errors of the judge's and of
    the solver's, shape (c, c); stale products, bounds on the sum of their terms' sizes, errors of both
    parties' by their kernel entries, and a, shape (c,); how many entries of a are not 0. Of the solver's
    terms, which are larger where it forms products from the samples: sizes per entry (c, c) and of stale
    products (c,), and what a product that underflows is multiplied by at most (c,).
    """

    signed: np.ndarray
    sizes: np.ndarray
    own: np.ndarray
    given: np.ndarray
    stale: np.ndarray
    stale_size: np.ndarray
    stale_own: np.ndarray
    stale_given: np.ndarray
    start: np.ndarray
    support: int
    reach: np.ndarray
    stale_reach: np.ndarray
    lengths: np.ndarray


@compiled
def judged_window(begun, order, box, solver, samples):
    """The judge's end of a window, the radius of a correct solver around it, shape (c,), and events.

    The steps of bounds/window/svm.py, with the judge's own new values in the place of exact ones.
    """
    # Per coordinate: the judge's value and the sum of its increments; |a| at the start; radius; |a| moved
    # by increments of either party; draws so far. The difference of both parties on coordinate i is
    # coefficients[i] @ symbols. `used` symbols; `made` steps that may have moved; `lost` products at most
    # that may underflow in a gradient.
    count, size = begun.start.size, order.size
    now, gained, start = begun.start.copy(), np.zeros(count), np.abs(begun.start)
    radius, moved, drawn = np.zeros(count), np.zeros(count), np.zeros(count)
    coefficients, symbols = np.zeros((count, 2 * size)), np.zeros(2 * size)
    used, made, events, lost = 0, 0, 0, samples + 2 * size + 6
    for i in order:
        curvature = begun.signed[i, i] + box.shift
        combination, unclipped, share = np.zeros(used), box.upper, box.upper_error
        if begun.sizes[i, i] + box.shift > 0.0:
            least, slack = _least_curvature(begun, i, box, solver.u)
            gradient = begun.stale[i] + begun.signed[i] @ gained - 1.0 + box.shift * now[i]
            unclipped = now[i] - gradient / curvature
            share = box.upper + box.upper_error
            if least > 0.0 and abs(unclipped) < np.inf:
                others = begun.sizes[i].copy()
                others[i] = 0.0
                spread = others @ radius / least * OUTWARD
                point = (now[i], unclipped, spread, radius[i], least)
                local = _local(begun, i, box, solver, point, moved, made, lost)
                inexact = (begun.own[i] @ radius + slack * spread) / least
                local += (inexact + _gamma(count + used + 4, max(solver.u, U)) * spread) * OUTWARD
                combination = _combined(begun.signed[i] / -curvature, i, radius, coefficients, used)
                apart = (np.abs(combination) @ symbols[:used] + local) * OUTWARD
                share, follows = _clipped(unclipped, apart, local, box)
                if not follows:
                    combination[:] = 0.0
        events |= LOW if unclipped < 0.0 else (HIGH if unclipped > box.upper else 0)
        updated = min(max(unclipped, 0.0), box.upper)
        change = updated - now[i]
        now[i], gained[i] = updated, gained[i] + change
        # The new combination of coordinate i, and its own new symbol.
        before = radius[i]
        landing = _gamma(drawn[i] + 2, solver.u) * (start[i] + moved[i]) * OUTWARD
        fresh = share + solver.stores * landing
        if solver.frozen:
            after = fresh + np.abs(combination) @ symbols[:used]
            fresh += solver.u * (abs(change) + before + 2 * after) * OUTWARD
        if not fresh < np.inf:
            return now, np.full(count, np.inf), events
        coefficients[i, :used] = combination
        if fresh > 0.0:
            symbols[used], coefficients[i, used] = fresh, 1.0
            used += 1
        radius[i] = np.abs(coefficients[i, :used]) @ symbols[:used] * OUTWARD
        step_size = (abs(change) + before + radius[i]) * OUTWARD
        moved[i], made, drawn[i] = moved[i] + step_size, made + (step_size > 0.0), drawn[i] + 1
    if solver.frozen:
        sizes = start + moved
        for place in range(count):
            radius[place] += _gamma(1, solver.u) * (sizes[place] + radius[place])
            radius[place] += _gamma(drawn[place] + 2, solver.u) * sizes[place] * OUTWARD
    return now, radius * OUTWARD, events


@compiled
def _least_curvature(begun, i, box, u):
    """A number that neither party's curvature nor the exact one is below, and how far it may be off."""
    curvature, own = begun.signed[i, i] + box.shift, begun.own[i, i]
    slack = own + _gamma(2, U) * abs(curvature)
    rounding = (_gamma(3, u) + _gamma(3, U)) * abs(curvature)
    return curvature - slack - begun.given[i, i] - own - rounding - box.shift_error, slack


@compiled
def _local(begun, i, box, solver, point, moved, made, lost):
    """Sum of what both parties err by in computing the unclipped new value from their own iterates."""
    value, unclipped, spread, radius, least = point
    size, u = abs(begun.signed[i, i]) + begun.own[i, i] + begun.given[i, i] + box.shift, solver.u
    held = abs(begun.start[i]) + moved[i]
    constant = 1.0 + (box.shift * (1.0 + u) + box.shift_error) * held
    terms = (begun.stale_size[i] + begun.sizes[i] @ moved + constant) * OUTWARD
    # The judge errs from its own computed quotient and new value.
    quotient = (abs(value) + abs(unclipped)) * OUTWARD
    error = _gamma(begun.support + made + 6, U) * terms + begun.stale_own[i]
    error += begun.own[i] @ moved + lost * TINY
    error = (error + quotient * (begun.own[i, i] + _gamma(3, U) * size)) / least * OUTWARD
    judge = (error + _gamma(2, U) * (quotient + 2 * error + abs(unclipped))) * OUTWARD
    # The solver errs from the exact ones at its own iterate, which are within the judge's error and spread.
    new = abs(unclipped) + judge
    quotient = abs(value) + new + spread + radius
    terms = (begun.stale_reach[i] + begun.reach[i] @ moved + constant) * OUTWARD
    error = _gamma(min(begun.support, solver.cap) + solver.more + made + 6, u) * terms
    error += begun.stale_given[i] + begun.given[i] @ moved + box.shift_error * held
    error += (lost * (1.0 + begun.lengths[i]) + solver.more) * solver.least
    curvature_error = begun.given[i, i] + _gamma(3, u) * size + box.shift_error
    error = (error + quotient * curvature_error) / least * OUTWARD
    return judge + (error + _gamma(2, u) * (quotient + 2 * error + new + spread)) * OUTWARD


@compiled
def _combined(weights, i, radius, coefficients, used):
    """Combination of error symbols that the other coordinates hand on to coordinate i, shape (used,)."""
    found = np.zeros(used)
    for other in range(radius.size):
        if other != i and radius[other] != 0.0:
            found += weights[other] * coefficients[other, :used]
    return found


@compiled
def _clipped(unclipped, apart, local, box):
    """New error symbol after the clip, and whether the combination goes on beside it.

    `apart` bounds the distance of the two parties' unclipped values; `local` is its part made in this step.
    """
    upper, off = box.upper, box.upper_error
    if unclipped - apart >= 0.0 and unclipped + apart <= upper - off:
        return local, True
    if unclipped + apart <= 0.0:
        return 0.0, False
    if unclipped - apart >= upper + off:
        return off, False
    # Undecided: both new values lie in their boxes, so they differ by no more than the wider one's width.
    return min(apart, upper) + off, False


@compiled
def _gamma(k, u):
    return k * u / (1.0 - k * u) if k * u < 1.0 else np.inf
