"""What exchange "gram" does with a rank's columns: inner products among samples, and the weights moved."""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dgemv, dsyrk

from sstep_verify.compiled import compiled, inlined, read_only
from sstep_verify.solver.panels.products import copy_run, features_at_once, forms_all, unsigned

SMALL, NARROW = 1 << 19, 40
"""Features of a rank times squared samples, or features alone, up to which inner products are formed in one
compiled call: what NumPy's matrix product saves by symmetry is less than its several calls cost."""

FEW = 6
"""Samples among which inner products are taken pair by pair, for less than three calls of BLAS cost."""

COPIED_SHARE = 8
"""One in so many of the data's words is copied at once: little room is needed for sums."""

NEARLY_ALL = 0.9
"""Share of the samples above which the products of all of them are formed for those among some."""


def most_small(features: int) -> int:
    """Samples of so many features up to which the inner products are formed in one compiled call."""
    return math.isqrt(SMALL // max(features, 1)) if features > NARROW else 1 << 31


class DenseLocal:
    """Operations on this rank's columns of dense data.

    `data`, (m, n_local): the columns; `rows`: largest number of samples asked for at once.
    """

    def __init__(self, data: np.ndarray, rows: int):
        self._data = read_only(np.ascontiguousarray(data))
        width, copied = features_at_once(self._data, rows, COPIED_SHARE), rows if rows > FEW else 0
        # Copied samples, and sums over some of their features; or the products of all samples.
        self._most_small = most_small(data.shape[1])
        few = min(copied, self._most_small) if width < data.shape[1] else 0
        every = data.shape[0] if forms_all(self._data, rows, NEARLY_ALL) else 0
        self._scratch = np.empty(max(copied * width + (few + 1) * few, (every + 1) * every))
        self._sampled, self._part = self._scratch[: copied * width], self._scratch[copied * width :]

    def together(self, most: int) -> bool:
        """Whether windows of so many draws need no more than `rows_among` and `rows_move`."""
        most = min(most, self._data.shape[0])
        return most <= FEW or (most <= self._most_small and not forms_all(self._data, most, NEARLY_ALL))

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
            square, sums = self._scratch[: every * every].reshape(every, every), self._scratch[-every:]
            np.dot(self._data, self._data.T, out=square)
            np.dot(self._data, weights, out=sums)
            take_among(square, sums, columns, gram, products)
            return
        if columns.size <= self._most_small:
            dense_runs(self._data, columns, weights, self._sampled, self._part, gram, products)
            return
        if self._sampled.size >= columns.size * weights.size:
            sampled = self._sampled[: columns.size * weights.size].reshape(columns.size, -1)
            np.take(self._data, columns, axis=0, out=sampled, mode="clip")
            np.dot(sampled, sampled.T, out=gram)
            np.dot(sampled, weights, out=products)
            return
        count, width = columns.size, self._sampled.size // columns.size
        products[:] = 0.0
        for left in range(0, weights.size, width):
            right = min(left + width, weights.size)
            sampled = self._sampled[: count * (right - left)].reshape(count, -1)
            copy_run(self._data, columns, left, sampled)
            # Half of the products, added in place: NumPy's would need room for those of a run.
            dsyrk(1.0, sampled.T, float(left > 0), gram.T, trans=1, lower=1, overwrite_c=1)
            dgemv(1.0, sampled.T, weights[left:right], 1.0, products, trans=1, overwrite_y=1)
        mirror(gram)

    def move(self, columns: np.ndarray, change: np.ndarray, weights: np.ndarray) -> None:
        """``weights += sum_p change[p] * sample(columns[p])``."""
        dense_move(self._data, columns, change, weights)

    def weights(self, vector: np.ndarray, weights: np.ndarray) -> None:
        """``weights = sum_i vector[i] * sample(i)``."""
        np.dot(vector, self._data, out=weights)


class SparseLocal:
    """Operations on this rank's columns of CSR data.

    `data`, (m, n_local): the columns.
    """

    def __init__(self, data: sp.csr_array):
        self._rows = data.indptr.astype(np.uint64), unsigned(data.indices), read_only(data.data)
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


@inlined
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


@inlined
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


@inlined
def dense_among(data, columns, weights, gram, products):
    """Inner products among a few rows of data (m, n_local), pair by pair, into `gram`, (c, c).

    Those with the weights, this rank's part of w, (n_local,), go into `products`, (c,).
    """
    for place in range(columns.size):
        row = data[columns[place]]
        products[place] = np.dot(row, weights)
        for other in range(place + 1):
            gram[place, other] = gram[other, place] = np.dot(row, data[columns[other]])


@compiled
def mirror(gram):
    """Copy what stands above the diagonal to below it."""
    for place in range(gram.shape[0]):
        for other in range(place):
            gram[place, other] = gram[other, place]


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


@inlined
def dense_move(data, columns, change, weights):
    """Add multiples of dense rows to the weights."""
    for place in range(columns.size):
        factor = change[place]
        if factor != 0.0:
            row = data[columns[place]]
            for feature in range(weights.size):
                weights[feature] += factor * row[feature]


@inlined
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


@inlined
def sparse_move(indptr, indices, values, columns, change, weights):
    """Add multiples of sparse rows to the weights."""
    for place in range(columns.size):
        factor = change[place]
        if factor != 0.0:
            for entry in range(indptr[columns[place]], indptr[columns[place] + 1]):
                weights[indices[entry]] += factor * values[entry]
