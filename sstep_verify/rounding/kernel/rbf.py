"""Entries of the RBF kernel with bounds on their errors."""

from __future__ import annotations

import numpy as np

from sstep_verify.declaration import LIBRARY_ULPS
from sstep_verify.rounding.arithmetic import (
    OUTWARD,
    gamma,
    smallest_subnormal,
    sum_roundings,
)
from sstep_verify.rounding.kernel.bounded import KernelEntries

ROWS_AT_ONCE = 1 << 22
"""Words of difference tensor formed at once when squared distances are summed directly."""


def rbf_entries(data, rows, sigma, declaration, u, u64) -> tuple[KernelEntries, np.ndarray]:
    """RBF entries: the error e of the exponent gives ``K (expm1(e) + ulps exp(e)) + underflow``.

    By norm expansion ``e = sigma gamma_{n+6} (|x|^2 + |z|^2 + 2 |x|.|z|)``: n products and sums in each
    of the three inner products, three additions, the product with sigma, and a margin of two for norms
    kept apart. By direct difference ``e = sigma gamma_{n+6} |x - z|^2``: every squared difference is
    already relatively accurate. Taking max(distance, 0) can only bring a negative computed distance
    closer to the exact one. Every product that underflows adds sigma times the smallest number: n in a sum
    of squared differences, 4 n by norm expansion, and the product with sigma one more.

    An exact entry is at most 1, and so, up to the error of exp, is a computed one whose distance is not
    negative: summed from squared differences, or declared to be clamped. One that norm expansion makes
    negative, unclamped, gives an entry of up to ``exp(e)``, and only the first bound holds.

    Returns
    -------
    (KernelEntries, ndarray of shape (c, m))
        The second: what no number on the way to an entry exceeds.
    """
    features = data.shape[1]
    depth = sum_roundings(features, declaration.summation)
    distances = _squared_distances(data, rows)
    subnormal64 = smallest_subnormal("float64")
    underflow64 = sigma * subnormal64 * features + subnormal64
    judge_exponent = (sigma * gamma(features + 6, u64) * distances + underflow64) * OUTWARD
    values = np.exp(-sigma * distances)
    # The largest value the exact entry can have, from below the true exponent and above exp's error; the
    # error is taken off the exponent, since far apart exp alone is 0 times infinity.
    # n + 2 roundings of the distance, the product, and up to 5 in forming this factor; NumPy's exp errs by
    # `LIBRARY_ULPS` (2 u each), forming the product with this factor by no more than the 6 u that are left.
    least_exponent = sigma * distances * (1.0 - gamma(features + 8, u64)) - underflow64
    off = 1 + (2 * LIBRARY_ULPS + 6) * u64
    largest = np.minimum(np.exp(-least_exponent) * off + LIBRARY_ULPS * smallest_subnormal("float64"), 1.0)

    def error(exponent: np.ndarray, precision: str, u: float, ulps: float, capped: bool) -> np.ndarray:
        relative = np.expm1(exponent) + 2 * ulps * u * np.exp(exponent)
        bound = largest * relative
        # Where the error of the exponent is large, neither entry exceeds exp of the largest it can be.
        most = exponent - least_exponent + 4 * u64 * (exponent + least_exponent)
        bound = np.fmin(bound, np.exp(most) * (1 + 2 * ulps * u) + subnormal64)
        if capped:
            bound = np.minimum(bound, 1 + 2 * ulps * u)
        # The error of a subnormal result is so many smallest numbers, half of one if correctly rounded.
        return bound * OUTWARD + max(ulps, 1.0) * smallest_subnormal(precision)

    subnormal = smallest_subnormal(declaration.precision)
    if declaration.rbf == "difference":
        # The distances of this module, which the bound is relative to, may have lost as much themselves.
        underflow = sigma * subnormal * features + subnormal + underflow64
        exponent = (sigma * gamma(depth + 6, u) * distances + underflow) * OUTWARD
        reach = distances * OUTWARD
    else:
        norms = np.einsum("ij,ij->i", data, data)
        reach = norms[rows, None] + norms + 2 * (np.abs(data[rows]) @ np.abs(data).T)
        exponent = (
            sigma * gamma(depth + 6, u) * reach + sigma * subnormal * 4 * features + subnormal
        ) * OUTWARD
    capped = declaration.rbf == "difference" or declaration.clamped
    entries = KernelEntries(
        values,
        error(judge_exponent, "float64", u64, LIBRARY_ULPS, True),
        error(exponent, declaration.precision, u, declaration.function_ulps, capped),
    )
    return entries, reach


def _squared_distances(data: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Squared distances by direct difference, shape (c, m): relative error at most gamma_{n+2}."""
    distances = np.empty((rows.size, data.shape[0]))
    step = max(ROWS_AT_ONCE // data.size, 1)
    for begin in range(0, rows.size, step):
        chunk = rows[begin : begin + step]
        difference = data[chunk, None, :] - data[None, :, :]
        np.einsum("ijk,ijk->ij", difference, difference, out=distances[begin : begin + step])
    return distances
