"""Drift of maintained weights: how far they may be from those of a, as they are formed and updated.

A solver of the linear kernel may maintain ``w = A'(y a)`` (K-SVM) or ``w = A'a`` (K-RR) instead of forming
it in every window. It is linear in a, and gets ``theta x_i`` in every step.

* Formed from a: m products and sums, the label and a spare: ``gamma_{m+2} |A|'|a|``.
* Updated N times, by ``theta x`` for each increment or the sum of its changes of a at once, in any order of
  summation, with M the sum of the sizes of each coordinate's increments: the product, the label and at most
  N sums round every feature, ``gamma_{N+3} (|w| + |A|' M)``.
* Where a itself is updated by adding the increment (K-RR), the a stored moves by a rounding more than
  theta: ``|A|' u C |a^|``, C the number of draws of each coordinate.

Bound C of a run with maintained weights. The w differs from that of its own a by a drift d, and the first
gradient of a window is made from ``<x_i, w>`` (rounding/right_hand_side.py), whose terms are as large as
``|w| <= W = |A|'|a^| + |d|``. Where w is formed again now and then (`Declaration.weights`), the larger of
formed and carried on holds. A run that maintains weights in float32 has no bound yet: its bound is
infinite.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, magnitudes, smallest_subnormal, unit_roundoff
from sstep_verify.rounding.right_hand_side import CarriedSamples, CarriedTerms


class WeightsMap:
    """The weights w = L a of n numbers, and what forming and updating them may do.

    Attributes
    ----------
    lower, sizes : ndarray, shape (n, m)
        Bounds on |L| from below and above.
    """

    def __init__(self, problem: Problem, declaration: Declaration):
        with np.errstate(over="ignore"):
            self.sizes = np.abs(problem.dense.T)
        self.lower = self.sizes / ROUND_UP
        self._u = unit_roundoff(declaration.precision)
        self._subnormal = smallest_subnormal(declaration.precision)

    def formed(self, sizes: np.ndarray) -> np.ndarray:
        """Drift of weights formed from an a of |a| <= `sizes`, shape (m,)."""
        underflow = sizes.size * self._subnormal * sizes.any()
        with np.errstate(over="ignore", invalid="ignore"):
            drift = gamma(sizes.size + 2, self._u) * (self.sizes @ sizes) + underflow
        return np.nan_to_num(drift * ROUND_UP, nan=np.inf, posinf=np.inf)

    def grown(self, weights: np.ndarray, moved: np.ndarray, rounded: np.ndarray, draws: int) -> np.ndarray:
        """What `draws` updates add to the drift of weights that are at most `weights`, (n,), as they begin.

        `moved` and `rounded`, shape (m,), bound the sums of the sizes of each coordinate's increments, and
        of the roundings of what was stored.
        """
        updates = draws + 3
        with np.errstate(over="ignore", invalid="ignore"):
            drift = gamma(updates, self._u) * (weights + self.sizes @ moved)
            drift += self.sizes @ rounded + updates * self._subnormal
            return drift * ROUND_UP


class CarriedWeights:
    """Drift of maintained weights along a run.

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
        self._map, self._u = WeightsMap(problem, declaration), unit_roundoff(declaration.precision)
        self._again = bool(declaration.weights)
        self._size = np.zeros(problem.features)
        self._drift = self._map.formed(magnitudes(start))
        if declaration.precision != "float64":
            self._drift[:] = np.inf

    def begin(self, sizes: np.ndarray, drawn: int) -> CarriedTerms:
        """Terms of the first gradients of a window of `drawn` draws, where |a| is at most `sizes`, (m,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            self._size = (self._map.sizes @ sizes + self._drift) * ROUND_UP
        return self._samples.terms(self._size, self._drift, drawn)

    def end(self, moved: np.ndarray, counts: np.ndarray, sizes: np.ndarray) -> None:
        """Let the drift grow by a window.

        Of each coordinate, shape (c,): a bound on the sum of its increments' sizes (`moved`), how often it
        is drawn (`counts`), and a bound on the solver's |a| there, anywhere in the window (`sizes`).
        """
        changes = np.zeros((2, self._map.sizes.shape[1]))
        changes[:, self._places] = moved, self._u * counts * sizes
        grown = self._map.grown(self._size, changes[0], changes[1], int(np.sum(counts)))
        self._drift = (self._drift + grown) * ROUND_UP

    def restart(self, sizes: np.ndarray) -> None:
        """Allow for weights formed again here, where the solver does that; `sizes` as in `begin`."""
        if self._again:
            self._drift = np.maximum(self._drift, self._map.formed(sizes))


def carried_weights(
    problem: Problem,
    declaration: Declaration,
    places: np.ndarray,
    start: np.ndarray,
) -> CarriedWeights | None:
    """The drift of a run from `start`, shape (m,), if the solver maintains weights."""
    return None if declaration.weights is None else CarriedWeights(problem, declaration, places, start)
