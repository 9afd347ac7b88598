"""Bounds on what a step says it used: kernel rows, gradient, curvature, increment, and what became of a.

A run that writes down these quantities (`Trajectory.probes`) and the new values of a (its log) is judged
quantity by quantity, each from what stood before it, so that the first one beyond its bound names the
phase that is wrong. All numbers are taken as recorded; compared is with the sum of the bounds of a correct
solver and of the judge, who evaluates the same in float64. u is the unit roundoff of the solver, u64 that
of float64.

*Kernel row.* ``|K^_il - K_il| <= delta_il`` for the declared formula, and the judge's own delta
(bounds/kernel/entries.py).

*Gradient.* Of K-SVM, ``|g^ - g|`` is bounded as in bounds/step/svm.py, with g at the run's own a before the
step. Of K-RR, component i of the right-hand side ``y_i - m a_i - K_i a / lambda`` is off by dr_i of
bounds/step/ridge.py, to which underflow adds ``underflow (1 + 1/lambda)``. Both count stale product and
corrections, in any order. With weights carried from step to step, what they may have drifted by is
added (bounds/step/drift.py). Nothing is promised where omega, 1/lambda or a sum of terms may overflow.

*Curvature.* K-SVM: ``|eta^ - (K_ii + omega)| <= delta_ii + gamma_3 eta + (error of omega)``, and the
smallest number where omega may underflow. K-RR, entry by entry:
``|G^_ij - G_ij| <= delta_ij / lambda + gamma_3 |G_ij|``, a rounded lambda included in the first term; what
underflows in a product and a quotient adds the smallest number twice.

*Increment,* from the solver's own g^ and eta^. They are what the step used, or those numbers rounded once
when they were written down, so each is known up to a factor 1 + u. The unclipped new value is
``a_i - g^/eta^`` up to the quotient, the difference and that factor (`svm_step_bound` with these errors in
the place of the gradient's and the curvature's), the clip is 1-Lipschitz, and the increment is the rounded
difference of the clipped value and a_i: ``u (|change| + error)`` more. Where a is frozen in a window, the
a_i that is stepped from is within 2 landing of the logged one; the map from it to the increment is
1-Lipschitz, the one to the clipped value too. Where eta^ = 0 and g^ < 0 the new value is the upper end.
K-RR: the computed D^ solves ``(G^ + dG) D^ = r^ + dr`` with dG the backward error of the declared
factorisation, so

    || r^ - G^ D^ ||_2 <= (||dG||_2 + ||G^ - G^'||_F) ||D^||_2 + 2u || |r^| + |G^| |D^| ||_2 + lost:

a solver may use one triangle of G^ alone, which differs from it by no more than G^ from its transpose, and
r^, G^ and D^ may each have been rounded when they were written down. lost is what underflow adds
(bounds/step/ridge.py). The eigenvalues of G^ are at least m less the bound on ``||G^ - G||_F``, so this is
promised only where G^ is within its own bound. The judge's residual adds ``gamma_{b+2}`` of u64 of the same
sums. An increment longer than ``2 ||r^|| / (m - ||dG||)``, or none at all, is told by its length.

*What became of a.* The logged change of a coordinate and the increment differ by e_t of bounds/step/svm.py
(in place ``u |change|``; added ``u |new value|`` more; frozen 2 landing), of K-RR by ``u |new value|`` or
2 landing. Promised where ``|a_i| + |increment|`` does not overflow: a number is stored then.

Not bounded, and so not judged: a recurrence in a scaled or signed a, steps whose a is not logged, and
increments whose gradient or curvature is not written down.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.kernel.entries import KernelEntries
from sstep_verify.bounds.ridge_inputs import RidgeInputs
from sstep_verify.bounds.step.ridge import RidgeStepConstants, ridge_errors
from sstep_verify.bounds.step.slack import svm_landing, svm_slack
from sstep_verify.bounds.step.solve import solve_error, solve_numbers
from sstep_verify.bounds.step.svm import svm_step_bound, svm_stored_bound
from sstep_verify.bounds.step.svm_constants import IN_PLACE, SvmStepConstants
from sstep_verify.compiled import compiled
from sstep_verify.numerics.rounding import OUTWARD, gamma, largest_normal, length, smallest, unit_roundoff

OWN = unit_roundoff("float64")
"""Unit roundoff of the judge (u64)."""


def svm_curvature_bounds(
    diagonal: np.ndarray, error: np.ndarray, shift: float, constants: SvmStepConstants
) -> np.ndarray:
    """Bounds on eta, of the shape of the kernel's diagonal entries.

    Parameters
    ----------
    diagonal, error : ndarray
        ``K_ii`` as the judge has it, and what the solver's and the judge's may be off by together.
    shift : float
        Omega.
    constants : SvmStepConstants
        Of the steps.
    """
    curvature = diagonal + shift
    with np.errstate(invalid="ignore", over="ignore"):
        off = error + constants.curvature * np.abs(curvature) + constants.shift_error
        off = (off + constants.tiny * (shift > 0.0)) * OUTWARD
        return np.where(curvature + off <= constants.largest, off, np.inf)


def ridge_system(
    entries: KernelEntries, inputs: RidgeInputs, precision: str, samples: int
) -> tuple[np.ndarray, np.ndarray]:
    """The matrix G of one block as the judge has it, and bounds on the solver's entries; both (b, b).

    Parameters
    ----------
    entries : KernelEntries
        Kernel entries among the block.
    inputs : RidgeInputs
        lambda and what rounding it does.
    precision : str
        Of the solver.
    samples : int
        Number of samples (m).
    """
    largest = largest_normal(precision)
    with np.errstate(all="ignore"):
        _, weight, _ = ridge_errors(entries, inputs)
        system = entries.values / inputs.penalty + samples * np.eye(len(entries.values))
        roundings = gamma(3, unit_roundoff(precision)) + gamma(3, OWN)
        bound = weight + roundings * (np.abs(system) + weight)
        bound = (bound + 4.0 * smallest(precision)) * OUTWARD
        promised = inputs.least * largest >= 1.0 and np.trace(np.abs(system) + bound) <= largest
    return system, np.where(np.isnan(bound) | (not promised), np.inf, bound)


@compiled
def svm_increments(start, stretch, used, box, constants, found):
    """Judge the increments of whole windows of K-SVM steps, and what became of a.

    Parameters
    ----------
    start : ndarray, shape (m,)
        The run's a before the first of them; advanced by the log.
    stretch : tuple of ndarray of int64 (H,), ndarray (H,), int
        Coordinates drawn, logged values, steps per window.
    used : tuple of ndarray, shape (H,)
        Recorded gradient, curvature and increment.
    box : tuple of (float, float)
        Upper end of the box (nu), and how far the solver's may be from it.
    constants : (SvmStepConstants, SvmStepConstants)
        Of the steps; and the same in place, for exact g and eta that were written down.
    found : ndarray, shape (4, H)
        Out: distance and bound of each increment, distance and bound of what became of a.
    """
    draws, log, width = stretch
    gradient, curvature, increment = used
    upper, upper_error = box
    declared, own = constants
    u = declared.u
    moved, drawn = np.abs(start), np.zeros(start.size, dtype=np.int64)
    for begin in range(0, draws.size, width):
        end = min(begin + width, draws.size)
        for place in range(begin, end):
            i = draws[place]
            value, g, eta = start[i], gradient[place], curvature[place]
            drawn[i] += 1
            size = abs(log[place] - value)
            slack = svm_slack(declared, drawn[i], moved[i], size, log[place])
            found[2, place] = abs(increment[place] - (log[place] - value))
            found[3, place] = (slack + OWN * size) * OUTWARD
            bound, clipped = np.inf, 0.0
            landing = 2.0 * svm_landing(declared, drawn[i], moved[i])
            if eta > 0.0:
                new = value - g / eta
                clipped = min(max(new, 0.0), upper)
                free = svm_step_bound(own, u * abs(g), eta, 0.0, value, new)
                if free < np.inf:
                    bound = svm_stored_bound(own, free + landing, drawn[i], moved[i], value, new, upper)
            elif eta == 0.0 and g < 0.0 and upper < np.inf:
                clipped, bound = upper, upper_error
            change = clipped - value
            if bound < np.inf:
                bound = bound + landing
                bound += u * (abs(change) + bound) + OWN * abs(change)
            found[0, place], found[1, place] = abs(increment[place] - change), bound * OUTWARD
            start[i] = log[place]
            moved[i] += size
        for place in range(begin, end):
            drawn[draws[place]] = 0
            moved[draws[place]] = abs(start[draws[place]])


def recorded_constants(constants: SvmStepConstants) -> SvmStepConstants:
    """Constants of steps from a gradient and a curvature that are recorded, each rounded once at most."""
    return constants._replace(curvature=constants.u, shift_error=0.0, form=IN_PLACE)


def ridge_increment(
    right: np.ndarray,
    system: np.ndarray,
    increment: np.ndarray,
    given: float,
    inputs: RidgeInputs,
    constants: RidgeStepConstants,
) -> tuple[float, float]:
    """Distance and bound of the increment of one block, from the solver's own right-hand side and matrix.

    Parameters
    ----------
    right, increment : ndarray, shape (b,)
        Recorded right-hand side and increment.
    system : ndarray, shape (b, b)
        Recorded matrix.
    given : float
        Bound on how far that may be from the exact one, in the Frobenius norm.
    inputs, constants
        Of the steps.
    """
    block = right.size
    with np.errstate(all="ignore"):
        size = np.abs(system)
        trace = float(np.trace(size)) * OUTWARD
        if not (np.isfinite(right).all() and trace <= constants.largest and given < np.inf):
            return 0.0, np.inf
        change = solve_error(constants, trace, given, block) + length(system - system.T)
        lost = constants.underflow * (1.0 + 1.0 / inputs.least + constants.growth * trace) * block
        room = constants.modulus - change - given
        most = 2.0 * (length(right) + lost) / room * OUTWARD if room > 0.0 else np.inf
        long = length(increment) if np.isfinite(increment).all() else np.inf
        numbers = solve_numbers(constants, trace, given, block, length(right) + lost + min(most, long))
        if not numbers <= constants.largest or not change < np.inf:
            return 0.0, np.inf
        if most < constants.largest and not long <= most:
            return long, most
        reach = np.abs(right) + size @ np.abs(increment)
        if not reach.max() < constants.largest:
            return 0.0, np.inf
        rounded = (2.0 * constants.u + gamma(block + 2, OWN)) * length(reach)
        bound = (change * long + rounded + lost) * OUTWARD
        return length(right - system @ increment), bound
