"""Many digits, mpmath numbers in a context of their own; and all of them, rationals: no rounding."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import mpmath

from sstep_reference.arithmetic.base import Arithmetic, Scalar, Vector
from sstep_reference.errors import InvalidInputError, UnsupportedOperationError


class Mpmath(Arithmetic):
    """Binary floating point with a chosen number of bits; each operation rounds to nearest.

    Parameters
    ----------
    bits : int
        Precision, >= 2. At 64 bits or more every float32, float64 and longdouble is exact.

    Raises
    ------
    InvalidInputError
        If `bits` is less than 2.
    """

    def __init__(self, bits: int = 256):
        if bits < 2:
            raise InvalidInputError(f"Mpmath({bits}): the precision must be at least 2 bits")
        self.bits = bits
        self.name = f"mpmath {bits} bits"
        self.context: Any = mpmath.MPContext()  # never the global one, whose precision others may change
        self.context.prec = bits

    def number(self, x: Any) -> Scalar:
        """Nearest number of that many bits.

        Raises
        ------
        InvalidInputError
            If x is not a finite real number.
        """
        own = isinstance(x, self.context.mpf) and self.context.isfinite(x)
        return x if own else super().number(x)

    def from_fraction(self, x: Fraction) -> Scalar:
        """Nearest number of that many bits."""
        return self.context.fraction(x.numerator, x.denominator) + 0

    def dot(self, u: Vector, v: Vector) -> Scalar:
        """Sum of the products, rounded once."""
        return self.context.fdot(zip(u, v, strict=True))

    def exp(self, x: Scalar) -> Scalar:
        """Exponential function."""
        return self.context.exp(x)


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
