"""All windows of a run in float64: the judge's own steps, and how far a correct solver may be.

*K-SVM.* Solver and judge begin a window at the same vector, the solver's own a, and both make its s steps
in IEEE arithmetic. With F the exact new value of a coordinate before the clip, either computes F at its own
iterate up to a local error (bounds/window/svm.py), so what the two differ by before the clip is

    z_s - z_j = F(a_s) - F(a_j) + l_s - l_j = -(sum_{l != i} Q_il (a_s - a_j)_l) / eta_i + l_s - l_j,

and the difference of two computed runs obeys the recurrence that the error of one obeys there, its local
errors the sums of both: it is carried as signed combinations of error symbols in the same way. The
judge's z is known, so a clip is decided where z_j is further than the propagated radius from both ends of
the box. No exact step is needed, and a distance beyond the radius is beyond the sum of the two bounds.

The judge is the in-place form in float64, each gradient made from its own a as it is then, of which at most
one entry for each step of the window before is not 0, besides those that were not at its start; its kernel
entries are those of rounding/kernel/entries.py with their own error. A solver that may form products from
the samples rounds other terms than the judge, ``|x_i|'|x_l|`` for ``|K_il|``, n times more: sizes of terms
are never read off kernel entries, which cancel where the terms do not.

*K-RR.* Solver and judge begin a window at the same vector and both make its block steps in IEEE arithmetic,
each up to a local error: the distance of their ends is at most the sum of both in the M-norm
(bounds/window/ridge.py). A distance beyond that is beyond the sum of the two bounds. The judge multiplies
by its own iterate, which is a sum of no more terms than the product with a and its corrections.

Sizes are those of the largest |a| so far in the run, as in exact replays: a gradient or residual that is
maintained was rounded when a was larger. The judge's steps are made from a itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from sstep_verify.bounds.window.ridge import ridge_window_errors
from sstep_verify.bounds.window.svm import new_state, svm_arithmetic
from sstep_verify.bounds.window.svm_formulas import EVENTS, carry
from sstep_verify.compiled import compiled
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Problem
from sstep_verify.quantities import RidgeSteps
from sstep_verify.rounding.arithmetic import ROUND_UP
from sstep_verify.rounding.block.energy import energy_norm
from sstep_verify.rounding.rows import KernelEntries, compiled_rows

TWICE, THRICE = 4, 8
"""Events of a window besides those of the judge's steps: a coordinate drawn twice, thrice."""


