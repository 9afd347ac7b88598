"""Bound A: how far a computed kernel entry may be from the exact one, for any order of summation.

Assumptions: IEEE arithmetic with unit roundoff u; exp and pow within `LIBRARY_ULPS` units in the last
place, which for a subnormal result is the smallest number. Where an entry, or a sum or power on the
way to it, may exceed `largest_normal`, nothing is promised: its bound is infinite. Inner products of
n terms err by at most ``gamma_n <|x|, |z|>`` (Higham 2002, section 3.1), whatever the order, tree, FMA or
number of ranks.

With the linear kernel a solver may multiply by the samples instead of entries, ``<x_i, A'v>`` for
``sum_l K_il v_l``. A term ``x_ik x_lk v_l`` then rounds n times more, in the product and the sums over k,
and relative to ``|x_i|'|x_l| |v_l|``; an entry of A'v that underflows is off by the smallest number a
product, and so changes the result by ``sum_k |x_ik|`` times that (`FactoredProducts`).

A solver's a may be ours over a factor f that is no power of two (`scaled_entries`). Its recurrence is ours
for v = a / f: of the matrix f M, ``M = Q + omega I`` (K-SVM) or ``K / lambda + m I`` (K-RR), or of M with
the right-hand side over f. In float64 that is another recurrence: f or its reciprocal is rounded, and so
are its products with an entry, a sum of terms, omega, or m and lambda. Wherever f stands in it, at most
four such roundings reach a term, so that it is, rounding for rounding, our recurrence with entries of M
that are off by ``gamma_4`` of themselves more:

    delta_il grows by gamma_4 |K_il|  (|x_i|'|x_l| where products are formed from the samples),
    delta_ii by gamma_4 omega         (K-RR: gamma_4 m lambda) as well.

Those of the diagonal enter the products with a_i, the corrections and the curvature or block system alike.
The constant of the gradient (1, or y_i) has no product in our recurrence, whose rounding its bounds count
all the same (k is at least 6 more than its sums): one for f fits. The upper end of the box, C / f, is off
by ``gamma_2 C`` (rounding/box.py). The sizes of v are those of a over f, and every other rounding
is relative. Underflow is taken to be ours: scales lie between 2^-64 and 2^64. Of a threshold, or of another
linear term than 1, nothing is known.
"""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from sstep_verify.declaration import LIBRARY_ULPS, Declaration
from sstep_verify.problems import LinearKernel, PolynomialKernel, Problem, RBFKernel
from sstep_verify.problems.kernels import Kernel
from sstep_verify.rounding.arithmetic import (
    MOST_TERMS,
    ROUND_UP,
    gamma,
    largest_normal,
    rounded_up,
    smallest_subnormal,
    unit_roundoff,
)
from sstep_verify.rounding.formulas import is_scaled
from sstep_verify.rounding.rows import ENTRIES_AT_ONCE, KernelEntries, factored_products, joined
from sstep_verify.rounding.samples import (
    Samples,
    absolute_products,
    inner_products,
    sample_sizes,
    sharing,
    squared_distances,
    squared_norms,
)

SPARSE_TIMES = 8
"""Of sparse samples so many times as many entries are formed at once: all samples are read each time."""

SMALL = 2.0**-8
"""Numbers up to which exp and expm1 of them are bounded by polynomials."""


def kernel_entries(
    problem: Problem, declaration: Declaration, rows: np.ndarray, data: Samples | None = None
) -> KernelEntries:
    """Kernel rows of a problem with bounds on their errors.

    Parameters
    ----------
    problem : Problem
        The problem, as the solver holds it (rounding/arithmetic.py).
    declaration : Declaration
        Precision and formulas of the solver.
    rows : ndarray of int, shape (c,)
        Samples whose rows are wanted.
    data : ndarray or csr_array, shape (k, n), optional
        Samples of the problem, which are the columns that are wanted, and which `rows` counts; all of them
        if absent. Only for problems of which `stays_small` is true.

    Returns
    -------
    KernelEntries
    """
    samples = problem.samples if data is None else data.shape[0]
    if data is None:
        data = problem.data if _takes_sparse(problem.kernel) else problem.dense
    once = rows_at_once(problem, samples)
    if rows.size <= once:
        return _some_entries(problem, declaration, rows, data)
    parts = range(0, rows.size, once)
    return joined([_some_entries(problem, declaration, rows[at : at + once], data) for at in parts])


