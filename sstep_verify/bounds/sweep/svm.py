"""All windows of a K-SVM run in float64: the judge's own steps, and how far a correct solver may be.

Solver and judge begin a window at the same vector, the solver's own a, and both make its s steps in IEEE
arithmetic. With F the exact new value of a coordinate before the clip, either computes F at its own iterate
up to a local error (bounds/window/svm.py), so what the two differ by before the clip is

    z_s - z_j = F(a_s) - F(a_j) + l_s - l_j = -(sum_{l != i} Q_il (a_s - a_j)_l) / eta_i + l_s - l_j,

and the difference of two computed runs obeys the recurrence that the error of one obeys there, its local
errors the sums of both: it is carried as signed combinations of error symbols in the same way. The
judge's z is known, so a clip is decided where z_j is further than the propagated radius from both ends of
the box. No exact step is needed, and a distance beyond the radius is beyond the sum of the two bounds.

The judge is the in-place form in float64, its increments summed per coordinate, its kernel entries those
of bounds/kernel/entries.py with their own error. A solver that may form products from the samples rounds
other terms than the judge, ``|x_i|'|x_l|`` for ``|K_il|``, n times more: sizes of terms are never read off
kernel entries, which cancel where the terms do not. Everything is evaluated by one compiled loop; sums are
raised by OUTWARD as elsewhere.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.box_rounding import box_errors
from sstep_verify.bounds.kernel.entries import KernelEntries
from sstep_verify.bounds.sweep.svm_window import Arithmetic, Begun, Box, judged_window
from sstep_verify.bounds.sweep.swept import THRICE, TWICE, Swept
from sstep_verify.compiled import compiled
from sstep_verify.numerics.rounding import OUTWARD, smallest, stale_roundings, unit_roundoff
from sstep_verify.problems import Problem
from sstep_verify.solver import Declaration


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
    more, factored = entries.more_roundings, entries.factored
    solver = Arithmetic(unit_roundoff(precision), smallest(precision), cap, frozen, stores, more)
    lengths = np.zeros(rows.size) if factored is None else factored.lengths
    box = Box(loss.shift, loss.upper, shift_error, upper_error)
    found = _sweep(
        np.ascontiguousarray(alphas, dtype=np.float64),
        np.ascontiguousarray(draws, dtype=np.int64),
        length,
        (entries.values, entries.own, entries.solver, entries.term_sizes, lengths),
        row_of,
        problem.targets.astype(np.float64),
        box,
        solver,
    )
    return Swept(*found)


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
        ended, radius, happened = judged_window(begun, order, box, solver, samples)
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
        repeats |= (TWICE if times[place] >= 2 else 0) | (THRICE if times[place] >= 3 else 0)
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
    values, own, given, terms, lengths = kernel
    count = places.size
    square, line = (count, count), count
    signed, sizes, owns, givens = np.zeros(square), np.zeros(square), np.zeros(square), np.zeros(square)
    stale, stale_size = np.zeros(line), np.zeros(line)
    stale_own, stale_given = np.zeros(line), np.zeros(line)
    reach, stale_reach, used = np.zeros(square), np.zeros(line), np.zeros(line)
    for place in range(count):
        i, row = places[place], row_of[places[place]]
        used[place] = lengths[row]
        for other in range(count):
            j = places[other]
            signed[place, other] = labels[i] * values[row, j] * labels[j]
            owns[place, other], givens[place, other] = own[row, j], given[row, j]
            reach[place, other] = terms[row, j]
            sizes[place, other] = (abs(values[row, j]) + own[row, j] + given[row, j]) * OUTWARD
        for j in range(begin.size):
            if begin[j] != 0.0:
                a = abs(begin[j])
                stale[place] += labels[i] * values[row, j] * (labels[j] * begin[j])
                stale_size[place] += (abs(values[row, j]) + own[row, j] + given[row, j]) * a
                stale_reach[place] += terms[row, j] * a
                stale_own[place] += own[row, j] * a
                stale_given[place] += given[row, j] * a
    support = int(np.count_nonzero(begin))
    return Begun(
        signed, sizes, owns, givens, stale, stale_size * OUTWARD, stale_own * OUTWARD,
        stale_given * OUTWARD, begin[places], support, reach, stale_reach * OUTWARD, used,
    )  # fmt: skip
