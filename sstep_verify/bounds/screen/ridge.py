"""All windows of a K-RR run in float64: the judge's own steps, and how far a correct solver may be.

Solver and judge begin a window at the same vector and both make its block steps in IEEE arithmetic, each up
to a local error: the distance of their ends is at most the sum of both in the M-norm
(bounds/window/ridge.py). A distance beyond that is beyond the sum of the two bounds. The judge multiplies
by its own iterate, which is a sum of no more terms than the product with a and its corrections.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from sstep_verify.bounds.screen.screened import Screened
from sstep_verify.bounds.trajectory.norm import energy_norm
from sstep_verify.bounds.window.ridge import ridge_window_errors
from sstep_verify.problems import Problem
from sstep_verify.rounding.kernel.entries import KernelEntries
from sstep_verify.solver import Declaration
from sstep_verify.steps import RidgeSteps


def screen_ridge(
    problem: Problem,
    declaration: Declaration,
    entries: KernelEntries,
    rows: np.ndarray,
    alphas: np.ndarray,
    draws: np.ndarray,
    s: int,
    length: int = 0,
) -> Screened:
    """Compare every window, or every stretch of several windows, with the judge's own, in the M-norm.

    Parameters
    ----------
    problem : Problem
        A K-RR.
    declaration, entries, rows, alphas, s, length
        See `screen_svm`.
    draws : ndarray of int, shape (H, b)
        Blocks drawn.
    """
    length = length or s
    row_of = np.full(problem.samples, -1, dtype=np.int64)
    row_of[rows] = np.arange(rows.size)
    compared = np.zeros((alphas.shape[0] - 1, 3))
    for window in range(compared.shape[0]):
        begin, end = (alphas[place].astype(np.float64) for place in (window, window + 1))
        blocks = draws[window * length : (window + 1) * length]
        places, local = np.unique(blocks, return_inverse=True)
        moved = np.abs(np.delete(end - begin, places)).max(initial=0.0)
        if moved != 0.0 or not np.isfinite(end).all():
            compared[window] = (moved if 0.0 < moved < np.inf else np.inf), 0.0, np.inf
            continue
        window_rows, local = entries.at(row_of[places]), local.reshape(blocks.shape)
        ended, bound = _window(problem, declaration, window_rows, places, begin, local, s)
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
            now[block] += increments[step]
    if not np.isfinite(increments).all():
        return now[places], np.inf
    steps, windows = RidgeSteps(draws, increments), -(-draws.shape[0] // s)
    bound = ridge_window_errors(
        entries, places, begin, targets, steps, penalty, declaration, windows=windows, judged=True
    )
    return now[places], bound.norm
