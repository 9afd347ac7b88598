"""Is a part of ``Q + omega I`` positive definite, and with which smallest eigenvalue? Searched and proved.

Proof in float64: if Cholesky's factorisation of a matrix A runs to its end, ``A + dA = R'R`` with
``||dA||`` bounded, so no eigenvalue of A is below ``-||dA||``. A is the matrix in question, rounded,
minus a shift. Where float64 does not reach, the matrix is inverted in balls: ``Q + omega I`` is positive
semidefinite by nature, and then its smallest eigenvalue is at least ``1 / ||inverse||_F``.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.linalg

from sstep_verify.numerics.rounding import OUTWARD, cholesky_error, gamma, smallest, unit_roundoff
from sstep_verify.oracle.balls.decimals import lower_fraction
from sstep_verify.oracle.balls.feature_map import rank_limit
from sstep_verify.oracle.balls.svm_balls import BallDual
from sstep_verify.oracle.verify.record import DEFINITE, SINGULAR, UNDECIDED

MOST_INVERTED = 400
"""Largest matrix that is inverted in balls."""

_U = unit_roundoff("float64")


def smallest_eigenvalue(dual: BallDual, places: list[int]) -> tuple[str, Fraction]:
    """Decide whether ``Q + omega I`` is positive definite on some coordinates.

    Parameters
    ----------
    dual : BallDual
        The problem in balls.
    places : list of int
        Coordinates.

    Returns
    -------
    matrix : {"positive definite", "singular", "undecided"}
        What was proved.
    eigenvalue : Fraction
        Lower bound on the smallest eigenvalue, > 0 if positive definite, else 0. It is at most half of the
        inverse's Frobenius norm's reciprocal, so that it can be proved through that norm too.
    """
    shift = Fraction(1) / (2 * Fraction(dual.problem.hinge.C)) if dual.problem.hinge.shift else Fraction(0)
    if shift or not places:
        return DEFINITE, shift or Fraction(1)
    if len(places) > rank_limit(dual.problem) or _repeated(dual, places):
        return SINGULAR, Fraction(0)
    found = _by_cholesky(dual.signed(places)) or _by_inverse(dual, places)
    return (DEFINITE, found) if found else (UNDECIDED, Fraction(0))


def _repeated(dual: BallDual, places: list[int]) -> bool:
    """Whether two of the samples are the same: then two rows of Q are equal up to sign."""
    return len(np.unique(dual.problem.dense[places] + 0.0, axis=0)) < len(places)


def _by_cholesky(matrix: np.ndarray) -> Fraction | None:
    """Lower bound on the smallest eigenvalue of the exact matrix that was rounded to float64."""
    size = len(matrix)
    if not np.isfinite(matrix).all():
        return None
    values = scipy.linalg.eigvalsh(matrix)
    if not values[0] > 0:
        return None
    aim = 0.5 / float(np.linalg.norm(1.0 / values))
    rounding = 2 * _U * float(np.linalg.norm(matrix)) * OUTWARD
    trace = float(np.trace(np.abs(matrix)))
    underflow = 2 * size**2 * (1 + trace) * smallest("float64")
    backward = (cholesky_error(size, _U) * trace + underflow) * OUTWARD
    # The shift must also pay for its own subtraction from the diagonal.
    own = gamma(2, _U) * float(np.abs(np.diag(matrix)).max())
    shift = (aim + rounding + backward + own) * OUTWARD
    shifted = matrix.copy()
    shifted.flat[:: size + 1] -= shift
    try:
        scipy.linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    return Fraction(aim)


def _by_inverse(dual: BallDual, places: list[int]) -> Fraction | None:
    if len(places) > MOST_INVERTED:
        return None
    arithmetic = dual.arithmetic
    with arithmetic.working():
        try:
            inverse = dual.system(places).inv().entries()
        except ZeroDivisionError:
            return None
        square = sum((value.abs_upper() ** 2 for value in inverse), arithmetic.number(0))
        if not square.is_finite():
            return None
        return lower_fraction(1 / (2 * square.sqrt()))
