"""Inner products and squared distances of samples, dense or held by their entries that are not 0.

Zeros add nothing, so that sums over n features have no more than n terms in either form, and the bounds of
rounding/kernel/entries.py hold for both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify.compiled import compiled_sums

Samples = np.ndarray | sp.csr_array
"""Samples, one a row, shape (m, n)."""


def inner_products(data: Samples, rows: np.ndarray) -> np.ndarray:
    """Inner products of some samples with all, shape (c, m)."""
    return _dense(data[rows] @ data.T)


def absolute_products(data: Samples, rows: np.ndarray) -> np.ndarray:
    """Inner products of the absolute values of some samples with those of all, shape (c, m)."""
    sizes: Any = abs(data)
    return _dense(sizes[rows] @ sizes.T)


def sharing(data: Samples, rows: np.ndarray) -> np.ndarray:
    """Which samples share a feature with some, shape (c, m): elsewhere every product is an exact 0."""
    other: Any = data != 0
    found = other.astype(np.float64)
    return _dense(found[rows] @ found.T) > 0


def sample_sizes(data: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Sum and largest of the absolute values of each sample's features, shape (m,) each."""
    sizes: Any = abs(data)
    if isinstance(data, np.ndarray):
        return sizes.sum(axis=1), sizes.max(axis=1, initial=0.0)
    heights = np.zeros(data.shape[0])
    np.maximum.at(heights, np.repeat(np.arange(data.shape[0]), np.diff(sizes.indptr)), sizes.data)
    return np.asarray(sizes.sum(axis=1)).ravel(), heights


def squared_norms(data: Samples) -> np.ndarray:
    """Squared norms of the samples, shape (m,)."""
    if isinstance(data, np.ndarray):
        return np.einsum("ij,ij->i", data, data)
    squares = sp.csr_array((data.data * data.data, data.indices, data.indptr), shape=data.shape)
    return squares @ np.ones(data.shape[1])


def squared_distances(data: Samples, rows: np.ndarray) -> np.ndarray:
    """Squared distances of some samples from all, shape (c, m), from the differences of their features.

    Every term is a rounded difference, squared: their sum errs relatively by at most ``gamma_{n+2}``.
    """
    found, rows = np.empty((rows.size, data.shape[0])), rows.astype(np.int64)
    if isinstance(data, np.ndarray):
        _dense_distances(data, rows, found)
        return found
    starts, columns = data.indptr.astype(np.int64), data.indices.astype(np.int64)
    sample, met = np.zeros(data.shape[1]), np.full(data.shape[1], -1, dtype=np.int64)
    _sparse_distances(starts, columns, data.data, rows, sample, met, found)
    return found


def _dense(products: Any) -> np.ndarray:
    return products if isinstance(products, np.ndarray) else products.toarray()


@compiled_sums
def _dense_distances(data, rows, found):
    for place in range(rows.size):
        sample = data[rows[place]]
        for other in range(data.shape[0]):
            compared = data[other]
            total = 0.0
            for k in range(sample.size):
                difference = sample[k] - compared[k]
                total += difference * difference
            found[place, other] = total


@compiled_sums
def _sparse_distances(starts, columns, values, rows, sample, met, found):
    """Features that the other sample has are passed first, then those that only this one has.

    `sample` holds this one densely; `met` the last pair for which a feature of the other was passed.
    """
    samples = starts.size - 1
    for place in range(rows.size):
        begin, end = starts[rows[place]], starts[rows[place] + 1]
        for k in range(begin, end):
            sample[columns[k]] = values[k]
        for other in range(samples):
            pair, total = place * samples + other, 0.0
            for k in range(starts[other], starts[other + 1]):
                difference = sample[columns[k]] - values[k]
                total += difference * difference
                met[columns[k]] = pair
            for k in range(begin, end):
                if met[columns[k]] != pair:
                    total += values[k] * values[k]
            found[place, other] = total
        for k in range(begin, end):
            sample[columns[k]] = 0.0
