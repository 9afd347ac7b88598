"""Local panel products: inner products of sampled rows with all rows, over this rank's features."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sstep_verify.parallel.compiled import compiled

TILE_WORDS = 1 << 19
"""Words of panel written per matrix product: few enough to stay in cache while BLAS writes them."""


class DenseProducts:
    """Panel products of a dense matrix by BLAS.

    Parameters
    ----------
    data : ndarray, shape (m, n_local)
        This rank's columns of the data, C order.
    width : int
        Largest number of panel rows asked for at once.
    """

    def __init__(self, data: np.ndarray, width: int):
        self._data = np.ascontiguousarray(data)
        self._transposed = self._data.T
        self._sampled = np.empty((width, data.shape[1]))
        self._tile = max(TILE_WORDS // data.shape[0], 32)

    def into(self, panel: np.ndarray, columns: np.ndarray) -> None:
        """Write ``<a_i, a_j>`` for i in `columns` and all j into `panel`, shape (c, m)."""
        if columns.size == 1:
            # A matrix-vector product: BLAS handles one row slowly as a matrix-matrix product.
            np.dot(self._data, self._data[columns[0]], out=panel[0])
            return
        sampled = self._sampled[: columns.size]
        np.take(self._data, columns, axis=0, out=sampled, mode="clip")
        # Tiles of nearly equal height: a thin last one would be slow.
        tile = -(-columns.size // -(-columns.size // self._tile))
        for begin in range(0, columns.size, tile):
            end = begin + tile
            np.dot(sampled[begin:end], self._transposed, out=panel[begin:end])

    def squared_norms(self) -> np.ndarray:
        """Squared Euclidean norm of each local row, shape (m,)."""
        return np.einsum("ij,ij->i", self._data, self._data)


class SparseProducts:
    """Panel products of a CSR matrix by scattering the stored columns a sampled row touches.

    The transpose is stored once; the work per panel row is the number of nonzeros in the touched
    columns, and nothing is transposed or allocated per window.

    Parameters
    ----------
    data : csr_array, shape (m, n_local)
        This rank's columns of the data.
    """

    def __init__(self, data: sp.csr_array):
        by_column = data.tocsc()
        self._rows = (data.indptr.astype(np.int64), data.indices.astype(np.int32), data.data)
        self._columns = (
            by_column.indptr.astype(np.int64),
            by_column.indices.astype(np.int32),
            by_column.data,
        )

    def into(self, panel: np.ndarray, columns: np.ndarray) -> None:
        """Write ``<a_i, a_j>`` for i in `columns` and all j into `panel`, shape (c, m)."""
        scatter_columns(*self._rows, *self._columns, columns, panel)

    def squared_norms(self) -> np.ndarray:
        """Squared Euclidean norm of each local row, shape (m,)."""
        indptr, _, values = self._rows
        row_of = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
        return np.bincount(row_of, weights=values * values, minlength=indptr.size - 1)


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


def products_of(data: np.ndarray | sp.csr_array, width: int) -> DenseProducts | SparseProducts:
    """Choose the panel product for the storage of the data."""
    return SparseProducts(sp.csr_array(data)) if sp.issparse(data) else DenseProducts(data, width)
