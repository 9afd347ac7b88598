"""Bound A: how far a computed kernel entry may be from the exact one, for any order of summation.

Assumptions: IEEE arithmetic with unit roundoff u; exp and pow within the declared number of units in the
last place, which for a subnormal result is the smallest number. Where an entry, or a sum or power on the
way to it, may exceed `largest_normal`, nothing is promised: its bound is infinite. Inner products of
n terms err by at most ``gamma_n <|x|, |z|>`` (Higham 2002, section 3.1), whatever the order, tree, FMA or
number of ranks; where the solver declares an order, ``gamma_k`` with the smaller k of `sum_roundings`
takes its place.

A solver in float32 that rounds its input computes the entries of other data, ``x~ = fl(x)``, with other
parameters. Rounding to nearest leaves no choice, so those are known, and by the triangle inequality

    |K^ - K(x, z)| <= |K^ - K~(x~, z~)| + |K~(x~, z~) - K(x, z)|.

The first term is the bound above for the rounded input; the second, which is at most
``((1+u)^2 - 1) |x|.|z|`` for the linear kernel, is evaluated in float64 with the error of doing so.

With the linear kernel a solver may multiply by the samples in the place of entries, ``<x_i, A'v>`` for
``sum_l K_il v_l``. A term ``x_ik x_lk v_l`` then rounds n times more, in the product and the sums over k,
and relative to ``|x_i|'|x_l| |v_l|``; an entry of A'v that underflows is off by the smallest number a
product, and so changes the result by ``sum_k |x_ik|`` times that (`FactoredProducts`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np

from sstep_verify.bounds.rounding import (
    OUTWARD,
    gamma,
    largest_normal,
    raised,
    smallest,
    stored,
    sum_roundings,
    unit_roundoff,
)
from sstep_verify.errors import InputError
from sstep_verify.problems import LinearKernel, PolynomialKernel, Problem, RBFKernel
from sstep_verify.problems.kernels import Kernel
from sstep_verify.solver import Declaration

ROWS_AT_ONCE = 1 << 22
"""Words of difference tensor formed at once when squared distances are summed directly."""


@dataclass(frozen=True)
class FactoredProducts:
    """What forming ``K v`` as ``A (A' v)`` may cost, for some rows of K.

    Parameters
    ----------
    sizes : ndarray, shape (c, m)
        Bound on ``|x_i|'|x_l|``, for the exact and the solver's samples.
    lengths : ndarray, shape (c,)
        Bound on ``sum_k |x_ik|``.
    heights : ndarray, shape (m,)
        ``max_k |x_lk|``.
    features : int
        Number of features (n).
    """

    sizes: np.ndarray
    lengths: np.ndarray
    heights: np.ndarray
    features: int

    def at(self, rows) -> FactoredProducts:
        """The same for some of the rows."""
        return FactoredProducts(self.sizes[rows], self.lengths[rows], self.heights, self.features)


@dataclass(frozen=True)
class KernelEntries:
    """Float64 kernel rows with two error bounds.

    Parameters
    ----------
    values : ndarray, shape (c, m)
        Kernel entries in float64, by formulas of this module.
    own : ndarray, shape (c, m)
        Bound on ``|values - exact|``.
    solver : ndarray, shape (c, m)
        Bound on ``|entry of the solver - exact|`` (delta_K) for the declared formulas.
    factored : FactoredProducts, optional
        Where products of these rows may be formed from the samples; None where from entries only.
    """

    values: np.ndarray
    own: np.ndarray
    solver: np.ndarray
    factored: FactoredProducts | None = None

    @property
    def magnitude(self) -> np.ndarray:
        """Bound on the absolute value of both the exact and the solver's entries, shape (c, m)."""
        with np.errstate(over="ignore", invalid="ignore"):
            return (np.abs(self.values) + self.own + self.solver) * OUTWARD

    def at(self, rows) -> KernelEntries:
        """The same for some of the rows."""
        factored = None if self.factored is None else self.factored.at(rows)
        return KernelEntries(self.values[rows], self.own[rows], self.solver[rows], factored)

    @property
    def reach(self) -> np.ndarray:
        """Bound on the size of the terms that an entry's product with a number is summed from, (c, m)."""
        return self.magnitude if self.factored is None else np.maximum(self.magnitude, self.factored.sizes)

    @property
    def more_roundings(self) -> int:
        """Roundings of such a term beside those of a sum of products with entries."""
        return 0 if self.factored is None else self.factored.features

    @property
    def heights(self) -> np.ndarray:
        """What an entry of A'v grows by at most for a number that multiplies each sample, shape (m,)."""
        return np.zeros(self.values.shape[1]) if self.factored is None else self.factored.heights

    def lost(self, products: int, precision: str) -> np.ndarray | float:
        """Bound on what underflow costs a sum of products of entries with numbers, shape (c,).

        Parameters
        ----------
        products : int
            Number of products.
        precision : str
            Precision of the solver.
        """
        if self.factored is None:
            return products * smallest(precision)
        return (products * self.factored.lengths + products + self.factored.features) * (
            smallest(precision) * OUTWARD
        )


def kernel_entries(problem: Problem, declaration: Declaration, rows: np.ndarray) -> KernelEntries:
    """Kernel rows of a problem with bounds on their errors.

    Parameters
    ----------
    problem : Problem
        The problem.
    declaration : Declaration
        Precision and formulas of the solver, and whether it rounds its input.
    rows : ndarray of int, shape (c,)
        Samples whose rows are wanted.

    Returns
    -------
    KernelEntries
    """
    data, kernel = problem.dense, problem.kernel
    entries = replace(
        _entries(data, kernel, declaration, rows), factored=_factored(problem, declaration, rows)
    )
    rounded, rounded_kernel = stored(data, declaration.precision), _stored_kernel(kernel, declaration)
    if not declaration.data_rounding or (rounded_kernel == kernel and np.array_equal(rounded, data)):
        return entries
    if rounded_kernel is None or not np.isfinite(rounded).all():
        return replace(entries, solver=np.full_like(entries.values, np.inf))
    used = _entries(rounded, rounded_kernel, declaration, rows)
    with np.errstate(over="ignore", invalid="ignore"):
        moved = np.abs(used.values - entries.values) + used.own + entries.own
        return replace(
            entries, solver=np.nan_to_num((used.solver + moved) * OUTWARD, nan=np.inf, posinf=np.inf)
        )


def _factored(problem: Problem, declaration: Declaration, rows: np.ndarray) -> FactoredProducts | None:
    """Products formed from the samples; None unless kernel and declaration allow that."""
    if declaration.products == "rows" or not isinstance(problem.kernel, LinearKernel):
        return None
    data = np.abs(problem.dense)
    if declaration.data_rounding:
        data = np.maximum(data, np.abs(stored(problem.dense, declaration.precision)))
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = raised(data[rows] @ data.T, problem.features + 16)
        lengths = data[rows].sum(axis=1) * OUTWARD
        return FactoredProducts(sizes, lengths, data.max(axis=1, initial=0.0), problem.features)


def _stored_kernel(kernel: Kernel, declaration: Declaration) -> Kernel | None:
    """Kernel with its parameter as the solver's precision holds it; None if it over- or underflows."""
    precision = declaration.precision
    try:
        match kernel:
            case LinearKernel():
                return kernel
            case PolynomialKernel():
                return replace(kernel, offset=float(stored(kernel.offset, precision)))
            case RBFKernel():
                return replace(kernel, sigma=float(stored(kernel.sigma, precision)))
            case _:
                assert_never(kernel)
    except InputError:
        return None


def _entries(data: np.ndarray, kernel: Kernel, declaration: Declaration, rows: np.ndarray) -> KernelEntries:
    """Rows and bounds for data and parameters that are exact to the solver."""
    features = data.shape[1]
    depth = sum_roundings(features, declaration.summation)
    u = unit_roundoff(declaration.precision)
    u64 = unit_roundoff("float64")
    tiny, tiny64 = features * smallest(declaration.precision), features * smallest("float64")
    # Powers or products beyond the float64 range make a bound infinite, which a check reports.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if isinstance(kernel, RBFKernel):
            return _within_range(*_rbf(data, rows, kernel.sigma, declaration, u, u64), declaration)
        # Where two samples share no feature, every product is an exact zero and nothing underflows.
        shared = (data[rows] != 0).astype(np.float64) @ (data != 0).T.astype(np.float64) > 0
        tiny, tiny64 = tiny * shared, tiny64 * shared
        products = data[rows] @ data.T
        absolute = np.abs(data[rows]) @ np.abs(data).T * OUTWARD
        match kernel:
            case LinearKernel():
                own = (gamma(features, u64) * absolute + tiny64) * OUTWARD
                entries = KernelEntries(products, own, (gamma(depth, u) * absolute + tiny) * OUTWARD)
                return _within_range(entries, absolute, declaration)
            case PolynomialKernel():
                found = _polynomial(
                    products, absolute, kernel, declaration, (u, tiny, depth), (u64, tiny64, features)
                )
                return _within_range(*found, declaration)
            case _:
                assert_never(kernel)


def _within_range(entries: KernelEntries, reached: np.ndarray, declaration: Declaration) -> KernelEntries:
    """Entries with an infinite bound where a number on the way to them, `reached`, may overflow."""
    within = reached <= largest_normal(declaration.precision)
    return replace(entries, solver=np.where(within, entries.solver, np.inf))


def _polynomial(products, absolute, kernel, declaration, solver, own) -> tuple[KernelEntries, np.ndarray]:
    """Propagate the error of ``t = offset + <x, z>`` through ``t**d``.

    ``|(t + e)**d (1 + r) - t**d| <= d |e| (|t| + |e|)**(d-1) + r (|t| + |e|)**d`` with
    r = gamma_{d-1} for repeated multiplication and 2 ulps u for pow. A power that underflows is below 1,
    and so are the factors it meets: a product or pow adds no more than its own ulps of the smallest number.

    Returns
    -------
    (KernelEntries, ndarray of shape (c, m))
        The second: what no number on the way to an entry exceeds.
    """
    degree = kernel.degree
    base = absolute + kernel.offset
    own_argument = gamma(own[2] + 1, own[0]) * base + own[1]
    size = np.abs(products + kernel.offset) + own_argument

    def error(argument: np.ndarray, relative: float, lost: float) -> np.ndarray:
        reach = size + argument
        bound = degree * argument * reach ** (degree - 1) + relative * reach**degree
        # An entry of (0 + 0)**d is an exact 0; in all others the bound itself may underflow as well.
        return np.where(base > 0, raised(bound + lost, 2 * degree + 16), 0.0)

    tiny, tiny64 = smallest(declaration.precision), smallest("float64")
    relative, ulps = gamma(degree - 1, solver[0]), 1.0
    if declaration.power == "pow":
        relative, ulps = 2 * declaration.function_ulps * solver[0], max(declaration.function_ulps, 1.0)
    values = products + kernel.offset
    power = values.copy()
    for _ in range(degree - 1):
        power *= values
    argument = gamma(solver[2] + 1, solver[0]) * base + solver[1]
    entries = KernelEntries(
        power,
        error(own_argument, gamma(degree - 1, own[0]), degree * tiny64),
        error(argument, relative, degree * ulps * tiny),
    )
    reach = np.maximum(size + argument, base)
    return entries, np.maximum(reach, reach**degree) * OUTWARD


def _rbf(data, rows, sigma, declaration, u, u64) -> tuple[KernelEntries, np.ndarray]:
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
    tiny64 = smallest("float64")
    lost64 = sigma * tiny64 * features + tiny64
    own_exponent = (sigma * gamma(features + 6, u64) * distances + lost64) * OUTWARD
    values = np.exp(-sigma * distances)
    # The largest value the exact entry can have, from below the true exponent and above exp's error; the
    # error is taken off the exponent, since far apart exp alone is 0 times infinity.
    # n + 2 roundings of the distance, the product, and up to 5 in forming this factor; exp errs by an ulp
    # (2 u), and forming the product with 1 + 8 u by no more than the 6 u that are left.
    least_exponent = sigma * distances * (1.0 - gamma(features + 8, u64)) - lost64
    largest = np.minimum(np.exp(-least_exponent) * (1 + 8 * u64) + smallest("float64"), 1.0)

    def error(exponent: np.ndarray, precision: str, u: float, ulps: float, capped: bool) -> np.ndarray:
        relative = np.expm1(exponent) + 2 * ulps * u * np.exp(exponent)
        bound = largest * relative
        # Where the error of the exponent is large, neither entry exceeds exp of the largest it can be.
        most = exponent - least_exponent + 4 * u64 * (exponent + least_exponent)
        bound = np.fmin(bound, np.exp(most) * (1 + 2 * ulps * u) + tiny64)
        if capped:
            bound = np.minimum(bound, 1 + 2 * ulps * u)
        # The error of a subnormal result is so many smallest numbers, half of one if correctly rounded.
        return bound * OUTWARD + max(ulps, 1.0) * smallest(precision)

    tiny = smallest(declaration.precision)
    if declaration.rbf == "difference":
        # The distances of this module, which the bound is relative to, may have lost as much themselves.
        lost = sigma * tiny * features + tiny + lost64
        exponent = (sigma * gamma(depth + 6, u) * distances + lost) * OUTWARD
        reach = distances * OUTWARD
    else:
        norms = np.einsum("ij,ij->i", data, data)
        reach = norms[rows, None] + norms + 2 * (np.abs(data[rows]) @ np.abs(data).T)
        exponent = (sigma * gamma(depth + 6, u) * reach + sigma * tiny * 4 * features + tiny) * OUTWARD
    capped = declaration.rbf == "difference" or declaration.clamped
    entries = KernelEntries(
        values,
        error(own_exponent, "float64", u64, 1.0, True),
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
