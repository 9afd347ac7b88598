"""Propagates errors through the steps of one K-SVM window; the derivation is in bounds/window/svm.py."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.bounds.box_rounding import box_errors
from sstep_verify.bounds.carried import CarriedTerms
from sstep_verify.numerics.rounding import (
    OUTWARD,
    gamma,
    largest_normal,
    magnitudes,
    raised,
    smallest,
    stale_roundings,
    unit_roundoff,
)
from sstep_verify.solver import Declaration


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


class SvmPropagation:
    """Error symbols of one window and their signed coefficients on its coordinates.

    Attributes
    ----------
    stores : int
        How often a frozen value is stored before it is used: twice in a stretch of several windows.
    """

    stores = 1

    def __init__(self, entries, places, start, steps, shift, upper, declaration, carried=None):
        self._steps, self._shift, self._upper = steps, shift, upper
        self._u, self._update = unit_roundoff(declaration.precision), declaration.update
        self._tiny, self._limit = smallest(declaration.precision), largest_normal(declaration.precision)
        # The bound itself is evaluated in float64, whatever the precision of the solver.
        self._own_u = max(self._u, unit_roundoff("float64"))
        self._upper_error, self._shift_error = box_errors(upper, shift, declaration)
        self._amplification, self._undecided = 1.0, 0
        count, samples = entries.values.shape
        self._radius = np.zeros(count)
        size = steps.draws.size
        magnitude, reach = entries.magnitude, entries.term_sizes
        absolute = magnitudes(start)
        self._unbounded = not (np.isfinite(magnitude).all() and shift + self._shift_error < self._limit)
        # A product for each entry of a, two for each step (correction and its own shift), and at most 6 in
        # the constant, the shift and the curvature may underflow.
        lost = entries.lost(samples + size, declaration.precision) + (size + 6) * self._tiny
        self._underflow = np.broadcast_to(lost, count)
        self._all_heights, self._more_roundings = entries.heights, entries.more_roundings
        self._start, self._carried, self._made = absolute[places], carried, 0
        self._stale, self._stale_kernel = np.zeros(count), np.zeros(count)
        if carried is None:
            self._multiply(reach, entries.solver, absolute, size, declaration)
        else:
            self._begin_carried(carried)
        self._values, self._own = entries.values[:, places], entries.own[:, places]
        self._magnitude, self._solver = magnitude[:, places], entries.solver[:, places]
        self._reach, self._heights = reach[:, places], self._all_heights[places]
        self._moved, self._rounded = np.zeros(count), np.zeros(count)
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
        if not (self._terms(i) <= self._limit and curvature + slack + self._solver[i, i] <= self._limit):
            self._unbounded = True
            return
        if self._magnitude[i, i] == 0.0 and self._shift == 0.0:
            self._settle(step, i, None, self._upper_error)
            return
        # The solver's curvature is a sum of two, one of them a rounded quotient (omega): three roundings.
        smallest_curvature = curvature - slack - self._solver[i, i] - gamma(3, u) * curvature
        smallest_curvature -= self._shift_error
        if not smallest_curvature > 0.0:
            self._undecided += 1
            self._settle(step, i, None, self._upper + self._upper_error)
            return
        row = self._values[i].copy()
        row[i] = 0.0
        row /= -curvature
        weights = self._magnitude[i].copy()
        weights[i] = 0.0
        spread = raised(weights @ self._radius / smallest_curvature, weights.size + 16)
        local = self._local(step, i, spread, curvature, smallest_curvature)
        # The signed row is itself rounded, and its entries and the curvature are off by `own`.
        inexact = (self._own[i] @ self._radius + slack * spread) / smallest_curvature
        # Sums over c coordinates and over the symbols in use; quotient, sign, product and sum are the 4.
        used, count = self._used, self._radius.size
        local = raised(local + inexact + gamma(count + used + 4, self._own_u) * spread, count + used + 16)
        # A coefficient that underflows is off by c smallest numbers, times the symbol's size.
        local = raised(local + (count + 2) * smallest("float64") * float(self._symbols[:used].sum()))
        combination = row @ self._coefficients[:, :used]
        radius = (np.abs(combination) @ self._symbols[:used] + local) * OUTWARD
        upper, off = self._upper, self._upper_error
        if steps.lower[step] - radius >= 0.0 and steps.upper[step] + radius <= upper - off:
            self._settle(step, i, combination, local)
        elif steps.upper[step] + radius <= 0.0:
            self._settle(step, i, None, 0.0, at_zero=True)
        elif steps.lower[step] - radius >= upper + off:
            self._settle(step, i, None, off)
        else:
            self._undecided += 1
            # Both new values lie in their boxes, so they differ by no more than the wider one's width.
            self._settle(step, i, None, min(radius, upper) + off)

    def _multiply(self, reach, solver, absolute, drawn: int, declaration: Declaration, rows=None) -> None:
        """Sizes and errors of the products of some kernel rows with a of sizes `absolute`, shape (m,)."""
        where = slice(None) if rows is None else rows
        terms = absolute.size + 16
        self._stale[where] = raised(reach @ absolute, terms)
        self._stale_kernel[where] = raised(solver @ absolute, terms)
        support = int(np.count_nonzero(absolute))
        stale = stale_roundings(support, absolute.size, drawn, declaration.summation)
        self._roundings = stale + self._more_roundings
        self._weights_size = float(self._all_heights @ absolute)

    def _begin_carried(self, carried: CarriedTerms) -> None:
        """Make the first gradients from a carried state instead."""
        self._carried, self._roundings, self._weights_size = carried, carried.roundings, 0.0
        self._stale, self._stale_kernel = carried.size, carried.error

    def _terms(self, i) -> float:
        """Bound on the terms of coordinate i's gradient, and on the weights where these are formed."""
        carried, shift = self._carried, self._shift * (1 + self._u) + self._shift_error
        reach, constant, own = self._reach[i], 1.0, self._start[i] + self._moved[i]
        if carried is not None:
            reach = reach if carried.products is None else np.maximum(carried.products[i], reach)
            # A carried gradient holds the constant and the shift's product with a already.
            constant, own = (0.0, self._moved[i]) if carried.whole else (constant, own)
        terms = raised(self._stale[i] + reach @ self._moved + constant + shift * own, reach.size + 16)
        return max(terms, self._weights_size + float(self._heights @ self._moved))

    def _local(self, step, i, spread, curvature, smallest_curvature) -> float:
        """Error made in computing the unclipped new value from the solver's own iterate."""
        u, shift, steps, carried = self._u, self._shift, self._steps, self._carried
        roundings = self._roundings + self._made
        stored = self._magnitude[i] @ self._rounded
        if carried is not None:
            roundings += self._made + self._drawn[i]
            stored += shift * (1 + u) * self._rounded[i] if carried.whole else 0.0
        gradient = gamma(roundings + 6, u) * self._terms(i)
        gradient += self._stale_kernel[i] + self._solver[i] @ self._moved + stored
        gradient += self._underflow[i] + self._shift_error * (self._start[i] + self._moved[i])
        curvature_error = self._solver[i, i] + gamma(3, u) * (self._magnitude[i, i] + shift)
        curvature_error += self._shift_error
        new = max(abs(steps.lower[step]), abs(steps.upper[step]))
        quotient = abs(steps.value[step]) + new + spread + self._radius[i]
        error = (gradient + quotient * curvature_error) / smallest_curvature
        if self._upper == np.inf and not quotient + error <= self._limit:
            return np.inf  # with an upper end an infinite quotient is clipped as the exact one is
        # Division, then subtraction; the subtraction's result is at most new + spread + error.
        local = error + gamma(2, u) * (quotient + error) + gamma(2, u) * (new + spread + error)
        return raised(local + self._tiny, 2 * self._radius.size + 32)

    def _landing(self, i: int) -> float:
        """Error of ``a + sum of increments`` where a is frozen; 0 where it is updated within the window."""
        if self._update != "frozen":
            return 0.0
        return (
            self.stores * gamma(self._drawn[i] + 2, self._u) * (self._start[i] + self._moved[i]) * OUTWARD
        )

    def _settle(self, step, i, combination, local, *, at_zero: bool = False) -> None:
        """Give coordinate i its new combination of symbols, then note the increment's size.

        `at_zero` says that the new value is 0 for certain.
        """
        before, increment = self._radius[i], self._steps.increment[step]
        row = self._coefficients[i]
        row[:] = 0.0
        fresh = local + self._landing(i)
        reach = fresh
        if combination is not None:
            row[: combination.size] = combination
            self._amplification = max(self._amplification, float(np.max(np.abs(combination), initial=0.0)))
            reach = fresh + np.abs(combination) @ self._symbols[: combination.size]
        change = abs(increment) + before + 2 * reach
        if self._update == "frozen":
            fresh += self._u * change * OUTWARD
        elif self._update == "added" and not at_zero:
            sizes = abs(self._steps.value[step]) + before + 2 * change
            rounding = gamma(2, self._u) * sizes * OUTWARD
            fresh += rounding
            self._rounded[i] += rounding
        if not fresh < np.inf:
            self._unbounded = True
            return
        if fresh > 0.0:
            # What is lost where the radius, a sum of so many products, underflows.
            fresh += (self._used + 16) * smallest("float64")
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
        if self._update == "frozen":
            radius += gamma(1, self._u) * (self._start + self._moved + radius) + [
                self._landing(i) for i in range(radius.size)
            ]
        return WindowBound(radius * OUTWARD, self._amplification, self._undecided)
