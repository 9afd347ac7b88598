"""What every window of s steps from one vector may lose, whatever it draws: of a K-SVM, and of a K-RR.

*K-SVM.* What a window may lose of a K-SVM's objective, whatever it draws.

f is the minimised objective, a inside the box with a duality gap of at most g, so ``f(a) - f* <= g``. A
step is made from the solver's own iterate a_t on a coordinate i with curvature ``eta = Q_ii + omega``;
the exact step from there moves by theta_t to c, the minimiser over the box, and the solver lands on ``c
+ d``.

Loss of one step. Let z be the exact unclipped value, z^ the solver's, ``|z^ - z| <= e``. Along
coordinate i, ``f(c + d) - f(c) = eta (c - z) d + eta d^2 / 2``. The solver stores the clipped value
itself, so ``|d| <= e`` and d is at most the box's width; where c is an end of the box and d is not 0,
z^ is on the box's side of that end and z beyond it, so ``|c - z| <= e``; elsewhere c = z. A step
therefore loses at most

    l = eta (e |d| + d^2 / 2) <= 3/2 eta e^2.

No window needs to be known. The exact step of a convex quadratic lowers f by at least ``eta theta_t^2 /
2``. Over t steps f falls by the sum of these less what was lost, and by no more than g + t l in all:

    sum eta theta_t^2 <= 2 (g + t l),   sum eta (theta^_t)^2 <= (sqrt(2 g + 2 t l) + sqrt(sum eta e^2))^2,

and by Cauchy and Schwarz ``T = sum sqrt(eta) |theta^_t| <= sqrt(t) (sqrt(2 g + 2 t l) + sqrt(t eta
e^2))``. With an upper end C, T is also at most ``t C max sqrt(eta)``. Hence the increments of a window
enter the gradient of row i with sizes of at most

    sum_t |K(i, i_t)| |theta^_t| <= kappa_i T,   kappa_i = max_l |K_il| / sqrt(eta_l)  (<= sqrt(K_ii)),

a coordinate moves by at most ``T / sqrt(eta_i)``, and e follows from the bound of one step within a
window (bounds/step/clip.py) with these sizes in place of the logged ones. e grows with T and T with
e: a number R is a bound on T as soon as the e that follows from ``T <= R`` gives ``T <= R`` again
(safety/every_window.py). For, R bounds T before the first step, and if it does before a step, it does
after it.

The window of s steps loses at most s times the largest l of any coordinate: against the exact steps
from its own iterates, and so its end lies at most that above the objective it began with.

*K-RR.* What a window of block steps may lose of a K-RR's objective, whatever it draws.

``f(a) = a'Ma / 2 - y'a``, ``M = K/lambda + m I``; the duality gap of a is ``||y - Ma||^2 / (2m)``, and
``f(a) - f*`` is at most that, g say. An exact block step on B from the solver's own iterate a_t moves
by D and lowers f by ``||D||_G^2 / 2``, G the block of M. The solver moves by D^ and leaves ``rho = r -
G D^`` of the block's right-hand side; its distance from the exact step is ``-G^{-1} rho``, and it loses

    l = rho' G^{-1} rho / 2 <= ||rho||^2 / (2m),    for G >= m I.

``||rho||`` is what the bound of one step promises (bounds/step/residual.py). Over t steps f falls by no
more than ``g + t l``, so that, as for K-SVM, ``T = sum ||D^_t||_G <= sqrt(t)
(sqrt(2 g + 2 t l) + sqrt(2 t l))``. As ``|D_l| <= ||D||_G / sqrt(m)``, and for b = 1 ``|D| = ||D||_G /
sqrt(G)``, the increments of a window enter right-hand side i with sizes of at most

    sum_t sum_{l in B_t} |K_il| / lambda |D^_tl| <= kappa_i T,

kappa_i the root of the sum of the b largest ``(K_il / lambda)^2`` over m; for b = 1 the largest
``|K_il| / lambda / sqrt(K_ll / lambda + m)``. A coordinate moves by at most ``T / sqrt(m)``. An
increment that is corrected with differs from the stored one by ``u |stored|``, for each of the s b
coordinates drawn. rho of a block is at most the root of the sum of the b largest squares of what single
coordinates may leave.

R bounds T as soon as the l that follows from ``T <= R`` gives ``T <= R`` again
(safety/every_window.py). A window of s steps loses at most s times the largest l.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sstep_verify.bounds.step.clip import clip_constants, unclipped_bound
from sstep_verify.bounds.step.residual import solve_constants, solve_underflow
from sstep_verify.compiled import compiled
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Problem
from sstep_verify.problems.losses import Dual
from sstep_verify.rounding.arithmetic import (
    ROUND_UP,
    gamma,
    norm_upper,
    rounded_up,
    smallest_subnormal,
    unit_roundoff,
)
from sstep_verify.rounding.block.factorisation import solve_error
from sstep_verify.safety.every_window import EveryWindow, RowSizes, Sums, diagonal_lower, row_sizes


class RidgeWindows(EveryWindow):
    """Every window of a K-RR from one vector; parameters and errors are those of `EveryWindow`."""

    def __init__(
        self, problem: Problem, declaration: Declaration, alpha: np.ndarray, gap: float, block: int
    ):
        super().__init__(problem, declaration, alpha, gap, block)
        self._penalty = problem.ridge.penalty
        modulus = np.full(problem.samples, float(problem.samples))
        if block == 1:
            with np.errstate(over="ignore"):
                modulus += diagonal_lower(problem) / self._penalty
        self._weights = ROUND_UP / np.sqrt(modulus)
        self._rows = _over(row_sizes(problem, declaration, alpha, self._weights, block), self._penalty)
        self._targets = np.abs(problem.targets)

    def _longest(self, fallen: float, error: float) -> float:
        return (fallen + error) * ROUND_UP

    def _step(self, support: int, width: int, moved: float, longest: float) -> tuple[float, float]:
        left = self._left(support, width, moved, longest)
        return left * left / (2.0 * self._samples), left / math.sqrt(self._samples) * ROUND_UP

    @np.errstate(over="ignore", under="ignore", invalid="ignore")
    def _left(self, support: int, width: int, moved: float, longest: float) -> float:
        """Most that a step leaves of its right-hand side; `longest` bounds the M-norm of one increment."""
        solved = self._block, self._penalty
        constants = solve_constants(self._declaration, self._samples, support, width, *solved, judge=False)
        sizes, errors, block = self._rows.sizes, self._rows.errors, self._block
        samples, size = float(self._samples), self._start + self._weights * moved
        terms = sizes.product + sizes.reach * moved + self._targets + samples * size
        error = constants.sums.longest * terms + errors.product + errors.reach * moved
        # Increments used differ from those stored, one of each draw of the window before.
        stored = self._rows.held + sizes.largest * (float(self._weights.max()) * moved)
        error += constants.sums.u * stored * (width - 1) * block * (1.0 + constants.sums.longest)
        if not float(terms.max()) * max(1.0, 2.0 * self._penalty) <= constants.sums.largest:
            return math.inf
        entry = float(sizes.largest.max())
        trace = block * (entry + samples) * ROUND_UP
        whole = (block * entry + math.sqrt(block) * samples) * ROUND_UP
        if not (trace <= constants.sums.largest and self._penalty * constants.sums.largest >= 1.0):
            return math.inf
        given = block * float(errors.largest.max()) + constants.system * whole
        change = given + solve_error(constants.factors, trace, given, 0.0, block)
        increment = longest / math.sqrt(samples)
        rounding = constants.sums.u * math.sqrt(block) * float(size.max())
        worst = norm_upper(np.partition(error, error.size - block)[-block:])
        left = worst + change * (increment + rounding) + whole * rounding
        left += solve_underflow(constants, trace, block)
        return float(rounded_up(left, 64)) if left < math.inf else math.inf


def _over(rows: RowSizes, penalty: float) -> RowSizes:
    """Sizes of the rows of K / lambda."""
    with np.errstate(over="ignore", invalid="ignore"):
        parts = (rounded_up(np.array(part) / penalty) for part in (rows.sizes, rows.errors))
        sizes, errors = (Sums(*part) for part in parts)
        return replace(rows, sizes=sizes, errors=errors, held=rounded_up(rows.held / penalty))


SMALLEST = smallest_subnormal("float64")


class SvmWindows(EveryWindow):
    """Every window of a K-SVM, whose C the solver's precision holds exactly, from one a inside the box.

    Slopes, shape (m,), are upper bounds on ``|(Qa)_i - 1|``; the rest is as for `EveryWindow`.
    """

    def __init__(
        self, problem: Problem, declaration: Declaration, alpha: np.ndarray, gap: float, slopes: np.ndarray
    ):
        super().__init__(problem, declaration, alpha, gap)
        loss = problem.hinge
        self._shift, self._upper = loss.shift, loss.upper
        lower = diagonal_lower(problem) + loss.shift
        # A row of zeros moves no other coordinate, and its own step is exact.
        with np.errstate(divide="ignore"):
            weights = np.where(lower > 0.0, ROUND_UP / np.sqrt(lower), np.inf)
        null = problem.kernel.diagonal(np.zeros(problem.samples)) + loss.shift
        self._acting = problem.dense.any(axis=1) | (null > 0.0)
        self._weights = np.where(self._acting, weights, 0.0)
        self._rows = row_sizes(problem, declaration, alpha, self._weights)
        self._slopes = slopes + loss.shift * self._start
        self._curvature = self._rows.diagonal + loss.shift
        # The float64 value of eta is itself off by its sum's and the shift's rounding.
        rounding = gamma(4, unit_roundoff("float64")) * self._curvature
        self._off = rounded_up(self._rows.diagonal_errors + rounding)
        self._largest = rounded_up(self._curvature + self._off)

    @property
    def margins(self) -> float:
        """Sum of the sizes of all margins' terms, ``sum_ij |Q_ij| |a_j|``; see `row_sizes`."""
        return float(np.sum(self._rows.sizes.product))

    def _box(self, s: int) -> float:
        if self._upper == math.inf:
            return math.inf
        return s * self._upper * math.sqrt(float(self._largest.max())) * ROUND_UP

    @np.errstate(over="ignore", under="ignore", invalid="ignore")
    def _step(self, support: int, width: int, moved: float, longest: float) -> tuple[float, float]:
        dual = Dual(self._shift, self._upper)
        constants = clip_constants(self._declaration, self._samples, support, width, dual, judge=False)
        sizes, errors, u = self._rows.sizes, self._rows.errors, unit_roundoff(self._declaration.precision)
        size = self._start + self._weights * moved
        if self._upper < math.inf:
            size = np.minimum(size, self._upper)  # without a shift, only the size of a value counts
        # An increment used is the rounded difference of what is stored: u of itself off.
        shifted = self._shift * (1.0 + u)
        terms = sizes.product + sizes.reach * (moved * (1.0 + u)) + 1.0 + shifted * size
        gradient = constants.sums.longest * terms + errors.product + errors.reach * (moved * (1.0 + u))
        gradient += u * moved * sizes.reach + constants.sums.underflow
        slopes = self._slopes + sizes.reach * moved + self._shift * size
        return _largest(
            constants,
            rounded_up(gradient, 64),
            self._curvature,
            self._off,
            rounded_up(slopes, 64),
            size,
            self._largest,
            self._upper,
            self._acting,
        )


@compiled
def _largest(constants, gradient, curvature, curvature_error, slopes, size, largest, upper, acting):
    """Largest loss of a step over all coordinates, and largest error of an unclipped value, weighted."""
    worst, weighted = 0.0, 0.0
    for i in range(gradient.size):
        if not acting[i]:
            continue
        lower = curvature[i] - curvature_error[i]
        if not lower > 0.0:
            return np.inf, np.inf
        # At least the size of the unclipped value and of its distance from the one before the step.
        reach = (size[i] + slopes[i] / lower) * ROUND_UP
        error = unclipped_bound(constants, gradient[i], curvature[i], curvature_error[i], 0.0, reach, 0.0)
        if not error < np.inf:
            return np.inf, np.inf
        # Weighted before they are multiplied: a square that underflows may meet a large curvature.
        root = np.sqrt(largest[i])
        off, apart = root * error, root * min(error, upper)
        worst = max(worst, off * apart + 0.5 * apart * apart)
        weighted = max(weighted, off)
    # What products that underflow took off.
    return (worst + 8.0 * SMALLEST) * ROUND_UP, (weighted + SMALLEST) * ROUND_UP
