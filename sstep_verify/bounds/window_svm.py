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
                + sum delta_il |a_l| + sum_t delta(i, i_t) |theta_t|,   k = p + q + 6,

and the quotient, the curvature ``eta = K_ii + omega`` and the subtraction add their roundings. Where an
order of summation is declared, p is the height of its tree; where a gradient or w is carried, the stale
products are its terms and a correction rounds in its product, its sum and its own shift's
(bounds/carried.py).

Where a solver in float32 rounds C first, the ends of its box and its shift are off: bounds/box_rounding.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.bounds.box_rounding import box_errors
from sstep_verify.bounds.carried import CarriedTerms
from sstep_verify.bounds.kernel_entries import KernelEntries
from sstep_verify.bounds.rounding import (
    OUTWARD,
    gamma,
    magnitudes,
    smallest,
    stale_roundings,
    unit_roundoff,
)
from sstep_verify.solver import Declaration
from sstep_verify.steps import SvmSteps


@dataclass(frozen=True)
class WindowBound:
    """Radius per distinct coordinate, and what it is made of.

    Parameters
    ----------
    radius : ndarray, shape (c,)
        Bound on ``|computed - exact|`` at the window's end; 0 where the computed value must be exact,
        infinite everywhere if some step of the window has no bound.
    amplification : float
        Largest factor by which a local error of the window reached another coordinate.
    undecided : int
        Steps whose clip the propagated radius could not decide.
    """

    radius: np.ndarray
    amplification: float
    undecided: int


