"""Bound on the drift between weights that are maintained along with a and those of a.

Between two recorded iterations the drift grows by what the updates in between round, and no more
(bounds/carried_run.py). Over a segment of n steps, in which coordinate i is drawn c_i times and no
increment exceeds Theta, the sum of the sizes of its increments is at most ``c_i Theta``, and |a| at most
``A_i = |a_i| + c_i Theta`` (not above nu).

Theta follows from the objective. A w that is off by R makes a step one with its gradient off by rho,
``|A| R`` and the rounding of a product; with the roundings of the step folded in, rho'.

* K-SVM, in place. A step d that minimises the perturbed one-variable problem over the box changes f by at
  most ``|rho'| |d| - eta d^2 / 2``. f can fall by no more than the duality gap F at the segment's start, so
  ``eta Theta^2 / 2 <= F + n rho' Theta``, eta the smallest curvature drawn; and ``Theta <= nu``.
* K-RR. An exact block step is a projection in the M-norm, of norm 1, so ``||e||_M`` is at most
  ``||r|| / sqrt(m) + n (||rho'|| / sqrt(m) + ||u A||_M)``, and
  ``Theta <= (||e||_M + ||rho'|| / sqrt(m)) / sqrt(m)``. Where blocks hold a coordinate up to c times, the
  factors of rounding/block/repeats.py enter.

Where w is formed again now and then (`Declaration.weights`), the drift that a segment begins with is the
larger of it and what forming it from an a of ``|a| + c Theta`` rounds.

R and so rho' grow with Theta. If the right-hand side at some Theta is at most Theta, then by induction over
the steps no increment exceeds it. Frozen and added updates of K-SVM have no such bound here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sstep_verify.bounds.carried_run import WeightsMap
from sstep_verify.bounds.optimum.ridge import ridge_values
from sstep_verify.bounds.optimum.svm import svm_values
from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, norm, smallest_subnormal, unit_roundoff
from sstep_verify.rounding.block.energy import largest_energy
from sstep_verify.rounding.block.factorisation import solve_bound
from sstep_verify.rounding.block.repeats import most_often, whole_growth
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.rounding.right_hand_side import CarriedSamples, Quotient, quotients

ROUNDS = 64
"""Trials of a larger Theta before giving up: each is at least a thousandth larger."""


@dataclass(frozen=True)
class Segment:
    """What is known of a part of a run.

    Parameters
    ----------
    begin : ndarray, shape (m,)
        a at its start, float64.
    weights : ndarray, shape (n,)
        Weights at its start.
    drift : ndarray, shape (n,)
        Upper bounds on how far these are from the true ones.
    draws : ndarray of int, shape (k, b)
        Coordinates drawn.
    """

    begin: np.ndarray
    weights: np.ndarray
    drift: np.ndarray
    draws: np.ndarray


class Slopes(NamedTuple):
    """Of the gradient or the residual of all samples, ``L a`` and a constant; L is ``Q + omega I`` or M.

    Bounds on |L|, exact and used, from below and above, and on what the solver's entries are off by, shape
    (m, m) each; `constant`, shape (m,).
    """

    lower: np.ndarray
    sizes: np.ndarray
    errors: np.ndarray
    constant: np.ndarray


def slopes_of(problem: Problem, declaration: Declaration, quotient: Quotient) -> Slopes:
    """The slopes of a problem, by the entries of a solver."""
    rows = kernel_entries(problem, declaration, np.arange(problem.samples))
    shift = problem.hinge.shift if problem.is_svm else problem.samples
    diagonal = shift * np.eye(problem.samples)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        sizes, errors, _ = quotients(rows, quotient)
        lower = (np.abs(rows.values) - rows.judge_error) / quotient.penalty - errors
        return Slopes(
            np.maximum(lower, 0.0) / ROUND_UP + diagonal / ROUND_UP,
            sizes + diagonal,
            errors,
            np.abs(problem.targets),  # A gradient's constant is 1, as large as a label.
        )


class DriftBound:
    """Drift bounds of the weights of one problem; the kernel's rows are formed once (m x m words each).

    Parameters
    ----------
    problem : Problem
        The problem.
    declaration : Declaration
        Precision and formulas of the solver.

    Raises
    ------
    InputError
        If the problem has no weights.
    """

    def __init__(self, problem: Problem, declaration: Declaration):
        if not problem.kernel.linear:
            raise InputError(
                f"{problem.label}: weights = {declaration.weights}: only a linear kernel has them"
            )
        self._problem, self._declaration = problem, declaration
        self._u = unit_roundoff(declaration.precision)
        quotient = Quotient()
        if not problem.is_svm:
            quotient = Quotient(problem.ridge.penalty, smallest_subnormal(declaration.precision))
        self._penalty = quotient.penalty
        self._slopes = slopes_of(problem, declaration, quotient)
        self._samples = CarriedSamples(problem, declaration, np.arange(problem.samples))
        self._map = WeightsMap(problem, declaration)

    def initial(self, begin: np.ndarray) -> np.ndarray:
        """Bound on the drift of weights formed at the run's start from its a, shape (n,)."""
        return self._map.formed(np.abs(begin))

    def after(self, segment: Segment) -> np.ndarray:
        """Bound on the drift at the end of a segment, shape (n,); infinite where there is none."""
        counts = np.bincount(segment.draws.ravel(), minlength=self._problem.samples).astype(np.float64)
        trial = (self._trial_svm if self._problem.is_svm else self._trial_ridge)(segment, counts)
        with np.errstate(over="ignore", invalid="ignore"):
            theta = trial(0.0)
            for _ in range(ROUNDS):
                if not theta < np.inf:
                    break
                enlarged = trial(theta)
                if enlarged <= theta:
                    return self._drift(segment, counts, theta)[0] * ROUND_UP
                theta = enlarged * (1 + 2.0**-10)
        return np.full(segment.weights.size, np.inf)

    def skipped(self, segment: Segment, end: np.ndarray, limit: np.ndarray) -> tuple[float, float]:
        """What leaving out all updates of one coordinate does to the weights, where it shows most.

        A lower bound on the change of one entry, and the limit for that entry; `end`, shape (m,), is a at
        the segment's end, `limit`, shape (n,), bounds the drift there.
        """
        change = self._map.lower * np.abs(end - segment.begin)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(change > 0, change / limit[:, None], 0.0)
        entry, coordinate = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
        return float(change[entry, coordinate]) / ROUND_UP, float(limit[entry])

    def _drift(
        self, segment: Segment, counts: np.ndarray, theta: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """At some Theta, bounds anywhere in the segment: on drift and weights, (n,), and on |a|, (m,)."""
        moved = counts * theta * (1 + self._u)
        size, drift, weights = (
            np.abs(segment.begin) + counts * theta,
            segment.drift,
            np.abs(segment.weights),
        )
        if self._declaration.weights:
            # Weights formed again differ from those before by no more than both drifts.
            drift = np.maximum(drift, self._map.formed(size))
            weights = weights + 2 * drift
        # In place a K-SVM stores what the weights get; where increments are added, a rounds.
        rounded = np.zeros(size.size) if self._problem.is_svm else self._u * counts * size
        drift = drift + self._map.grown(weights, moved, rounded, segment.draws.size)
        return drift, weights + self._map.sizes @ moved, size

    def _slope_error(self, segment: Segment, counts: np.ndarray, theta: float) -> np.ndarray:
        """Bound on the error of gradient or residual entries that steps are made from, shape (m,)."""
        drift, weights, size = self._drift(segment, counts, theta)
        error = self._samples.error(drift, 0) / self._penalty
        shift = self._problem.hinge.shift if self._problem.is_svm else self._problem.samples
        used = (
            self._samples.sizes @ (weights + drift) / self._penalty + self._slopes.constant + shift * size
        )
        # N products and sums, and at most 6 roundings of what is added to them.
        rounded = gamma(self._problem.features + 8, self._u) * used
        return error + rounded + self._slopes.errors @ size

    def _trial_svm(self, segment: Segment, counts: np.ndarray):
        """Right-hand side of the inequality for Theta, as a function of Theta."""
        problem, u, loss = self._problem, self._u, self._problem.hinge
        if self._declaration.update != "in-place":
            return lambda theta: np.inf
        cap = loss.upper
        values = svm_values(problem, self._declaration, np.clip(segment.begin, 0.0, cap))
        gap = max(values.gap.upper, 0.0)
        drawn = counts > 0
        diagonal, off = np.diagonal(self._slopes.sizes), np.diagonal(self._slopes.errors)
        lower = np.min(np.diagonal(self._slopes.lower)[drawn], initial=np.inf)
        start = np.abs(values.slopes) + values.slope_errors + loss.shift * np.abs(segment.begin)

        def trial(theta: float) -> float:
            if not lower > 0.0 or not gap < np.inf:
                return cap
            rho = self._slope_error(segment, counts, theta)
            slope = start + self._slopes.sizes @ (counts * theta) + rho
            # Of the curvature (omega and the sum) and the quotient; the subtraction follows below.
            relative = gamma(4, u) + off / lower
            if not np.max(relative[drawn]) < 1.0:
                return cap
            relative = relative / (1 - relative)
            size = np.minimum(np.abs(segment.begin) + counts * theta, cap)
            folded = float(np.max((rho + slope * (relative + 2 * u) + u * diagonal * size)[drawn]))
            inside = folded * folded + 2 * lower * (gap + segment.draws.shape[0] * folded * theta)
            return min(float((folded + np.sqrt(inside)) / lower) * ROUND_UP, cap)

        return trial

    def _trial_ridge(self, segment: Segment, counts: np.ndarray):
        """Right-hand side of the inequality for Theta, as a function of Theta."""
        problem, root = self._problem, np.sqrt(self._problem.samples)
        steps, block = segment.draws.shape
        start = ridge_values(problem, self._declaration, segment.begin).residual.upper / root
        largest, off = float(np.max(self._slopes.sizes)), float(np.max(self._slopes.errors))
        system = np.full((block, block), largest)
        # Lambda, the quotient and the sum with m round an entry of the block system.
        given = block * off + gamma(3, self._u) * norm(system)
        solve = given + solve_bound(system, given, problem.samples, self._declaration).error
        drawn, most = counts > 0, most_often(segment.draws)
        whole, times = whole_growth(most), int(most.max(initial=1))
        share = np.sqrt(times)

        def trial(theta: float) -> float:
            rho = self._slope_error(segment, counts, theta)[drawn]
            off_norm = min(norm(rho), float(np.sqrt(block) * np.max(rho, initial=0.0)))
            folded = (off_norm + solve * theta) / root
            rounding = self._u * (np.abs(segment.begin) + counts * theta) * drawn
            storing = times * largest_energy(self._slopes.sizes, rounding)
            energy = whole * (start + steps * (share * folded + storing))
            return float((share * energy + folded) / root * ROUND_UP)

        return trial
