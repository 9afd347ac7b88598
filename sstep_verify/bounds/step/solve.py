"""Backward error of one block solve at a step whose matrix G the judge holds: what its factors allow.

rounding/block/factorisation.py bounds the factors by trace(G), whatever G is. The judge has G, so it can
say which part of dG meets which part of the increment:

    |dG D^| <= gamma_k |L^||U^||D^|,   k = 3b + 12 of elimination, 3b + 4 of Cholesky (R'R for LU),

(Higham 2002, Theorems 9.4 and 10.4, with the counts of rounding/block/factorisation.py). Let C be the exact
Cholesky factor of G >= m I, and ``A = G + Z``, ``||Z||_F <= f < m``, the matrix of which L^ and U^ are the
exact factors. Then ``A = C (I + X) C'`` with ``||X||_F <= f/m``, and for ``theta = f / (m - f) <= 1/8``:

1. A Schur complement of I + X is I + S, of which the first row is ``X_k - X_k< (I + X_<)^{-1} X_<``: no
   longer than ``||X_k|| / (1 - theta)``, X_k the row of X. So ``I + X = L1 U1`` with ``||U1 - I||_F <=
   theta / (1 - theta)``, and alike ``||L1 - I||_F <= theta / (1 - 2 theta)``, as pivots are at least
   ``1 - theta / (1 - theta)``.
2. ``|L^||U^| = |C L1||U1 C'|``, for the scaling of columns by pivots cancels. With the two numbers at most
   ``4/3 theta`` and ``|| |C| ||_2^2 <= ||C||_F^2 = trace(G)``,

       || |L^||U^| - |C||C'| ||_F <= 3 theta trace(G)    where the left is positive.

3. The factor that the judge computes is the exact one of a matrix that differs from G by its own f; so
   ``|C||C'|`` differs from its own product by as much, with a root of the pivots more: 5 theta trace(G).

With both doubts in one f, entry by entry ``|dG D^| <= gamma_k |C||C'||D^|`` but for a vector of a length of
at most ``8 gamma_k theta trace(G) ||D^||``. f is the error of what is held, twice for Cholesky, which reads
one triangle, and ``2 gamma_{b+8} trace(G)`` for the factorisation itself, of solver and judge each. Where
theta is larger, or G is factored with pivoting, the bound by the trace stands.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import compiled_borrowing
from sstep_verify.rounding.arithmetic import OUTWARD


@compiled_borrowing
def solve_underflow(constants, trace, block):
    """What numbers of a step that underflow add to what it leaves of its right-hand side (residual.py)."""
    return (
        constants.sums.underflow
        * (1.0 + 1.0 / constants.penalty + constants.factors.growth * trace)
        * block
    )


@compiled_borrowing
def factored(system, factor):
    """Set the Cholesky factor of a symmetric (b, b) matrix, of which the lower triangle is read.

    Returns False where a pivot is not positive.
    """
    block = system.shape[0]
    for column in range(block):
        for row in range(column, block):
            factor[column, row] = system[row, column]
    # Transposed, in the upper triangle: each row is subtracted from those below it, entry after entry.
    for column in range(block):
        if not 0.0 < factor[column, column] < np.inf:
            return False
        root = np.sqrt(factor[column, column])
        factor[column, column] = root
        for row in range(column + 1, block):
            factor[column, row] /= root
        for row in range(column + 1, block):
            share, rest, taken = factor[column, row], factor[row, row:], factor[column, row:]
            for place in range(rest.size):
                rest[place] -= share * taken[place]
    for column in range(block):
        for row in range(column + 1, block):
            factor[row, column], factor[column, row] = factor[column, row], 0.0
    return True


@compiled_borrowing
def solve_errors(constants, factor, sizes, doubt, trace, bound):
    """Add to `bound`, (b,), what a solve may leave of each right-hand side; return what all may share.

    That is over ``||D^||_2``, and infinite, with nothing added, where theta is beyond 1/8. `factor` is the
    judge's Cholesky factor of G, `sizes` bound the computed increment, and `doubt` (f) how far the matrices
    of which the solver's and the judge's factors are exact may be from G.
    """
    theta = doubt / (constants.factors.modulus - doubt) * OUTWARD
    if not (doubt < constants.factors.modulus and theta <= 0.125):
        return np.inf
    block = sizes.size
    for column in range(block):
        reach = 0.0
        for row in range(column, block):
            reach += abs(factor[row, column]) * sizes[row]
        for row in range(column, block):
            bound[row] += constants.solve * abs(factor[row, column]) * reach
    return 8.0 * constants.solve * theta * trace * OUTWARD
