"""Bounds on what a step says it used: kernel rows, gradient, curvature, increment, and what became of a.

A run that writes down these quantities (`Trajectory.probes`) and the new values of a (its log) is judged
quantity by quantity, each from what stood before it, so that the first one beyond its bound names the
phase that is wrong. All numbers are taken as recorded; compared is with the sum of the bounds of a correct
solver and of the judge, who evaluates the same in float64. u is the unit roundoff of the solver, u64 that
of float64.

*Kernel row.* ``|K^_il - K_il| <= delta_il`` for the declared formula, and the judge's own delta
(rounding/kernel/entries.py).

*Gradient.* Of K-SVM, ``|g^ - g|`` is bounded as in bounds/step/clip.py, with g at the run's own a before
the step. Of K-RR, component i of the right-hand side ``y_i - m a_i - K_i a / lambda`` is off by dr_i of
bounds/step/residual.py, to which underflow adds ``underflow (1 + 1/lambda)``. Both count stale product and
corrections, in any order. With weights carried from step to step, what they may have drifted by is
added (bounds/step/drift.py). Nothing is promised where omega, 1/lambda or a sum of terms may overflow.

*Curvature.* K-SVM: ``|eta^ - (K_ii + omega)| <= delta_ii + gamma_3 (eta + delta_ii)``, and the smallest
number where omega may underflow. K-RR, entry by entry: ``|G^_ij - G_ij| <= d_ij + gamma_3 (|G_ij| + d_ij)``
with ``d_ij = delta_ij / lambda``; what underflows in a product and a quotient adds the smallest number
twice.

*Increment,* from the solver's own g^ and eta^. They are what the step used, or those numbers rounded once
when they were written down, so each is known up to a factor 1 + u. The unclipped new value is
``a_i - g^/eta^`` up to the quotient, the difference and that factor (`unclipped_bound` with these errors in
the place of the gradient's and the curvature's), the clip is 1-Lipschitz, and the increment is the rounded
difference of the clipped value and a_i: ``u (|change| + error)`` more. Where a is frozen in a window, the
a_i that is stepped from is within 2 A_r of the logged one (rounding/sums.py); the map from it to the
increment is 1-Lipschitz, the one to the clipped value too. Where eta^ = 0 the new value is the end that the
linear term p names (rounding/rows_and_clip.py); promised only where -g^ names the same, as it does of a
row that is 0: of another one eta^ underflowed, and g^ may point anywhere.
K-RR: the computed D^ solves ``(G^ + dG) D^ = r^ + dr`` with dG the backward error of the declared
factorisation, so

    || r^ - G^ D^ ||_2 <= (||dG||_2 + ||G^ - G^'||_F) ||D^||_2 + 2u || |r^| + |G^| |D^| ||_2 + lost:

a solver may use one triangle of G^ alone, which differs from it by no more than G^ from its transpose, and
r^, G^ and D^ may each have been rounded when they were written down. lost is what underflow adds
(bounds/step/residual.py). The eigenvalues of G^ are at least m less the bound on ``||G^ - G||_F``, so this
is promised only where G^ is within its own bound. The judge's residual adds ``gamma_{b+2}`` of u64 of the
same sums. An increment longer than ``2 ||r^|| / (m - ||dG||)``, or none at all, is told by its length.

*What became of a.* The logged change of a coordinate and the increment differ by e_t of
rounding/sums.py. Promised where ``|a_i| + |increment|`` does not overflow: a number is stored then.

Not bounded, and so not judged: a recurrence in a scaled or signed a, steps whose a is not logged, and
increments whose gradient or curvature is not written down.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.step.clip import ClipConstants, stored_bound, unclipped_bound
from sstep_verify.bounds.step.residual import SolveConstants, solve_underflow
from sstep_verify.compiled import compiled
from sstep_verify.rounding.arithmetic import OUTWARD, gamma, norm_upper, unit_roundoff
from sstep_verify.rounding.block.factorisation import solve_error, solve_numbers
from sstep_verify.rounding.rows_and_clip import finish, finish_flat, soft
from sstep_verify.rounding.sums import IN_PLACE, accumulation_error

OWN = unit_roundoff("float64")
"""Unit roundoff of the judge (u64)."""


def curvature_bounds(
    curvature: np.ndarray, error: np.ndarray, u: float, underflow: float, largest: float
) -> np.ndarray:
    """Bounds on eta of K-SVM, or on the entries of the matrices G of K-RR, shape (H, b, b).

    `curvature` are these as the judge has them, `error` is what the kernel entries in them (K-RR: over
    lambda) may be off by, the solver's and the judge's together, `u` the solver's unit roundoff,
    `underflow` what may underflow in an entry, `largest` the size that no number on the way may exceed.
    """
    with np.errstate(all="ignore"):
        size = np.abs(curvature)
        bound = error + (gamma(3, u) + gamma(3, OWN)) * (size + error)
        bound = (bound + underflow) * OUTWARD
        promised = np.trace(size + bound, axis1=1, axis2=2) <= largest
        return np.where(np.isnan(bound) | ~promised[:, None, None], np.inf, bound)


@compiled
def clip_increments(formed, used, constants, recorded, increments):
    """Judge the increments of K-SVM steps by the gradient and the curvature that they say they used.

    These and the linear terms p are `used`, shape (H,) each, and `formed` holds values before the steps,
    their coordinates' draws and moves (checks/steps/tally.py); `constants` are of the steps, `recorded`
    those of `recorded_constants`. Out, in `increments`, shape (3, H): what each increment should be, a
    bound on its distance from that, and how far the unclipped value lies beyond the box.
    """
    gradient, curvature, linear = used
    u, box = constants.sums.u, constants.box
    for step in range(gradient.size):
        value, g, eta = formed.value[step, 0], gradient[step], curvature[step]
        draws, moved = formed.draws[step, 0], formed.moved[step, 0]
        bound, clipped, beyond = np.inf, value, 0.0
        apart = 2.0 * accumulation_error(constants.sums, draws, moved)
        if eta > 0.0:
            new, knot = value - g / eta, box.threshold / eta
            clipped = finish(box, new, knot)
            beyond = soft(new, knot) - clipped
            free = unclipped_bound(recorded, u * abs(g), eta, 0.0, value, new, knot)
            if free < np.inf:
                bound = stored_bound(recorded, free + apart, draws, moved, value, new, knot)
        elif eta == 0.0 and abs(g) > box.threshold:
            end = finish_flat(box, linear[step])
            if end == finish_flat(box, -g) and abs(end) < np.inf:
                clipped, bound = end, constants.end_error
                beyond = np.inf if g < 0.0 else -np.inf
        change = clipped - value
        if bound < np.inf:
            bound = bound + apart
            bound += u * (abs(change) + bound) + OWN * abs(change)
        increments[0, step], increments[1, step], increments[2, step] = change, bound * OUTWARD, beyond


def recorded_constants(constants: ClipConstants) -> ClipConstants:
    """Constants of steps in place from a recorded gradient and curvature, each rounded once at most."""
    sums = constants.sums._replace(form=IN_PLACE)
    return constants._replace(sums=sums, curvature=sums.u)


def solve_increment(
    right: np.ndarray,
    system: np.ndarray,
    increment: np.ndarray,
    given: float,
    constants: SolveConstants,
) -> tuple[float, float]:
    """Distance and bound of the increment of one block, from the solver's own right-hand side and matrix.

    These are as recorded; `given` bounds how far the matrix may be from the exact one, in the Frobenius
    norm.
    """
    block = right.size
    with np.errstate(all="ignore"):
        size = np.abs(system)
        trace = float(np.trace(size)) * OUTWARD
        if not (np.isfinite(right).all() and trace <= constants.sums.largest and given < np.inf):
            return 0.0, np.inf
        change = solve_error(constants.factors, trace, given, 0.0, block) + norm_upper(system - system.T)
        underflow = solve_underflow(constants, trace, block)
        room = constants.factors.modulus - change - given
        most = 2.0 * (norm_upper(right) + underflow) / room * OUTWARD if room > 0.0 else np.inf
        long = norm_upper(increment) if np.isfinite(increment).all() else np.inf
        numbers = solve_numbers(
            constants.factors, trace, given, block, norm_upper(right) + underflow + min(most, long)
        )
        if not numbers <= constants.sums.largest or not change < np.inf:
            return 0.0, np.inf
        if most < constants.sums.largest and not long <= most:
            return long, most
        reach = np.abs(right) + size @ np.abs(increment)
        if not reach.max() < constants.sums.largest:
            return 0.0, np.inf
        rounded = (2.0 * constants.sums.u + gamma(block + 2, OWN)) * norm_upper(reach)
        bound = (change * long + rounded + underflow) * OUTWARD
        return norm_upper(right - system @ increment), bound
