"""Bound D for a K-SVM vector that was written down with rounding: how far its gap may be from its own.

Shown is v, and the solver's own a is somewhere in ``|a - v| <= r``. The box is convex and a clip moves no
two numbers apart, so both are taken as clipped. With ``e = |Q| r``, ``h_i = max(0, 1 - (Qv)_i)`` and

    gap(a) = a'Qa + omega/2 a'a - 1'a + C sum_i max(0, 1 - (Qa)_i)^q

(q = 1 or 2), the first three terms move by at most ``r'|2 Qv - 1 + omega v| + r'e + omega/2 r'r``, and loss
i, whose margin moves by at most e_i, by the larger of what it gains and what it loses:

    max(max(0, 1 - (Qv)_i + e_i)^q - h_i^q,  h_i^q - max(0, h_i - e_i)^q).

For K-RR nothing is to be derived: the distance from a* moves by at most ``||r||``.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.optimum.svm import SvmValues
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import OUTWARD, gamma, unit_roundoff
from sstep_verify.rounding.kernel.products import kernel_products
from sstep_verify.solver import Declaration

EXACT = Declaration("float64 entries")


def written_gap(problem: Problem, alpha: np.ndarray, rounding: np.ndarray, values: SvmValues) -> float:
    """Bound on ``|gap(a) - gap(v)|`` for every a within the rounding of what was written down.

    Parameters
    ----------
    problem : Problem
        A K-SVM.
    alpha : ndarray, shape (m,)
        What was written down (v), inside the box.
    rounding : ndarray, shape (m,)
        Largest error of writing each value down (r), >= 0.
    values : SvmValues
        Evaluated at `alpha`.

    Returns
    -------
    float
        In units of the objective; 0 where nothing was rounded.
    """
    if not rounding.any():
        return 0.0
    loss, u = problem.hinge, unit_roundoff("float64")
    with np.errstate(over="ignore", invalid="ignore"):
        moved = kernel_products(problem, EXACT, rounding).magnitude
        error = values.slope_errors
        slopes = 2 * np.abs(values.slopes) + 2 * error + 1 + loss.shift * np.abs(alpha)
        smooth = float(rounding @ (slopes + moved + loss.shift / 2 * rounding))
        missing = -values.slopes
        reach = np.maximum(missing + moved, 0.0) ** loss.power
        short = np.maximum(missing, 0.0)
        change = np.maximum(
            reach - short**loss.power, short**loss.power - np.maximum(short - moved, 0.0) ** loss.power
        )
        # The margins at hand are themselves off by `error`, and so is each loss by q (h + e)^{q-1} of it.
        evaluation_error = 2 * loss.power * (short + moved + error) ** (loss.power - 1) * error
        found = smooth + loss.C * float((np.maximum(change, 0.0) + evaluation_error).sum())
        found *= (1 + gamma(4 * problem.samples + 32, u)) * OUTWARD
    return found if found < np.inf else np.inf
