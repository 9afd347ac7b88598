"""What the right-hand side of a step is summed from: a product with a kernel row, and corrections of it.

The gradient of K-SVM and the residual of K-RR are ``K_i a / lambda`` (K-SVM: lambda = 1) at a window's
start, one correction ``K(i, i_t) D_t / lambda`` for each increment D_t made since, and a few constants. In
any order of summation it errs by gamma_k of the sum of its terms' sizes, and by what the entries are off:

* a product from kernel entries has terms ``|K_il| |a_l|``. With p nonzero entries of a it makes p
  roundings;
* with the linear kernel it may be formed from the samples, ``<x_i, A'(a + sum D_t)>``: n more roundings,
  and ``|x_i|'|x_l|`` instead of ``|K_il|`` in both sums. These bounds hold for products from entries
  too. The entries of ``A'a`` are numbers on the way, of which ``max_k |x_lk| |a_l|`` are the terms;
* where weights are maintained (`CarriedTerms`), their terms take the place of those of the product.

Underflow: with t the smallest number, a product with K is off by t (before the division by lambda), a
quotient by lambda by t, be it of an entry, a product or the sum.

*Maintained weights.* A solver that maintains w does not multiply kernel rows by a at the window's start.
The window is replayed from a and w as they are, so the first product of each coordinate is ``<x_i, w>`` of
n terms, off by ``|x_i|'|d|`` where w is off by a drift d.

Assumed of its maintenance, within the window: after each increment theta of coordinate t, w gets
``theta x_t``, a product and a sum for each feature. A term that enters w is multiplied by x_i and summed
with the others, so the roundings of ``<x_i, w>`` are those of the sums before it and of n terms, relative
to ``|x_i|'(|w| + sum |theta| |x_t|)``. A product that underflows, be it in w or in ``<x_i, w>``, is off by
the smallest number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import (
    ROUND_UP,
    counted,
    magnitudes,
    rounded_up,
    smallest_subnormal,
)
from sstep_verify.rounding.kernel.entries import KernelEntries


class Quotient(NamedTuple):
    """The division by lambda that ends a product with K; of K-SVM, which divides by nothing, by 1.

    Parameters
    ----------
    penalty : float
        Regularisation (lambda).
    underflow_error : float
        What a quotient that underflows may be off by: the smallest number of the solver's type.
    """

    penalty: float = 1.0
    underflow_error: float = 0.0


@dataclass(frozen=True)
class RightHandSides:
    """Terms and errors of the right-hand sides of c coordinates; roundings of sums are left out.

    Of the first product, shape (c,): bounds on the sum of its terms' sizes (`size`), and on what its
    entries are off by and underflow costs it and all corrections (`error`); `roundings` of each of its
    terms; bounds on the entries of A'a (`weights`, 0 where they are not formed), and on what they grow by
    per unit of an increment of each coordinate (`heights`). Of the corrections, shape (c, c), per unit of
    an increment: `entries`, `errors` and `terms`, see `quotients`. `largest`, shape (c,), bounds the terms
    of a whole row.
    """

    size: np.ndarray
    error: np.ndarray
    roundings: int
    weights: float
    heights: np.ndarray
    entries: np.ndarray
    errors: np.ndarray
    terms: np.ndarray
    largest: np.ndarray


def right_hand_sides(
    rows: KernelEntries,
    places: np.ndarray,
    sizes: np.ndarray,
    drawn: int,
    declaration: Declaration,
    quotient: Quotient,
    carried: CarriedTerms | None = None,
) -> RightHandSides:
    """Right-hand sides of a window's distinct coordinates `places`, of which these are the kernel rows.

    `sizes`, shape (m,), bounds |a| at the window's start, where exact zeros cost no rounding; `drawn`
    counts the coordinates drawn in the window; `carried` says what the first products are made of, for a
    solver that maintains weights.
    """
    samples, penalty = sizes.size, quotient.penalty
    entries, errors, terms = quotients(rows, quotient)
    products = samples + drawn + 16
    underflow = rounded_up(
        rows.underflow_error(samples + drawn, declaration.precision) / penalty
        + products * quotient.underflow_error
    )
    among, weights = terms[:, places], 0.0
    if carried is None:
        size, error = rounded_up(terms @ sizes, products), rounded_up(errors @ sizes, products)
        support = int(np.count_nonzero(sizes))
        roundings = support + rows.more_roundings
        weights = float(rows.heights @ sizes)
    else:
        size, error = carried.size / penalty * ROUND_UP, carried.error / penalty * ROUND_UP
        roundings = carried.roundings
        among = np.maximum(rounded_up(carried.products / penalty), among)
    square, largest = (entries[:, places], errors[:, places], among), terms.max(axis=1, initial=0.0)
    roundings = counted(roundings, samples, drawn)
    return RightHandSides(
        size, error + underflow, roundings, weights, rows.heights[places], *square, largest
    )


def quotients(rows: KernelEntries, quotient: Quotient) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of kernel rows over lambda: sizes of exact and used entries, errors of these, sizes of terms, (c, m).

    The terms are those that an entry's product with a number is summed from, which are larger than the
    entry where products may be formed from the samples.
    """
    sizes = rounded_up(rows.magnitude / quotient.penalty)
    errors = rounded_up(rows.solver_error / quotient.penalty + quotient.underflow_error)
    return sizes, errors, rounded_up(rows.term_sizes / quotient.penalty)


