"""Local squared distances of sampled rows to all rows, over this rank's features, by direct difference.

``sum_k (x_k - z_k)**2`` over the features of one rank is a partial sum like any other: summed over all
ranks it is the squared distance. Every term is non-negative and has a small relative error, however far
the data lie from the origin; in ``|x|^2 + |z|^2 - 2 <x, z>`` the digits of the distance cancel there.
Nothing is taken off again, so entries that only one of two sparse rows has are visited one by one.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sstep_verify.compiled import compiled, read_only

SAMPLES_AT_ONCE, FEATURES_AT_ONCE = 512, 32
"""Samples and features of a tile: it and the sums over it stay in a core's own cache while every sampled
row of the panel is compared with it."""


class DenseDifferences:
    """Partial squared distances of a dense matrix.

    The features are stored as rows, so that one operation acts on many samples at once without any
    sum being reordered.

    `data`, (m, n_local): this rank's columns of the data.
    """

    def __init__(self, data: np.ndarray):
        self._features = read_only(np.ascontiguousarray(data.T))

    def into(self, panel: np.ndarray, columns: np.ndarray) -> None:
        """Write ``sum_k (a_ik - a_jk)**2`` for i in `columns` and all j into `panel`, shape (c, m)."""
        dense_differences(self._features, columns, panel)


class SparseDifferences:
    """Partial squared distances of a CSR matrix: every sampled row is merged with every row.

    `data`, (m, n_local): this rank's columns of the data.
    """

    def __init__(self, data: sp.csr_array):
        if not data.has_canonical_format:
            data = data.copy()
            data.sum_duplicates()
        self._rows = (
            read_only(data.indptr.astype(np.int64, copy=False)),
            read_only(data.indices.astype(np.int32, copy=False)),
            read_only(data.data),
        )

    def into(self, panel: np.ndarray, columns: np.ndarray) -> None:
        """Write ``sum_k (a_ik - a_jk)**2`` for i in `columns` and all j into `panel`, shape (c, m)."""
        sparse_differences(*self._rows, columns, panel)


def differences_of(data: np.ndarray | sp.csr_array) -> DenseDifferences | SparseDifferences:
    """Choose the partial squared distances for the storage of the data."""
    return SparseDifferences(sp.csr_array(data)) if sp.issparse(data) else DenseDifferences(data)


@compiled
def dense_differences(features, sampled, panel):
    """Sum squared differences tile by tile; `features` has shape (n_local, m), `panel` (c, m)."""
    count, samples = features.shape
    panel[:, :] = 0.0
    for left in range(0, samples, SAMPLES_AT_ONCE):
        right = min(left + SAMPLES_AT_ONCE, samples)
        for top in range(0, count, FEATURES_AT_ONCE):
            bottom = min(top + FEATURES_AT_ONCE, count)
            for place in range(sampled.size):
                add_squared_differences(
                    panel[place, left:right],
                    features[top:bottom, left:right],
                    features[top:bottom, sampled[place]],
                )


@compiled
def add_squared_differences(sums, tile, own):
    """Add ``(own[k] - tile[k, j])**2`` to ``sums[j]`` for all k, four of them in one pass over j."""
    fours = own.size - own.size % 4
    for feature in range(0, fours, 4):
        x0, x1, x2, x3 = own[feature], own[feature + 1], own[feature + 2], own[feature + 3]
        z0, z1, z2, z3 = tile[feature], tile[feature + 1], tile[feature + 2], tile[feature + 3]
        for j in range(sums.size):
            d0, d1, d2, d3 = x0 - z0[j], x1 - z1[j], x2 - z2[j], x3 - z3[j]
            sums[j] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
    for feature in range(fours, own.size):
        x, z = own[feature], tile[feature]
        for j in range(sums.size):
            d = x - z[j]
            sums[j] += d * d


@compiled
def sparse_differences(indptr, indices, values, sampled, panel):
    """Sum squared differences of sorted sparse rows by merging them; `panel` has shape (c, m)."""
    for place in range(sampled.size):
        first, last = indptr[sampled[place]], indptr[sampled[place] + 1]
        for other in range(panel.shape[1]):
            mine, its, end = first, indptr[other], indptr[other + 1]
            total = 0.0
            while mine < last and its < end:
                # Without branches: which row comes next is as good as random.
                takes, gives = indices[mine] <= indices[its], indices[its] <= indices[mine]
                difference = takes * values[mine] - gives * values[its]
                total += difference * difference
                mine += takes
                its += gives
            for entry in range(mine, last):
                total += values[entry] * values[entry]
            for entry in range(its, end):
                total += values[entry] * values[entry]
            panel[place, other] = total
