"""All windows of a K-SVM run in float64: the judge's own steps, and how far a correct solver may be.

Solver and judge begin a window at the same vector, the solver's own a, and both make its s steps in IEEE
arithmetic. With F the exact new value of a coordinate before the clip, either computes F at its own iterate
up to a local error (bounds/window/svm.py), so what the two differ by before the clip is

    z_s - z_j = F(a_s) - F(a_j) + l_s - l_j = -(sum_{l != i} Q_il (a_s - a_j)_l) / eta_i + l_s - l_j,

and the difference of two computed runs obeys the recurrence that the error of one obeys there, its local
errors the sums of both: it is carried as signed combinations of error symbols in the same way. The
judge's z is known, so a clip is decided where z_j is further than the propagated radius from both ends of
the box. No exact step is needed, and a distance beyond the radius is beyond the sum of the two bounds.

The judge is the in-place form in float64, each gradient made from its own a as it is then, of which at most
one entry for each step of the window before is not 0 beside those that were not at its start; its kernel
entries are those of rounding/kernel/entries.py with their own error. A solver that may form products from
the samples rounds other terms than the judge, ``|x_i|'|x_l|`` for ``|K_il|``, n times more: sizes of terms
are never read off kernel entries, which cancel where the terms do not.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.screen.screened import THRICE, TWICE, Screened
from sstep_verify.bounds.window.svm_errors import carry
from sstep_verify.bounds.window.svm_state import EVENTS, new_state, svm_arithmetic, svm_rows
from sstep_verify.compiled import compiled
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import OUTWARD
from sstep_verify.rounding.kernel.entries import KernelEntries
from sstep_verify.solver import Declaration


@np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")
def screen_svm(
    problem: Problem,
    declaration: Declaration,
    entries: KernelEntries,
    rows: np.ndarray,
    alphas: np.ndarray,
    draws: np.ndarray,
    s: int,
    length: int = 0,
) -> Screened:
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
    width = length or s
    kernel = svm_rows(entries, declaration.precision, width, problem.dual)
    windows = -(-width // s)
    solver = svm_arithmetic(entries, width, problem.dual, declaration, windows=windows)
    runs = np.ascontiguousarray(alphas, dtype=np.float64), np.ascontiguousarray(draws, dtype=np.int64)
    return Screened(*_screen(*runs, width, kernel, row_of, solver))


_new_state = compiled(new_state)


@compiled
def _screen(alphas, draws, width, rows, row_of, solver):
    """Distance, bound, ratio and events of every window."""
    count, samples = alphas.shape[0] - 1, alphas.shape[1]
    distance, bound, ratio = np.zeros(count), np.zeros(count), np.zeros(count)
    events = np.zeros(count, dtype=np.int64)
    local_of, none = np.full(samples, -1, dtype=np.int64), np.zeros((5, 0))
    now, reach = np.empty(samples), np.empty(samples)
    for window in range(count):
        drawn = draws[window * width : min(window * width + width, draws.size)]
        places, order = _distinct(drawn, local_of)
        begin, end = alphas[window], alphas[window + 1]
        state = _new_state(now, reach, places, row_of[places], 2 * drawn.size)
        radius = np.full(places.size, np.inf)
        if carry(rows, solver, none, begin, order, state):
            radius = state.radius * OUTWARD
        events[window] = state.counts[EVENTS]
        for times in state.drawn:
            events[window] |= (TWICE if times >= 2 else 0) | (THRICE if times >= 3 else 0)
        distance[window], bound[window], ratio[window] = _farthest(places, end, rows.labels, now, radius)
        for i in range(samples):
            if local_of[i] < 0 and end[i] != begin[i]:
                distance[window], bound[window], ratio[window] = abs(end[i] - begin[i]), 0.0, np.inf
        for i in places:
            local_of[i] = -1
    return distance, bound, ratio, events


@compiled
def _distinct(drawn, local_of):
    """Distinct coordinates, and each draw as a place among them."""
    places, order, count = np.empty_like(drawn), np.empty_like(drawn), 0
    for step in range(drawn.size):
        i = drawn[step]
        if local_of[i] < 0:
            local_of[i], places[count] = count, i
            count += 1
        order[step] = local_of[i]
    return places[:count], order


@compiled
def _farthest(places, end, labels, now, radius):
    """Distance, bound and ratio where the ratio is largest; a bound that is infinite, if one is."""
    distance, bound, ratio = 0.0, 0.0, -1.0
    for place in range(places.size):
        i = places[place]
        if not radius[place] < np.inf:
            return 0.0, np.inf, 0.0
        apart = abs(end[i] - labels[i] * now[i]) / OUTWARD
        apart = apart if apart < np.inf else np.inf
        share = apart / radius[place] if 0.0 < apart < np.inf else apart
        if share > ratio:
            distance, bound, ratio = apart, radius[place], share
    return distance, bound, ratio
