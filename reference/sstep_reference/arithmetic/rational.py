"""Exact rationals: no rounding at all, hence equality without a tolerance."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint

from sstep_reference.arithmetic.base import Arithmetic, Scalar
from sstep_reference.errors import UnsupportedOperationError


class Rational(Arithmetic):
    """Rational numbers: flint's fmpq."""

    name = "rational"

    def from_fraction(self, x: Fraction) -> Scalar:
        """Convert the value; nothing is lost."""
        return flint.fmpq(x.numerator, x.denominator)

    def number(self, x: Any) -> Scalar:
        """Convert the value; nothing is lost."""
        return x if isinstance(x, flint.fmpq) else super().number(x)

    def exp(self, x: Scalar) -> Scalar:
        """Raise: the exponential of a rational other than 0 is irrational.

        Raises
        ------
        UnsupportedOperationError
            Always.
        """
        raise UnsupportedOperationError(
            f"exp({x}) has no rational value: use the RBF kernel with Balls or Mpmath instead of Rational"
        )