@dataclass(frozen=True)
class CarriedTerms:
    """The terms of the first product of each of a window's c distinct coordinates with maintained weights.

    Parameters
    ----------
    size : ndarray, shape (c,)
        Bound on the sum of the terms' absolute values.
    error : ndarray, shape (c,)
        Bound on what the terms are off by, roundings of products and sums left out.
    roundings : int
        Roundings of each term.
    products : ndarray, shape (c, c)
        ``|x_i|'|x_t|``, for an increment enters through w.
    """

    size: np.ndarray
    error: np.ndarray
    roundings: int
    products: np.ndarray

    def at(self, rows: np.ndarray) -> CarriedTerms:
        """The same for some of the coordinates."""
        products = self.products[np.ix_(rows, rows)]
        return CarriedTerms(self.size[rows], self.error[rows], self.roundings, products)


class CarriedSamples:
    """Samples of some coordinates, shape (c, n), that a maintained w is multiplied by.

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
        self._roundings = problem.features

    @cached_property
    def products(self) -> np.ndarray:
        """``|x_i|'|x_t|`` of any two of them at most, shape (c, c)."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.sizes @ self.sizes.T * ROUND_UP

    def error(self, drift: np.ndarray, drawn: int) -> np.ndarray:
        """What ``<x_i, w>`` is off by besides its own rounding, shape (c,); arguments as for `terms`."""
        with np.errstate(over="ignore", invalid="ignore"):
            underflow = self._subnormal * (drift.size + drawn * self._lengths)
            return (self.sizes @ drift + underflow) * ROUND_UP

    def terms(self, weights: np.ndarray, drift: np.ndarray, drawn: int) -> CarriedTerms:
        """First products of a window of `drawn` draws, from |w| and |d| at most, each of shape (n,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            size, error = self.sizes @ weights * ROUND_UP, self.error(drift, drawn)
        size, error = np.nan_to_num((size, error), nan=np.inf, posinf=np.inf)
        return CarriedTerms(size, error, self._roundings, self.products)


def carried_terms(
    problem: Problem, declaration: Declaration, places: np.ndarray, drawn: int, weights: np.ndarray
) -> CarriedTerms:
    """Terms of the first products with the weights, shape (n,), that a window starts from.

    `places` are the window's distinct coordinates, of `drawn` that are drawn.
    """
    size = magnitudes(weights)
    return CarriedSamples(problem, declaration, places).terms(size, np.zeros(size.size), drawn)
