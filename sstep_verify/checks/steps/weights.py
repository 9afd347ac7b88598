"""Products of kernel rows with alpha from the samples: the linear kernel, in time of a sample's entries.

Where a solver may form ``<x_i, A'v>`` for ``sum_l K_il v_l``, all that the bound of a step needs of a
kernel row is relative to ``|x_i|'|x_l|``. So it is a product of |x_i| with a vector over features:

* the product itself and its part since the window's start, with ``w = A'v``, v the signed alpha;
* the size of its terms, with ``|A|'bounded``;
* what errors of the solver's entries make: ``gamma_n |x_i|'|x_l|`` each, and what underflows;
* what increments may differ by, with ``|A|'e``.

These vectors are maintained: a step that moves a coordinate adds a multiple of its sample, and so does the
end of a window. What w loses is bounded by feature (rounding/pairs.py), far below one rounding of a
product. So the judge's product errs by gamma_k of the size of its terms, with k the entries of the sample
and one more: w is rounded to `HIGH`. What is added to a sum that only a bound is made of raises it by more
than that addition loses.

Bounds are then those of rows, or smaller, but for what these additions raise. Sizes that became smaller
would keep what was raised of larger ones, so vectors are formed again where a solver's weights are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sstep_verify.bounds.step.clip import entry_errors
from sstep_verify.compiled import compiled_sums, inlined
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, smallest_subnormal, unit_roundoff
from sstep_verify.rounding.kernel.entries import own_entries
from sstep_verify.rounding.pairs import add_product, exact_sum
from sstep_verify.rounding.sums import gamma_of

U = unit_roundoff("float64")

HIGH, LOW, ERROR, SIZE, MORE_SIZE, CHANGE, DOUBT = range(7)
"""What is kept of a feature, side by side as a step reads and writes it, in `Weights.table`.

* HIGH, LOW: its entry of w, as a pair of numbers.
* ERROR: bound on the error of that pair.
* SIZE, MORE_SIZE: bound on its entry of |A|'bounded as the window began, and on what the window added.
* CHANGE, DOUBT: what increments of the window added to w, and what these may differ by, times |A|.
"""

WIDTH = 8
"""Numbers of a row of that table: those of a cache line."""

FORMED_AGAIN = 1 << 20
"""Steps after which vectors are formed again: so often is a sum of a bound added to, at most."""

SHARE_LOST = 2.0**-20
"""Share of a rounding of 1, of which a gradient has one, that underflow may add to a bound by samples."""

RAISED = 2.0**-51
"""Share of its terms by which an addition raises a sum that a bound is made of: 4 u."""


class Weights(NamedTuple):
    """Samples, and vectors over their features.

    Parameters
    ----------
    starts : ndarray of int64, shape (m + 1,)
        Where each sample begins among the stored entries, of which the data have z (CSR).
    features, values : ndarray of int64 and of float64, shape (z,)
        Feature and value of each stored entry.
    own, own_error : ndarray, shape (m,)
        Kernel entry of each with itself, and bound on its error, as `Rows` has them.
    table : ndarray, shape (n, 8)
        What stands above.
    counted : ndarray, shape (m,)
        What `State.bounded` was of each sample when the table was last told.
    total : ndarray, shape (2,)
        Bound on the sum of `State.bounded` as the window began, and on what the window added.
    entry, lost : float
        Bound on the error of a solver's entry, over ``|x_i|'|x_l|``, and what underflows besides.
    judge : float
        1 where the judge's own errors are part of the bounds, else 0.
    every, before : int
        Windows after which the solver forms weights again, 0 for never, and those before the run.
    """

    starts: np.ndarray
    features: np.ndarray
    values: np.ndarray
    own: np.ndarray
    own_error: np.ndarray
    table: np.ndarray
    counted: np.ndarray
    total: np.ndarray
    entry: float
    lost: float
    judge: float
    every: int = 0
    before: int = 0


def weights_of(
    problem: Problem, declaration: Declaration, columns: np.ndarray, *, judge: bool = True
) -> Weights:
    """Some samples of a K-SVM with the linear kernel, shape (k,), without vectors.

    `judge` says whether the judge's own errors are part of the bounds.
    """
    data: Any = sp.csr_array(problem.data)[columns]
    data.sort_indices()
    entries = own_entries(problem, declaration, data)
    errors, precision = entry_errors(entries, judge=judge)[1], declaration.precision
    return Weights(
        starts=data.indptr.astype(np.int64),
        features=data.indices.astype(np.int64),
        values=data.data,
        own=entries.values[:, 0].copy(),
        own_error=errors[:, 0].copy(),
        table=np.zeros((0, WIDTH)),
        counted=np.zeros(0),
        total=np.zeros(2),
        entry=gamma(problem.features, unit_roundoff(precision)) * ROUND_UP,
        lost=problem.features * smallest_subnormal(precision) * ROUND_UP,
        judge=float(judge),
    )


def with_vectors(weights: Weights, features: int, every: int, before: int) -> Weights:
    """The same samples, with room for vectors of their own; the last two are of a solver's weights."""
    table, counted = np.zeros((features, WIDTH)), np.zeros(weights.own.size)
    return weights._replace(table=table, counted=counted, total=np.zeros(2), every=every, before=before)