def svm_window_bound(
    entries: KernelEntries,
    places: np.ndarray,
    start: np.ndarray,
    steps: SvmSteps,
    shift: float,
    upper: float,
    declaration: Declaration,
    carried: CarriedTerms | None = None,
) -> WindowBound:
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
    shift, upper : float
        Diagonal shift (omega) and upper end of the box (nu).
    declaration : Declaration
        Precision and form of the update, order of summation, and whether C is rounded.
    carried : CarriedTerms, optional
        What the first gradients are made of, for a solver that carries a state.

    Returns
    -------
    WindowBound
    """
    state = SvmPropagation(entries, places, start, steps, shift, upper, declaration, carried)
    for step in range(steps.draws.size):
        state.advance(step)
    return state.result()


class SvmPropagation:
    """Error symbols of one window and their signed coefficients on its coordinates."""

    def __init__(self, entries, places, start, steps, shift, upper, declaration, carried=None):
        self._steps, self._shift, self._upper = steps, shift, upper
        self._u, self._frozen = unit_roundoff(declaration.precision), declaration.update == "frozen"
        # The bound itself is evaluated in float64, whatever the precision of the solver.
        self._own_u = max(self._u, unit_roundoff("float64"))
        self._upper_error, self._shift_error = box_errors(upper, shift, declaration)
        self._amplification, self._undecided = 1.0, 0
        count, samples = entries.values.shape
        self._radius = np.zeros(count)
        size = steps.draws.size
        # A product for each entry of a, two for each step (correction and its own shift), and at most 6 in
        # the constant, the shift, the curvature, the quotient and the storing of a may underflow.
        self._underflow = (samples + 2 * size + 6) * smallest(declaration.precision)
        magnitude = entries.magnitude
        absolute = magnitudes(start)
        self._unbounded = not (np.isfinite(magnitude).all() and np.isfinite(self._shift_error))
        if self._unbounded:
            return
        self._start, self._carried, self._made = absolute[places], carried, 0
        if carried is None:
            self._roundings = self._stale_roundings(absolute, size, declaration)
            self._stale = magnitude @ absolute * OUTWARD
            self._stale_kernel = entries.solver @ absolute * OUTWARD
        else:
            self._roundings, self._stale, self._stale_kernel = (
                carried.roundings,
                carried.size,
                carried.error,
            )
        self._values, self._own = entries.values[:, places], entries.own[:, places]
        self._magnitude, self._solver = magnitude[:, places], entries.solver[:, places]
        self._moved = np.zeros(count)
        self._drawn = np.zeros(count, dtype=np.int64)
        self._coefficients = np.zeros((count, 2 * size))
        self._symbols = np.zeros(2 * size)
        self._used = 0

    def advance(self, step: int) -> None:
        """Propagate the errors through one step."""
        if self._unbounded:
            return
        steps, u = self._steps, self._u
        i = int(steps.draws[step])
        curvature = self._values[i, i] + self._shift
        slack = self._own[i, i] + gamma(2, self._own_u) * abs(curvature)
        landing = self._landing(i)
        if self._magnitude[i, i] == 0.0 and self._shift == 0.0:
            self._settle(i, None, self._upper_error, landing, steps.increment[step])
            return
        # The solver's curvature is a sum of two, one of them a rounded quotient (omega): three roundings.
        smallest_curvature = curvature - slack - self._solver[i, i] - gamma(3, u) * curvature
        smallest_curvature -= self._shift_error
        if not smallest_curvature > 0.0:
            self._undecided += 1
            self._settle(i, None, self._upper + self._upper_error, landing, steps.increment[step])
            return
        row = self._values[i].copy()
        row[i] = 0.0
        row /= -curvature
        weights = self._magnitude[i].copy()
        weights[i] = 0.0
        spread = weights @ self._radius / smallest_curvature * OUTWARD
        local = self._local(step, i, spread, curvature, smallest_curvature)
        # The signed row is itself rounded, and its entries and the curvature are off by `own`.
        inexact = (self._own[i] @ self._radius + slack * spread) / smallest_curvature
        # Sums over c coordinates and over the symbols in use; quotient, sign, product and sum are the 4.
        local += (inexact + gamma(self._radius.size + self._used + 4, self._own_u) * spread) * OUTWARD
        used = self._used
        combination = row @ self._coefficients[:, :used]
        reach = (np.abs(combination) @ self._symbols[:used] + local) * OUTWARD
        upper, off = self._upper, self._upper_error
        if steps.lower[step] - reach >= 0.0 and steps.upper[step] + reach <= upper - off:
            self._settle(i, combination, local, landing, steps.increment[step])
        elif steps.upper[step] + reach <= 0.0:
            self._settle(i, None, 0.0, landing, steps.increment[step])
        elif steps.lower[step] - reach >= upper + off:
            self._settle(i, None, off, landing, steps.increment[step])
        else:
            self._undecided += 1
            # Both new values lie in their boxes, so they differ by no more than the wider one's width.
            self._settle(i, None, min(reach, upper) + off, landing, steps.increment[step])

    def _local(self, step, i, spread, curvature, smallest_curvature) -> float:
        """Error made in computing the unclipped new value from the solver's own iterate."""
        u, shift, steps = self._u, self._shift, self._steps
        carried, roundings, own = (
            self._carried,
            self._roundings + self._made,
            self._start[i] + self._moved[i],
        )
        reach, constant = self._magnitude[i], 1.0
        if carried is not None:
            roundings += self._made + self._drawn[i]
            reach = reach if carried.products is None else np.maximum(carried.products[i], reach)
            # A carried gradient holds the constant and the shift's product with a already.
            constant, own = (0.0, self._moved[i]) if carried.whole else (constant, own)
        terms = self._stale[i] + reach @ self._moved + constant
        terms += (shift * (1 + u) + self._shift_error) * own
        terms_error = gamma(roundings + 6, u) * terms
        gradient = terms_error + self._stale_kernel[i] + self._solver[i] @ self._moved
        gradient += self._underflow + self._shift_error * own
        curvature_error = self._solver[i, i] + gamma(3, u) * (self._magnitude[i, i] + shift)
        curvature_error += self._shift_error
        new = max(abs(steps.lower[step]), abs(steps.upper[step]))
        quotient = abs(steps.value[step]) + new + spread + self._radius[i]
        error = (gradient + quotient * curvature_error) / smallest_curvature
        # Division, then subtraction; the subtraction's result is at most new + spread + error.
        return (error + gamma(2, u) * (quotient + error) + gamma(2, u) * (new + spread + error)) * OUTWARD

    @staticmethod
    def _stale_roundings(absolute: np.ndarray, drawn: int, declaration: Declaration) -> int:
        return stale_roundings(int(np.count_nonzero(absolute)), absolute.size, drawn, declaration.summation)

    def _landing(self, i: int) -> float:
        """Error of ``a + sum of increments`` where a is frozen; 0 where the new value is stored itself."""
        if not self._frozen:
            return 0.0
        return gamma(self._drawn[i] + 2, self._u) * (self._start[i] + self._moved[i]) * OUTWARD

    def _settle(self, i, combination, local, landing, increment) -> None:
        """Give coordinate i its new combination of symbols, then note the increment's size."""
        before = self._radius[i]
        row = self._coefficients[i]
        row[:] = 0.0
        fresh = local + landing
        reach = fresh
        if combination is not None:
            row[: combination.size] = combination
            self._amplification = max(self._amplification, float(np.max(np.abs(combination), initial=0.0)))
            reach = fresh + np.abs(combination) @ self._symbols[: combination.size]
        if self._frozen:
            fresh += self._u * (abs(increment) + before + 2 * reach) * OUTWARD
        if not fresh < np.inf:
            self._unbounded = True
            return
        if fresh > 0.0:
            self._symbols[self._used] = fresh
            row[self._used] = 1.0
            self._used += 1
        self._radius[i] = np.abs(row[: self._used]) @ self._symbols[: self._used] * OUTWARD
        size = (abs(increment) + before + self._radius[i]) * OUTWARD
        self._moved[i] += size
        self._made += size > 0.0
        self._drawn[i] += 1

    def result(self) -> WindowBound:
        """Radii at the window's end, with the last addition where a was frozen."""
        if self._unbounded:
            return WindowBound(np.full(self._radius.size, np.inf), self._amplification, self._undecided)
        radius = self._radius.copy()
        if self._frozen:
            radius += gamma(1, self._u) * (self._start + self._moved + radius) + [
                self._landing(i) for i in range(radius.size)
            ]
        return WindowBound(radius * OUTWARD, self._amplification, self._undecided)
