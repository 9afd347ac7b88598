"""Backward error of a block solve: ``(G + dG) x^ = r`` for the declared factorisation of G >= m I.

The system that the solver holds is ``G + E``, ``||E||_F <= e``. All counts allow for quotients formed as
products with a reciprocal, a rounding more in each of the three stages, and are rounded up.

Cholesky (Higham 2002, Theorems 10.3 and 10.4): ``|dG| <= gamma_{3b+1} |R^'||R^|`` and, since the diagonal
of ``R^'R^`` is that of ``G + E`` up to gamma_{b+1}, ``|R^'||R^| <= d d' / (1 - gamma_{b+1})``, d_i the root
of that diagonal entry.

LU with partial pivoting (Theorems 9.3 and 9.4): ``|dG| <= gamma_{3b} |L^||U^|``. Multipliers are at most
1 (up to the reciprocal's roundings) and every elimination step at most doubles the largest entry, so
``||L^||_F ||U^||_F <= b(b+1)/2 (1+u)^2 (2 (1+u)^4)^{b-1} max|G + E|``. For large b this promises nothing.

Elimination without pivoting, LDL' (Theorems 9.3 and 9.4 and section 10.1). In exact arithmetic on a
symmetric G, ``|| |L||U| ||_F <= trace(G)``: the sum of the squared columns of its Cholesky factor. What is
computed is the factorisation of a matrix that is not quite symmetric, and of which it must first be shown
that elimination does not break down:

1. After k steps the computed columns of L, rows of U and Schur complement S are the exact ones of
   ``A = G + E + F`` with ``|F| <= gamma_{k+2} (|L^||U^| + |S^|)`` (Lemma 8.4, Theorem 9.3 stopped early).
2. Let ``||E + F||_F <= f < m`` and ``theta = f / (m - f) <= 1``. A = T + K, symmetric and skew part, with
   ``T >= (m - f) I`` and ``-theta T <= iK <= theta T``. A Schur complement is ``S = W'AW`` for a real W, so
   its parts satisfy the same, and then ``k_ij^2 <= theta^2 (t_ii t_jj - t_ij^2)``.
3. A step adds to ``|L||U|`` a matrix of rank one of Frobenius norm at most
   ``sum_i (s_il^2 + s_li^2) / (2 s_ll) = sum_i (s_il s_li + 2 k_il^2) / s_ll``. The first part is what the
   trace of S loses in this step, the second at most ``2 theta^2 trace(S)``; and trace(S) grows by a factor
   of at most ``1 + theta^2`` a step. With ``||S||_F <= trace(S)`` (by 2.), at every k

       || |L||U| + |S| ||_F <= (trace(G) + sqrt(b) f) (1 + 2 b theta^2 (1 + theta^2)^b).

4. If ``theta <= 1 / (4 sqrt(b))``, then ``sqrt(b) f <= m/4 <= trace(G)/4``, the last factor is at most
   ``1 + e^{1/16}/8 < 1.14``, and the whole is below ``1.5 trace(G)``; the computed factors of one step more
   are within 1 + gamma_6 of the exact ones. So ``f = e + 2 gamma_{b+8} trace(G)``, if it meets that
   condition, holds for k + 1 where it holds for k, and it holds for k = 0. Pivots stay at least m - f.
5. Both triangular solves (Theorem 8.5) and the factorisation: ``||dG||_F <= 2 gamma_{3b+12} trace(G)``.

For b = 1 the last two are a single quotient: ``|dG| <= gamma_2 |G + E|``.

Orthogonal transformations: QR, SVD, least squares, an eigendecomposition, or the pseudoinverse. Let
``H = G + E`` be the system held, ``h = trace(G) + sqrt(b) e >= ||H||_F``, and ``sigma = m - e`` what no
singular value of it is below.

1. A reflection ``I - v v'`` with ``||v||^2 = 2`` has a computed v off by gamma_{b+10} at most, and applied
   to a vector c it errs by ``2 gamma_{3b+24} ||c||`` (Higham 2002, Lemmas 19.1 and 19.2): below
   gamma_{6b+50}. QR makes b of them on H and on r, and a triangular solve: ``(H + F) x^ = r + dr`` with
   ``||F|| <= eps h``, ``||dr|| <= eps ||r||``, eps = gamma_k, k = b (6 b + 53) (Theorem 19.5).
2. SVD and eigendecomposition make 2 b of them, and then sweeps of b rotations each, of which a rotation
   errs by gamma_6. It is assumed that there are two sweeps for each singular value, more than LAPACK
   takes, and that divide and conquer errs by no more. So ``H + F = U S V'``, U and V off by eps from
   orthogonal matrices, k = b (24 b + 100). Products with both, ``sqrt(b) gamma_b`` each, and the quotients
   by S leave ``(H + F) x^ = r + dr`` alike (sections 3.5 and 19.3).
3. ``k = 32 b (b + 8)`` is more than these together, that of dr included, since
   ``||r|| <= (1 + eps) h ||x^|| + ||dr||``: so ``||dG|| <= eps h``.
4. One that forms the pseudoinverse X^ before it multiplies by r is not backward stable: what it leaves is
   ``||r - H x^|| <= eps h ||X^|| ||r||``, and ``||X^|| <= (1 + eps) / sigma``. With ``eps h <= sigma / 4``
   that is ``dG x^`` with ``||dG|| <= 4/3 eps h^2 / sigma``, which is at least the bound of 3. It holds for
   all. Where the condition is met no singular value is below 3/4 sigma, and so none is cut off as small
   next to ``eps h``: LAPACK and NumPy cut off below ``2 b u``, or 9 u, of the largest. Else nothing is
   promised.

Underflow. With t the smallest number and no computed factor's product ``|L^||U^|`` beyond T (a factor of 2
above what stands in the trace bounds, above the growth of LU; 32 b h of orthogonal transformations) every
product that underflows is off by t and every quotient by t times its divisor, at most T. An entry of the
factorisation meets b products and multipliers: ``||dG||`` grows by ``b^2 (2 + T) t``. So does, in each
triangular solve, an entry of its right-hand side by ``(b + T) t``; what the second loses comes back through
L, of which ``|L^| |U^_kk| <= T`` and pivots are at least 1/2, so ``|L^| <= 2 T``: in all
``||dr|| <= b^2 (1 + 3 b T) t``. Numbers on the way are at most ``|L^||U^||x^|`` and sums of b of these.
"""

