"""Proves lower bounds on the smallest eigenvalue of a positive semidefinite matrix, cheapest way first.

If a matrix R has ``||I - R H||_F <= d < 1`` then H is invertible, ``H^{-1} = (R H)^{-1} R``, and
``||(R H)^{-1}|| <= 1 / (1 - d)``: so the smallest eigenvalue of H is at least ``(1 - d) / ||R||_F``. R is
an inverse in float64 where that is good enough, and d is bounded

* in float64: for A the matrix rounded, ``d <= ||I - fl(R A)|| + (gamma_n + u') ||R|| ||A||`` and what
  underflows, gamma_n for any order of summation (N. J. Higham, Accuracy and Stability of Numerical
  Algorithms, 2nd edition, section 3.5), u' for rounding the entries;
* in balls of few bits, R being exact;
* in balls of all bits with an inverse made in balls.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb_mat
from sstep_reference.arithmetic import Balls

from sstep_verify.oracle.verify.kernel import ball_ends

FEW_BITS = 128
"""Bits at which a float64 inverse is multiplied: its own rounding is far coarser."""

_U = 2.0**-53
_SMALLEST_NORMAL = 2.0**-1022
_SQUARABLE = 2.0**-400
"""Norms above this lose nothing that counts where squares of small entries underflow."""

_ENTRY_BITS = 60
"""Accuracy of a ball from which its rounding to float64 is off by less than ``2 u`` of the result."""

_ROUND_UP = 1 + 2.0**-20
"""Covers the rounding of a norm of less than 2**30 numbers and of a few operations on norms."""


def eigenvalue_bounds(
    arithmetic: Balls, entries: list[list[Any]], most: float = math.inf
) -> Iterator[Fraction]:
    """Proved lower bounds, > 0, on the smallest eigenvalue; each that is asked for costs more to find.

    Parameters
    ----------
    arithmetic : Balls
        Arithmetic of the entries.
    entries : list of n lists of n balls
        A matrix that is positive semidefinite by nature (H).
    most : float
        Size above which nothing but the inverse in float64 is tried.
    """
    rounded = _rounded(entries)
    inverse = _float_inverse(np.array([[float(x) for x in row] for row in entries]))
    if inverse is not None and rounded is not None:
        yield from _found(_in_floats(rounded, inverse))
    if len(entries) > most:
        return
    if inverse is not None:
        with Balls(FEW_BITS).working():
            system = arb_mat([[x + 0 for x in row] for row in entries])
            yield from _found(_in_balls(arb_mat(inverse.tolist()), system))
    with arithmetic.working():
        system = arb_mat(entries)
        try:
            exact = system.inv().mid()
        except ZeroDivisionError:
            return
        yield from _found(_in_balls(exact, system))


def _found(bound: Fraction | None) -> Iterator[Fraction]:
    if bound is not None and bound > 0:
        yield bound


def _rounded(entries: list[list[Any]]) -> np.ndarray | None:
    """The matrix in float64; None where a ball is too wide or too large for that."""
    if any(x.rel_accuracy_bits() < _ENTRY_BITS and not x.is_zero() for row in entries for x in row):
        return None
    values = np.array([[float(x) for x in row] for row in entries])
    return values if np.isfinite(values).all() else None


def _float_inverse(values: np.ndarray) -> np.ndarray | None:
    if not np.isfinite(values).all():
        return None
    try:
        inverse = np.linalg.inv(values)
    except np.linalg.LinAlgError:
        return None
    return inverse if np.isfinite(inverse).all() else None


def _in_floats(values: np.ndarray, inverse: np.ndarray) -> Fraction | None:
    size = len(values)
    with np.errstate(over="ignore", invalid="ignore"):
        off = inverse @ values
        off.flat[:: size + 1] -= 1.0
        computed, inverse_norm, matrix_norm = (
            float(np.linalg.norm(part)) * _ROUND_UP for part in (off, inverse, values)
        )
    if not (inverse_norm > _SQUARABLE and matrix_norm > _SQUARABLE):
        return None
    # size u / (1 - size u) for the product, u for the subtraction of 1, 2 u for rounding the entries.
    factor = (size + 4) * _U * _ROUND_UP
    # Every entry and every product may have lost up to that, each of them up to size times.
    underflow_error = size * size * _SMALLEST_NORMAL * (1 + inverse_norm)
    defect = (computed + factor * (1 + inverse_norm * matrix_norm) + underflow_error) * _ROUND_UP
    return Fraction((1 - defect) / (inverse_norm * _ROUND_UP)) if defect < 1 else None


def _in_balls(inverse: Any, system: Any) -> Fraction | None:
    """To be called inside `working()`."""
    size = system.nrows()
    defect = (inverse * system).entries()
    for i in range(size):
        defect[i * size + i] = defect[i * size + i] - 1
    off = _frobenius(defect)
    return ball_ends((1 - off) / _frobenius(inverse.entries()))[0] if off < 1 else None


def _frobenius(entries: list[Any]) -> Any:
    """Ball that bounds the Frobenius norm from above."""
    return sum((x.abs_upper() ** 2 for x in entries), entries[0] * 0).sqrt()
