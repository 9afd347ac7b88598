"""All windows of a K-SVM run in float64: the judge's own steps, and how far a correct solver may be.

Solver and judge begin a window at the same vector, the solver's own a, and both make its s steps in IEEE
arithmetic. With F the exact new value of a coordinate before the clip, either computes F at its own iterate
up to a local error (bounds/window_svm.py), so what the two differ by before the clip is

    z_s - z_j = F(a_s) - F(a_j) + l_s - l_j = -(sum_{l != i} Q_il (a_s - a_j)_l) / eta_i + l_s - l_j,

and the difference of two computed runs obeys the recurrence that the error of one obeys there, its local
errors the sums of both: it is carried as signed combinations of error symbols in the same way. The
judge's z is known, so a clip is decided where z_j is further than the propagated radius from both ends of
the box. No exact step is needed, and a distance beyond the radius is beyond the sum of the two bounds.

The judge is the in-place form in float64, its increments summed per coordinate, its kernel entries those
of bounds/kernel_entries.py with their own error. Everything is evaluated by one compiled loop; sums are
raised by OUTWARD as elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sstep_verify.bounds.box_rounding import box_errors
from sstep_verify.bounds.kernel_entries import KernelEntries
from sstep_verify.bounds.rounding import OUTWARD, smallest, stale_roundings, unit_roundoff
from sstep_verify.compiled import compiled
from sstep_verify.problems import Problem
from sstep_verify.solver import Declaration

LOW, HIGH, TWICE, THRICE = 1, 2, 4, 8
"""Events of a window in the judge's steps: clipped at 0, clipped at C, a coordinate drawn twice, thrice."""

U, TINY = unit_roundoff("float64"), smallest("float64")


@dataclass(frozen=True)
class Swept:
    """The windows of a stretch of a run, compared.

    Parameters
    ----------
    distance, bound : ndarray, shape (N,)
        Per window, at the coordinate where their ratio is largest (K-RR: in the M-norm).
    ratio : ndarray, shape (N,)
        Distance over bound; infinite where a coordinate that was not drawn moved.
    events : ndarray of int, shape (N,)
        Sums of `LOW`, `HIGH`, `TWICE` and `THRICE`; zeros for K-RR.
    """

    distance: np.ndarray
    bound: np.ndarray
    ratio: np.ndarray
    events: np.ndarray


def sweep_svm(
    problem: Problem,
    declaration: Declaration,
    entries: KernelEntries,
    rows: np.ndarray,
    alphas: np.ndarray,
    draws: np.ndarray,
    s: int,
    length: int = 0,
) -> Swept:
    """Compare every window, or every stretch of several windows, with the judge's own.

    A stretch of windows is made of the same steps as one long window: what a later window's stale products
    are made of are the start's terms and the increments since, and it stores a frozen a once more.

    Parameters
    ----------
    problem : Problem
        A K-SVM.
    declaration : Declaration
        Of a solver that carries no state.
    entries : KernelEntries
        Kernel rows, shape (r, m), of all coordinates drawn.
    rows : ndarray of int, shape (r,)
        Which coordinates.
    alphas : ndarray, shape (N + 1, m)
        The solver's a at the ends of N windows, float32 or float64.
    draws : ndarray of int, shape (H,)
        Coordinates drawn, ``(N - 1) s < H <= N s``.
    s : int
        Iterations per window.
    length : int
        Iterations between the recorded ends, if these are not those of single windows.
    """
    row_of = np.full(problem.samples, -1, dtype=np.int64)
    row_of[rows] = np.arange(rows.size)
    precision, loss, size = declaration.precision, problem.hinge, problem.samples
    upper_error, shift_error = box_errors(loss.upper, loss.shift, declaration)
    cap = size
    if declaration.summation != "any":
        cap = stale_roundings(size, size, length or s, declaration.summation)
    frozen, length = declaration.update == "frozen", length or s
    stores = frozen * (2 if length > s else 1)
    solver = Solver(unit_roundoff(precision), smallest(precision), cap, frozen, stores)
    box = Box(loss.shift, loss.upper, shift_error, upper_error)
    found = _sweep(
        np.ascontiguousarray(alphas, dtype=np.float64),
        np.ascontiguousarray(draws, dtype=np.int64),
        length,
        (entries.values, entries.own, entries.solver),
        row_of,
        problem.targets.astype(np.float64),
        box,
        solver,
    )
    return Swept(*found)


class Box(NamedTuple):
    """Diagonal shift (omega), upper end (nu), and what the solver's may be off by."""

    shift: float
    upper: float
    shift_error: float
    upper_error: float


class Solver(NamedTuple):
    """Unit roundoff and smallest number, most roundings of a stale product, whether a is frozen and how
    often a value may then be stored before it is used.
    """

    u: float
    least: float
    cap: int
    frozen: bool
    stores: int