from __future__ import annotations

from typing import NamedTuple, assert_never

import numpy as np

from sstep_verify.compiled import inlined
from sstep_verify.declaration import Declaration
from sstep_verify.rounding.arithmetic import (
    ROUND_UP,
    gamma,
    rounded_up,
    smallest_subnormal,
    unit_roundoff,
)

CHOLESKY, LDL, LU, ORTHOGONAL = range(4)


class Factors(NamedTuple):
    """What the declared factorisation may do to a system G of b coordinates.

    Parameters
    ----------
    kind : int
        `CHOLESKY`, `LDL`, `LU` or `ORTHOGONAL`.
    backward, eliminate : float
        Backward error of a solve, and what elimination without pivoting may move G by, over its size: the
        trace, or for LU the largest entry, which is no larger.
    growth : float
        What an entry of ``|L^||U^|`` may be at most, over the size.
    modulus : float
        A number that no eigenvalue of G is below (m).
    """

    kind: int
    backward: float
    eliminate: float
    growth: float
    modulus: float


def factors_of(declaration: Declaration, block: int, modulus: float) -> Factors:
    """Of blocks of b coordinates; Cholesky's counts have a rounding more in each of the three stages."""
    u, single = unit_roundoff(declaration.precision), block == 1
    match declaration.factorisation:
        case "cholesky":
            return Factors(CHOLESKY, gamma(3 * block + 4, u) / (1 - gamma(block + 2, u)), 0.0, 2.0, modulus)
        case "ldl":
            backward = gamma(2, u) if single else 2 * gamma(3 * block + 12, u)
            return Factors(LDL, backward, 2 * gamma(block + 8, u), 2.0, modulus)
        case "lu":
            # A thousand doublings exceed every eigenvalue of G already, and do not overflow.
            growth = (2 * (1 + u) ** 4) ** min(block - 1, 1000)
            backward = gamma(2, u) if single else gamma(3 * block + 6, u) * block * (block + 1) / 2
            return Factors(LU, backward * growth, 0.0, growth, modulus)
        case "orthogonal":
            return Factors(ORTHOGONAL, gamma(32 * block * (block + 8), u), 0.0, 32.0 * block, modulus)
        case _:
            assert_never(declaration.factorisation)


@inlined
def solve_error(factors, size, given, underflow, block):
    """Bound on ``||dG||_2`` of one block solve; infinite where the factorisation may break down.

    `given` bounds the Frobenius norm of the error of the system held (e), which is not included;
    `underflow` what underflow adds.
    """
    if factors.kind == ORTHOGONAL:
        held, least = size + np.sqrt(block) * given, factors.modulus - given
        if not 4.0 * factors.backward * held * ROUND_UP <= least:
            return np.inf
        return 4.0 / 3.0 * factors.backward * held * (held / least) * ROUND_UP + underflow
    if factors.kind == CHOLESKY:
        return factors.backward * (size + np.sqrt(block) * given) + underflow
    if block == 1:
        return factors.backward * (size + given)
    if factors.kind == LU:
        return factors.backward * (size + given) + underflow
    moved = (given + factors.eliminate * size + underflow) * ROUND_UP
    if not moved <= (factors.modulus - moved) / (4.0 * np.sqrt(block)) / ROUND_UP:
        return np.inf
    return factors.backward * size + underflow


@inlined
def factors_size(factors, size, given, block):
    """Bound on any entry of ``|L^||U^|`` (T)."""
    return factors.growth * (size + (given if factors.kind == LU else np.sqrt(block) * given))


@inlined
def solve_numbers(factors, size, given, block, length):
    """Bound on any number of one block solve: it may overflow though right-hand side and increment do not.

    `length` bounds the norms of these together. Of orthogonal transformations columns are squared.
    """
    largest = factors_size(factors, size, given, block)
    squared = max(largest, 1.0) if factors.kind == ORTHOGONAL else 1.0
    return 4.0 * block**2 * largest * squared * max(length, 1.0)


class SolveBound(NamedTuple):
    """Of one block solve: ``||dG||_2`` at most, T, what underflow adds to the right-hand side's norm."""

    error: float
    largest: float
    underflow: float


def solve_bound(system: np.ndarray, given: float, modulus: float, declaration: Declaration) -> SolveBound:
    """Bound one block solve.

    `system`, shape (b, b), bounds the absolute values of the entries of the exact G, diagonal included,
    `given` the Frobenius norm of the difference between the system held and G (e); no eigenvalue of G is
    below `modulus` (m).
    """
    block, subnormal = system.shape[0], smallest_subnormal(declaration.precision)
    factors, given = factors_of(declaration, block, float(modulus)), float(given)
    size = float(np.max(system) if factors.kind == LU else np.trace(system))
    largest = factors_size(factors, size, given, block)
    error = solve_error(factors, size, given, block**2 * (2 + largest) * subnormal, block)
    return SolveBound(error, largest, rounded_up(block**2 * (1 + 3 * block * largest) * subnormal))
