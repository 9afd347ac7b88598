"""What exchange "gram" does with a rank's columns: inner products among samples, and the weights moved."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sstep_verify.compiled import compiled, compiled_borrowing
from sstep_verify.parallel.products import features_at_once, forms_all, unsigned

SMALL, NARROW = 1 << 19, 40
"""Features of a rank times squared samples, or features alone, up to which inner products are formed in one
compiled call: what NumPy's matrix product saves by symmetry is less than its several calls cost."""

FEW = 6
"""Samples among which inner products are taken pair by pair, for less than three calls of BLAS cost."""

NEARLY_ALL = 0.9
"""Share of the samples above which the products of all of them are formed for those among some."""


class DenseLocal:
    """Operations on this rank's columns of dense data.

    Parameters
    ----------
    data : ndarray, shape (m, n_local)
        The columns.
    rows : int
        Largest number of samples asked for at once.
    """

    def __init__(self, data: np.ndarray, rows: int):
        self._data = np.ascontiguousarray(data)
        width, copied = features_at_once(self._data, rows), rows if rows > FEW else 0
        self._sampled = np.empty(copied * width)
        # Room for sums over some features, or for the products of all samples: never both at once.
        every = data.shape[0] if forms_all(self._data, rows, NEARLY_ALL) else 0
        part = (copied + 1) * copied if width < data.shape[1] else 0
        self._part = np.empty(max(part, (every + 1) * every))

    def together(self, most: int) -> bool:
        """Whether windows of so many samples need no more than `rows_among` and `rows_move`."""
        return most <= FEW or (self._small(most) and not forms_all(self._data, most, NEARLY_ALL))

    def _small(self, count: int) -> bool:
        """Whether the inner products among so many samples are formed in one compiled call."""
        features = self._data.shape[1]
        return features <= NARROW or count * count * features <= SMALL

    @property
    def rows(self) -> tuple[np.ndarray | None, ...]:
        """The last arguments of `rows_among` and `rows_move`."""
        return self._data, self._sampled, self._part, None, None, None

    def among(
        self, columns: np.ndarray, weights: np.ndarray, gram: np.ndarray, products: np.ndarray
    ) -> None:
        """Inner products among samples into `gram`, and with the weights into `products`."""
        if columns.size <= FEW:
            dense_among(self._data, columns, weights, gram, products)
            return
        if forms_all(self._data, columns.size, NEARLY_ALL):
            every = self._data.shape[0]
            square, sums = self._part[: every * every].reshape(every, every), self._part[-every:]
            np.dot(self._data, self._data.T, out=square)
            np.dot(self._data, weights, out=sums)
            take_among(square, sums, columns, gram, products)
            return
        if self._small(columns.size):
            dense_runs(self._data, columns, weights, self._sampled, self._part, gram, products)
            return
        if self._sampled.size >= columns.size * weights.size:
            sampled = self._sampled[: columns.size * weights.size].reshape(columns.size, -1)
            np.take(self._data, columns, axis=0, out=sampled, mode="clip")
            np.dot(sampled, sampled.T, out=gram)
            np.dot(sampled, weights, out=products)
            return
        count, width = columns.size, self._sampled.size // columns.size
        square, sums = (
            self._part[: count * count].reshape(count, count),
            self._part[count * count :][:count],
        )
        for left in range(0, weights.size, width):
            run = slice(left, min(left + width, weights.size))
            sampled = self._sampled[: count * (run.stop - left)].reshape(count, -1)
            copy_run(self._data, columns, left, sampled)
            first = left == 0
            np.dot(sampled, sampled.T, out=gram if first else square)
            np.dot(sampled, weights[run], out=products if first else sums)
            if not first:
                gram += square
                products += sums

    def move(self, columns: np.ndarray, change: np.ndarray, weights: np.ndarray) -> None:
        """``weights += sum_p change[p] * sample(columns[p])``."""
        dense_move(self._data, columns, change, weights)

    def weights(self, vector: np.ndarray, weights: np.ndarray) -> None:
        """``weights = sum_i vector[i] * sample(i)``."""
        np.dot(vector, self._data, out=weights)


class SparseLocal:
    """Operations on this rank's columns of CSR data.

    Parameters
    ----------
    data : csr_array, shape (m, n_local)
        The columns.
    """

    def __init__(self, data: sp.csr_array):
        self._rows = (data.indptr.astype(np.uint64), unsigned(data.indices), data.data)
        self._scratch = np.zeros(data.shape[1])

    def together(self, most: int) -> bool:
        """As of `DenseLocal`: always."""
        return True

    @property
    def rows(self) -> tuple[np.ndarray | None, ...]:
        """The last arguments of `rows_among` and `rows_move`."""
        return None, self._scratch, None, *self._rows

    def among(
        self, columns: np.ndarray, weights: np.ndarray, gram: np.ndarray, products: np.ndarray
    ) -> None:
        """Inner products among samples into `gram`, and with the weights into `products`."""
        sparse_among(*self._rows, columns, weights, self._scratch, gram, products)

    def move(self, columns: np.ndarray, change: np.ndarray, weights: np.ndarray) -> None:
        """``weights += sum_p change[p] * sample(columns[p])``."""
        sparse_move(*self._rows, columns, change, weights)

    def weights(self, vector: np.ndarray, weights: np.ndarray) -> None:
        """``weights = sum_i vector[i] * sample(i)``."""
        weights[:] = 0.0
        sparse_move(*self._rows, np.arange(vector.size), vector, weights)


