"""Drift of a carried state: how far it may be from what it stands for, as it is formed and updated.

A solver may carry, instead of forming it anew, the gradient ``q = Qa - 1 + omega a`` or the weights
``w = A'(y a)`` (K-SVM, linear kernel), the residual ``r = y - M a`` or ``w = A'a`` (K-RR). All are affine
in a, ``q = q_0 + L a``, and are updated by ``L theta`` in every step.

* Formed from a: m products and sums, and at most 6 roundings of the label or quotient, the own term, the
  constant and their sums: ``gamma_{m+8} (|q_0| + |L||a|) + delta_L |a|``, delta_L the error of the solver's
  entries of L. From the samples, n times more, and with the sizes of the terms ``|x_i|'|x_l|`` in the
  place of ``|L|`` in the factor of gamma (rounding/kernel/entries.py). For w ``gamma_{m+2} |A|'|a|``: m
  products and sums, the label and a spare.
* Updated N times, by any order of summation, with M the sum of the sizes of each coordinate's increments:
  an update rounds a product, a quotient by lambda, the own term of omega or m and their sum, at most 4
  times, and then passes at most N sums; 6 rounds that up: ``gamma_{N+6} (|q| + |L| M) + delta_L M``. For w,
  which gets ``theta x`` for each increment, or the sum of its changes of a at once, the product and at most
  N sums round every feature: ``gamma_{N+3}``.
* Where a itself is updated by adding the increment (K-RR), the a stored moves by a rounding more than
  theta: ``|L| u C |a^|``, C the number of draws of each coordinate.

Bound C of a run with carried weights. The w differs from that of its own a by a drift d, and the first
gradient of a window is made from ``<x_i, w>`` (rounding/right_hand_side.py), whose terms are as large as
``|w| <= W = |A|'|a^| + |d|``. Where w is formed anew now and then (`Declaration.recompute`), the larger of
formed and carried on holds. A run that carries a gradient or a residual, or weights in float32, has no
bound yet: its bound is infinite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import OUTWARD, gamma, magnitudes, smallest_subnormal, unit_roundoff
from sstep_verify.rounding.right_hand_side import CarriedSamples, CarriedTerms


@dataclass(frozen=True)
class StateMap:
    """A state ``q = q_0 + L a`` of k numbers, and what forming and updating it may do.

    Parameters
    ----------
    lower, sizes, errors, terms : ndarray, shape (k, m)
        Bounds on |L|, exact and used, from below and above; on what the solver's entries are off by; on the
        sizes of the terms that an entry's product with a number is summed from.
    constant : ndarray, shape (k,)
        |q_0|.
    forming, updating : int
        Roundings of a term beside the sums: of the state formed, of an update.
    precision : str
        Precision of the solver.
    """

    lower: np.ndarray
    sizes: np.ndarray
    errors: np.ndarray
    terms: np.ndarray
    constant: np.ndarray
    forming: int
    updating: int
    precision: str

    def formed(self, sizes: np.ndarray) -> np.ndarray:
        """Drift of a state formed from an a of |a| <= `sizes`, shape (m,)."""
        underflow = sizes.size * smallest_subnormal(self.precision) * sizes.any()
        with np.errstate(over="ignore", invalid="ignore"):
            formed = self.terms @ sizes + self.constant
            rounded = gamma(sizes.size + self.forming, unit_roundoff(self.precision)) * formed
            drift = rounded + self.errors @ sizes + underflow
        return np.nan_to_num(drift * OUTWARD, nan=np.inf, posinf=np.inf)

    def grown(self, state: np.ndarray, moved: np.ndarray, rounded: np.ndarray, draws: int) -> np.ndarray:
        """What `draws` updates add to the drift of a state that is at most `state`, (k,), as they begin.

        `moved` and `rounded`, shape (m,), bound the sums of the sizes of each coordinate's increments, and
        of the roundings of what was stored.
        """
        updates = draws + self.updating
        with np.errstate(over="ignore", invalid="ignore"):
            drift = gamma(updates, unit_roundoff(self.precision)) * (state + self.terms @ moved)
            drift += (
                self.errors @ moved + self.sizes @ rounded + updates * smallest_subnormal(self.precision)
            )
            return drift * OUTWARD


def weights_map(problem: Problem, declaration: Declaration) -> StateMap:
    """Of the weights ``w = A'(y a)`` or ``A'a``, k = n."""
    with np.errstate(over="ignore"):
        sizes, nothing = np.abs(problem.dense.T), np.zeros((problem.features, problem.samples))
    return StateMap(sizes / OUTWARD, sizes, nothing, sizes, nothing[:, 0], 2, 3, declaration.precision)


class CarriedWeights:
    """Drift of carried weights along a run.

    Parameters
    ----------
    problem : Problem
        A problem with the linear kernel.
    declaration : Declaration
        The solver.
    places : ndarray of int, shape (c,)
        Distinct coordinates of the run.
    start : ndarray, shape (m,)
        a at the run's start, from which w was formed.
    """

    def __init__(
        self,
        problem: Problem,
        declaration: Declaration,
        places: np.ndarray,
        start: np.ndarray,
    ):
        self._samples, self._places = CarriedSamples(problem, declaration, places), places
        self._map, self._u = weights_map(problem, declaration), unit_roundoff(declaration.precision)
        self._recompute = declaration.recompute > 0
        self._size = np.zeros(problem.features)
        self._drift = self._map.formed(magnitudes(start))
        known = declaration.precision == "float64" and declaration.state[0] == "weights"
        if not known:
            self._drift[:] = np.inf

    def begin(self, sizes: np.ndarray, drawn: int) -> CarriedTerms:
        """Terms of the first gradients of a window of `drawn` draws, where |a| is at most `sizes`, (m,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            self._size = (self._map.sizes @ sizes + self._drift) * OUTWARD
        return self._samples.terms(self._size, self._drift, drawn)

    def end(self, moved: np.ndarray, counts: np.ndarray, sizes: np.ndarray) -> None:
        """Let the drift grow by a window.

        Of each coordinate, shape (c,): a bound on the sum of its increments' sizes (`moved`), how often it
        is drawn (`counts`), and a bound on the solver's |a| there, anywhere in the window (`sizes`).
        """
        changes = np.zeros((2, self._map.sizes.shape[1]))
        changes[:, self._places] = moved, self._u * counts * sizes
        grown = self._map.grown(self._size, changes[0], changes[1], int(np.sum(counts)))
        self._drift = (self._drift + grown) * OUTWARD

    def restart(self, sizes: np.ndarray) -> None:
        """Allow for weights formed anew here, where the solver does that; `sizes` as in `begin`."""
        if self._recompute:
            self._drift = np.maximum(self._drift, self._map.formed(sizes))


def carried_weights(
    problem: Problem,
    declaration: Declaration,
    places: np.ndarray,
    start: np.ndarray,
) -> CarriedWeights | None:
    """The drift of a run from `start`, shape (m,), if the solver carries a state; see `CarriedWeights`."""
    return CarriedWeights(problem, declaration, places, start) if declaration.state else None