def underflow_shows(weights: Weights, most: float, width: int, u: float) -> bool:
    """Whether what underflows in entries may show next to u, in windows of so many steps.

    `most` bounds alpha and logged values, in size. Rows know which samples share no feature, so that none
    of their products underflows; by samples all are taken to share one.
    """
    # Each step of a window adds what alpha moved, which is twice the largest at most.
    return not weights.lost * (weights.own.size + 2 * width) * most <= SHARE_LOST * u


@inlined
def form(weights, state):
    """Form all vectors from alpha as a window begins."""
    for feature in range(weights.table.shape[0]):
        for number in range(weights.table.shape[1]):
            weights.table[feature, number] = 0.0
    for number in range(weights.total.size):
        weights.total[number] = 0.0
    for i in range(weights.own.size):
        weights.counted[i] = 0.0
        if state.signed[i] == 0.0 and state.bounded[i] == 0.0:
            continue
        move(weights, i, 0.0, state.signed[i], 0.0, 0.0)
        settle(weights, i, state.bounded[i])


@inlined
def go_on(weights, state, window):
    """Tell that a window of the run, counted from 1, ended; form vectors again where the solver does.

    Sizes may be smaller by now, and what additions lost, or raised, is relative to what they were. As long
    as a solver's weights are not formed again, their drift is far more than that.
    """
    weights.total[1] = 0.0
    if weights.every > 0 and (weights.before + window) % weights.every == 0:
        form(weights, state)


@inlined
def move(weights, i, before, after, size, doubt):
    """Tell that the signed alpha of a coordinate moved.

    `size` is what it adds to the coordinate's entry of `State.bounded`, `doubt` to its `increment_error`.
    """
    change, rest = exact_sum(after, -before)
    if change == 0.0 and size == 0.0:
        return
    weights.total[1] += size
    for k in range(weights.starts[i], weights.starts[i + 1]):
        feature, x = weights.table[weights.features[k]], weights.values[k]
        high, low, lost = add_product(feature[HIGH], feature[LOW], change, rest, x)
        feature[HIGH], feature[LOW] = high, low
        feature[ERROR] += lost
        feature[MORE_SIZE] += size * abs(x)
        feature[CHANGE] += change * x
        feature[DOUBT] += doubt * abs(x)


@inlined
def settle(weights, i, bounded):
    """Tell what `State.bounded` is of a coordinate after the window; forget what the window added."""
    more = bounded - weights.counted[i]
    weights.counted[i] = bounded
    weights.total[0] = raised_sum(weights.total[0], more)
    for k in range(weights.starts[i], weights.starts[i + 1]):
        feature = weights.table[weights.features[k]]
        feature[SIZE] = raised_sum(feature[SIZE], more * abs(weights.values[k]))
        feature[MORE_SIZE] = feature[CHANGE] = feature[DOUBT] = 0.0


@inlined
def raised_sum(size, more):
    """A bound on the sum of two numbers, the second off by up to 2 u of itself."""
    return (size + more) + RAISED * (size + abs(more))


class RowSums(NamedTuple):
    """What a kernel row makes of alpha, by its entries or by the sample.

    Parameters
    ----------
    product, stale : float
        Its products with the signed alpha, now and at the window's start.
    size : float
        Size of the terms of the first.
    entry_error, increment_error : float
        What errors of the entries, and of the increments so far, make of it.
    """

    product: float
    stale: float
    size: float
    entry_error: float
    increment_error: float


@inlined
def sample_sums(weights, i, held):
    """`RowSums` of a coordinate by its sample, while `held` entries of alpha are not 0."""
    product, change, size, error, doubt = _products(weights, i)
    # What an empty sample makes is an exact 0; where all sizes underflow, a solver loses less than these.
    lost = weights.lost * (weights.total[0] + weights.total[1]) if size > 0.0 else 0.0
    roundings = weights.starts[i + 1] - weights.starts[i] + 1
    # Of an alpha that is all 0 again, w is 0 but for its error.
    rounded = (size if held > 0 else 0.0) + error
    error = weights.judge * (error + gamma_of(roundings, U) * rounded)
    entry_error = (weights.entry * size + error + lost) * ROUND_UP
    # An entry that is off by gamma_n is larger by as much, but a sum of products with such entries errs by
    # gamma_{k+n} of the exact ones, as one formed from the samples does. What an entry's error makes of
    # what an increment may differ by is in `entry_error`.
    size = (size + error + lost) * ROUND_UP
    return RowSums(product, product - change, size, entry_error, doubt * ROUND_UP)


@compiled_sums
def _products(weights, i):
    """Products of a sample with w and its change; of its sizes with sizes of terms, errors and doubts."""
    product = change = size = error = doubt = 0.0
    for k in range(weights.starts[i], weights.starts[i + 1]):
        feature, x = weights.table[weights.features[k]], weights.values[k]
        product += x * feature[HIGH]
        change += x * feature[CHANGE]
        size += abs(x) * (feature[SIZE] + feature[MORE_SIZE])
        error += abs(x) * feature[ERROR]
        doubt += abs(x) * feature[DOUBT]
    return product, change, size, error, doubt


@inlined
def product_of(weights, i, j):
    """Inner product of two samples."""
    total, one, other = 0.0, weights.starts[i], weights.starts[j]
    while one < weights.starts[i + 1] and other < weights.starts[j + 1]:
        here, there = weights.features[one], weights.features[other]
        if here == there:
            total += weights.values[one] * weights.values[other]
        one += int(here <= there)
        other += int(there <= here)
    return total
