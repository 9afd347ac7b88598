"""Bound on the drift between a state carried beside a and the quantity it stands for.

A solver may carry, instead of forming it anew, q = the gradient ``Qa - 1 + omega a`` or the weights
``w = A'(y a)`` (K-SVM, linear kernel), the residual ``r = y - M a`` or ``w = A'a`` (K-RR). All are affine
in a, ``q = q_0 + L a``, and are updated by ``L theta`` in every step. Over a segment of n steps, in which
coordinate i is drawn c_i times and no increment exceeds Theta, by any order of summation,

    drift <= drift before + gamma_{N+6} (|q| + |L| c Theta) + delta_L c Theta + |L| c u A,

with the sizes of the terms in the place of ``|L|`` in the factor of gamma where products may be formed from
the samples, N the coordinates drawn in the segment (an update rounds a product, a quotient by lambda, the
own term of omega or m and their sum, at most 4 times, and then passes at most N sums; 6 rounds that up),
delta_L the error of the solver's entries of L,
``A_i = |a_i| + c_i Theta`` (not above nu). The last term is there where a itself is updated by adding the
increment (K-RR): the a stored then moved by another amount than theta.

Theta follows from the objective. A q that is off by R makes a step one with its gradient off by rho: R
itself, or ``|A| R`` and the rounding of a product where the state is w; with the roundings of the step
folded in, rho'.

* K-SVM, in place. A step d that minimises the perturbed one-variable problem over the box changes f by at
  most ``|rho'| |d| - eta d^2 / 2``. f can fall by no more than the duality gap F at the segment's start, so
  ``eta Theta^2 / 2 <= F + n rho' Theta``, eta the smallest curvature drawn; and ``Theta <= nu``.
* K-RR. An exact block step is a projection in the M-norm, of norm 1, so ``||e||_M`` is at most
  ``||r|| / sqrt(m) + n (||rho'|| / sqrt(m) + ||u A||_M)``, and
  ``Theta <= (||e||_M + ||rho'|| / sqrt(m)) / sqrt(m)``.

Where the state is formed anew now and then (`Declaration.recompute`), "drift before" is the larger of it
and what forming it from an a of ``|a| + c Theta`` rounds; from the samples, n times more, and terms of
``|x_i|'|x_l|`` (bounds/kernel/entries.py).

R and so rho' grow with Theta. If the right-hand side at some Theta is at most Theta, then by induction over
the steps no increment exceeds it. Frozen and added updates of K-SVM have no such bound here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sstep_verify.bounds.block.factorisation import factorisation_error
from sstep_verify.bounds.kernel.entries import kernel_entries
from sstep_verify.bounds.optimum.ridge import ridge_values
from sstep_verify.bounds.optimum.svm import svm_values
from sstep_verify.bounds.residual_hessian import hessian, stored_penalty
from sstep_verify.errors import InputError
from sstep_verify.numerics.rounding import OUTWARD, gamma, norm, smallest, stored, unit_roundoff
from sstep_verify.problems import Problem
from sstep_verify.solver import Declaration

ROUNDS = 64
"""Trials of a larger Theta before giving up: each is at least a thousandth larger."""


@dataclass(frozen=True)
class Segment:
    """What is known of a part of a run.

    Parameters
    ----------
    begin : ndarray, shape (m,)
        a at its start, float64.
    carried : ndarray, shape (k,)
        State at its start.
    drift : ndarray, shape (k,)
        Upper bounds on how far that is from the true one.
    draws : ndarray of int, shape (n, b)
        Coordinates drawn.
    """

    begin: np.ndarray
    carried: np.ndarray
    drift: np.ndarray
    draws: np.ndarray


class DriftBound:
    """Drift bounds of one problem and state; the kernel's rows are formed once (m x m words each).

    Parameters
    ----------
    problem : Problem
        The problem.
    declaration : Declaration
        Precision and formulas of the solver.
    name : {"gradient", "residual", "weights"}
        What is carried.

    Raises
    ------
    InputError
        If the problem has no such state.
    """

    def __init__(self, problem: Problem, declaration: Declaration, name: str):
        fits = {
            "gradient": problem.is_svm,
            "residual": not problem.is_svm,
            "weights": problem.kernel.linear,
        }
        if not fits.get(name, False):
            known = ", ".join(state for state, fit in fits.items() if fit)
            raise InputError(f"{problem.label}: a state {name!r} cannot be judged; known here: {known}")
        self._problem, self._declaration, self._weights = problem, declaration, name == "weights"
        self._u = unit_roundoff(declaration.precision)
        self._recompute = declaration.recompute > 0
        self._tiny = smallest(declaration.precision)
        rows = kernel_entries(problem, declaration, np.arange(problem.samples))
        least = 1.0 if problem.is_svm else stored_penalty(problem, declaration)
        self._own = float(np.max(rows.own)) / (least or problem.ridge.penalty)
        self._gram, self._gram_error = hessian(problem, declaration, rows)
        self._data = np.abs(problem.dense)
        self._map, self._map_error = self._gram, self._gram_error
        # Sizes of the terms that the state's entries are summed from, and roundings of these besides.
        self._terms, self._more = self._gram, rows.more_roundings
        if rows.factored is not None:
            self._terms = hessian(problem, declaration, replace(rows, values=rows.term_sizes))[0]
        if self._weights:
            used = stored(problem.dense, declaration.precision)
            self._map, self._map_error = self._data.T, np.abs(used - problem.dense).T
            self._terms, self._more = self._map, 0

    def initial(self, begin: np.ndarray) -> np.ndarray:
        """Bound on the drift of a state formed at the run's start from its a, shape (k,)."""
        absolute = np.abs(begin)
        size = self._terms @ absolute
        # A product and its sums; label or quotient, own term, constant and their sums: at most 6 more.
        rounding = gamma(self._map.shape[1] + self._more + 8, self._u) * (size + self._constant())
        data = 0.0 if self._weights else self._input_error()
        return (self._map_error @ absolute + rounding + data) * OUTWARD

    def after(self, segment: Segment) -> np.ndarray:
        """Bound on the drift at the end of a segment, shape (k,); infinite where there is none."""
        counts = np.bincount(segment.draws.ravel(), minlength=self._problem.samples).astype(np.float64)
        trial = (self._trial_svm if self._problem.is_svm else self._trial_ridge)(segment, counts)
        with np.errstate(over="ignore", invalid="ignore"):
            theta = trial(0.0)
            for _ in range(ROUNDS):
                if not theta < np.inf:
                    break
                found = trial(theta)
                if found <= theta:
                    drift = self._drift(segment, counts, theta)
                    return (drift + self._growth(segment, counts, theta)) * OUTWARD
                theta = found * (1 + 2.0**-10)
        return np.full(segment.carried.size, np.inf)

    def skipped(self, segment: Segment, end: np.ndarray, limit: np.ndarray) -> tuple[float, float]:
        """What leaving out all updates of one coordinate does to the state, where it shows most.

        Parameters
        ----------
        segment : Segment
            The segment.
        end : ndarray, shape (m,)
            a at its end.
        limit : ndarray, shape (k,)
            Bound on the drift there.

        Returns
        -------
        effect, bound : float
            Lower bound on the change of one entry, and the limit for that entry.
        """
        # Entries of |L| are known from above, up to twice what they may be off by.
        least = np.maximum(self._map / OUTWARD - 2 * (self._map_error + self._own), 0.0)
        change = least * np.abs(end - segment.begin)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(change > 0, change / limit[:, None], 0.0)
        entry, coordinate = np.unravel_index(int(np.argmax(ratio)), ratio.shape)
        return float(change[entry, coordinate]) / OUTWARD, float(limit[entry])

    def _constant(self) -> np.ndarray | float:
        if self._weights:
            return 0.0
        return 1.0 if self._problem.is_svm else np.abs(self._problem.targets)

    def _input_error(self) -> np.ndarray | float:
        targets = self._problem.targets
        if self._problem.is_svm or not self._declaration.data_rounding:
            return 0.0
        return np.abs(stored(targets, self._declaration.precision) - targets)

    def _size(self, segment: Segment, counts: np.ndarray, theta: float) -> np.ndarray:
        """Bound on |a| anywhere in the segment."""
        return np.abs(segment.begin) + counts * theta

    def _drift(self, segment: Segment, counts: np.ndarray, theta: float) -> np.ndarray:
        """Bound on the drift that the segment begins with, or has after the state was formed anew in it."""
        if not self._recompute:
            return segment.drift
        return np.maximum(segment.drift, self.initial(self._size(segment, counts, theta)))

    def _growth(self, segment: Segment, counts: np.ndarray, theta: float) -> np.ndarray:
        moved = counts * theta * (1 + self._u)
        reach = np.abs(segment.carried) + self._terms @ moved
        if self._recompute:  # A state formed anew differs from the one before by no more than both drifts.
            reach = reach + 2 * self._drift(segment, counts, theta)
        total = gamma(segment.draws.size + 6, self._u) * reach + self._map_error @ moved
        if not self._problem.is_svm:
            total += self._map @ (self._u * counts * self._size(segment, counts, theta))
        return (total + (segment.draws.size + 6) * self._tiny) * OUTWARD

    def _slope_error(self, segment: Segment, counts: np.ndarray, theta: float) -> np.ndarray:
        """Bound on the error of gradient or residual entries that steps are made from, shape (m,)."""
        off = self._drift(segment, counts, theta) + self._growth(segment, counts, theta)
        if not self._weights:
            return off
        scale = 1.0 if self._problem.is_svm else float(stored_penalty(self._problem, self._declaration))
        size = self._size(segment, counts, theta)
        own = self._problem.hinge.shift if self._problem.is_svm else self._problem.samples
        reach = np.abs(segment.carried) + self._map @ (counts * theta * (1 + self._u))
        used = self._data @ reach / scale + np.abs(self._problem.targets) + own * size
        error = self._data @ off / scale + self._map_error.T @ (reach + off) / scale
        # As in `initial`: n products and sums, and at most 6 roundings of what is added to them.
        return error + gamma(self._problem.features + 8, self._u) * used + self._gram_error @ size

    def _trial_svm(self, segment: Segment, counts: np.ndarray):
        """Right-hand side of the inequality for Theta, as a function of Theta."""
        problem, u, loss = self._problem, self._u, self._problem.hinge
        exact_box = float(stored(loss.C, self._declaration.precision)) == loss.C
        if self._declaration.update != "in-place" or (loss.shift and not exact_box):
            return lambda theta: np.inf
        cap = loss.upper if exact_box else float(np.float64(stored(loss.C, self._declaration.precision)))
        values = svm_values(problem, self._declaration, np.clip(segment.begin, 0.0, loss.upper))
        gap = max(values.gap.upper, 0.0) if exact_box else np.inf
        drawn = counts > 0
        diagonal, off = np.diagonal(self._gram), np.diagonal(self._gram_error)
        least = np.min((diagonal / OUTWARD**2 - 2 * (off + self._own))[drawn], initial=np.inf)
        start = np.abs(values.slopes) + values.slope_errors + loss.shift * np.abs(segment.begin)

        def trial(theta: float) -> float:
            if not least > 0.0 or not gap < np.inf:
                return cap
            rho = self._slope_error(segment, counts, theta)
            slope = start + self._gram @ (counts * theta) + rho
            # Of the curvature (omega and the sum) and the quotient; the subtraction follows below.
            relative = gamma(4, u) + off / least
            if not np.max(relative[drawn]) < 1.0:
                return cap
            relative = relative / (1 - relative)
            size = np.minimum(self._size(segment, counts, theta), cap)
            folded = float(np.max((rho + slope * (relative + 2 * u) + u * diagonal * size)[drawn]))
            inside = folded * folded + 2 * least * (gap + segment.draws.shape[0] * folded * theta)
            return min(float((folded + np.sqrt(inside)) / least) * OUTWARD, cap)

        return trial

    def _trial_ridge(self, segment: Segment, counts: np.ndarray):
        """Right-hand side of the inequality for Theta, as a function of Theta."""
        problem, root = self._problem, np.sqrt(self._problem.samples)
        steps, block = segment.draws.shape
        start = ridge_values(problem, self._declaration, segment.begin).residual.upper / root
        largest, off = float(np.max(self._gram)), float(np.max(self._gram_error))
        system = np.full((block, block), largest)
        # Lambda, the quotient and the sum with m round an entry of the block system.
        given = block * off + gamma(3, self._u) * norm(system)
        solve = given + factorisation_error(system, given, problem.samples, self._declaration)
        drawn = counts > 0

        def trial(theta: float) -> float:
            rho = self._slope_error(segment, counts, theta)[drawn]
            off_norm = min(norm(rho), float(np.sqrt(block) * np.max(rho, initial=0.0)))
            folded = (off_norm + solve * theta) / root
            rounding = self._u * self._size(segment, counts, theta) * drawn
            lost = float(np.sqrt(rounding @ self._gram @ rounding))
            return float((start + steps * (folded + lost) + folded) / root * OUTWARD)

        return trial
