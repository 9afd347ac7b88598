"""What every window of s block steps from one vector may lose of a K-RR's objective, whatever it draws.

``f(a) = a'Ma / 2 - y'a``, ``M = K/lambda + m I``; the duality gap of a is ``||y - Ma||^2 / (2m)``, and
``f(a) - f*`` is at most that, g say. An exact block step on B from the solver's own iterate a_t moves by
D and lowers f by ``||D||_G^2 / 2``, G the block of M. The solver moves by D^ and leaves ``rho = r - G
D^`` of the block's right-hand side; its distance from the exact step is ``-G^{-1} rho``, and it loses

    l = rho' G^{-1} rho / 2 <= ||rho||^2 / (2m),    for G >= m I.

``||rho||`` is what the bound of one step promises (bounds/step/residual.py). Over t steps f falls by no
more than ``g + t l``, so that, as for K-SVM (safety/svm_windows.py), ``T = sum ||D^_t||_G <= sqrt(t)
(sqrt(2 g + 2 t l) + sqrt(2 t l))``. As ``|D_l| <= ||D||_G / sqrt(m)``, and for b = 1 ``|D| = ||D||_G /
sqrt(G)``, the increments of a window enter right-hand side i with sizes of at most

    sum_t sum_{l in B_t} |K_il| / lambda |D^_tl| <= kappa_i T,

kappa_i the root of the sum of the b largest ``(K_il / lambda)^2`` over m; for b = 1 the largest ``|K_il|
/ lambda / sqrt(K_ll / lambda + m)``. A coordinate moves by at most ``T / sqrt(m)``. An increment that is
corrected with differs from the stored one by ``u |stored|``, for each of the s b coordinates drawn. rho
of a block is at most the root of the sum of the b largest squares of what single coordinates may leave.

R bounds T as soon as the l that follows from ``T <= R`` gives ``T <= R`` again (safety/every_window.py). A
window of s steps loses at most s times the largest l.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sstep_verify.bounds.step.residual import SolveConstants, solve_constants, solve_underflow
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import OUTWARD, norm_upper, rounded_up
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
        self._weights = OUTWARD / np.sqrt(modulus)
        self._rows = _over(row_sizes(problem, declaration, alpha, self._weights, block), self._penalty)
        self._targets = np.abs(problem.targets)

    def _constants(self, support: int, width: int) -> SolveConstants:
        solved = self._block, self._penalty
        return solve_constants(self._declaration, self._samples, support, width, *solved, judge=False)

    def _longest(self, fallen: float, error: float) -> float:
        return (fallen + error) * OUTWARD

    def _step(
        self, constants: SolveConstants, width: int, moved: float, longest: float
    ) -> tuple[float, float]:
        left = self._left(constants, width, moved, longest)
        return left * left / (2.0 * self._samples), left / math.sqrt(self._samples) * OUTWARD

    @np.errstate(over="ignore", under="ignore", invalid="ignore")
    def _left(self, constants: SolveConstants, width: int, moved: float, longest: float) -> float:
        """Most that a step leaves of its right-hand side; `longest` bounds the M-norm of one increment."""
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
        trace = block * (entry + samples) * OUTWARD
        whole = (block * entry + math.sqrt(block) * samples) * OUTWARD
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
