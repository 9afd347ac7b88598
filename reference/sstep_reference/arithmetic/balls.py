"""Balls: midpoint and proven radius, by Arb through python-flint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from sstep_reference.arithmetic.base import Arithmetic, Scalar, exact_fraction
from sstep_reference.errors import InvalidInputError, SingularSystemError

SPARSE = 4
"""Least number of entries for each that is not 0, for which samples are held by the latter alone."""


class BallVector:
    """Mutable vector of balls, kept as an n x 1 arb_mat, a 1 x n arb_mat, or both.

    A dot product is then one matrix product: row of one factor times column of the other. Either
    form is made when first needed and kept, so a kernel column pays for its row form once.

    Parameters
    ----------
    row, column : arb_mat, optional
        At least one of the two forms; it becomes the vector's own.
    """

    __slots__ = ("_column", "_row")

    def __init__(self, *, row: Any = None, column: Any = None):
        self._row = row
        self._column = column

    def __len__(self) -> int:
        return self._column.nrows() if self._column is not None else self._row.ncols()

    def __getitem__(self, i: int) -> Scalar:
        return self._column[i, 0] if self._column is not None else self._row[0, i]

    def __setitem__(self, i: int, value: Scalar) -> None:
        self.column()[i, 0] = value
        self._row = None

    def __iter__(self) -> Iterator[Scalar]:
        return iter((self._column if self._column is not None else self._row).entries())

    def row(self) -> Any:
        """Return the 1 x n arb_mat; not to be modified."""
        if self._row is None:
            self._row = type(self._column)(1, len(self), self._column.entries())
        return self._row

    def column(self) -> Any:
        """Return the n x 1 arb_mat; not to be modified."""
        if self._column is None:
            self._column = type(self._row)(len(self), 1, self._row.entries())
        return self._column

    def copy(self) -> BallVector:
        """Return an independent copy."""
        return BallVector(column=type(self.column())(self.column()))

    def __repr__(self) -> str:
        return f"BallVector({list(self)!r})"


@dataclass(frozen=True)
class BallTable:
    """Samples as an arb_mat of shape (m, n), and their m squared norms."""

    samples: Any
    norms: list[Scalar]

    def tolist(self) -> list[list[Scalar]]:
        """The samples, one row each."""
        return self.samples.tolist()

    def products(self, i: int) -> list[Scalar]:
        """Inner products of every sample with sample i, as one matrix product."""
        sample = [self.samples[i, j] for j in range(self.samples.ncols())]
        return (self.samples * type(self.samples)(len(sample), 1, sample)).entries()


@dataclass(frozen=True)
class SparseBallTable:
    """Samples by their entries that are not 0, and their m squared norms.

    Parameters
    ----------
    features : int
        Number of features (n).
    rows, columns : list of lists of (int, arb)
        By sample, feature and value; by feature, sample and value.
    norms : list of m arb
        Squared norms.
    """

    features: int
    rows: list[list[tuple[int, Scalar]]]
    columns: list[list[tuple[int, Scalar]]]
    norms: list[Scalar]

    def tolist(self) -> list[list[Scalar]]:
        """The samples, one row each."""
        samples = [[flint.arb(0)] * self.features for _ in self.rows]
        for sample, row in zip(samples, self.rows, strict=True):
            for j, value in row:
                sample[j] = value
        return samples

    def products(self, i: int) -> list[Scalar]:
        """Inner products of every sample with sample i, from the features that both have."""
        found = [flint.arb(0)] * len(self.rows)
        for j, value in self.rows[i]:
            for other, entry in self.columns[j]:
                found[other] = found[other] + value * entry
        return found


class Balls(Arithmetic):
    """Arb balls. Every result encloses the exact result of the operation on the enclosed operands.

    flint keeps one precision for the whole process; `working` sets this object's for a block. Outside
    such a block, operators on the scalars are still rigorous but at whatever precision is set.

    Parameters
    ----------
    bits : int
        Precision of midpoints, >= 32.

    Raises
    ------
    InvalidInputError
        If `bits` is less than 32.
    """

    def __init__(self, bits: int = 256):
        if bits < 32:
            raise InvalidInputError(f"Balls({bits}): the precision must be at least 32 bits")
        self.bits = bits
        self.name = f"balls {bits} bits"

    def working(self) -> AbstractContextManager[Any]:
        """Context in which flint works at this object's precision."""
        return flint.ctx.workprec(self.bits)

    def from_fraction(self, x: Fraction) -> Scalar:
        """Ball of the value: exact if the denominator is a power of two, else of this precision."""
        numerator, denominator = x.numerator, x.denominator
        if denominator & (denominator - 1) == 0:
            return flint.arb((numerator, 1 - denominator.bit_length()))
        with self.working():
            return flint.arb(flint.fmpq(numerator, denominator))

    def number(self, x: Any) -> Scalar:
        """Ball that contains x, exact for integers and floats; a ball is returned as it is."""
        if isinstance(x, flint.arb):
            return x
        if type(x) is int or (isinstance(x, float) and x - x == 0):
            return flint.arb(x)
        return self.from_fraction(exact_fraction(x))

    def vector(self, values: Iterable[Any]) -> BallVector:
        """Vector of balls; a BallVector is copied."""
        if isinstance(values, BallVector):
            return values.copy()
        if isinstance(values, np.ndarray) and values.dtype == np.float64 and np.isfinite(values).all():
            return BallVector(column=flint.arb_mat(len(values), 1, values.tolist()))
        entries = list(_plain(values))
        if set(map(type, entries)) != {flint.arb}:  # Most are, and need no look at each.
            entries = [self.number(x) for x in entries]
        return BallVector(column=flint.arb_mat(len(entries), 1, entries))

    def left_factor(self, values: Iterable[Scalar]) -> BallVector:
        """Vector of balls in row form."""
        entries = list(values)
        return BallVector(row=flint.arb_mat(1, len(entries), entries))

    def dot(self, u: BallVector, v: BallVector) -> Scalar:
        """Sum of the products, as one matrix product."""
        row, column = u.row(), v.column()
        if row.ncols() != column.nrows():
            raise InvalidInputError(f"dot product of vectors of lengths {len(u)} and {len(v)}")
        if (
            flint.ctx.prec == self.bits
        ):  # It is, in an algorithm: to set it costs as much as a short product.
            return (row * column)[0, 0]
        with self.working():
            return (row * column)[0, 0]

    def chosen(self, vector: BallVector, places: Iterable[int]) -> BallVector:
        """Vector of the entries at some places, in row form."""
        matrix = vector.row()
        return self.left_factor([matrix[0, i] for i in places])

    def clip(self, value: Scalar, lower: Scalar, upper: Scalar | None) -> Scalar:
        """Enclosure of ``min(max(value, lower), upper)``.

        The clip is continuous, so a ball that straddles an end needs no decision: the result is the
        union of both cases. An indeterminate value is enclosed by the whole
        interval, and stays as it is where there is no upper end.
        """
        with self.working():
            if not value.is_finite():
                return value if upper is None else lower.union(upper)
            result = value.max(lower)
            return result if upper is None else result.min(upper)

    def exp(self, x: Scalar) -> Scalar:
        """Exponential function."""
        with self.working():
            return x.exp()

    def exponentials(self, values: Iterable[Scalar]) -> list[Scalar]:
        """Exponential function of each value; the precision is set once for all."""
        with self.working():
            return [x.exp() for x in values]

    def is_zero(self, x: Scalar) -> bool:
        """Whether x is exactly 0, radius included."""
        return x.is_zero()

    def solve(self, matrix: Sequence[BallVector], rhs: BallVector) -> BallVector:
        """Solve a symmetric positive definite system with a proven enclosure.

        Raises
        ------
        SingularSystemError
            If the enclosure is too wide to prove the matrix invertible.
        """
        b = len(rhs)
        with self.working():
            system = flint.arb_mat(b, b, [x for row in matrix for x in row])
            try:
                return BallVector(column=system.solve(rhs.column()))
            except ZeroDivisionError as error:
                raise SingularSystemError(
                    f"a {b} x {b} system cannot be proven invertible at {self.bits} bits; use more bits"
                ) from error

    def table(self, data: Iterable[Iterable[Any]]) -> BallTable | SparseBallTable:
        """Samples with their squared norms; float64 data with few entries by these entries alone."""
        if isinstance(data, np.ndarray) and data.dtype == np.float64:
            where = np.nonzero(data)
            if SPARSE * where[0].size <= data.size:
                return self._sparse_table(data, *where)
        if isinstance(data, np.ndarray) and data.dtype == np.float64 and np.isfinite(data).all():
            rows = [[flint.arb(x) for x in row] for row in data.tolist()]
        else:
            rows = [[self.number(x) for x in _plain(row)] for row in data]
        norms = []
        with self.working():
            for row in rows:
                norms.append((flint.arb_mat(1, len(row), row) * flint.arb_mat(len(row), 1, row))[0, 0])
        return BallTable(flint.arb_mat(rows), norms)

    def _sparse_table(self, data: np.ndarray, samples: np.ndarray, features: np.ndarray) -> SparseBallTable:
        rows: list[list[tuple[int, Scalar]]] = [[] for _ in range(data.shape[0])]
        columns: list[list[tuple[int, Scalar]]] = [[] for _ in range(data.shape[1])]
        for i, j, x in zip(
            samples.tolist(), features.tolist(), data[samples, features].tolist(), strict=True
        ):
            value = self.number(x)
            rows[i].append((j, value))
            columns[j].append((i, value))
        with self.working():
            norms = [sum((value * value for _, value in row), flint.arb(0)) for row in rows]
        return SparseBallTable(data.shape[1], rows, columns, norms)

    def samples(self, table: BallTable | SparseBallTable) -> list[list[Scalar]]:
        """The samples of a table, one row each."""
        return table.tolist()

    def products(self, table: BallTable | SparseBallTable, i: int) -> list[Scalar]:
        """Inner products of every sample with sample i."""
        with self.working():
            return table.products(i)

    def squared_distances(self, table: BallTable | SparseBallTable, i: int) -> list[Scalar]:
        """Squared distances by norm expansion; its cancellation only widens the balls."""
        norms, norm = table.norms, table.norms[i]
        with self.working():
            products = self.products(table, i)
            distances = [other + norm - 2 * product for other, product in zip(norms, products, strict=True)]
        distances[i] = flint.arb(0)
        return distances

    def matrix(self, rows: Sequence[Sequence[Scalar]]) -> Any:
        """Return the rows as an arb_mat."""
        return flint.arb_mat([list(row) for row in rows])

    def matrix_row(self, matrix: Any, i: int) -> BallVector:
        """Row i of an arb_mat, as a vector in row form."""
        n = matrix.ncols()
        return BallVector(row=flint.arb_mat(1, n, [matrix[i, j] for j in range(n)]))


def _plain(values: Iterable[Any]) -> Iterable[Any]:
    """Python floats for an array of float64 (exact, and faster to convert), else the values."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64:
        return values.tolist()
    return values
