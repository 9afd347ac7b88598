"""Bound B for K-SVM: how far one window of any correct implementation may end from the exact one.

Both start from the same vector a. Let e be the error of the iterate on the window's c distinct
coordinates. The exact new value of coordinate i does not depend on its old value,
``z_i = (1 - sum_{l != i} Q_il a_l) / eta_i``, so an error enters step j only through the others:
``z^ - z = -(sum_{l != i} Q_il e_l) / eta_i + local``. Errors are carried as signed combinations of
symbols, one per local error, so that they may cancel as they do in the recurrence. The clip is
1-Lipschitz: a step certainly free keeps its combination, a step certainly clipped has none left, and
an undecided one becomes a new symbol of the propagated radius.

Local error of a step, all in IEEE arithmetic with unit roundoff u (Higham 2002, Lemma 3.1, section
3.1): the gradient is a sum of the stale products, the corrections, 1 and the shift, in any order, of
increments that may first be summed per coordinate. Terms that are exact zeros cost no rounding, so with
p nonzero entries of a at the window's start and q earlier steps of the window that may have moved,

    |g^ - g| <= gamma_k (sum |K_il| |a_l| + sum_t |K(i, i_t)| |theta_t| + 1 + omega |a_i|)
                + sum delta_il |a_l| + sum_t delta(i, i_t) |theta_t|,   k = p + q + 6 + r,

r = 0 where omega = 0 or i was drawn at most once before, else one less than how often: omega may multiply
each of these increments by itself. The terms are p products, q corrections, the constant, omega times the
stale a_i and r + 1 of its increments: p + q + r + 2 additions, the product, the difference that an
increment is, omega's own rounding, and one to spare. The quotient, the curvature ``eta = K_ii + omega`` and
the subtraction add their roundings.
Where an order of summation is declared, p is the height of its tree; where a gradient or w is carried, the
stale products are its terms and a correction rounds in its product, its sum and its own shift's
(rounding/carried.py). With the linear kernel the products may be formed from the samples,
``<x_i, A'(y a) + sum_t y_t theta_t x_t>``: then k is larger by n and ``|x_i|'|x_l|`` takes the place of
``|K_il|``, in both sums. These bounds hold for products from entries as well.

What is stored. In place the clipped value itself; frozen, the iterate is a plus the exact sum of the
increments, off by the rounding of the value subtracted and by u |theta|. Added, ``fl(a + theta)``,
``theta = fl(new - a)``: off by at most ``u |theta| + u |a + theta| <= gamma_2 (|a| + 2 |theta|)``, and
exact where new is 0, for -a is a number of the type. Corrections hold theta where a moved by
``fl(a + theta) - a``; until the products are formed anew, every gradient is off by |K(i, i_t)| times the
rounding of that sum, for each such step. Of several windows a frozen a is stored at the end of each: what
later steps are made from has landed twice, in the value that was subtracted and at the end of its window,
and what the last window drew lands at its end.

Underflow: a product that underflows is off by at most half the smallest number, a quotient as well, after
the division by eta. Overflow: where a sum of terms, a weight, eta or the quotient may exceed
`largest_normal`, nothing is promised.

Of a loss with another linear term than 1, or with a threshold, the constant 1 above is
``|p_i| + threshold``, and the clip the monotone 1-Lipschitz map of rounding/finisher.py, free between two
corners.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.trajectory_bound import TrajectoryBound
from sstep_verify.bounds.window.svm_run import svm_trajectory_bound
from sstep_verify.bounds.window.svm_state import NO_EMPHASIS, Emphasis
from sstep_verify.problems.losses import Dual
from sstep_verify.rounding.carried import CarriedTerms
from sstep_verify.rounding.kernel.entries import KernelEntries
from sstep_verify.solver import Declaration
from sstep_verify.steps import SvmSteps


def svm_window_bound(
    entries: KernelEntries,
    places: np.ndarray,
    start: np.ndarray,
    steps: SvmSteps,
    dual: Dual,
    declaration: Declaration,
    carried: CarriedTerms | None = None,
    windows: int = 1,
    emphasis: Emphasis = NO_EMPHASIS,
) -> TrajectoryBound:
    """Bound the error at the end of one K-SVM window.

    Parameters
    ----------
    entries : KernelEntries
        Kernel rows of the distinct coordinates, shape (c, m).
    places : ndarray of int, shape (c,)
        The distinct coordinates.
    start : ndarray, shape (m,)
        The solver's a at the window's start, exact.
    steps : SvmSteps
        The exact steps.
    dual : Dual
        Shift, box, threshold and linear term.
    declaration : Declaration
        Precision and form of the update, order of summation.
    carried : CarriedTerms, optional
        What the first gradients are made of, for a solver that carries a state.
    windows : int
        Windows of the run that these steps are: of several, a frozen a is stored at the end of each, so
        that a value which steps are made from has landed twice.
    emphasis : Emphasis
        Which sources of error are made larger; none.

    Returns
    -------
    TrajectoryBound
        Radii of shape (c,); 0 where the computed value must be exact.
    """
    size = steps.draws.size
    return svm_trajectory_bound(
        entries, places, start, steps, np.zeros(size), size, [size], dual, declaration, carried,
        windows=windows, emphasis=emphasis,
    )[size]  # fmt: skip
