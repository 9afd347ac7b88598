"""All windows of a K-RR run in float64: the judge's own steps, and how far a correct solver may be.

Solver and judge begin a window at the same vector and both make its block steps in IEEE arithmetic, each up
to a local error (bounds/window/ridge.py). An exact block step is an affine map whose linear part is a
projection in the M-norm, so the difference of the two computed runs grows in a step by no more than the two
local errors: ``||a_s - a_j||_M <= sum_j (||l_s|| + ||l_j||)``. A distance beyond that is beyond the sum of
the two bounds.

The local errors are those of bounds/block/local.py. They depend on the exact increment at the own iterate:
the judge's is its computed one, whose error is l_j; the solver's is that up to l_j and what the difference
before and after the step makes, twice its M-norm over the root of the block system's smallest eigenvalue.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from sstep_verify.bounds.block.local import RidgeLocalErrors
from sstep_verify.bounds.kernel.entries import KernelEntries
from sstep_verify.bounds.sweep.swept import Swept
from sstep_verify.bounds.trajectory.norm import energy_norm
from sstep_verify.bounds.window.ridge import block_energy_norm, smallest_eigenvalue
from sstep_verify.numerics.rounding import OUTWARD
from sstep_verify.problems import Problem
from sstep_verify.solver import Declaration
from sstep_verify.steps import RidgeSteps

JUDGE = Declaration("judge", update="in-place", increments="summed")


def sweep_ridge(
    problem: Problem,
    declaration: Declaration,
    entries: KernelEntries,
    rows: np.ndarray,
    alphas: np.ndarray,
    draws: np.ndarray,
    s: int,
    length: int = 0,
) -> Swept:
    """Compare every window, or every stretch of several windows, with the judge's own, in the M-norm.

    Parameters
    ----------
    problem : Problem
        A K-RR.
    declaration, entries, rows, alphas, s, length
        See `sweep_svm`.
    draws : ndarray of int, shape (H, b)
        Blocks drawn.
    """
    count = alphas.shape[0] - 1
    distance, bound, ratio = np.zeros(count), np.zeros(count), np.zeros(count)
    length = length or s
    row_of = np.full(problem.samples, -1, dtype=np.int64)
    row_of[rows] = np.arange(rows.size)
    for window in range(count):
        begin, end = (alphas[place].astype(np.float64) for place in (window, window + 1))
        blocks = draws[window * length : (window + 1) * length]
        places = np.unique(blocks)
        outside = np.ones(problem.samples, dtype=bool)
        outside[places] = False
        moved = np.abs(end[outside] - begin[outside]).max(initial=0.0)
        if not (np.array_equal(end[outside], begin[outside]) and np.isfinite(end).all()):
            distance[window], ratio[window] = (moved if 0.0 < moved < np.inf else np.inf), np.inf
            continue
        here, local = entries.at(row_of[places]), np.searchsorted(places, blocks)
        ended, bound[window] = _window(problem, declaration, here, places, begin, local, s)
        if np.isfinite(bound[window]):
            apart = end[places] - ended
            # Every entry of a difference is rounded once, which energy_norm allows for.
            low = energy_norm(here, places, apart, problem.samples, problem.ridge.penalty)[0]
            distance[window], ratio[window] = low, (low / bound[window] if low else 0.0)
    return Swept(distance, bound, ratio, np.zeros(count, dtype=np.int64))


def _window(
    problem: Problem,
    declaration: Declaration,
    entries: KernelEntries,
    places: np.ndarray,
    begin: np.ndarray,
    draws: np.ndarray,
    s: int,
) -> tuple[np.ndarray, float]:
    """The judge's end of a window on its coordinates, and how far in the M-norm a solver's may be."""
    penalty, samples = problem.ridge.penalty, problem.samples
    kernel, own = entries.values[:, places] / penalty, entries.own[:, places] / penalty * OUTWARD
    now, gained = begin[places].copy(), np.zeros(places.size)
    with np.errstate(over="ignore", invalid="ignore"):
        stale = entries.values @ begin
    increments = np.zeros(draws.shape)
    steps = RidgeSteps(draws, increments)
    exact = KernelEntries(entries.values, entries.own, entries.own)
    arguments = (places, begin, problem.targets, steps, penalty)
    solver = RidgeLocalErrors(entries, *arguments, declaration)
    judge = RidgeLocalErrors(exact, *arguments, JUDGE)
    if not (solver.bounded and judge.bounded):
        return now, np.inf
    total = 0.0
    for step, block in enumerate(draws):
        grid = np.ix_(block, block)
        correction = entries.values[block][:, places] @ gained
        right = (
            problem.targets[places[block]] - samples * now[block] - (stale[block] + correction) / penalty
        )
        try:
            factor = scipy.linalg.cho_factor(
                kernel[grid] + samples * np.eye(block.size), check_finite=False
            )
            increments[step] = scipy.linalg.cho_solve(factor, right, check_finite=False)
        except np.linalg.LinAlgError:
            return now, np.inf
        if not np.isfinite(increments[step]).all():
            return now, np.inf
        now[block] += increments[step]
        gained[block] += increments[step]
        modulus = smallest_eigenvalue(kernel[grid], own[grid], samples)
        root = np.sqrt(modulus)
        made = judge.advance(modulus, 0.0)
        if made is None:
            return now, np.inf
        other = solver.advance(modulus, 2 * total / root + made.length)
        if other is None:
            return now, np.inf
        largest = judge.system(block) + solver.system(block)
        total += root * (made.length + other.length) * OUTWARD
        total += block_energy_norm(largest, made.rounding + other.rounding) * OUTWARD
    if declaration.update == "frozen":
        # Stored at the end of every window.
        windows = -(-draws.shape[0] // s)
        total += windows * block_energy_norm(solver.system(np.arange(places.size)), solver.landing())
    return now, float(total * OUTWARD)
