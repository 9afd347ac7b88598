"""Drift of weights carried through a whole run from those of the solver's own a, for bound C.

With the linear kernel a solver may carry ``w = A'(y a)`` (K-SVM) or ``w = A'a`` (K-RR) and never multiply
by all of a. Its w then differs from that of its a by a drift d, and the first gradient of a window is made
from ``<x_i, w>``: off by ``|x_i|'|d|`` beside the roundings of the product, whose terms are as large as

    |w| <= W = |A|'|a^| + |d|.

Formed anew from a, w has ``|d| <= gamma_{m+2} |A|'|a^|``: m products and sums, the label and a spare. A
window of N draws adds theta x for each increment, or the sum of its changes of a at once: the product and
at most N sums round every feature, and the a stored may have moved by a rounding more than what was added,

    |d| grows by gamma_{N+3} (W + |X|'M) + |X|' u C |a^|,

M the sum of the sizes of each coordinate's increments in the window, C the number of its draws, X the
window's samples. Where w is formed anew now and then (`Declaration.recompute`), the larger of the two
holds. In a run that began before, d is how far the recorded w is from that of the recorded a, formed in
float64, which adds ``gamma_{m+2} |A|'|a^|`` of its own. No window begins with a alone.

A solver in float32 would carry weights of rounded samples; that is not derived, and the bound is infinite,
as it is for a carried gradient or residual.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.carried import CarriedTerms
from sstep_verify.numerics.rounding import (
    OUTWARD,
    gamma,
    magnitudes,
    smallest,
    sum_roundings,
    unit_roundoff,
)
from sstep_verify.problems import Problem
from sstep_verify.solver import Declaration


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
    state : ndarray, shape (n,), optional
        The w that the run goes on from, if it was formed before `start`.
    """

    def __init__(
        self,
        problem: Problem,
        declaration: Declaration,
        places: np.ndarray,
        start: np.ndarray,
        state: np.ndarray | None = None,
    ):
        self._u, self._tiny = unit_roundoff(declaration.precision), smallest(declaration.precision)
        self._features, self._data = problem.features, np.abs(problem.dense)
        self._rows = self._data[places]
        self._products = self._rows @ self._rows.T * OUTWARD
        self._roundings = sum_roundings(problem.features, declaration.summation)
        self._recompute = declaration.recompute > 0
        self._size = np.zeros(problem.features)
        self._drift = self._fresh(magnitudes(start))
        known = declaration.precision == "float64" and declaration.state[0] == "weights"
        if not known:
            self._drift[:] = np.inf
        elif state is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                apart = magnitudes(state - (problem.signs * start.astype(np.float64)) @ problem.dense)
                found = np.where(np.isfinite(apart), (apart + self._drift) * OUTWARD, np.inf)
            self._drift = np.maximum(found, self._drift if self._recompute else 0.0)

    def begin(self, sizes: np.ndarray, drawn: int) -> CarriedTerms:
        """Terms of the first gradients of a window of `drawn` draws, where |a| is at most `sizes`, (m,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            self._size = (self._data.T @ sizes + self._drift) * OUTWARD
            lost = self._tiny * (self._features + drawn * self._rows.sum(axis=1))
            error = (self._rows @ self._drift + lost) * OUTWARD
            size = self._rows @ self._size * OUTWARD
        size, error = (np.where(np.isfinite(value), value, np.inf) for value in (size, error))
        return CarriedTerms(False, size, error, self._roundings, self._products)

    def end(self, moved: np.ndarray, counts: np.ndarray, sizes: np.ndarray) -> None:
        """Let the drift grow by a window.

        Parameters
        ----------
        moved : ndarray, shape (c,)
            Bounds on the sum of the sizes of each coordinate's increments.
        counts : ndarray of int, shape (c,)
            Draws of each coordinate.
        sizes : ndarray, shape (c,)
            Bounds on the solver's |a| at these coordinates, anywhere in the window.
        """
        total = int(np.sum(counts))
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = gamma(total + 3, self._u) * (self._size + self._rows.T @ moved)
            stored = self._rows.T @ (self._u * counts * sizes)
            self._drift = (self._drift + rounded + stored + (total + 3) * self._tiny) * OUTWARD

    def _fresh(self, sizes: np.ndarray) -> np.ndarray:
        samples = sizes.size
        with np.errstate(over="ignore", invalid="ignore"):
            size = self._data.T @ sizes
            return (gamma(samples + 2, self._u) * size + samples * self._tiny * (size > 0)) * OUTWARD

    def restart(self, sizes: np.ndarray) -> None:
        """Allow for weights formed anew here, where the solver does that; `sizes` as in `begin`."""
        if self._recompute:
            self._drift = np.maximum(self._drift, self._fresh(sizes))


def carried_weights(
    problem: Problem,
    declaration: Declaration,
    places: np.ndarray,
    start: np.ndarray,
    state: np.ndarray | None = None,
) -> CarriedWeights | None:
    """The drift of a run from `start`, shape (m,), if the solver carries a state; see `CarriedWeights`."""
    return CarriedWeights(problem, declaration, places, start, state) if declaration.state else None
