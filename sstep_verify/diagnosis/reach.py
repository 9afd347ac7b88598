"""How far a run of a mistaken recurrence may be from its exact end: an allowance, no proved bound."""

from __future__ import annotations

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import gamma, unit_roundoff
from sstep_verify.rounding.kernel.entries import KernelEntries


def mistaken_reach(
    problem: Problem,
    declaration: Declaration,
    entries: KernelEntries,
    places: np.ndarray,
    largest: np.ndarray,
    steps: int,
    s: int,
) -> np.ndarray:
    """What all steps of a K-SVM could round if each drew this coordinate, shape (c,).

    In one step ``(gamma_k (|K_i| |a| + omega |a_i| + |p_i| + threshold) + delta_i |a|) / eta_i + u |a_i|``,
    with k a count of all that a step sums. (The bound of the right run is 0 where that is clipped, which
    another may not be.) Where float64 does not hold it, nothing is allowed.

    Parameters
    ----------
    problem : Problem
        A K-SVM.
    declaration : Declaration
        Its precision counts.
    entries : KernelEntries
        Kernel rows of the coordinates.
    places : ndarray of int, shape (c,)
        The coordinates.
    largest : ndarray, shape (m,)
        The largest |a| on the way.
    steps, s : int
        Steps made, and per window.
    """
    dual, u = problem.dual, unit_roundoff(declaration.precision)
    shift, constant = dual.shift, np.abs(problem.linear[places]) + dual.threshold
    with np.errstate(over="ignore", invalid="ignore"):
        summed = np.abs(entries.values) @ largest + shift * largest[places] + constant
        eta = entries.values[np.arange(places.size), places] + shift
        error = (
            gamma(problem.samples + problem.features + 2 * s + 8, u) * summed
            + entries.solver_error @ largest
        )
        local = np.divide(error, eta, out=np.zeros(places.size), where=eta > 0) + u * largest[places]
        reach = steps * local
    return np.where(np.isfinite(reach), reach, 0.0)
