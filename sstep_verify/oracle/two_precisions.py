"""Numbers evaluated by mpmath at p and at 2p bits, whose difference stands for their error.

Every operation is made by the reference's `Mpmath` at either precision, so that an algorithm of the
reference runs at both at once. The radius of a number is the distance of its two values, plus what its
exponentials may be off by: ``2^-(p-64)`` of each, carried through later operations. That is an evaluation
with an estimate of its error, and no enclosure: nothing is rounded outwards, and nothing is proved.

A number answers about its ends what a ball of Arb answers, so that the oracle asks both alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import mpmath
from sstep_reference.arithmetic import Arithmetic, Mpmath

GUARD_BITS = 64
"""Last bits of an exponential that are not relied on."""

SIZES: Any = mpmath.MPContext()
"""Where errors are added up, to 53 bits; float64 has no numbers as small as these."""


class Evaluated:
    """A number: its values at p and at 2p bits, and what its exponentials may add to their difference.

    A comparison is true only if it is for all that both numbers may be, as that of two balls.

    Parameters
    ----------
    low, high : mpf
        The value at p and at 2p bits.
    error : mpf or 0
        What the exponentials may add; infinite where nothing is known of the number.
    """

    __slots__ = ("error", "high", "low")

    def __init__(self, low: Any, high: Any, error: Any = 0):
        self.low, self.high, self.error = low, high, error

    def __repr__(self) -> str:
        return f"Evaluated({float(self)!r}, radius {float(self.radius()):.3g})"

    def radius(self) -> Any:
        """Half the width of what the number may be."""
        radius = abs(self.high - self.low) + self.error
        return radius if radius == radius else SIZES.inf

    def is_finite(self) -> bool:
        """Whether something is known of it."""
        return self.radius() < SIZES.inf and abs(self.high) < SIZES.inf

    def is_zero(self) -> bool:
        """Whether it is certainly 0."""
        return not (self.low or self.high or self.error)

    def overlaps(self, other: Evaluated) -> bool:
        """Whether the two may be the same number."""
        if not (self.is_finite() and other.is_finite()):
            return True
        return abs(self.high - other.high) <= self.radius() + other.radius()

    def mid(self) -> Evaluated:
        """The value at 2p bits, as an exact number."""
        return self._exactly(self.high)

    def rad(self) -> Evaluated:
        """The radius, as an exact number."""
        return self._exactly(self.radius())

    def lower(self) -> Evaluated:
        """The lower end, as an exact number."""
        return self._exactly(self.high - self.radius())

    def upper(self) -> Evaluated:
        """The upper end, as an exact number."""
        return self._exactly(self.high + self.radius())

    def abs_lower(self) -> Evaluated:
        """The least absolute value, as an exact number."""
        least = abs(self.high) - self.radius()
        return self._exactly(least if least > 0 else 0)

    def abs_upper(self) -> Evaluated:
        """The largest absolute value, as an exact number."""
        return self._exactly(abs(self.high) + self.radius())

    def max(self, other: Evaluated) -> Evaluated:
        """The larger of both."""
        error = max(self.error, other.error)
        return Evaluated(max(self.low, other.low), max(self.high, other.high), error)

    def union(self, other: Evaluated) -> Evaluated:
        """All that one of both may be."""
        low = min(self.lower().high, other.lower().high)
        high = max(self.upper().high, other.upper().high)
        middle = self._exactly((low + high) / 2)
        return Evaluated(middle.low, middle.high, high - middle.high)

    def sqrt(self) -> Evaluated:
        """The root of a number that is not negative."""
        low, high = self.low.context.sqrt(self.low), self.high.context.sqrt(self.high)
        error = self.error
        if error:  # sqrt(x + e) - sqrt(x) is at most either of these.
            error = min(SIZES.sqrt(error), error / high) if high else SIZES.sqrt(error)
        return Evaluated(low, high, error)

    def _exactly(self, value: Any) -> Evaluated:
        """A number of radius 0: all its digits are those of 2p bits, whatever later operations round to."""
        high = self.high.context.mpf(value)
        return Evaluated(self.low.context.make_mpf(high._mpf_), high)

    def _unknown(self) -> Evaluated:
        zero = self._exactly(0)
        return Evaluated(zero.low, zero.high, SIZES.inf)

    def __float__(self) -> float:
        return float(self.high)

    def __abs__(self) -> Evaluated:
        return Evaluated(abs(self.low), abs(self.high), self.error)

    def __neg__(self) -> Evaluated:
        return Evaluated(-self.low, -self.high, self.error)

    def __add__(self, other: Any) -> Evaluated:
        low, high, error = _parts(other)
        return Evaluated(self.low + low, self.high + high, _plus(self.error, error))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Evaluated:
        low, high, error = _parts(other)
        return Evaluated(self.low - low, self.high - high, _plus(self.error, error))

    def __rsub__(self, other: Any) -> Evaluated:
        return -self + other

    def __mul__(self, other: Any) -> Evaluated:
        low, high, error = _parts(other)
        if self.error or error:
            error = _product_error(self.high, self.error, high, error)
        return Evaluated(self.low * low, self.high * high, error)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Evaluated:
        low, high, error = _parts(other)
        if not (low and high and abs(high) > abs(high - low) + error):
            return self._unknown()
        quotient = self.high / high
        if self.error or error:
            error = _known((SIZES.mpf(self.error) + abs(quotient) * error) / (abs(high) - error))
        return Evaluated(self.low / low, quotient, error)

    def __rtruediv__(self, other: Any) -> Evaluated:
        return self._exactly(other) / self

    def __pow__(self, exponent: int) -> Evaluated:
        power = self
        for _ in range(exponent - 1):
            power = power * self
        return power

    def __le__(self, other: Any) -> bool:
        return self._ends()[1] <= _ends(other)[0]

    def __lt__(self, other: Any) -> bool:
        return self._ends()[1] < _ends(other)[0]

    def __ge__(self, other: Any) -> bool:
        return self._ends()[0] >= _ends(other)[1]

    def __gt__(self, other: Any) -> bool:
        return self._ends()[0] > _ends(other)[1]

    def _ends(self) -> tuple[Any, Any]:
        radius = self.radius()
        return self.high - radius, self.high + radius


def _parts(value: Any) -> tuple[Any, Any, Any]:
    """Both values of a number, and the error of its exponentials; Python's own numbers are exact."""
    if isinstance(value, Evaluated):
        return value.low, value.high, value.error
    return value, value, 0


