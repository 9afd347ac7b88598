"""Exact conversion: every number the reference accepts has one rational value."""

from __future__ import annotations

import operator
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath.libmp import to_rational

from sstep_reference.errors import InvalidInputError


def exact_fraction(x: Any) -> Fraction:
    """Return the exact rational value of a number, without rounding.

    Parameters
    ----------
    x : int, float, Fraction, numpy scalar, mpmath mpf, flint fmpz, fmpq or exact arb
        The number.

    Raises
    ------
    InvalidInputError
        If the number is not finite, is a ball of positive radius, or is of an unknown type.
    """
    if isinstance(x, Fraction):
        return x
    if isinstance(x, (int, np.integer)):
        return Fraction(int(x))
    if hasattr(x, "is_exact"):  # before _mpf_ is asked for: a ball has that too, without its radius
        return _from_ball(x)
    try:
        if isinstance(x, (float, np.floating)):
            return Fraction(*x.as_integer_ratio())
        if hasattr(x, "_mpf_"):
            return Fraction(*to_rational(x._mpf_))
        if hasattr(x, "numerator"):
            return Fraction(int(x.numerator), int(x.denominator))
        return Fraction(operator.index(x))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"{x!r} has no exact rational value; needed is a finite real number"
        ) from error


def _from_ball(x: Any) -> Fraction:
    if not x.is_finite():
        raise InvalidInputError(f"{x!r} has no exact rational value; needed is a finite real number")
    if not x.is_exact():
        raise InvalidInputError(f"{x!r} is a ball of positive radius; take its midpoint x.mid() first")
    mantissa, exponent = (int(part) for part in x.man_exp())
    return Fraction(mantissa) * Fraction(2) ** exponent
