"""How far what a step stores, or used, may be from what is logged: landing, e_t of bounds/step/svm.py."""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.step.svm_constants import ADDED, FROZEN
from sstep_verify.compiled import compiled_borrowing
from sstep_verify.numerics.rounding import OUTWARD


@compiled_borrowing
def frozen_landing(draws, u, size):
    """How far the sum of a frozen coordinate's value and its increments, all of `size`, may be off.

    No more than ``gamma_r S``, S the sizes of the value and of the increments that were added: each of
    these is two such sums' errors from the logged one, so that ``S <= size + 2 r gamma_r S``. One rounding
    more is left for a sum that begins with 0.
    """
    if draws == 0:
        return 0.0
    k = (draws + 1) * u
    rest = 1.0 - (1.0 + 2.0 * draws) * k
    return k / rest * size * OUTWARD if rest > 0.0 else np.inf


@compiled_borrowing
def svm_landing(constants, draws, size):
    """How far a frozen coordinate's sums may be from exact ones; 0 for the other forms.

    Parameters
    ----------
    constants : SvmStepConstants
        Constants.
    draws : int
        Times the coordinate was drawn in the window (r).
    size : float
        ``|a'_i|`` and the sizes of its increments, summed.
    """
    return frozen_landing(draws, constants.u, size) if constants.form == FROZEN else 0.0


@compiled_borrowing
def svm_slack(constants, draws, moved, size, logged):
    """How far the increment that a step used may be from the logged one (e_t).

    Parameters
    ----------
    constants : SvmStepConstants
        Constants.
    draws : int
        Times the coordinate was drawn in the window (r), this step included.
    moved : float
        ``|a'_i|`` and the sizes of the coordinate's increments before this step, summed.
    size : float
        Size of the logged increment.
    logged : float
        Value after the step.
    """
    if constants.form == FROZEN:
        return svm_landing(constants, draws, moved + size) + svm_landing(constants, draws - 1, moved)
    slack = constants.u * size
    if constants.form == ADDED:
        slack += constants.u * abs(logged)
    return slack


@compiled_borrowing
def ridge_slack(constants, draws, moved, size, logged):
    """How far the increment of a coordinate that a step used may be from the logged one.

    Parameters
    ----------
    constants : RidgeStepConstants
        Constants.
    draws : int
        Times the coordinate was drawn in the window (r), this step included.
    moved : float
        ``|a'_i|`` and the sizes of the coordinate's increments before this step, summed.
    size : float
        Size of the logged increment.
    logged : float
        Value after the step.
    """
    if constants.frozen:
        before = frozen_landing(draws - 1, constants.u, moved)
        return before + frozen_landing(draws, constants.u, moved + size)
    return constants.u * abs(logged)
