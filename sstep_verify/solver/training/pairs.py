"""Sums of products in twice the precision of float64: a value is a pair, the second part what was lost.

A product and a sum of two numbers are taken with their rounding error, by operations that have none
(Veltkamp, Dekker, Knuth). The first parts are summed, and next to them all errors. Source: Ogita, Rump and
Oishi 2005, "Accurate sum and dot product".

A sum of N terms, whose sizes sum to S, errs by less than ``3 (N + 1)^2 u^2 S``. What underflows is lost:
less than 2^-1070 a term. Where a number overflows, the result is no number.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import compiled

SAMPLES_AT_ONCE, WORDS_AT_ONCE = 64, 1 << 16
"""Samples, and values of them, whose sums are formed at once: few enough to stay in cache."""


def two_sum(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sum of two numbers, and its rounding error."""
    total = one + other
    back = total - one
    return total, (one - (total - back)) + (other - back)


def two_product(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The product of two numbers, and its rounding error."""
    (a, b), (c, d) = split(one), split(other)
    product = one * other
    return product, b * d - (((product - a * c) - b * c) - a * d)


def split(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two halves of the digits of numbers, which sum to them."""
    wide = SPLITTER * values
    high = wide - (wide - values)
    return high, values - high


SPLITTER = 134217729.0
"""2^27 + 1, by which a number is split into two halves of its digits."""


@compiled
def add_rows(vector, columns, rows, places, high, low, size):
    """Add ``vector[columns] @ rows[places]`` to pairs (m,), and the sizes of its terms to sizes (m,)."""
    for place in range(columns.size):
        factor = vector[columns[place]]
        add_row(factor, 0.0, abs(factor), rows[places[place]], high, low, size)


@compiled
def add_row(factor, more, bound, row, high, low, size):
    """Add ``(factor + more)`` times a row to pairs, and `bound` times its sizes to sizes; shape (m,)."""
    wide = 134217729.0 * factor
    a = wide - (wide - factor)
    b = factor - a
    for k in range(row.size):
        x = row[k]
        wide = 134217729.0 * x
        c = wide - (wide - x)
        d = x - c
        product = factor * x
        rounding = b * d - (((product - a * c) - b * c) - a * d)
        before = high[k]
        total = before + product
        back = total - before
        high[k] = total
        low[k] += ((before - (total - back)) + (product - back)) + rounding + more * x
        size[k] += bound * abs(x)


@compiled
def dense_products(data, vector, whigh, wlow, wsize, high, low, size):
    """Write ``A (A' v)`` as pairs, (m,), and ``|A| (|A|' |v|)``; data (m, n), C order, weights (n,)."""
    samples, features = data.shape
    for i in range(samples):
        if vector[i] != 0.0:
            add_row(vector[i], 0.0, abs(vector[i]), data[i], whigh, wlow, wsize)
    # Some samples at once, one feature of them a row, so that one operation acts on all of them.
    tile = max(min(SAMPLES_AT_ONCE, WORDS_AT_ONCE // features), 1)
    by_feature = np.empty((features, tile))
    for first in range(0, samples, tile):
        last = min(first + tile, samples)
        some = by_feature[:, : last - first]
        for i in range(last - first):
            for k in range(features):
                some[k, i] = data[first + i, k]
        for k in range(features):
            add_row(
                whigh[k], wlow[k], wsize[k], some[k], high[first:last], low[first:last], size[first:last]
            )


@compiled
def sparse_products(indptr, indices, values, vector, whigh, wlow, wsize, high, low, size):
    """The same of sparse data."""
    for i in range(vector.size):
        if vector[i] != 0.0:
            for entry in range(indptr[i], indptr[i + 1]):
                k = indices[entry]
                whigh[k], wlow[k], wsize[k] = add_term(
                    vector[i], values[entry], 0.0, abs(values[entry]), whigh[k], wlow[k], wsize[k]
                )
    for i in range(vector.size):
        total = rest = amount = 0.0
        for entry in range(indptr[i], indptr[i + 1]):
            k = indices[entry]
            total, rest, amount = add_term(values[entry], whigh[k], wlow[k], wsize[k], total, rest, amount)
        high[i], low[i], size[i] = total, rest, amount


@compiled
def add_term(x, z, more, bound, total, rest, amount):
    """Add ``x (z + more)`` to a pair, and ``|x| bound`` to an amount."""
    wide = 134217729.0 * x
    a = wide - (wide - x)
    b = x - a
    wide = 134217729.0 * z
    c = wide - (wide - z)
    d = z - c
    product = x * z
    rounding = b * d - (((product - a * c) - b * c) - a * d)
    after = total + product
    back = after - total
    lost = (total - (after - back)) + (product - back)
    return after, rest + (lost + rounding + x * more), amount + abs(x) * bound
