"""Carried states in the window bounds: gradients from which a solver that carries a state makes its steps.

Such a solver does not multiply kernel rows by a at the window's start. The window is replayed from a and
the state as they are, so the first gradient of each coordinate is a given number,

* gradient ``q_i`` (K-SVM) or residual ``r_i`` (K-RR): one term, without error;
* weights w: the product ``<x_i, w>`` of n terms, off by ``|x_i|'|d|`` where w is off by a drift d.

Assumed of its maintenance, within the window: after each increment theta of coordinate t, entry i of a
gradient or residual gets ``K_it theta`` (a product, for K-RR a quotient by lambda, and a sum), and where
i = t the product of theta with the shift or m as well; w gets ``theta x_t``, a product and a sum for each
feature. A term that enters w is multiplied by x_i and summed with the others, so the roundings of
``<x_i, w>`` are those of the sums before it and of n terms, relative to
``|x_i|'(|w| + sum |theta| |x_t|)``. A product that underflows, be it in w or in ``<x_i, w>``, is off by the
smallest number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import OUTWARD, magnitudes, smallest_subnormal, sum_roundings
from sstep_verify.solver import Declaration


@dataclass(frozen=True)
class CarriedTerms:
    """The terms of the first gradient of each of a window's c distinct coordinates.

    Parameters
    ----------
    whole : bool
        The gradient or residual itself is carried; False for w.
    size : ndarray, shape (c,)
        Bound on the sum of the terms' absolute values.
    error : ndarray, shape (c,)
        Bound on what the terms are off by, roundings of products and sums left out.
    roundings : int
        Roundings of each term.
    products : ndarray, shape (c, c), optional
        ``|x_i|'|x_t|``, where an increment enters through w; None where it enters by K_it.
    """

    whole: bool
    size: np.ndarray
    error: np.ndarray
    roundings: int
    products: np.ndarray | None = None

    def at(self, rows: np.ndarray) -> CarriedTerms:
        """The same for some of the coordinates."""
        products = None if self.products is None else self.products[np.ix_(rows, rows)]
        return CarriedTerms(self.whole, self.size[rows], self.error[rows], self.roundings, products)


class CarriedSamples:
    """Samples of some coordinates, shape (c, n), that a carried w is multiplied by.

    Attributes
    ----------
    sizes : ndarray, shape (c, n)
        Absolute values.
    """

    def __init__(self, problem: Problem, declaration: Declaration, places: np.ndarray):
        self.sizes, self._subnormal = (
            np.abs(problem.dense[places]),
            smallest_subnormal(declaration.precision),
        )
        with np.errstate(over="ignore"):
            self._lengths = self.sizes.sum(axis=1)
        self._roundings = sum_roundings(problem.features, declaration.summation)

    @cached_property
    def products(self) -> np.ndarray:
        """``|x_i|'|x_t|`` of any two of them at most, shape (c, c)."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.sizes @ self.sizes.T * OUTWARD

    def error(self, drift: np.ndarray, drawn: int) -> np.ndarray:
        """What ``<x_i, w>`` is off by besides its own rounding, shape (c,); arguments as for `terms`."""
        with np.errstate(over="ignore", invalid="ignore"):
            underflow = self._subnormal * (drift.size + drawn * self._lengths)
            return (self.sizes @ drift + underflow) * OUTWARD

    def terms(self, weights: np.ndarray, drift: np.ndarray, drawn: int) -> CarriedTerms:
        """First gradients of a window of `drawn` draws, from |w| and |d| at most, each of shape (n,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            size, error = self.sizes @ weights * OUTWARD, self.error(drift, drawn)
        size, error = np.nan_to_num((size, error), nan=np.inf, posinf=np.inf)
        return CarriedTerms(False, size, error, self._roundings, self.products)


def carried_terms(
    problem: Problem, declaration: Declaration, places: np.ndarray, drawn: int, values: np.ndarray
) -> CarriedTerms:
    """Terms of the state that a solver declares first.

    Parameters
    ----------
    problem : Problem
        The problem.
    declaration : Declaration
        Precision, order of summation and state.
    places : ndarray of int, shape (c,)
        The window's distinct coordinates.
    drawn : int
        Coordinates drawn in the window.
    values : ndarray, shape (m,) or (n,)
        The state at the window's start.

    Returns
    -------
    CarriedTerms
    """
    size = magnitudes(values)
    if declaration.state[0] == "weights":
        return CarriedSamples(problem, declaration, places).terms(size, np.zeros(size.size), drawn)
    return CarriedTerms(True, size[places], np.zeros(places.size), 0)
