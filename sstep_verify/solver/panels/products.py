"""Local panel products: inner products of sampled rows with all rows, over this rank's features."""

from __future__ import annotations

from copy import copy

import numpy as np
import scipy.sparse as sp

from sstep_verify.compiled import compiled, inlined, read_only
from sstep_verify.solver.panels.few_features import few_products

TILE_WORDS = 1 << 19
"""Words of panel written per matrix product: few enough to stay in cache while BLAS writes them."""

GATHERED_SHARE, GATHERED_LEAST, GATHERED_MOST = 12, 1 << 12, 1 << 17
"""Sampled rows are copied side by side: one in so many of the data's words at once, so that the copy is
small compared with the data, but not so few words that calls cost most, nor more than fit in cache."""


WIDE = 16
"""Features a sample from which on most of the samples' products are taken from those of all of them."""

MOST = 0.5
"""More than this share of the samples is most of them, for rows of a panel."""

FEW_FEATURES = 16
"""Most features whose products are formed without BLAS. With 8 of them a row alone takes half the time of
a matrix-vector product, 4 to 56 rows a third to four fifths of that of a matrix product."""


def forms_all(data: np.ndarray, rows: int, share: float) -> bool:
    """Whether to form the products of all samples for so many rows: more than this share of the samples.

    BLAS forms those of all with all by symmetry, half of them, and nothing is copied side by side.
    """
    samples, features = data.shape
    return rows > share * samples and features >= WIDE * samples and samples * samples <= TILE_WORDS


