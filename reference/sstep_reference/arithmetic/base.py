"""The interface that every arithmetic object has, and what most of them share.

Conversion is exact: every number the reference accepts has one rational value.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath.libmp import to_rational

from sstep_reference.errors import InvalidInputError, SingularSystemError


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


Scalar = Any
Vector = Any
Scalars = Any  # a sequence of scalars: list or array


class Arithmetic(ABC):
    """A number system. Its scalars support ``+ - * /``, unary minus and integers as operands.

    A vector has ``len``, integer ``[i]`` and ``[i] = value``, iteration and ``copy()``. Arithmetic on
    scalars of an object has to happen inside ``with arithmetic.working():`` (entered once per call of
    an algorithm); the methods of the object itself take care of this on their own.
    """

    name: str

    def working(self) -> AbstractContextManager[Any]:
        """Context in which scalar operators work at this object's precision."""
        return nullcontext()

    @abstractmethod
    def from_fraction(self, x: Fraction) -> Scalar:
        """Scalar of a rational value: equal to it where representable, else nearest or enclosing."""

    def number(self, x: Any) -> Scalar:
        """Scalar of a number: equal to it where representable, else nearest or enclosing.

        Raises
        ------
        InvalidInputError
            If x is not a finite real number.
        """
        return self.from_fraction(exact_fraction(x))

    def vector(self, values: Iterable[Any]) -> Vector:
        """Mutable vector of `number` of each value; a vector of the own kind is copied."""
        return [self.number(x) for x in values]

    def left_factor(self, values: Iterable[Scalar]) -> Vector:
        """Vector of scalars meant as the first argument of `dot`, where its storage makes a difference."""
        return self.vector(values)

    def chosen(self, vector: Vector, places: Iterable[int]) -> Vector:
        """Vector of the entries of another one at some places."""
        return self.vector([vector[i] for i in places])

    def zeros(self, n: int) -> Vector:
        """Vector of n zeros."""
        return self.vector([0] * n)

    def dot(self, u: Vector, v: Vector) -> Scalar:
        """Sum of the products ``u[l] v[l]``."""
        total = self.number(0)
        for x, y in zip(u, v, strict=True):
            total = total + x * y
        return total

    def picked_products(self, vectors: Sequence[Vector], places: Sequence[int], v: Vector) -> list[Scalar]:
        """Sum over l of ``u[places[l]] v[l]``, in that order, for each vector u; v may be longer."""
        totals = []
        for u in vectors:
            total = self.number(0)
            for place, x in zip(places, v, strict=False):
                total = total + u[place] * x
            totals.append(total)
        return totals

    def clip(self, value: Scalar, lower: Scalar, upper: Scalar | None) -> Scalar:
        """``min(max(value, lower), upper)``; an upper bound of None is infinity."""
        if value < lower:
            return lower
        if upper is not None and value > upper:
            return upper
        return value

    @abstractmethod
    def exp(self, x: Scalar) -> Scalar:
        """Exponential function.

        Raises
        ------
        UnsupportedOperationError
            In rational arithmetic.
        """

    def exponentials(self, values: Iterable[Scalar]) -> Scalars:
        """Exponential function of each value."""
        return [self.exp(x) for x in values]

    def power(self, x: Scalar, exponent: int) -> Scalar:
        """``x**exponent`` for an integer exponent >= 1, by multiplications from the left."""
        result = x
        for _ in range(exponent - 1):
            result = result * x
        return result

    def is_zero(self, x: Scalar) -> bool:
        """Whether x is certainly 0."""
        return x == 0

    def at_most(self, x: Scalar, y: Scalar) -> bool:
        """Whether certainly x <= y; False if undecided."""
        return x <= y

    def solve(self, matrix: Sequence[Vector], rhs: Vector) -> Vector:
        """Solve a symmetric positive definite system by ``L D L'`` factorisation.

        Parameters
        ----------
        matrix : sequence of b vectors of length b
            Rows (or columns: it is symmetric). Not modified.
        rhs : vector of length b
            Right-hand side. Not modified.

        Returns
        -------
        vector of length b

        Raises
        ------
        SingularSystemError
            If a pivot is not positive.
        """
        rows = [list(row) for row in matrix]
        x = list(rhs)
        b = len(x)
        for k in range(b):
            if not rows[k][k] > 0:
                raise SingularSystemError(f"pivot {k} of {b} is {rows[k][k]}, but it must be positive")
            for i in range(k + 1, b):
                factor = rows[i][k] / rows[k][k]
                for j in range(k + 1, b):
                    rows[i][j] = rows[i][j] - factor * rows[k][j]
                x[i] = x[i] - factor * x[k]
        for k in reversed(range(b)):
            for j in range(k + 1, b):
                x[k] = x[k] - rows[k][j] * x[j]
            x[k] = x[k] / rows[k][k]
        return self.vector(x)

    def table(self, data: Iterable[Iterable[Any]]) -> Any:
        """Samples, one row each, in the form `products` and `squared_distances` want."""
        return [self.vector(row) for row in data]

    def samples(self, table: Any) -> Sequence[Sequence[Scalar]]:
        """The samples of a table, one row each."""
        return table

    def products(self, table: Any, i: int) -> Scalars:
        """Inner products of every sample with sample i."""
        return [self.dot(row, table[i]) for row in table]

    def squared_distances(self, table: Any, i: int) -> Scalars:
        """Squared Euclidean distances of every sample from sample i."""
        differences = ([x - y for x, y in zip(row, table[i], strict=True)] for row in table)
        return [self.dot(d, d) for d in differences]

    def matrix(self, rows: Sequence[Sequence[Scalar]]) -> Any:
        """Matrix of scalars in the form `matrix_row` wants: a list of vectors, or an arb_mat."""
        return [self.vector(row) for row in rows]

    def matrix_row(self, matrix: Any, i: int) -> Vector:
        """Row i of a matrix made by `matrix`."""
        return matrix[i]