class Begun(NamedTuple):
    """What a window begins with, on its c distinct coordinates.

    Kernel entries between them (signed by both labels), bounds on their size, errors of the judge's and of
    the solver's, shape (c, c); stale products, bounds on the sum of their terms' sizes, errors of both
    parties' by their kernel entries, and a, shape (c,); how many entries of a are not 0.
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


@compiled
def _sweep(alphas, draws, s, kernel, row_of, labels, box, solver):
    """Distance, bound, ratio and events of every window."""
    count, samples = alphas.shape[0] - 1, alphas.shape[1]
    distance, bound, ratio = np.zeros(count), np.zeros(count), np.zeros(count)
    events = np.zeros(count, dtype=np.int64)
    local_of = np.full(samples, -1, dtype=np.int64)
    for window in range(count):
        drawn = draws[window * s : min(window * s + s, draws.size)]
        places, order, repeats = _distinct(drawn, local_of)
        begin, end = alphas[window], alphas[window + 1]
        begun = _begin(begin, places, kernel, row_of, labels)
        ended, radius, happened = _window(begun, order, box, solver, samples)
        events[window] = repeats | happened
        distance[window], bound[window], ratio[window] = _farthest(end[places], ended, radius)
        for i in range(samples):
            if local_of[i] < 0 and end[i] != begin[i]:
                distance[window], bound[window], ratio[window] = abs(end[i] - begin[i]), 0.0, np.inf
        for i in places:
            local_of[i] = -1
    return distance, bound, ratio, events


@compiled
def _distinct(drawn, local_of):
    """Distinct coordinates, each draw as a place among them, and whether some are repeated."""
    places, order = np.empty(drawn.size, dtype=np.int64), np.empty(drawn.size, dtype=np.int64)
    times, count, repeats = np.zeros(drawn.size, dtype=np.int64), 0, 0
    for step in range(drawn.size):
        i = drawn[step]
        if local_of[i] < 0:
            local_of[i], places[count] = count, i
            count += 1
        place = local_of[i]
        order[step] = place
        times[place] += 1
        repeats |= (4 if times[place] >= 2 else 0) | (8 if times[place] >= 3 else 0)
    return places[:count], order, repeats


@compiled
def _farthest(end, ended, radius):
    """Distance, bound and ratio where the ratio is largest; a bound that is infinite, if one is."""
    worst, at = -1.0, 0
    for place in range(end.size):
        if not radius[place] < np.inf:
            return 0.0, np.inf, 0.0
        apart = abs(end[place] - ended[place]) / OUTWARD
        share = np.inf if not apart < np.inf else (apart / radius[place] if apart > 0.0 else 0.0)
        if share > worst:
            worst, at = share, place
    apart = abs(end[at] - ended[at]) / OUTWARD
    return (apart if apart < np.inf else np.inf), radius[at], worst


@compiled
def _begin(begin, places, kernel, row_of, labels):
    """What a window begins with; see `Begun`."""
    values, own, given = kernel
    count = places.size
    square, line = (count, count), count
    signed, sizes, owns, givens = np.zeros(square), np.zeros(square), np.zeros(square), np.zeros(square)
    stale, stale_size = np.zeros(line), np.zeros(line)
    stale_own, stale_given = np.zeros(line), np.zeros(line)
    for place in range(count):
        i, row = places[place], row_of[places[place]]
        for other in range(count):
            j = places[other]
            signed[place, other] = labels[i] * values[row, j] * labels[j]
            owns[place, other], givens[place, other] = own[row, j], given[row, j]
            sizes[place, other] = (abs(values[row, j]) + own[row, j] + given[row, j]) * OUTWARD
        for j in range(begin.size):
            if begin[j] != 0.0:
                a = abs(begin[j])
                stale[place] += labels[i] * values[row, j] * (labels[j] * begin[j])
                stale_size[place] += (abs(values[row, j]) + own[row, j] + given[row, j]) * a
                stale_own[place] += own[row, j] * a
                stale_given[place] += given[row, j] * a
    support = int(np.count_nonzero(begin))
    return Begun(
        signed, sizes, owns, givens, stale, stale_size * OUTWARD, stale_own * OUTWARD,
        stale_given * OUTWARD, begin[places], support,
    )  # fmt: skip


@compiled
def _window(begun, order, box, solver, samples):
    """The judge's end of a window, the radius of a correct solver around it, shape (c,), and events.

    The steps of bounds/window_svm.py, with the judge's own new values in the place of exact ones.
    """
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
                reach = (np.abs(combination) @ symbols[:used] + local) * OUTWARD
                share, follows = _clipped(unclipped, reach, local, box)
                if not follows:
                    combination[:] = 0.0
        events |= 1 if unclipped < 0.0 else (2 if unclipped > box.upper else 0)
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
        reach = start + moved
        for place in range(count):
            radius[place] += _gamma(1, solver.u) * (reach[place] + radius[place])
            radius[place] += _gamma(drawn[place] + 2, solver.u) * reach[place] * OUTWARD
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
    terms = begun.stale_size[i] + begun.sizes[i] @ moved + 1.0
    terms = (terms + (box.shift * (1.0 + u) + box.shift_error) * held) * OUTWARD
    # The judge errs from its own computed quotient and new value.
    quotient = (abs(value) + abs(unclipped)) * OUTWARD
    error = _gamma(begun.support + made + 6, U) * terms + begun.stale_own[i]
    error += begun.own[i] @ moved + lost * TINY
    error = (error + quotient * (begun.own[i, i] + _gamma(3, U) * size)) / least * OUTWARD
    judge = (error + _gamma(2, U) * (quotient + 2 * error + abs(unclipped))) * OUTWARD
    # The solver errs from the exact ones at its own iterate, which are within the judge's error and spread.
    new = abs(unclipped) + judge
    quotient = abs(value) + new + spread + radius
    error = _gamma(min(begun.support, solver.cap) + made + 6, u) * terms + begun.stale_given[i]
    error += begun.given[i] @ moved + lost * solver.least + box.shift_error * held
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
def _clipped(unclipped, reach, local, box):
    """New error symbol after the clip, and whether the combination goes on beside it."""
    upper, off = box.upper, box.upper_error
    if unclipped - reach >= 0.0 and unclipped + reach <= upper - off:
        return local, True
    if unclipped + reach <= 0.0:
        return 0.0, False
    if unclipped - reach >= upper + off:
        return off, False
    # Undecided: both new values lie in their boxes, so they differ by no more than the wider one's width.
    return min(reach, upper) + off, False


@compiled
def _gamma(k, u):
    return k * u / (1.0 - k * u) if k * u < 1.0 else np.inf
