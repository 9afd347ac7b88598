"""IEEE floating point: plain NumPy, written to be read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sstep_reference.arithmetic.base import Arithmetic, exact_fraction
from sstep_reference.errors import InvalidInputError, SingularSystemError

TYPES = (np.float32, np.float64, np.longdouble)


EXACT_INTEGERS = 2**24
"""Integers up to this size are numbers of every type here, and need no rounding."""


class Float(Arithmetic):
    """Floating point numbers of one NumPy type; vectors are arrays of that type.

    Parameters
    ----------
    dtype : {"float32", "float64", "longdouble"} or the NumPy type
        Type of every scalar and every vector.

    Raises
    ------
    InvalidInputError
        If the type is another one.
    """

    def __init__(self, dtype: Any = "float64"):
        self.dtype = np.dtype(dtype)
        if self.dtype.type not in TYPES:
            raise InvalidInputError(f"Float({dtype!r}): known types are float32, float64 and longdouble")
        self.type: Any = self.dtype.type
        self.name = {np.longdouble: "longdouble"}.get(self.type, self.dtype.name)

    def number(self, x: Any) -> Any:
        """Nearest number of the type.

        Raises
        ------
        InvalidInputError
            If x is not a finite real number, or is beyond the range of the type.
        """
        if type(x) is int and -EXACT_INTEGERS <= x <= EXACT_INTEGERS:
            return self.type(x)
        if type(x) is float and self.type is not np.float32 and np.isfinite(x):
            return self.type(x)
        return x if isinstance(x, self.type) and np.isfinite(x) else super().number(x)

    def from_fraction(self, x: Fraction) -> Any:
        """Nearest number of the type (ties to either side).

        Raises
        ------
        InvalidInputError
            If the value is beyond the range of the type.
        """
        try:
            high = float(x)
        except OverflowError as error:
            raise InvalidInputError(
                f"a value of about 2**{x.numerator.bit_length()} overflows {self.name}"
            ) from error
        with np.errstate(over="ignore", under="ignore"):
            guess = self.type(high) + self.type(float(x - Fraction(high)))
            near = [
                c for c in (np.nextafter(guess, s * self.type(np.inf)) for s in (-1, 1)) if np.isfinite(c)
            ]
        if not np.isfinite(guess):
            raise InvalidInputError(f"{high:g} overflows {self.name}")
        return min([guess, *near], key=lambda c: abs(exact_fraction(c) - x))

    def vector(self, values: Iterable[Any]) -> np.ndarray:
        """Array of the type; each value is rounded to nearest, so float64 stays exact in float64."""
        if not isinstance(values, np.ndarray):
            values = list(values)
            if any(type(x) is not self.type for x in values):
                return np.array([self.number(x) for x in values], dtype=self.dtype)
        elif values.dtype.kind != "f":
            return np.array([self.number(x) for x in values], dtype=self.dtype)
        with np.errstate(over="ignore"):
            array = np.array(values, dtype=self.dtype)
        if not np.isfinite(array).all():
            raise InvalidInputError(f"vector: an entry is not finite in {self.name}")
        return array

    def zeros(self, n: int) -> np.ndarray:
        """Vector of n zeros."""
        return np.zeros(n, dtype=self.dtype)

    def dot(self, u: np.ndarray, v: np.ndarray) -> Any:
        """Sum of the products, in whatever order NumPy takes."""
        return np.dot(u, v)

    def picked_products(
        self, vectors: Sequence[np.ndarray], places: Sequence[int], v: np.ndarray
    ) -> list[Any]:
        """As in every arithmetic, to the bit: ``accumulate`` adds one term at a time, in order."""
        if not places:
            return [self.number(0)] * len(vectors)
        chosen, used, zero = np.array(places), v[: len(places)], self.type(0)
        # A sum that begins with 0 never ends in -0.
        return [np.add.accumulate(u[chosen] * used)[-1] + zero for u in vectors]

    def exp(self, x: Any) -> Any:
        """NumPy's exponential of the type."""
        return np.exp(x)

    def is_zero(self, x: Any) -> bool:
        """Whether x is 0."""
        return bool(x == 0)

    def at_most(self, x: Any, y: Any) -> bool:
        """Whether x <= y."""
        return bool(x <= y)

    def solve(self, matrix: Sequence[np.ndarray], rhs: np.ndarray) -> np.ndarray:
        """Solve a symmetric positive definite system by elimination, a row operation at a time.

        Raises
        ------
        SingularSystemError
            If a pivot is not positive.
        """
        rows = np.array(matrix, dtype=self.dtype)
        x = np.array(rhs, dtype=self.dtype)
        b = len(x)
        for k in range(b):
            if not rows[k, k] > 0:
                raise SingularSystemError(f"pivot {k} of {b} is {rows[k, k]}, but it must be positive")
            factors = rows[k + 1 :, k] / rows[k, k]
            rows[k + 1 :, k:] -= np.outer(factors, rows[k, k:])
            x[k + 1 :] -= factors * x[k]
        for k in reversed(range(b)):
            x[k] = (x[k] - rows[k, k + 1 :] @ x[k + 1 :]) / rows[k, k]
        return x

    def table(self, data: Iterable[Iterable[Any]]) -> np.ndarray:
        """Samples as an array of shape (m, n)."""
        return np.array([self.vector(row) for row in data], dtype=self.dtype)

    def products(self, table: np.ndarray, i: int) -> np.ndarray:
        """Inner products of every sample with sample i."""
        return table @ table[i]

    def squared_distances(self, table: np.ndarray, i: int) -> np.ndarray:
        """Squared distances by direct difference: no cancellation of norms."""
        differences = table - table[i]
        return (differences * differences).sum(axis=1)
