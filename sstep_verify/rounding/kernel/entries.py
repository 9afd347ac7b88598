"""Bound A: how far a computed kernel entry may be from the exact one, for any order of summation.

Assumptions: IEEE arithmetic with unit roundoff u; exp and pow within the declared number of units in the
last place, which for a subnormal result is the smallest number. Where an entry, or a sum or power on the
way to it, may exceed `largest_normal`, nothing is promised: its bound is infinite. Inner products of
n terms err by at most ``gamma_n <|x|, |z|>`` (Higham 2002, section 3.1), whatever the order, tree, FMA or
number of ranks; where the solver declares an order, ``gamma_k`` with the smaller k of `sum_roundings`
takes its place.

With the linear kernel a solver may multiply by the samples in the place of entries, ``<x_i, A'v>`` for
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
    delta_ii by gamma_4 omega         (K-RR: gamma_4 m lambda) beside.

Those of the diagonal enter the products with a_i, the corrections and the curvature or block system alike.
The constant of the gradient (1, or y_i) has no product in our recurrence, whose rounding its bounds count
all the same (k is at least 6 more than its sums): one for f fits. The upper end of the box, C / f, is off
by ``gamma_2 C`` (rounding/finisher.py). The sizes of v are those of a over f, and every other rounding is
relative. Underflow is taken to be ours: scales lie between 2^-64 and 2^64. Of a threshold, or of another
linear term than 1, nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import singledispatch
from typing import NamedTuple

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.problems import LinearKernel, PolynomialKernel, Problem, RBFKernel
from sstep_verify.problems.kernels import Kernel
from sstep_verify.rounding.arithmetic import (
    MOST_TERMS,
    OUTWARD,
    gamma,
    largest_normal,
    rounded_up,
    smallest_subnormal,
    sum_roundings,
    unit_roundoff,
)
from sstep_verify.rounding.kernel.bounded import KernelEntries, factored_products
from sstep_verify.rounding.kernel.rbf import rbf_entries

ENTRIES_AT_ONCE = 1 << 18
"""Kernel entries held at once: what the caches of a processor hold of the arrays made of them."""


def some_rows(samples: int) -> Iterator[np.ndarray]:
    """All of so many samples, at a time as many as have `ENTRIES_AT_ONCE` kernel entries."""
    step = max(ENTRIES_AT_ONCE // samples, 1)
    for begin in range(0, samples, step):
        yield np.arange(begin, min(begin + step, samples))


def kernel_entries(problem: Problem, declaration: Declaration, rows: np.ndarray) -> KernelEntries:
    """Kernel rows of a problem with bounds on their errors.

    Parameters
    ----------
    problem : Problem
        The problem, as the solver holds it (rounding/held.py).
    declaration : Declaration
        Precision and formulas of the solver.
    rows : ndarray of int, shape (c,)
        Samples whose rows are wanted.

    Returns
    -------
    KernelEntries
    """
    # Powers or products beyond the float64 range make a bound infinite, which a check reports.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        entries, reached = sample_entries(problem.kernel, problem.dense, rows, declaration)
        within = reached <= largest_normal(declaration.precision)
        solver_error = np.where(within, entries.solver_error, np.inf)
    factored = factored_products(problem, declaration, rows)
    entries = replace(entries, solver_error=solver_error, factored=factored)
    # Of a difference of two samples as many entries may be others than 0 as of both together.
    terms = min(2 * problem.longest_sample, problem.features)
    if max(problem.samples, terms) >= MOST_TERMS:
        unknown = np.full_like(solver_error, np.inf)
        entries = replace(entries, judge_error=unknown, solver_error=unknown)
    return scaled_entries(entries, problem, rows, declaration.precision) if declaration.scaled else entries


class Inner(NamedTuple):
    """Inner products of some samples with all, and what is known of them.

    Parameters
    ----------
    products, absolute : ndarray, shape (c, m)
        Inner products as computed here, and upper bounds on those of the absolute values.
    judge, solver : (float, ndarray of shape (c, m), int)
        Of this computation and of the solver's: unit roundoff, what may underflow, and roundings of a
        term (n, or fewer where the solver declares an order).
    """

    products: np.ndarray
    absolute: np.ndarray
    judge: tuple[float, np.ndarray, int]
    solver: tuple[float, np.ndarray, int]


@singledispatch
def entries_of(kernel: Kernel, inner: Inner, declaration: Declaration) -> tuple[KernelEntries, np.ndarray]:
    """The same of a function of inner products: ``entries_of.register`` adds one."""
    raise TypeError(f"no bound is known for {kernel}: add one to entries_of")


@entries_of.register
def _(kernel: LinearKernel, inner, declaration):
    def error(kind: tuple[float, np.ndarray, int]) -> np.ndarray:
        return (gamma(kind[2], kind[0]) * inner.absolute + kind[1]) * OUTWARD

    return KernelEntries(inner.products, error(inner.judge), error(inner.solver)), inner.absolute


@singledispatch
def sample_entries(
    kernel: Kernel, data: np.ndarray, rows: np.ndarray, declaration: Declaration
) -> tuple[KernelEntries, np.ndarray]:
    """Entries of some rows from the samples, with bounds, and what no number on the way to one exceeds.

    The bounds' table of kernels: ``sample_entries.register`` adds one; ``entries_of.register`` one that is
    a function of inner products.

    Parameters
    ----------
    kernel : Kernel
        The kernel, its parameters exact to the solver.
    data : ndarray, shape (m, n)
        Samples, exact to the solver.
    rows : ndarray of int, shape (c,)
        Samples whose rows are wanted.
    declaration : Declaration
        Precision and formulas of the solver.

    Returns
    -------
    (KernelEntries, ndarray of shape (c, m))
        The second may be larger than the range of the solver's type: nothing is promised there.
    """
    features = data.shape[1]
    depth = sum_roundings(features, declaration.summation)
    u, u64 = unit_roundoff(declaration.precision), unit_roundoff("float64")
    subnormal, subnormal64 = (
        features * smallest_subnormal(declaration.precision),
        features * smallest_subnormal("float64"),
    )
    # Where two samples share no feature, every product is an exact zero and nothing underflows.
    shared = (data[rows] != 0).astype(np.float64) @ (data != 0).T.astype(np.float64) > 0
    absolute = np.abs(data[rows]) @ np.abs(data).T * OUTWARD
    judge, solver = (u64, subnormal64 * shared, features), (u, subnormal * shared, depth)
    return entries_of(kernel, Inner(data[rows] @ data.T, absolute, judge, solver), declaration)


@sample_entries.register
def _(kernel: RBFKernel, data, rows, declaration):
    u, u64 = unit_roundoff(declaration.precision), unit_roundoff("float64")
    return rbf_entries(data, rows, kernel.sigma, declaration, u, u64)


@entries_of.register
def _(kernel: PolynomialKernel, inner, declaration):
    """Propagate the error of ``t = offset + <x, z>`` through ``t**d``.

    ``|(t + e)**d (1 + r) - t**d| <= d |e| (|t| + |e|)**(d-1) + r (|t| + |e|)**d`` with
    r = gamma_{d-1} for repeated multiplication, or 2 ulps u for pow if that is more. A power that
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
    relative, ulps = gamma(degree - 1, solver[0]), 1.0
    if declaration.power == "pow":
        relative = max(relative, 2 * declaration.function_ulps * solver[0])
        ulps = max(declaration.function_ulps, 1.0)
    values = products + kernel.offset
    power = values.copy()
    for _ in range(degree - 1):
        power *= values
    argument = gamma(solver[2] + 1, solver[0]) * base + solver[1]
    entries = KernelEntries(
        power,
        error(judge_argument, gamma(degree - 1, judge[0]), degree * subnormal64),
        error(argument, relative, degree * ulps * subnormal),
    )
    reach = np.maximum(size + argument, base)
    return entries, np.maximum(reach, reach**degree) * OUTWARD


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
        return replace(entries, solver_error=(entries.solver_error + more) * OUTWARD)
