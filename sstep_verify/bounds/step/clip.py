"""Bound B' for K-SVM: how far a logged step may be from the exact step that begins at the run's own a.

A log tells the new value of the coordinate i of each step, so a is known exactly before every step, also
inside a window, and what a correct implementation may do wrong there is local. Let a' be its a at the
window's start, theta_t the logged increments since (exact differences of logged values) and p the nonzero
entries of a'. Its gradient is a sum, in any order, of stale products,
corrections, 1 and the shift's products (bounds/window/svm.py), so with unit roundoff u

    |g^ - g| <= gamma_k (sum |K_il| |a'_l| + sum_t |K(i, i_t)| |theta_t| + 1 + omega (|a'_i| + moved_i))
                + sum delta_il |a'_l| + sum_t delta(i, i_t) |theta_t| + sum_t |K(i, i_t)| e_t,

with ``k = p + t + 6`` after t steps of the window, more where omega meets many increments by itself, and
e_t how far the increment it corrected with may be from the logged one (rounding/sums.py).

With the linear kernel the products may be formed from the samples: k is larger by n then, and
``|x_i|'|x_l|`` takes the place of ``|K_il|`` (rounding/kernel/entries.py).

Quotient, curvature ``eta = K_ii + omega`` and difference add their roundings, and the clip is 1-Lipschitz.
Where the unclipped value is certainly beyond an end of the box, the clipped one is that end, up to the
rounding of C (rounding/box.py). Of a loss with another linear term than 1, or with a threshold,
the same holds with the sizes of these (rounding/box.py). The stored value lands on the clipped
one in place, within u |stored| + u |theta| of it where it is added (exactly, where it is 0), and within
2 A_r where frozen, A_r of rounding/sums.py; the value stepped from is then within 2 A_{r-1} of the logged
one as well. Nothing is propagated: no factor grows with s but in k.

The judge makes the same step in float64 from the same a, in place, with products in any order over its
nonzero entries: the same theorem with u64 and ``k = p + q + 7``, its own delta. Two correct values differ
by no more than the sum of both bounds. Sums of ``|a'_l|`` and ``|theta_t|`` are taken together: `bounded`
holds ``|a'|``, to which each step adds ``|theta_t| + e_t``, and `increment_error` the e_t alone.

For ``|a'_l|`` stands the largest ``|a_l|`` so far in the run. A gradient that is maintained from step to
step was rounded when a was larger, and keeps that error when a is small again. How often it was rounded is
not counted, so over a long run its drift is not bounded. Of weights that a solver declares it is
(bounds/step/drift.py), so that |a| at the window's start is enough there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.compiled import inlined
from sstep_verify.declaration import Declaration
from sstep_verify.problems.losses import Dual
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, smallest_subnormal, unit_roundoff
from sstep_verify.rounding.box import Box, box_of, end_error, finish
from sstep_verify.rounding.kernel.entries import KernelEntries
from sstep_verify.rounding.sums import (
    ADDED,
    FORMS,
    FROZEN,
    NOT_FACTORED,
    Factored,
    SumConstants,
    accumulation_error,
    sum_constants,
)


class ClipConstants(NamedTuple):
    """What the bound of every step of a window is made from, solver's and judge's share together.

    Parameters
    ----------
    sums : SumConstants
        Of the gradients.
    curvature, quotient : float
        gamma_3 and gamma_2; gamma_4 with a threshold.
    shift : float
        Diagonal shift (omega).
    box : Box
        Ends of the box, and the threshold.
    end_error : float
        What the solver's ends are off by (rounding/box.py).
    underflow_error : float
        Smallest number of the solver's type and of the judge's together.
    sharp : bool
        Whether the bound holds the judge's own error, which decides what is certainly clipped.
    """

    sums: SumConstants
    curvature: float
    quotient: float
    shift: float
    box: Box
    end_error: float
    underflow_error: float
    sharp: bool


def clip_constants(
    declaration: Declaration,
    samples: int,
    support: int,
    width: int,
    dual: Dual,
    factored: Factored = NOT_FACTORED,
    *,
    judge: bool = True,
) -> ClipConstants:
    """Constants of all steps of windows of `width` steps from an a with at most `support` nonzero entries.

    Parameters
    ----------
    declaration : Declaration
        Precision, form of the update.
    samples, support, width : int
        Number of samples (m), nonzero entries of a at most (p), steps of a window (s).
    dual : Dual
        Shift, box and threshold.
    factored : Factored
        Cost of products formed from the samples, where the solver may do so.
    judge : bool
        Whether the judge's own float64 step is part of the bound; False for an exact one.
    """
    precision, more = declaration.precision, int(dual.threshold > 0.0)
    u, judge_u = unit_roundoff(precision), unit_roundoff("float64") if judge else 0.0
    # A product for each entry of a, two for each step, and at most 6 others may underflow.
    operations = (samples + 2 * width) * (1.0 + factored.length) + 6 + factored.features
    sums = sum_constants(
        declaration, samples, support, width, (6 + more, 7 + more, 5), operations, factored,
        FORMS[declaration.update], additions=width + (max(width - 2, 0) if dual.shift else 0), judge=judge,
    )  # fmt: skip
    return ClipConstants(
        sums=sums,
        curvature=gamma(3, u) + gamma(3, judge_u),
        quotient=gamma(2 + 2 * more, u) + gamma(2 + 2 * more, judge_u),
        shift=dual.shift,
        box=box_of(dual),
        end_error=end_error(dual, declaration),
        underflow_error=smallest_subnormal(precision) + smallest_subnormal("float64"),
        sharp=judge,
    )


def entry_errors(entries: KernelEntries, *, judge: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Sizes of the kernel entries that roundings multiply, and their errors, both (c, m).

    Parameters
    ----------
    entries : KernelEntries
        Kernel rows with bounds on their errors, the solver's and the judge's own.
    judge : bool
        Whether the judge's own errors are part of them; False where the kernel is exact.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        errors = entries.solver_error + (entries.judge_error if judge else 0.0)
        sizes, errors = entries.term_sizes * ROUND_UP, errors * ROUND_UP
        return np.nan_to_num(sizes, nan=np.inf, posinf=np.inf), np.nan_to_num(
            errors, nan=np.inf, posinf=np.inf
        )


@inlined
def unclipped_bound(constants, gradient_error, curvature, curvature_error, value, new, knot):
    """Bound on the error of the unclipped new value of one step; infinite where nothing is promised.

    `gradient_error` bounds that of the gradient, roundings of its sum included; `curvature` is eta, the
    kernel entry in it off by `curvature_error`; `value` the one before the step, `new` the unclipped one,
    `knot` the threshold over eta.
    """
    off = curvature_error + constants.curvature * curvature
    off += constants.underflow_error if constants.shift > 0.0 else 0.0  # omega may be subnormal
    lower, largest = curvature - off, constants.sums.largest
    if not (lower * largest >= 1.0 and curvature + off <= largest):
        return np.inf  # its reciprocal may overflow, or underflow
    if not gradient_error <= constants.sums.longest * largest:
        return np.inf  # a sum of the gradient's terms may overflow
    quotient, size = abs(value - new) + knot, abs(new) + knot
    error = (
        gradient_error + quotient * off + constants.underflow_error
    ) / lower + constants.underflow_error
    error += constants.quotient * (quotient + error) + constants.quotient * (size + error)
    if not quotient + size + error < largest:
        return np.inf
    return error * ROUND_UP


@inlined
def stored_bound(constants, error, draws, moved, value, new, knot):
    """Bound on the error of the stored value of one step, the unclipped `new` one being off by `error`.

    The coordinate was drawn `draws` times in the window (r), this step included; `moved` is ``|a'_i|`` and
    the sizes of its increments before, summed; `value` the one before the step, `knot` the threshold over
    eta.
    """
    sums, box, off = constants.sums, constants.box, constants.end_error
    clipped = finish(box, new, knot)
    low, high = finish(box, new - error, knot), finish(box, new + error, knot)
    change = abs(clipped - value)
    bound = error
    if not constants.sharp:
        # The unclipped value at hand is the judge's: it does not tell for certain what the exact one is.
        bound += off
    elif low == high == 0.0:
        if sums.form != FROZEN:
            return 0.0  # a - a is an exact 0
        bound = 0.0
    elif low >= box.upper or high <= box.lower:
        bound = off
    elif high >= box.upper - off or (box.lower < 0.0 and low <= box.lower + off):
        bound += off
    if sums.form == ADDED:
        bound += sums.u * (2.0 * change + abs(value) + abs(clipped) + 4.0 * bound)
    elif sums.form == FROZEN:
        apart = accumulation_error(sums, draws, moved + change + bound)
        apart += accumulation_error(sums, draws - 1, moved)
        bound += 2.0 * apart + sums.u * (change + bound)
    return bound * ROUND_UP
