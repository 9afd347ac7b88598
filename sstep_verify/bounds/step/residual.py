"""Bound B' for K-RR: the residual that a logged block step of any correct implementation may leave.

A log tells the new values of the block B of each step, so a is known exactly before every step. The
increment D^ that the solver computed solves ``(G + dG) D^ = r + dr`` with ``G = K_BB/lambda + m I`` and the
residual ``r = y_B - m a_B - K_B a/lambda`` at the run's own a (rounding/block/local.py), so no system need
be solved to judge it: for each coordinate of the block

    |r - G D^| = |dG D^ - dr| <= |dG| |D^| + |dr|.

The logged increment D (exact difference of logged values) differs from D^ by the rounding of what is
stored: e_t of rounding/sums.py. With e the bound on that,

    |r - G D| <= |dG| (|D| + e) + |dr| + |G| e.

dG is the error of the entries held, ``delta_BB/lambda + gamma_3 |G|``, and the backward error of the
solve. Corrections of dr are formed with D^_t, not D_t, of the steps t before:
``|K_B| e_t / lambda`` is part of dr. In the M-norm of a, the step's error is at most the 2-norm of this
residual over sqrt(m), since G >= m I; no factor grows with s but in the count of roundings
(rounding/sums.py).

The judge forms ``r - G D`` in float64 from kernel rows of its own: its roundings of r, ``gamma_{b+10}`` of
``|G| |D|``, and its own delta, which like the solver's meets ``|D| + e``, are added. As in
bounds/step/clip.py, `bounded` holds the largest |a| so far in the run plus the ``|D_t| + e_t`` of the steps
since the window's start, `increment_error` the e_t alone.

A number of the solve may overflow though right-hand side and increment do not: nothing is promised unless
``4 b^2 T (|r| + |D^|)``, T the largest entry of the factors' product, is a number.

Operations on numbers that underflow add the smallest number each: products with a, which are then divided
by lambda; those of the solve, whose pivots are at least sqrt(m) >= 1 and whose factors' entries at most
T, ``b^2 (1 + 3 b T)`` of them in all (rounding/block/factorisation.py); and the increment's own, which G
multiplies. All of them together are below ``b underflow (1 + 1/lambda + T)``, underflow the smallest number
times the count of operations.

*The backward error of the solve.* rounding/block/factorisation.py bounds the factors by trace(G), whatever
G is. The judge has G, so it can
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
theta is larger, or G is factored with pivoting or by orthogonal transformations, the bound by the trace
stands.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.compiled import inlined
from sstep_verify.declaration import Declaration
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, rounded_up, smallest_subnormal, unit_roundoff
from sstep_verify.rounding.block.factorisation import LDL, Factors, factors_of
from sstep_verify.rounding.kernel.entries import KernelEntries
from sstep_verify.rounding.right_hand_side import Quotient, quotients
from sstep_verify.rounding.sums import (
    FROZEN,
    NOT_FACTORED,
    SOLVED,
    Factored,
    SumConstants,
    sum_constants,
)


class SolveConstants(NamedTuple):
    """What the bound of every block step of a window is made from.

    Parameters
    ----------
    sums : SumConstants
        Of the right-hand sides.
    system : float
        gamma_3 of the entries of G.
    factors : Factors
        Of the factorisation; the size of G is its trace.
    solve, doubt : float
        gamma of the product of the factors; what the factorisations of solver and judge may move G by,
        over trace(G).
    judge : float
        gamma of the judge's own product G D.
    penalty : float
        Regularisation (lambda).
    """

    sums: SumConstants
    system: float
    factors: Factors
    solve: float
    doubt: float
    judge: float
    penalty: float


def solve_constants(
    declaration: Declaration,
    samples: int,
    support: int,
    width: int,
    block: int,
    penalty: float,
    factored: Factored = NOT_FACTORED,
    *,
    judge: bool = True,
) -> SolveConstants:
    """Constants of all steps of windows of `width` blocks from an a with at most `support` nonzero entries.

    Parameters
    ----------
    declaration : Declaration
        Precision, form of the update, factorisation.
    samples, support, width, block : int
        Number of samples (m), nonzero entries of a at most (p), steps of a window (s), coordinates of a
        block (b).
    penalty : float
        Regularisation (lambda).
    factored : Factored
        Cost of products formed from the samples, where the solver may do so.
    judge : bool
        Whether the judge's own float64 evaluation is part of the bound.

    Raises
    ------
    InputError
        If the factorisation is unknown.
    """
    drawn, factors = width * block, factors_of(declaration, block, float(samples))
    u, judge_u = unit_roundoff(declaration.precision), unit_roundoff("float64") if judge else 0.0
    additions = drawn + width
    operations = (samples + drawn) * (1.0 + factored.length) + 3 * block * (block + 3) + 8
    sums = sum_constants(
        declaration, samples, support, drawn, (5, block + 10, 3), operations + factored.features, factored,
        FROZEN if declaration.update == "frozen" else SOLVED, additions=additions, judge=judge,
    )  # fmt: skip
    return SolveConstants(
        sums=sums,
        system=gamma(3, u),
        factors=factors,
        solve=factors.backward / 2.0 if factors.kind == LDL and block > 1 else factors.backward,
        doubt=2.0 * (gamma(block + 8, u) + gamma(block + 8, unit_roundoff("float64"))),
        judge=gamma(block + 10, judge_u),
        penalty=penalty,
    )


def ridge_errors(
    entries: KernelEntries, penalty: float, precision: str, *, judge: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sizes of ``K / lambda`` that roundings multiply, and the errors of its entries, each (c, m).

    The errors are ``delta / lambda`` of the solver and, unless steps are exact, the judge together; last,
    (c,), stands the judge's largest of each row. An entry that is not 0 may be so small that its quotient
    underflows, and what multiplies that so large that it counts.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        some = entries.term_sizes + entries.solver_error > 0.0
        _, solver, size = quotients(entries, Quotient(penalty, smallest_subnormal(precision)))
        errors = rounded_up(solver + entries.judge_error / penalty) if judge else solver
        sizes, errors = np.nan_to_num(np.where(some, (size, errors), 0.0), nan=np.inf, posinf=np.inf)
        return sizes, errors, rounded_up(entries.judge_error.max(axis=1) / penalty)


@inlined
def solve_underflow(constants, trace, block):
    """What numbers of a step that underflow add to what it leaves of its right-hand side (residual.py)."""
    return (
        constants.sums.underflow
        * (1.0 + 1.0 / constants.penalty + constants.factors.growth * trace)
        * block
    )


@inlined
def factored(system, factor):
    """Set the transposed Cholesky factor of a symmetric (b, b) matrix, of which the lower triangle is read.

    It stands in the upper triangle, each row of it side by side. Four pivots at a time are subtracted from
    a row below them, one after the other: so it is read and written once for all of them. Returns False
    where a pivot is not positive.
    """
    block = system.shape[0]
    for column in range(block):
        for row in range(column, block):
            factor[column, row] = system[row, column]
    for first in range(0, block, 4):
        last = min(first + 4, block)
        for pivot in range(first, last):
            if not 0.0 < factor[pivot, pivot] < np.inf:
                return False
            root = np.sqrt(factor[pivot, pivot])
            factor[pivot, pivot] = root
            taken = factor[pivot, pivot + 1 :]
            for place in range(taken.size):
                taken[place] /= root
            for row in range(pivot + 1, last):
                rest, share, taken = factor[row, row:], factor[pivot, row], factor[pivot, row:]
                for place in range(rest.size):
                    rest[place] -= share * taken[place]
        for row in range(last, block):
            rest, one, two = factor[row, row:], factor[first, row:], factor[first + 1, row:]
            three, four = factor[first + 2, row:], factor[first + 3, row:]
            a, b, c, d = one[0], two[0], three[0], four[0]
            for place in range(rest.size):
                left = rest[place] - a * one[place] - b * two[place]
                rest[place] = left - c * three[place] - d * four[place]
    return True


@inlined
def solve_errors(constants, factor, sizes, doubt, trace, bound):
    """Add to `bound`, (b,), what a solve may leave of each right-hand side; return what all may share.

    That is over ``||D^||_2``, and infinite, with nothing added, where theta is beyond 1/8. `factor` is the
    judge's Cholesky factor of G, transposed, `sizes` bound the computed increment, and `doubt` (f) how far
    the matrices of which the solver's and the judge's factors are exact may be from G.
    """
    theta = doubt / (constants.factors.modulus - doubt) * ROUND_UP
    if not (doubt < constants.factors.modulus and theta <= 0.125):
        return np.inf
    block = sizes.size
    for column in range(block):
        reach = 0.0
        for row in range(column, block):
            reach += abs(factor[column, row]) * sizes[row]
        for row in range(column, block):
            bound[row] += constants.solve * abs(factor[column, row]) * reach
    return 8.0 * constants.solve * theta * trace * ROUND_UP
