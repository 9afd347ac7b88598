"""Bound B' for K-SVM: how far a logged step may be from the exact step that begins at the run's own a.

A log tells the new value of the coordinate i of each step, so a is known exactly before every step, also
inside a window, and what a correct implementation may do wrong there is local. Let a' be its a at the
window's start, theta_t the logged increments since (exact differences of logged values) and p the nonzero
entries of a'. Its gradient is a sum, in any order, of stale products,
corrections, 1 and the shift's products (bounds/window/svm.py), so with unit roundoff u

    |g^ - g| <= gamma_k (sum |K_il| |a'_l| + sum_t |K(i, i_t)| |theta_t| + 1 + omega (|a'_i| + moved_i))
                + sum delta_il |a'_l| + sum_t delta(i, i_t) |theta_t| + sum_t |K(i, i_t)| e_t,

with ``k = p + t + 6`` after t steps of the window (bounds/step/roundings.py), where e_t is how far the
increment it corrected with may be from the logged one:

* in-place: the stored value is the clipped one, the increment its rounded difference: u |theta_t|;
* added: the stored value is ``fl(value + increment)``: u |stored| + u |theta_t|;
* frozen: both stored and used values are sums of at most r + 1 numbers, r draws of the coordinate so far,
  each off by at most about ``landing_r = gamma_{r+1} (|a'_i| + moved_i)`` (bounds/step/slack.py), and the
  increment is the difference of two of them: landing_r + landing_{r-1}, where a' itself is exact.

With the linear kernel the products may be formed from the samples: k is larger by n then, and
``|x_i|'|x_l|`` takes the place of ``|K_il|`` (bounds/kernel/entries.py).

Quotient, curvature ``eta = K_ii + omega`` and difference add their roundings, and the clip is 1-Lipschitz.
Where the unclipped value is certainly beyond an end of the box, the clipped one is that end, up to the
rounding of C (bounds/box_rounding.py). The stored value lands on the clipped one in place, within
u |stored| + u |theta| of it where it is added (exactly, where it is 0), and within 2 landing_r where
frozen; the value stepped from is then within 2 landing_{r-1} of the logged one as well. Nothing is
propagated: no factor grows with s but in k.

The judge makes the same step in float64 from the same a, in place, with products in any order over its
nonzero entries: the same theorem with u64 and ``k = p + q + 7``, its own delta. Two correct values differ
by no more than the sum of both bounds. Sums of ``|a'_l|`` and ``|theta_t|`` are taken together: `bounded`
holds |a'|, to which each step adds ``|theta_t| + e_t``, and `slack` the e_t alone.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.step.slack import svm_landing
from sstep_verify.bounds.step.svm_constants import ADDED, FROZEN
from sstep_verify.compiled import compiled_borrowing
from sstep_verify.numerics.rounding import (
    OUTWARD,
)


@compiled_borrowing
def svm_step_bound(constants, gradient_error, curvature, curvature_error, value, new):
    """Bound on the error of the unclipped new value of one step; infinite where nothing is promised.

    Parameters
    ----------
    constants : SvmStepConstants
        Constants.
    gradient_error : float
        Bound on the error of the gradient, roundings of its sum included.
    curvature, curvature_error : float
        eta, and how far the kernel entry in it may be off.
    value, new : float
        Value before the step, unclipped new value.
    """
    off = curvature_error + constants.curvature * curvature + constants.shift_error
    least = curvature - off
    if not (least > 0.0 and curvature + off <= constants.largest):
        return np.inf
    if not gradient_error <= constants.gradient * constants.largest:
        return np.inf  # a sum of the gradient's terms may overflow
    quotient = abs(value - new)
    error = (gradient_error + quotient * off + constants.tiny) / least + constants.tiny
    error += constants.quotient * (quotient + error) + constants.quotient * (abs(new) + error)
    if not quotient + abs(new) + error < constants.largest:
        return np.inf
    return error * OUTWARD


@compiled_borrowing
def svm_stored_bound(constants, error, draws, moved, value, new, upper):
    """Bound on the error of the stored value of one step.

    Parameters
    ----------
    constants : SvmStepConstants
        Constants.
    error : float
        Bound on the error of the unclipped new value.
    draws : int
        Times the coordinate was drawn in the window (r), this step included.
    moved : float
        ``|a'_i|`` and the sizes of the coordinate's increments before this step, summed.
    value, new, upper : float
        Value before the step, unclipped new value, upper end of the box (nu).
    """
    clipped = min(max(new, 0.0), upper)
    change = abs(clipped - value)
    bound = error
    if not constants.sharp:
        # The unclipped value at hand is the judge's: it does not tell for certain what the exact one is.
        bound += constants.upper_error
    elif new + error <= 0.0:
        if constants.form != FROZEN:
            return 0.0  # a - a is an exact 0
        bound = 0.0
    elif new - error >= upper + constants.upper_error:
        bound = constants.upper_error
    elif new + error >= upper - constants.upper_error:
        bound += constants.upper_error
    if constants.form == ADDED:
        bound += constants.u * (2.0 * change + abs(value) + clipped + 4.0 * bound)
    elif constants.form == FROZEN:
        landing = svm_landing(constants, draws, moved + change + bound)
        landing += svm_landing(constants, draws - 1, moved)
        bound += 2.0 * landing + constants.u * (change + bound)
    return bound * OUTWARD
