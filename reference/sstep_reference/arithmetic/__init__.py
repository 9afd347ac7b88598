"""Arithmetic objects: the same algorithm text runs in floats, many digits, balls and rationals."""

from sstep_reference.arithmetic.balls import Balls
from sstep_reference.arithmetic.base import Arithmetic, exact_fraction
from sstep_reference.arithmetic.floating import Float
from sstep_reference.arithmetic.multiprecision import Mpmath, Rational

__all__ = ["Arithmetic", "Balls", "Float", "Mpmath", "Rational", "exact_fraction"]