@dataclass(frozen=True)
class Screened:
    """The windows of a segment of a run, compared.

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
    largest: np.ndarray | None = None,
) -> Screened:
    """Compare every window of a K-SVM, or every segment of several windows, with the judge's own.

    `entries` are the kernel rows, shape (r, m), of all coordinates drawn, which `rows` lists; `alphas`,
    shape (N + 1, m), float32 or float64, is the solver's a at the ends of N windows of `s` steps, or of
    segments of `length`; `draws` are the H coordinates drawn, ``(N - 1) s < H <= N s``. A segment is made
    of the same steps as one long window: what a later window's stale products are made of are the start's
    terms and the increments since, and it stores a frozen a once more. The solver maintains no weights.
    `largest`, shape (m,): the largest |a| of the run before the first window, if it did not begin there.
    """
    row_of = np.full(problem.samples, -1, dtype=np.int64)
    row_of[rows] = np.arange(rows.size)
    width = length or s
    kernel = compiled_rows(entries, declaration.precision, width, problem.dual)
    windows = -(-width // s)
    solver = svm_arithmetic(entries, width, problem.dual, declaration, windows=windows)
    runs = np.ascontiguousarray(alphas, dtype=np.float64), np.ascontiguousarray(draws, dtype=np.int64)
    return Screened(*_screen(*runs, _before(alphas, largest), width, kernel, row_of, solver))


def _before(alphas: np.ndarray, largest: np.ndarray | None) -> np.ndarray:
    """Sizes that a run had before its first window, shape (m,); what is given is not changed."""
    return np.zeros(alphas.shape[1]) if largest is None else np.array(largest, dtype=np.float64)


_new_state = compiled(new_state)


@compiled
def grow(largest, alpha, sizes):
    """Note an a as a size of later windows: all that it and `largest` have been, into `sizes`.

    A number that is not finite is no size of later windows.
    """
    for i in range(alpha.size):
        size = abs(alpha[i])
        if size < np.inf:
            largest[i] = max(largest[i], size)
        sizes[i] = largest[i] if size < np.inf else size


@compiled
def _screen(alphas, draws, largest, width, rows, row_of, solver):
    """Distance, bound, ratio and events of every window; `largest` is changed."""
    count, samples = alphas.shape[0] - 1, alphas.shape[1]
    distance, bound, ratio = np.zeros(count), np.zeros(count), np.zeros(count)
    events = np.zeros(count, dtype=np.int64)
    local_of, none = np.full(samples, -1, dtype=np.int64), np.zeros((5, 0))
    now, reach, sizes = np.empty(samples), np.empty(samples), np.empty(samples)
    for window in range(count):
        drawn = draws[window * width : min(window * width + width, draws.size)]
        places, order = _distinct(drawn, local_of)
        begin, end = alphas[window], alphas[window + 1]
        grow(largest, begin, sizes)
        state = _new_state(now, reach, places, row_of[places], 2 * drawn.size)
        radius = np.full(places.size, np.inf)
        if carry(rows, solver, none, begin, sizes, order, state):
            radius = state.radius * ROUND_UP
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
        apart = abs(end[i] - labels[i] * now[i]) / ROUND_UP
        apart = apart if apart < np.inf else np.inf
        share = apart / radius[place] if 0.0 < apart < np.inf else apart
        if share > ratio:
            distance, bound, ratio = apart, radius[place], share
    return distance, bound, ratio


def screen_ridge(
    problem: Problem,
    declaration: Declaration,
    entries: KernelEntries,
    rows: np.ndarray,
    alphas: np.ndarray,
    draws: np.ndarray,
    s: int,
    length: int = 0,
    largest: np.ndarray | None = None,
) -> Screened:
    """Compare every window, or segment, of a K-RR with the judge's own in the M-norm; see `screen_svm`.

    `draws` are blocks, shape (H, b).
    """
    length = length or s
    row_of = np.full(problem.samples, -1, dtype=np.int64)
    row_of[rows] = np.arange(rows.size)
    compared, before = np.zeros((alphas.shape[0] - 1, 3)), _before(alphas, largest)
    sizes = np.empty_like(before)
    for window in range(compared.shape[0]):
        begin, end = (alphas[place].astype(np.float64) for place in (window, window + 1))
        grow(before, begin, sizes)
        blocks = draws[window * length : (window + 1) * length]
        places, local = np.unique(blocks, return_inverse=True)
        moved = np.abs(np.delete(end - begin, places)).max(initial=0.0)
        if moved != 0.0 or not np.isfinite(end).all():
            compared[window] = (moved if 0.0 < moved < np.inf else np.inf), 0.0, np.inf
            continue
        window_rows, local = entries.at(row_of[places]), local.reshape(blocks.shape)
        ended, bound = _window(problem, declaration, window_rows, places, begin, sizes, local, s)
        # Every entry of a difference is rounded once, which energy_norm allows for.
        low, _ = energy_norm(
            window_rows, places, end[places] - ended, problem.samples, problem.ridge.penalty
        )
        low = low if np.isfinite(bound) else 0.0
        compared[window] = low, bound, (low / bound if low else 0.0)
    distance, bound, ratio = compared.T
    return Screened(distance, bound, ratio, np.zeros(ratio.size, dtype=np.int64))


def _window(
    problem: Problem,
    declaration: Declaration,
    entries: KernelEntries,
    places: np.ndarray,
    begin: np.ndarray,
    sizes: np.ndarray,
    draws: np.ndarray,
    s: int,
) -> tuple[np.ndarray, float]:
    """The judge's end of a window on its coordinates, and how far in the M-norm a solver's may be."""
    penalty, samples, targets = problem.ridge.penalty, problem.samples, problem.targets
    now, increments = begin.copy(), np.zeros(draws.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        for step, block in enumerate(places[draws]):
            rows = entries.values[draws[step]]
            system = rows[:, block] / penalty + samples * np.eye(block.size)
            right = targets[block] - samples * now[block] - rows @ now / penalty
            try:
                factor = scipy.linalg.cho_factor(system, check_finite=False)
                increments[step] = scipy.linalg.cho_solve(factor, right, check_finite=False)
            except np.linalg.LinAlgError:
                return now[places], np.inf
            np.add.at(now, block, increments[step])
    if not np.isfinite(increments).all():
        return now[places], np.inf
    steps, windows = RidgeSteps(draws, increments), -(-draws.shape[0] // s)
    bound = ridge_window_errors(
        entries, places, sizes, targets, steps, penalty, declaration, windows=windows, judged=True
    )
    return now[places], bound.norm