def features_at_once(data: np.ndarray, rows: int, share: int) -> int:
    """Features, at least one, of which so many rows are copied at once, in runs of nearly equal length."""
    words = min(max(data.size // share, GATHERED_LEAST), GATHERED_MOST)
    return max(-(-data.shape[1] // max(-(-rows * data.shape[1] // words), 1)), 1)


class DenseProducts:
    """Panel products of a dense matrix by BLAS.

    `data`, (m, n_local): this rank's columns of the data, C order; `width`: largest number of panel rows
    asked for at once.
    """

    def __init__(self, data: np.ndarray, width: int):
        self._data = read_only(np.ascontiguousarray(data))
        samples, features = data.shape
        square, self._tile = 0, max(TILE_WORDS // samples, 32)
        if forms_all(self._data, width, MOST):
            square, self._tile = samples * samples, max(int(MOST * samples), 1)
        tallest = min(width, self._tile)
        self._run = features_at_once(self._data, tallest, GATHERED_SHARE)
        # Copied samples, and sums over some of their features; or the products of all samples.
        self._copied = tallest * self._run
        part = tallest * samples if self._run < features else 0
        self._scratch = np.empty(max(square, self._copied + part))

    def into(self, panel: np.ndarray, columns: np.ndarray, first: int = 0, last: int | None = None) -> None:
        """Write ``<a_i, a_j>``, i in `columns`, first <= j < last, into `panel` (c, last - first)."""
        data = self._data if last is None and not first else self._data[first:last]
        if columns.size == 1:
            # A matrix-vector product: BLAS handles one row slowly as a matrix-matrix product.
            np.dot(data, self._data[columns[0]], out=panel[0])
            return
        if data.shape[0] == self._data.shape[0] and forms_all(data, columns.size, MOST):
            square = self._scratch[: data.shape[0] ** 2].reshape(data.shape[0], -1)
            np.dot(data, data.T, out=square)
            np.take(square, columns, axis=0, out=panel, mode="clip")
            return
        # Tiles of nearly equal height: a thin last one would be slow.
        tile = -(-columns.size // -(-columns.size // self._tile))
        for begin in range(0, columns.size, tile):
            self._tile_into(panel[begin : begin + tile], columns[begin : begin + tile], data)

    def _tile_into(self, panel: np.ndarray, columns: np.ndarray, data: np.ndarray) -> None:
        """The same for so few rows that the panel stays in cache, one run of features after another."""
        count, (samples, features) = columns.size, data.shape
        if not features:
            panel[:] = 0.0
        sums = panel
        if self._run < features:
            sums = self._scratch[self._copied :][: count * samples].reshape(count, samples)
        for left in range(0, features, self._run):
            run = slice(left, min(left + self._run, features))
            sampled = self._scratch[: count * (run.stop - left)].reshape(count, -1)
            copy_run(self._data, columns, left, sampled)
            # Not dot, which would copy the transpose of a run.
            np.matmul(sampled, data[:, run].T, out=sums if left else panel)
            if left:
                panel += sums

    def over(self, rows: np.ndarray) -> DenseProducts:
        """Products of other rows, shape (m, n_local), with the same scratch."""
        other = copy(self)
        other._data = read_only(rows)
        return other

    def squared_norms(self) -> np.ndarray:
        """Squared Euclidean norm of each local row, shape (m,)."""
        return row_norms(self._data)


class FewFeatures:
    """Panel products of a dense matrix with so few columns that its panel takes longest to write.

    `data`, (m, n_local): this rank's columns of the data, C order; at least one.
    """

    def __init__(self, data: np.ndarray):
        self._data = read_only(np.ascontiguousarray(data))
        self._by_feature = read_only(np.ascontiguousarray(self._data.T))

    def into(self, panel: np.ndarray, columns: np.ndarray, first: int = 0, last: int | None = None) -> None:
        """Write ``<a_i, a_j>``, i in `columns`, first <= j < last, into `panel` (c, last - first)."""
        few_products(self._by_feature, self._data, columns, panel, first)

    def squared_norms(self) -> np.ndarray:
        """Squared Euclidean norm of each local row, shape (m,)."""
        return row_norms(self._data)


class SparseProducts:
    """Panel products of a CSR matrix by scattering the stored columns a sampled row touches.

    The transpose is stored once; the work per panel row is the number of nonzeros in the touched
    columns, and nothing is transposed or allocated per window.

    `data`, (m, n_local): this rank's columns of the data.
    """

    def __init__(self, data: sp.csr_array):
        self._rows = data.indptr.astype(np.uint64), unsigned(data.indices), read_only(data.data)
        by_column = data.tocsc()
        self._columns = (by_column.indptr.astype(np.uint64), unsigned(by_column.indices), by_column.data)

    def into(self, panel: np.ndarray, columns: np.ndarray) -> None:
        """Write ``<a_i, a_j>`` for i in `columns` and all j into `panel`, shape (c, m)."""
        scatter_columns(*self._rows, *self._columns, columns, panel)

    def squared_norms(self) -> np.ndarray:
        """Squared Euclidean norm of each local row, shape (m,)."""
        squares = np.empty(self._rows[0].size - 1)
        row_squares(self._rows[0], self._rows[2], squares)
        return squares


def row_norms(rows: np.ndarray) -> np.ndarray:
    """Squared Euclidean norm of each row."""
    return np.einsum("ij,ij->i", rows, rows)


def unsigned(indices: np.ndarray) -> np.ndarray:
    """Indices as unsigned 32-bit numbers, without a copy where they have 32 bits.

    Compiled code then has no branch for negative ones, which count from the end: a third less time.
    """
    return read_only(indices.view(np.uint32) if indices.dtype == np.int32 else indices.astype(np.uint32))


@inlined
def copy_run(data, columns, left, sampled):
    """Copy a run of features, from `left` on, of some rows side by side into `sampled`, shape (c, run)."""
    right = left + sampled.shape[1]
    for place in range(columns.size):
        row = data[columns[place], left:right]
        for feature in range(row.size):
            sampled[place, feature] = row[feature]


@compiled
def row_squares(indptr, values, squares):
    """Sum the squared values of each row."""
    for row in range(squares.size):
        total = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            total += values[entry] * values[entry]
        squares[row] = total


@compiled
def scatter_columns(indptr, indices, values, column_ptr, column_rows, column_values, sampled, panel):
    """Accumulate the inner products of sampled rows with all rows through the stored transpose."""
    for place in range(sampled.size):
        out = panel[place]
        out[:] = 0.0
        row = sampled[place]
        for entry in range(indptr[row], indptr[row + 1]):
            value = values[entry]
            feature = indices[entry]
            for other in range(column_ptr[feature], column_ptr[feature + 1]):
                out[column_rows[other]] += value * column_values[other]


RangedProducts = DenseProducts | FewFeatures
"""Products that can be formed with some neighbouring samples and not with the others."""


def products_of(data: np.ndarray | sp.csr_array, width: int) -> RangedProducts | SparseProducts:
    """Choose the panel product for the storage of the data."""
    if sp.issparse(data):
        return SparseProducts(sp.csr_array(data))
    return FewFeatures(data) if 0 < data.shape[1] <= FEW_FEATURES else DenseProducts(data, width)