def _ends(value: Any) -> tuple[Any, Any]:
    return value._ends() if isinstance(value, Evaluated) else (value, value)


def _known(error: Any) -> Any:
    """An error, infinite where it is no number."""
    return error if error == error else SIZES.inf


def _plus(error: Any, other: Any) -> Any:
    return SIZES.mpf(error) + other if error or other else 0


def _product_error(x: Any, x_error: Any, y: Any, y_error: Any) -> Any:
    return _known(SIZES.mpf(abs(x)) * y_error + SIZES.mpf(abs(y)) * x_error + SIZES.mpf(x_error) * y_error)


class TwoPrecisions(Arithmetic):
    """Arithmetic of `Evaluated` numbers.

    Parameters
    ----------
    bits : int
        The lower precision (p); the higher one is twice that.
    """

    def __init__(self, bits: int):
        self.bits, self.low, self.high = bits, Mpmath(bits), Mpmath(2 * bits)
        self.name = f"mpmath {bits} and {2 * bits} bits"

    def number(self, x: Any) -> Evaluated:
        """Nearest numbers of p and 2p bits."""
        return x if isinstance(x, Evaluated) else Evaluated(self.low.number(x), self.high.number(x))

    def from_fraction(self, x: Fraction) -> Evaluated:
        """Nearest numbers of p and 2p bits."""
        return Evaluated(self.low.from_fraction(x), self.high.from_fraction(x))

    def dot(self, u: Iterable[Evaluated], v: Iterable[Evaluated]) -> Evaluated:
        """Sum of the products, rounded once at either precision."""
        u, v = list(u), list(v)
        error: Any = 0
        for x, y in zip(u, v, strict=True):
            if x.error or y.error:
                error = error + _product_error(x.high, x.error, y.high, y.error)
        low = self.low.dot([x.low for x in u], [y.low for y in v])
        return Evaluated(low, self.high.dot([x.high for x in u], [y.high for y in v]), error)

    def clip(self, value: Evaluated, lower: Evaluated, upper: Evaluated | None) -> Evaluated:
        """``min(max(value, lower), upper)``: exact where certainly clipped, else no farther off."""
        if not value.is_finite():
            return value if upper is None else lower.union(upper)
        if value <= lower:
            return lower
        if upper is not None and value >= upper:
            return upper
        ends = [(lower.low, lower.high), (None, None) if upper is None else (upper.low, upper.high)]
        low, high = zip(*ends, strict=True)
        return Evaluated(self.low.clip(value.low, *low), self.high.clip(value.high, *high), value.error)

    def exp(self, x: Evaluated) -> Evaluated:
        """Exponential function, of which `GUARD_BITS` are not relied on; exact of 0."""
        value = self.high.exp(x.high)
        own = SIZES.ldexp(1, GUARD_BITS - self.bits) * (not x.is_zero())
        error = SIZES.mpf(value) * (own + (1 + own) * SIZES.expm1(x.error))
        return Evaluated(self.low.exp(x.low), value, _known(error))

    def is_zero(self, x: Evaluated) -> bool:
        """Whether x is certainly 0."""
        return x.is_zero()

    def solve(self, matrix: Sequence[Sequence[Evaluated]], rhs: Sequence[Evaluated]) -> list[Evaluated]:
        """Solve a symmetric positive definite system by ``L D L'`` factorisation at either precision.

        Raises
        ------
        SingularSystemError
            If a pivot is not certainly positive.
        """
        if any(x.error for row in (*matrix, rhs) for x in row):
            return list(super().solve(matrix, rhs))
        low = self.low.solve([[x.low for x in row] for row in matrix], [x.low for x in rhs])
        high = self.high.solve([[x.high for x in row] for row in matrix], [x.high for x in rhs])
        return [Evaluated(*pair) for pair in zip(low, high, strict=True)]

    def table(self, data: Iterable[Iterable[Any]]) -> tuple[list, list]:
        """Samples at either precision."""
        rows = [list(row) for row in data]
        return self.low.table(rows), self.high.table(rows)

    def products(self, table: tuple[list, list], i: int) -> list[Evaluated]:
        """Inner products of every sample with sample i."""
        return list(_paired(self.low.products(table[0], i), self.high.products(table[1], i)))

    def squared_distances(self, table: tuple[list, list], i: int) -> list[Evaluated]:
        """Squared Euclidean distances of every sample from sample i."""
        low = self.low.squared_distances(table[0], i)
        return list(_paired(low, self.high.squared_distances(table[1], i)))


def _paired(low: Iterable[Any], high: Iterable[Any]) -> Iterator[Evaluated]:
    return (Evaluated(*pair) for pair in zip(low, high, strict=True))
