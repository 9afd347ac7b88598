"""Roundings that a term of one step's sum goes through: a correction not made yet is no term of it.

A step adds the products of a kernel row with a as the window began, one correction for each increment made
in the window so far, and a few constants. In any order a term is rounded at most once for each other term
that is not an exact 0, so that step t of a window, after t increments, has

    k_t = p + t + c            (K-SVM, c = 6),
    k_t = p + q + r + c        (K-RR with increments summed per coordinate, c = 5),
    k_t = p + t b + r + c      (K-RR else),

p the nonzero entries of a at the window's start, q the distinct coordinates drawn in it before, r the most
often that one of them was. A K-RR's terms are p products, q or t b corrections, y, m a' and what m
multiplies of the coordinate's own increments, one sum or r: p + q + 2 additions, the product itself, two
roundings where it meets 1/lambda, and the r - 1 of the increments' sum. Of a declared order the smaller
height of its tree takes the place of p. Products formed from the samples go through n more. The judge's own
product is with a itself, of which at most p + q entries are not 0.

Not every term can be rounded that often. Additions of N terms are a binary tree. The depths of j leaves add
up to the number of them below each inner node, summed over these, and the k-th largest inner node has at
most N - k + 1 leaves. So j leaves have depths of ``min(j, 2) + ... + min(j, N)`` together at most, which is
what N - 1, N - 1, N - 2, ..., 1 give, and by partial summation

    sum_i depth_i |x_i| <= (N - 1) |x|_(1) + (N - 1) |x|_(2) + (N - 2) |x|_(3) + ... + |x|_(N),

sizes in descending order: half of ``(N - 1) sum |x_i|`` where they are alike. A coordinate of which several
terms are increments is one entry of the sizes' sum: the right-hand side is convex in how it is split, so
largest where one of its terms is all. Sorting costs; it is done where steps are compared with exact ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.compiled import compiled, compiled_borrowing
from sstep_verify.numerics.rounding import gamma, stale_roundings, unit_roundoff


class StepRoundings(NamedTuple):
    """What the roundings of every step of a window are counted from.

    Parameters
    ----------
    tree : int
        Roundings of the products with a at most, by the declared order of summation.
    others : int
        Roundings of a term besides those of products and corrections (c, and n where products are formed
        from the samples).
    own_others : int
        The same of the judge.
    each : int
        Of `others`, roundings that are no additions.
    ordered : bool
        Whether the sizes of terms are sorted: where exact steps are compared, and products are formed from
        kernel entries.
    u, own : float
        Unit roundoffs of the solver and of the judge; 0 where an exact step takes the judge's place.
    """

    tree: int
    others: int
    own_others: int
    each: int
    ordered: bool
    u: float
    own: float


def step_roundings(
    precision: str,
    samples: int,
    drawn: int,
    summation: str,
    others: int,
    own_others: int,
    each: int,
    *,
    sums: bool = True,
    judge: bool = True,
) -> StepRoundings:
    """Roundings of the steps of windows that draw at most `drawn` coordinates.

    Parameters
    ----------
    precision, summation : str
        Declared precision and order of summation.
    samples, drawn : int
        Number of samples (m) and of coordinates drawn in a window.
    others, own_others, each : int
        See `StepRoundings`.
    sums : bool
        Whether a product with a is one sum, and not formed from the samples.
    judge : bool
        Whether the judge's step is one in float64.
    """
    tree = stale_roundings(samples, samples, drawn, summation)
    own = unit_roundoff("float64") if judge else 0.0
    ordered = sums and not judge
    return StepRoundings(tree, others, own_others, each, ordered, unit_roundoff(precision), own)


gamma_of = compiled_borrowing(gamma)
"""gamma_k, compiled."""


@compiled_borrowing
def sum_error(roundings, support, corrections, held):
    """Error of a step's sum over the sum of absolute values, solver's and judge's share together.

    Parameters
    ----------
    roundings : StepRoundings
        Of the windows' steps.
    support : int
        Nonzero entries of a at the window's start (p).
    corrections : int
        Additions that the step's corrections take.
    held : int
        Nonzero entries of a before the step, at most.
    """
    solver = min(support, roundings.tree) + corrections + roundings.others
    return gamma_of(solver, roundings.u) + gamma_of(held + roundings.own_others, roundings.own)


@compiled_borrowing
def sorted_sum_error(roundings, support, corrections, repeats, sizes):
    """Error of a step's sum by the sizes of its terms, which are sorted; the solver's share.

    Parameters
    ----------
    roundings : StepRoundings
        Of the windows' steps.
    support, corrections : int
        As for `sum_error`.
    repeats : int
        Of the additions that corrections take, those of increments of one coordinate.
    sizes : ndarray
        In: sizes of the terms, any number of them 0; sorted.
    """
    longest = support + corrections + roundings.others
    each = roundings.each + repeats
    additions = longest - each
    _sort(sizes)
    total, depth = 0.0, additions
    for place in range(sizes.size - 1, -1, -1):
        if sizes[place] == 0.0:
            break
        total += (max(depth, 1) + each) * sizes[place]
        if place < sizes.size - 1:
            depth -= 1
    if not longest * roundings.u < 1.0:
        return np.inf
    return roundings.u / (1.0 - longest * roundings.u) * total


@compiled
def _sort(sizes):
    """Sort in place, which needs room of its own."""
    sizes.sort()
