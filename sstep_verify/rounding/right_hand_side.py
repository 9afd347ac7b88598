"""What the right-hand side of a step is summed from: a product with a kernel row, and corrections of it.

The gradient of K-SVM and the residual of K-RR are ``K_i a / lambda`` (K-SVM: lambda = 1) at a window's
start, one correction ``K(i, i_t) D_t / lambda`` for each increment D_t made since, and a few constants. In
any order of summation it errs by gamma_k of the sum of its terms' sizes, and by what the entries are off:

* a product from kernel entries has terms ``|K_il| |a_l|``. With p nonzero entries of a it makes p
  roundings, or as many as the smaller height of a declared tree (`stale_roundings`);
* with the linear kernel it may be formed from the samples, ``<x_i, A'(a + sum D_t)>``: n more roundings,
  and ``|x_i|'|x_l|`` in the place of ``|K_il|`` in both sums. These bounds hold for products from entries
  too. The entries of ``A'a`` are numbers on the way, of which ``max_k |x_lk| |a_l|`` are the terms;
* where a state is carried (rounding/carried.py), its terms take the place of those of the product.

Underflow: with t the smallest number, a product with K is off by t (before the division by lambda), a
quotient by lambda by t, be it of an entry, a product or the sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sstep_verify.rounding.arithmetic import OUTWARD, counted, rounded_up, stale_roundings
from sstep_verify.rounding.carried import CarriedTerms
from sstep_verify.rounding.kernel.entries import KernelEntries
from sstep_verify.solver import Declaration


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


NO_QUOTIENT = Quotient()


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
    quotient: Quotient = NO_QUOTIENT,
    carried: CarriedTerms | None = None,
) -> RightHandSides:
    """Right-hand sides of a window's distinct coordinates `places`, of which these are the kernel rows.

    `sizes`, shape (m,), bounds |a| at the window's start, where exact zeros cost no rounding; `drawn`
    counts the coordinates drawn in the window; `carried` says what the first right-hand sides are made of,
    for a solver that carries a state.
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
        roundings = stale_roundings(support, samples, drawn, declaration.summation) + rows.more_roundings
        weights = float(rows.heights @ sizes)
    else:
        size, error, roundings = carried.size, carried.error, carried.roundings
        if carried.products is not None:
            size, error = size / penalty * OUTWARD, error / penalty * OUTWARD
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