@compiled_borrowing
def rows_among(columns, weights, gram, products, data, scratch, part, indptr, indices, values):
    """The same as `among`, of dense data where they go `together`, or of CSR data; the others are None.

    The compiler leaves out what asks for None, hence the two questions.
    """
    if indptr is not None:
        sparse_among(indptr, indices, values, columns, weights, scratch, gram, products)
    if data is not None:
        if columns.size <= FEW:
            dense_among(data, columns, weights, gram, products)
        else:
            dense_runs(data, columns, weights, scratch, part, gram, products)


@compiled_borrowing
def rows_move(columns, change, weights, data, scratch, part, indptr, indices, values):
    """The same as `move`; arguments as of `rows_among`."""
    if indptr is not None:
        sparse_move(indptr, indices, values, columns, change, weights)
    if data is not None:
        dense_move(data, columns, change, weights)


@compiled
def take_among(square, every, columns, gram, products):
    """Take the entries among `columns` of products of all samples, and their products with the weights."""
    for place in range(columns.size):
        row = square[columns[place]]
        products[place] = every[columns[place]]
        for other in range(columns.size):
            gram[place, other] = row[columns[other]]


@compiled_borrowing
def dense_among(data, columns, weights, gram, products):
    """Inner products among a few dense rows, pair by pair, and with the weights.

    Parameters
    ----------
    data : ndarray, shape (m, n_local)
        This rank's columns of the data.
    columns : ndarray of int64, shape (c,)
        The rows.
    weights : ndarray, shape (n_local,)
        This rank's part of w.
    gram, products : ndarray, shapes (c, c) and (c,)
        Out: inner products among the rows, and with the weights.
    """
    for place in range(columns.size):
        row = data[columns[place]]
        products[place] = np.dot(row, weights)
        for other in range(place + 1):
            gram[place, other] = gram[other, place] = np.dot(row, data[columns[other]])


@compiled_borrowing
def copy_run(data, columns, left, sampled):
    """Copy a run of features, from `left` on, of some rows side by side into `sampled`, shape (c, run)."""
    right = left + sampled.shape[1]
    for place in range(columns.size):
        row = data[columns[place], left:right]
        for feature in range(row.size):
            sampled[place, feature] = row[feature]


@compiled
def dense_runs(data, columns, weights, sampled, part, gram, products):
    """The same among more rows, copied side by side, some features of them at once.

    `sampled` is scratch of at least c values, and `part` of ``c**2 + c`` where that is too little for all
    features.
    """
    count = columns.size
    if weights.size == 0:
        gram[:] = 0.0
        products[:] = 0.0
        return
    width = min(sampled.size // count, weights.size)
    for left in range(0, weights.size, width):
        right = min(left + width, weights.size)
        some = sampled[: count * (right - left)].reshape(count, right - left)
        copy_run(data, columns, left, some)
        if left == 0:
            np.dot(some, some.T, gram)
            np.dot(some, weights[left:right], products)
            continue
        square, sums = part[: count * count].reshape(count, count), part[count * count :][:count]
        np.dot(some, some.T, square)
        np.dot(some, weights[left:right], sums)
        for place in range(count):
            products[place] += sums[place]
            for other in range(count):
                gram[place, other] += square[place, other]


@compiled_borrowing
def dense_move(data, columns, change, weights):
    """Add multiples of dense rows to the weights."""
    for place in range(columns.size):
        factor = change[place]
        if factor != 0.0:
            row = data[columns[place]]
            for feature in range(weights.size):
                weights[feature] += factor * row[feature]


@compiled_borrowing
def sparse_among(indptr, indices, values, columns, weights, scratch, gram, products):
    """Inner products among sparse rows, one spread out at a time; `scratch` is zero on entry and exit."""
    for place in range(columns.size):
        begin, end = indptr[columns[place]], indptr[columns[place] + 1]
        total = 0.0
        for entry in range(begin, end):
            scratch[indices[entry]] = values[entry]
            total += values[entry] * weights[indices[entry]]
        products[place] = total
        for other in range(place, columns.size):
            total = 0.0
            for entry in range(indptr[columns[other]], indptr[columns[other] + 1]):
                total += values[entry] * scratch[indices[entry]]
            gram[place, other] = total
            gram[other, place] = total
        for entry in range(begin, end):
            scratch[indices[entry]] = 0.0


@compiled_borrowing
def sparse_move(indptr, indices, values, columns, change, weights):
    """Add multiples of sparse rows to the weights."""
    for place in range(columns.size):
        factor = change[place]
        if factor != 0.0:
            for entry in range(indptr[columns[place]], indptr[columns[place] + 1]):
                weights[indices[entry]] += factor * values[entry]
