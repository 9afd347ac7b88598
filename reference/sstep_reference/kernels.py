"""Kernel columns over an arithmetic object: from samples, or from a given Gram matrix."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from sstep_reference.arithmetic import Arithmetic
from sstep_reference.arithmetic.base import Scalar, Vector
from sstep_reference.errors import InvalidInputError

CACHED_NUMBERS = 2_000_000
"""Numbers kept in the column cache of one kernel (about 100 bytes each as balls of 256 bits)."""


class Columns(ABC):
    """The columns of a symmetric m x m matrix, made one at a time and kept in a bounded cache.

    Parameters
    ----------
    arithmetic : Arithmetic
        Number system of the entries.
    samples : int
        Number of columns (m).
    """

    def __init__(self, arithmetic: Arithmetic, samples: int):
        self.arithmetic = arithmetic
        self.samples = samples
        self._capacity = max(1, CACHED_NUMBERS // max(1, samples))
        self._cache: OrderedDict[int, Vector] = OrderedDict()
        self._matrix: Any = None
        self._labelled: tuple[list[Any], Labelled] | None = None

    @abstractmethod
    def values(self, i: int, count: int) -> Sequence[Scalar]:
        """First `count` entries of column i."""

    def column(self, i: int) -> Vector:
        """Column i as a vector of length m: row l holds ``K(a_l, a_i)``. Not to be modified.

        Raises
        ------
        InvalidInputError
            If i is not in 0..m-1.
        """
        i = int(i)
        if not 0 <= i < self.samples:
            raise InvalidInputError(f"column {i} asked of {self.samples} samples (0..{self.samples - 1})")
        if i not in self._cache:
            if len(self._cache) >= self._capacity:
                self._cache.popitem(last=False)
            self._cache[i] = self._make(i)
        self._cache.move_to_end(i)
        return self._cache[i]

    def columns(self, indices: Iterable[int]) -> list[Vector]:
        """Columns of the given samples, in that order: the panel."""
        return [self.column(i) for i in indices]

    def matrix(self) -> Any:
        """Full matrix: an m x m arb_mat for `Balls`, a list of m vectors otherwise.

        Made once, from one triangle, and kept; `column` is then served from it.
        """
        if self._matrix is None:
            m = self.samples
            triangle = [self.values(i, i + 1) for i in range(m)]
            rows = [[triangle[max(i, j)][min(i, j)] for j in range(m)] for i in range(m)]
            self._matrix = self.arithmetic.matrix(rows)
            self._cache.clear()
        return self._matrix

    def labelled(self, labels: Iterable[Any]) -> Labelled:
        """Matrix ``diag(y) K diag(y)`` of the labels; kept, so repeated calls share its columns.

        Raises
        ------
        InvalidInputError
            If the labels are not m values, each -1 or +1.
        """
        given = list(labels)
        if self._labelled is not None and self._labelled[0] == given:
            return self._labelled[1]
        signs = tuple(1 if y == 1 else -1 if y == -1 else 0 for y in given)
        if len(signs) != self.samples or 0 in signs:
            raise InvalidInputError(
                f"labels must be {self.samples} values, each -1 or +1; got {given!r:.80}"
            )
        self._labelled = (given, Labelled(self, signs))
        return self._labelled[1]

    def _make(self, i: int) -> Vector:
        if self._matrix is not None:
            return self.arithmetic.matrix_row(self._matrix, i)
        return self.arithmetic.left_factor(self.values(i, self.samples))


class Formula(NamedTuple):
    """One kernel function.

    Parameters
    ----------
    values : callable
        ``values(arithmetic, table, i, count, parameters)``: its first `count` values with sample i.
    defaults : dict
        Parameters it has, and what they are if not given.
    valid : callable
        Whether these parameters make it positive semidefinite.
    needed : str
        What `valid` asks for, in words.
    """

    values: Callable[[Arithmetic, Any, int, int, dict[str, Any]], Sequence[Scalar]]
    defaults: Mapping[str, Any] = MappingProxyType({})
    valid: Callable[[dict[str, Any]], bool] = lambda parameters: True
    needed: str = ""


def _linear(a: Arithmetic, table: Any, i: int, count: int, given: dict[str, Any]) -> Sequence[Scalar]:
    return a.products(table, i)[:count]


def _polynomial(a: Arithmetic, table: Any, i: int, count: int, given: dict[str, Any]) -> Sequence[Scalar]:
    offset, degree = a.number(given["offset"]), int(given["degree"])
    return [a.power(offset + product, degree) for product in a.products(table, i)[:count]]


def _rbf(a: Arithmetic, table: Any, i: int, count: int, given: dict[str, Any]) -> Sequence[Scalar]:
    sigma = a.number(given["sigma"])
    return a.exponentials([-(sigma * distance) for distance in a.squared_distances(table, i)[:count]])


FORMULAS: dict[str, Formula] = {
    "linear": Formula(_linear),
    "polynomial": Formula(
        _polynomial,
        {"degree": 3, "offset": 0},
        lambda given: int(given["degree"]) == given["degree"] >= 2 and given["offset"] >= 0,
        "an integer degree >= 2 and an offset >= 0",
    ),
    "rbf": Formula(_rbf, {"sigma": 1}, lambda given: given["sigma"] > 0, "sigma > 0"),
}
"""Kernel functions by name. Source: Table 1."""


class Kernel(Columns):
    """Kernel of dense samples.

    Linear ``<x, z>``; polynomial ``(offset + <x, z>)**degree``; RBF ``exp(-sigma ||x - z||^2)``, its
    distances by direct difference (balls: by norm expansion, whose cancellation the radius accounts for).

    Parameters
    ----------
    arithmetic : Arithmetic
        Number system; the data and the parameters are converted by its `number`, exactly where possible.
    data : array_like, shape (m, n)
        Samples (A), one a row; floats or rationals.
    name : str
        Which kernel: one of `FORMULAS`.
    **parameters : number
        Parameters of the kernel: degree and offset (polynomial), sigma (RBF); those of others are ignored.

    Raises
    ------
    InvalidInputError
        If the name is unknown, a parameter it uses is out of range, or the data are empty or ragged.
    UnsupportedOperationError
        When a column of the RBF kernel is asked for in rational arithmetic.

    Notes
    -----
    Source: Table 1.
    """

    def __init__(self, arithmetic: Arithmetic, data: Sequence[Sequence[Any]], name: str, **parameters: Any):
        super().__init__(arithmetic, len(data))
        if name not in FORMULAS:
            raise InvalidInputError(f"kernel {name!r} is unknown; known: {', '.join(FORMULAS)}")
        self.name, self._formula = name, FORMULAS[name]
        defaults = self._formula.defaults
        self.parameters = {key: parameters.get(key, default) for key, default in defaults.items()}
        if not self._formula.valid(self.parameters):
            given = ", ".join(f"{key} = {value}" for key, value in self.parameters.items())
            raise InvalidInputError(f"{name} kernel: {given}; needed: {self._formula.needed}")
        widths = {len(row) for row in data}
        if len(widths) != 1:
            raise InvalidInputError(
                f"data: rows of lengths {sorted(widths)}; needed are m >= 1 rows of one length"
            )
        self._table = arithmetic.table(data)

    def values(self, i: int, count: int) -> Sequence[Scalar]:
        """First `count` entries of column i, computed again."""
        with self.arithmetic.working():
            return self._formula.values(self.arithmetic, self._table, i, count, self.parameters)


class Gram(Columns):
    """A given symmetric positive semidefinite matrix, with the interface of `Kernel`.

    Parameters
    ----------
    arithmetic : Arithmetic
        Number system.
    matrix : array_like, shape (m, m)
        Entries: floats or rationals.

    Raises
    ------
    InvalidInputError
        If the matrix is not square and symmetric.
    """

    def __init__(self, arithmetic: Arithmetic, matrix: Sequence[Sequence[Any]]):
        super().__init__(arithmetic, len(matrix))
        m = self.samples
        if any(len(row) != m for row in matrix):
            raise InvalidInputError(f"Gram matrix: {m} rows, but not all of them have {m} entries")
        for i in range(m):
            for j in range(i):
                if matrix[i][j] != matrix[j][i]:
                    raise InvalidInputError(
                        f"Gram matrix: entry ({i}, {j}) is {matrix[i][j]},"
                        f" but entry ({j}, {i}) is {matrix[j][i]}"
                    )
        self._rows = [arithmetic.vector(row) for row in matrix]

    def values(self, i: int, count: int) -> Sequence[Scalar]:
        """First `count` entries of column i."""
        return [self._rows[i][j] for j in range(count)]


class Labelled(Columns):
    """The matrix ``Q = diag(y) K diag(y)`` of a K-SVM: the labels multiply the kernel.

    Parameters
    ----------
    kernel : Columns
        Kernel (K).
    signs : tuple of int
        Labels (y), each -1 or +1.
    """

    def __init__(self, kernel: Columns, signs: tuple[int, ...]):
        super().__init__(kernel.arithmetic, kernel.samples)
        self._kernel = kernel
        self._signs = signs

    def values(self, i: int, count: int) -> Sequence[Scalar]:
        """First `count` entries of column i: ``y_l K(a_l, a_i) y_i``; a change of sign rounds nothing."""
        own, rows = self._signs[i], zip(self._signs[:count], self._kernel.column(i), strict=False)
        with self.arithmetic.working():
            return [value if sign == own else -value for sign, value in rows]
