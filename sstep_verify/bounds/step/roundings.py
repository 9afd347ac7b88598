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
"""

from __future__ import annotations

from typing import NamedTuple

from sstep_verify.compiled import compiled
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
    u, own : float
        Unit roundoffs of the solver and of the judge; 0 where an exact step takes the judge's place.
    """

    tree: int
    others: int
    own_others: int
    u: float
    own: float


def step_roundings(
    precision: str,
    samples: int,
    drawn: int,
    summation: str,
    others: int,
    own_others: int,
    *,
    judge: bool = True,
) -> StepRoundings:
    """Roundings of the steps of windows that draw at most `drawn` coordinates.

    Parameters
    ----------
    precision, summation : str
        Declared precision and order of summation.
    samples, drawn : int
        Number of samples (m) and of coordinates drawn in a window.
    others, own_others : int
        See `StepRoundings`.
    judge : bool
        Whether the judge's step is one in float64.
    """
    tree = stale_roundings(samples, samples, drawn, summation)
    own = unit_roundoff("float64") if judge else 0.0
    return StepRoundings(tree, others, own_others, unit_roundoff(precision), own)


gamma_of = compiled(gamma)
"""gamma_k, compiled."""


@compiled
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
