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

R bounds T as soon as the l that follows from ``T <= R`` gives ``T <= R`` again, as for K-SVM. A window of
s steps loses at most s times the largest l.
"""

from __future__ import annotations

import math

import numpy as np

from sstep_verify.bounds.ridge_inputs import ridge_inputs
from sstep_verify.bounds.step.residual import SolveConstants, solve_constants
from sstep_verify.bounds.step.solve import solve_error
from sstep_verify.numerics.rounding import OUTWARD, magnitudes, norm_upper, rounded_up
from sstep_verify.problems import Problem
from sstep_verify.safety.rows import RowSizes, least_diagonal, require_judged, row_sizes
from sstep_verify.safety.svm_windows import ROUNDS
from sstep_verify.solver import Declaration


class RidgeWindows:
    """Every window of a K-RR from one vector.

    Parameters
    ----------
    problem : Problem
        A K-RR.
    declaration : Declaration
        A solver that updates in place from kernel entries.
    alpha : ndarray, shape (m,)
        Where windows begin (a).
    gap : float
        Upper bound on its duality gap (g).
    block : int
        Coordinates of a block (b).

    Raises
    ------
    InputError
        If the declaration is of another kind of solver.
    """

    def __init__(
        self, problem: Problem, declaration: Declaration, alpha: np.ndarray, gap: float, block: int
    ):
        require_judged(declaration)
        self._declaration, self._gap, self._block = declaration, max(gap, 0.0), block
        self._samples, self._start = problem.samples, magnitudes(alpha)
        self._inputs = inputs = ridge_inputs(problem.ridge.penalty, problem.targets, declaration)
        self._support = int(np.count_nonzero(alpha))
        modulus = np.full(problem.samples, float(problem.samples))
        if block == 1:
            modulus += least_diagonal(problem) / inputs.penalty
        self._weights = OUTWARD / np.sqrt(modulus)
        self._rows = _over(row_sizes(problem, declaration, alpha, self._weights, block), inputs)
        self._targets = np.abs(problem.targets) + inputs.targets

    def loss(self, s: int, width: int | None = None) -> float:
        """Bound on what s block steps may lose of the objective; infinite where nothing can be promised.

        Parameters
        ----------
        s : int
            Number of steps.
        width : int, optional
            Steps of a window, if not all of them are one: 1 for the same number of classical steps.
        """
        width, block = width or s, self._block
        support = self._support if width == s else min(self._support + s * block, self._samples)
        constants = solve_constants(self._declaration, self._samples, support, width, block, judge=False)
        moved = math.sqrt(2.0 * s * self._gap) * OUTWARD
        largest = math.sqrt(2.0 * self._gap)
        for _ in range(ROUNDS):
            left = self._left(constants, width, moved, largest)
            lost = float(rounded_up(s * (left * left) / (2.0 * self._samples)))
            if not lost < math.inf:
                return math.inf
            single = left / math.sqrt(self._samples)
            longest = (math.sqrt(2.0 * self._gap + 2.0 * lost) + single) * OUTWARD
            follows = math.sqrt(s) * (math.sqrt(2.0 * self._gap + 2.0 * lost) + math.sqrt(2.0 * lost))
            if follows * OUTWARD <= moved and longest <= largest:
                return lost
            moved = follows * (1.0 + 2.0**-10)
            largest = longest * (1.0 + 2.0**-10)
        return math.inf

    @np.errstate(over="ignore", under="ignore", invalid="ignore")
    def _left(self, constants: SolveConstants, width: int, moved: float, largest: float) -> float:
        """Most that a step leaves of its right-hand side, increments of weighted size `moved` made.

        `largest` bounds the M-norm of one increment.
        """
        rows, block, inputs, samples = self._rows, self._block, self._inputs, float(self._samples)
        own = self._start + self._weights * moved
        terms = rows.sizes + rows.reach * moved + self._targets + samples * own
        error = constants.sums.longest * terms + rows.errors + rows.reach_errors * moved + inputs.targets
        # Increments used differ from those stored, one of each draw of the window before.
        stored = rows.held + rows.largest * (float(self._weights.max()) * moved)
        error += constants.sums.u * stored * (width - 1) * block * (1.0 + constants.sums.longest)
        if not float(terms.max()) * max(1.0, 2.0 * inputs.penalty) <= constants.sums.largest:
            return math.inf
        entry = float(rows.largest.max())
        trace = block * (entry + samples) * OUTWARD
        whole = (block * entry + math.sqrt(block) * samples) * OUTWARD
        if not (trace <= constants.sums.largest and inputs.lower * constants.sums.largest >= 1.0):
            return math.inf
        given = block * float(rows.entry_errors.max()) + constants.system * whole
        change = given + solve_error(constants, trace, given, block)
        increment = largest / math.sqrt(samples)
        rounding = constants.sums.u * math.sqrt(block) * float(own.max())
        lost = constants.sums.underflow * (1.0 + 1.0 / inputs.lower + constants.growth * trace) * block
        worst = norm_upper(np.partition(error, error.size - block)[-block:])
        left = worst + change * (increment + rounding) + whole * rounding + lost
        return float(rounded_up(left, 64)) if left < math.inf else math.inf


def _over(rows: RowSizes, inputs) -> RowSizes:
    """Sizes of the rows of K / lambda, lambda exact or as the solver holds it."""

    def size(values: np.ndarray) -> np.ndarray:
        return np.asarray(rounded_up(values / inputs.lower))

    def error(errors: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        return np.asarray(rounded_up(errors / inputs.lower + inputs.change * (sizes / inputs.lower)))

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return RowSizes(
            size(rows.sizes),
            error(rows.errors, rows.sizes),
            size(rows.reach),
            error(rows.reach_errors, rows.reach),
            size(rows.largest),
            size(rows.held),
            error(rows.entry_errors, rows.largest),
            rows.diagonal,
            rows.diagonal_errors,
        )
