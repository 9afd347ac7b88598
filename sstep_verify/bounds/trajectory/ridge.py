"""Bound C for K-RR: how far a whole run may be from the exact trajectory of the same stream.

An exact block step is an M-orthogonal projection of the error, M = K/lambda + m I, so it enlarges no
error in the M-norm and the distance of a run is at most the sum of the errors made in its windows:

    ||a^_k - a_k||_M <= T_k = sum over the windows of l_w.

l_w is bound B (bounds/window/ridge.py), which wants the sizes of the solver's own iterate and of the
exact steps from there. Both are near those of the exact trajectory: since M >= m I,

    |a^_i| <= |a_i| + T / sqrt(m),        |D_i(a^)| <= |D_i(a)| + T / sqrt(m),

the second because D(a^) - D(a) is the projection of the error. M is that of the exact kernel, so its
smallest eigenvalue is at least m; cond(M) does not enter, and nothing is amplified: the bound grows with
the number of windows alone.

Where weights are carried, the drift that they have gathered is part of l_w (bounds/carried_run.py).

The oracle's run is not exact either: its own errors, proven step by step, are added to the sum.

Underflow of a product or quotient is part of l_w. Where a size overflows float64, or a factorisation may
break down, the bound is infinite from that window on.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.carried_run import CarriedWeights
from sstep_verify.bounds.trajectory_bound import TrajectoryBound
from sstep_verify.bounds.window.ridge import ridge_window_errors
from sstep_verify.rounding.arithmetic import OUTWARD, gamma, magnitudes, rounded_up, unit_roundoff
from sstep_verify.rounding.kernel.entries import KernelEntries
from sstep_verify.solver import Declaration
from sstep_verify.steps import RidgeSteps


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def ridge_trajectory_bound(
    entries: KernelEntries,
    places: np.ndarray,
    start: np.ndarray,
    targets: np.ndarray,
    steps: RidgeSteps,
    errors: np.ndarray,
    s: int,
    ends: list[int],
    penalty: float,
    declaration: Declaration,
    carried: CarriedWeights | None = None,
) -> dict[int, TrajectoryBound]:
    """Bound the distance of a K-RR run from the oracle's at chosen window ends, in the M-norm.

    Parameters
    ----------
    entries, places, start, s, ends, declaration, carried
        As for `sstep_verify.bounds.trajectory.svm.svm_trajectory_bound`.
    targets : ndarray, shape (m,)
        The targets.
    steps : RidgeSteps
        The H steps of the oracle's run.
    errors : ndarray, shape (H,)
        Error of each of them, in the M-norm.
    penalty : float
        Regularisation (lambda).

    Returns
    -------
    dict of int to TrajectoryBound
        By window end; radius of shape (1,).
    """
    root, u64 = np.sqrt(start.size), unit_roundoff("float64")
    size = magnitudes(start)
    reached, moved = start[places].astype(np.float64), size[places]
    total, bounds = 0.0, {end: TrajectoryBound(np.array([np.inf]), 1.0, 0) for end in ends}
    for begin in range(0, max(ends, default=0), s):
        end = min(begin + s, steps.draws.shape[0])
        proven = float(np.sum(errors[:end]))
        far = total + proven
        near = (
            float(rounded_up(far / root)) if far > 0.0 else 0.0
        )  # a coordinate that is 0 costs no rounding
        # `reached` is a sum of float64 increments, each rounded; `moved` is the sum of their sizes.
        size[places] = (np.abs(reached) + gamma(begin + 2, u64) * moved + near) * OUTWARD
        blocks, increments = steps.draws[begin:end], steps.increments[begin:end]
        rows, drawn = np.unique(blocks, return_inverse=True)
        window = RidgeSteps(drawn.reshape(blocks.shape), (np.abs(increments) + near) * OUTWARD)
        terms = None
        if carried is not None:
            carried.restart(size)
            terms = carried.begin(size, blocks.size).at(rows)
            change = np.bincount(blocks.ravel(), window.increments.ravel(), places.size) * OUTWARD
            counts = np.bincount(blocks.ravel(), minlength=places.size)
            carried.end(change, counts, (size[places] + change) * OUTWARD)
        local = ridge_window_errors(
            entries.at(rows), places[rows], size, targets, window, penalty, declaration, terms
        ).norm
        total = rounded_up(total + local)
        if not total < np.inf:
            break
        for block, increment in zip(blocks, increments, strict=True):
            reached[block] += increment
            moved[block] += np.abs(increment)
        if end in bounds:
            bounds[end] = TrajectoryBound(np.array([(total + proven) * OUTWARD]), 1.0, 0)
    return bounds