def rows_at_once(problem: Problem, samples: int) -> int:
    """Rows of so many entries that are formed at once."""
    return max(ENTRIES_AT_ONCE * (SPARSE_TIMES if problem.is_sparse else 1) // samples, 1)


def stays_small(problem: Problem, declaration: Declaration) -> bool:
    """Whether entries, their bounds, and these over lambda are far from the range of the solver's type.

    Then a product with an exact 0 is an exact 0 for every solver and judge. So an entry that meets only
    such a 0 can be left out. Roots of the range leave room for all that is made of these sizes; where more
    is reached, or the kernel is not of this module, nothing is left out.
    """
    kernel, precision = problem.kernel, declaration.precision
    terms = min(2 * problem.longest_sample, problem.features)
    if not _takes_sparse(kernel) or is_scaled(declaration) or max(problem.samples, terms) >= MOST_TERMS:
        return False
    with np.errstate(over="ignore"):
        size = 4.0 * float(squared_norms(problem.data).max()) * ROUND_UP
        if isinstance(kernel, RBFKernel):
            # The exponent's error must be small too, and its margin.
            off = kernel.sigma * size * gamma(problem.features + 10, unit_roundoff(precision))
            size = np.maximum(size, np.inf if not off <= SMALL else kernel.sigma * size)
        if isinstance(kernel, PolynomialKernel):
            size = np.float64(4.0 * (size + kernel.offset + 1.0)) ** kernel.degree * kernel.degree
        if not problem.is_svm:
            size = size / min(problem.ridge.penalty, 1.0) + 1.0 / np.float64(problem.ridge.penalty)
    return bool(size <= np.sqrt(largest_normal(precision)))


def _some_entries(
    problem: Problem, declaration: Declaration, rows: np.ndarray, data: Samples
) -> KernelEntries:
    """Those of as many rows as the caches of a processor hold the arrays of."""
    # Powers or products beyond the float64 range make a bound infinite, which a check reports.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        entries, reached = sample_entries(problem.kernel, data, rows, declaration)
        within = reached <= largest_normal(declaration.precision)
        solver_error = np.where(within, entries.solver_error, np.inf)
    factored = factored_products(problem, declaration, rows, data)
    entries = replace(entries, solver_error=solver_error, factored=factored)
    # Of a difference of two samples as many entries may be others than 0 as of both together.
    terms = min(2 * problem.longest_sample, problem.features)
    if max(problem.samples, terms) >= MOST_TERMS:
        unknown = np.full_like(solver_error, np.inf)
        entries = replace(entries, judge_error=unknown, solver_error=unknown)
    return (
        scaled_entries(entries, problem, rows, declaration.precision) if is_scaled(declaration) else entries
    )


def _takes_sparse(kernel: Kernel) -> bool:
    """Whether the entries are formed here; what others register gets dense samples."""
    return sample_entries.dispatch(type(kernel)).__module__ == __name__


class Inner(NamedTuple):
    """Inner products of some samples with all, and what is known of them.

    Parameters
    ----------
    products, absolute : ndarray, shape (c, m)
        Inner products as computed here, and upper bounds on those of the absolute values.
    judge, solver : (float, ndarray of shape (c, m), int)
        Of this computation and of the solver's: unit roundoff, what may underflow, and roundings of a
        term (n).
    """

    products: np.ndarray
    absolute: np.ndarray
    judge: tuple[float, np.ndarray, int]
    solver: tuple[float, np.ndarray, int]


@singledispatch
def entries_of(kernel: Kernel, inner: Inner, declaration: Declaration) -> tuple[KernelEntries, np.ndarray]:
    """What `sample_entries` returns, of a kernel that is a function of inner products."""
    raise TypeError(f"no bound is known for {kernel}: add one to entries_of")


@entries_of.register
def _linear_entries(kernel: LinearKernel, inner, declaration):
    def error(kind: tuple[float, np.ndarray, int]) -> np.ndarray:
        return (gamma(kind[2], kind[0]) * inner.absolute + kind[1]) * ROUND_UP

    return KernelEntries(inner.products, error(inner.judge), error(inner.solver)), inner.absolute


@singledispatch
def sample_entries(
    kernel: Kernel, data: Any, rows: np.ndarray, declaration: Declaration
) -> tuple[KernelEntries, np.ndarray]:
    """Entries of some rows from the samples, with bounds, and what no number on the way to one exceeds.

    The bounds' table of kernels: ``sample_entries.register`` adds one; ``entries_of.register`` one that is
    a function of inner products.

    Parameters
    ----------
    kernel : Kernel
        The kernel, its parameters exact to the solver.
    data : ndarray, shape (m, n)
        Samples, exact to the solver. The functions of this module take a csr_array as well.
    rows : ndarray of int, shape (c,)
        Samples whose rows are wanted.
    declaration : Declaration
        Precision and formulas of the solver.

    Returns
    -------
    (KernelEntries, ndarray of shape (c, m))
        The second may be larger than the range of the solver's type: nothing is promised there.
    """
    # Where two samples share no feature, every product is an exact zero and nothing underflows.
    absolute, shared = absolute_products(data, rows) * ROUND_UP, sharing(data, rows)
    inner = _inner(inner_products(data, rows), absolute, shared, data.shape[1], declaration)
    return entries_of(kernel, inner, declaration)


def _inner(
    products: np.ndarray, absolute: np.ndarray, shared: np.ndarray, features: int, declaration: Declaration
) -> Inner:
    """Inner products with what is known of them; `shared` says where one has a term that is not 0."""

    def kind(precision: str) -> tuple[float, np.ndarray, int]:
        return unit_roundoff(precision), features * smallest_subnormal(precision) * shared, features

    return Inner(products, absolute, kind("float64"), kind(declaration.precision))


def own_entries(problem: Problem, declaration: Declaration, data: Samples) -> KernelEntries:
    """Kernel entry of each sample with itself, shape (c, 1), for the linear kernel: see `kernel_entries`.

    Only for problems of which `stays_small` is true.
    """
    norms = squared_norms(data)[:, None]
    inner = _inner(
        norms, norms * ROUND_UP, sample_sizes(data)[1][:, None] > 0.0, data.shape[1], declaration
    )
    return entries_of(problem.kernel, inner, declaration)[0]


@sample_entries.register
def _rbf_entries(kernel: RBFKernel, data, rows, declaration):
    """RBF entries: the error e of the exponent gives ``K (expm1(e) + ulps exp(e)) + underflow``.

    By norm expansion ``e = sigma gamma_{n+6} (|x|^2 + |z|^2 + 2 |x|.|z|)``: n products and sums in each
    of the three inner products, three additions, the product with sigma, and a margin of two for norms
    kept apart. By direct difference ``e = sigma gamma_{n+6} |x - z|^2``: every squared difference is
    already relatively accurate. Taking max(distance, 0) can only bring a negative computed distance
    closer to the exact one. Every product that underflows adds sigma times the smallest number: n in a sum
    of squared differences, 4 n by norm expansion, and the product with sigma one more.

    An exact entry is at most 1, and so, up to the error of exp, is a computed one whose distance is summed
    from squared differences. One that norm expansion makes negative gives an entry of up to ``exp(e)``
    where it is not taken as 0, and only the first bound holds.
    """
    features, sigma = data.shape[1], kernel.sigma
    u, u64 = unit_roundoff(declaration.precision), unit_roundoff("float64")
    distances = squared_distances(data, rows)
    subnormal64 = smallest_subnormal("float64")
    underflow64 = sigma * subnormal64 * features + subnormal64
    judge_exponent = (sigma * gamma(features + 6, u64) * distances + underflow64) * ROUND_UP
    values = np.exp(-sigma * distances)
    # The largest value the exact entry can have, from below the true exponent and above exp's error; the
    # error is taken off the exponent, since far apart exp alone is 0 times infinity.
    # n + 2 roundings of the distance, the product, and up to 5 in forming this factor; NumPy's exp errs by
    # `LIBRARY_ULPS` (2 u each), forming the product with this factor by no more than the 6 u that are left.
    least_exponent = sigma * distances * (1.0 - gamma(features + 8, u64)) - underflow64
    tiny = LIBRARY_ULPS * smallest_subnormal("float64")
    doubt = sigma * distances * gamma(features + 10, u64) + underflow64
    if doubt.max(initial=0.0) <= SMALL:
        # For t <= 1, exp(t) <= 1 + t + t^2. The value itself errs as exp and its argument do.
        off = (1 + (4 * LIBRARY_ULPS + 12) * u64) * (1 + doubt * (1 + doubt))
        largest = np.minimum((values + tiny) * off + tiny, 1.0)
    else:
        off = 1 + (2 * LIBRARY_ULPS + 6) * u64
        largest = np.minimum(np.exp(-least_exponent) * off + tiny, 1.0)

    def error(exponent: np.ndarray, precision: str, u: float, capped: bool) -> np.ndarray:
        ulps = LIBRARY_ULPS
        if exponent.max(initial=0.0) <= SMALL:
            # For e <= 1, expm1(e) <= e + e^2 / 2 + e^3 / 3. The bounds below are larger than 1 then.
            grown = exponent * (1 + exponent * (0.5 + exponent / 3))
            relative = grown + 2 * ulps * u * (1 + grown)
            return largest * relative * ROUND_UP + ulps * smallest_subnormal(precision)
        relative = np.expm1(exponent) + 2 * ulps * u * np.exp(exponent)
        bound = largest * relative
        # Where the error of the exponent is large, neither entry exceeds exp of the largest it can be.
        most = exponent - least_exponent + 4 * u64 * (exponent + least_exponent)
        bound = np.fmin(bound, np.exp(most) * (1 + 2 * ulps * u) + subnormal64)
        if capped:
            bound = np.minimum(bound, 1 + 2 * ulps * u)
        # The error of a subnormal result is so many smallest numbers, half of one if correctly rounded.
        return bound * ROUND_UP + ulps * smallest_subnormal(precision)

    subnormal = smallest_subnormal(declaration.precision)
    if declaration.rbf == "difference":
        # The distances of this module, which the bound is relative to, may have lost as much themselves.
        underflow = sigma * subnormal * features + subnormal + underflow64
        exponent = (sigma * gamma(features + 6, u) * distances + underflow) * ROUND_UP
        reach = distances * ROUND_UP
    else:
        norms = squared_norms(data)
        reach = norms[rows, None] + norms + 2 * absolute_products(data, rows)
        exponent = (
            sigma * gamma(features + 6, u) * reach + sigma * subnormal * 4 * features + subnormal
        ) * ROUND_UP
    entries = KernelEntries(
        values,
        error(judge_exponent, "float64", u64, True),
        error(exponent, declaration.precision, u, declaration.rbf == "difference"),
    )
    return entries, reach


@entries_of.register
def _polynomial_entries(kernel: PolynomialKernel, inner, declaration):
    """Propagate the error of ``t = offset + <x, z>`` through ``t**d``.

    ``|(t + e)**d (1 + r) - t**d| <= d |e| (|t| + |e|)**(d-1) + r (|t| + |e|)**d`` with
    r = gamma_{d-1} of repeated multiplication, or 2 ulps u of pow, which is more for small d. A power that
    underflows is below 1, and so are the factors it meets: a product or pow adds no more than its own ulps
    of the smallest number.
    """
    products, absolute, judge, solver = inner
    degree = kernel.degree
    base = absolute + kernel.offset
    judge_argument = gamma(judge[2] + 1, judge[0]) * base + judge[1]
    size = np.abs(products + kernel.offset) + judge_argument

    def error(argument: np.ndarray, relative: float, underflow: float) -> np.ndarray:
        reach = size + argument
        bound = degree * argument * reach ** (degree - 1) + relative * reach**degree
        # An entry of (0 + 0)**d is an exact 0; in all others products and the bound may underflow as well.
        return np.where((base > 0) | (judge[1] > 0), rounded_up(bound + underflow, 2 * degree + 16), 0.0)

    subnormal, subnormal64 = smallest_subnormal(declaration.precision), smallest_subnormal("float64")
    relative = max(gamma(degree - 1, solver[0]), 2 * LIBRARY_ULPS * solver[0])
    values = products + kernel.offset
    power = values.copy()
    for _ in range(degree - 1):
        power *= values
    argument = gamma(solver[2] + 1, solver[0]) * base + solver[1]
    entries = KernelEntries(
        power,
        error(judge_argument, gamma(degree - 1, judge[0]), degree * subnormal64),
        error(argument, relative, degree * LIBRARY_ULPS * subnormal),
    )
    reach = np.maximum(size + argument, base)
    return entries, np.maximum(reach, reach**degree) * ROUND_UP


ROUNDINGS = 4
"""Roundings of a term because of the factor."""


def scaled_entries(
    entries: KernelEntries, problem: Problem, rows: np.ndarray, precision: str
) -> KernelEntries:
    """Entries of some rows with what a solver of such a recurrence may be off by more."""
    factor = gamma(ROUNDINGS, unit_roundoff(precision))
    diagonal = 0.0 if problem.is_svm else problem.samples * problem.ridge.penalty
    if problem.is_svm:
        dual = problem.dual
        known = dual.threshold == 0.0 and bool(np.all(dual.linear == 1.0))
        diagonal = dual.shift if known else np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        more = factor * entries.term_sizes
        more[np.arange(rows.size), rows] += factor * diagonal
        return replace(entries, solver_error=(entries.solver_error + more) * ROUND_UP)
