"""Roundings that a term of one step's sum goes through: a correction not made yet is no term of it.

A step adds the products of a kernel row with a as the window began, one correction for each increment made
in the window so far, and a few constants. In any order a term is rounded at most once for each other term
that is not an exact 0, so that step t of a window, after t increments, has

    k_t = p + t + c + max(r - 1, 0)   (K-SVM, c = 6; without r where omega = 0),
    k_t = p + t b + r + c      (K-RR, c = 5),

p the nonzero entries of a at the window's start, r the most often that a coordinate was drawn in it
before, of a K-SVM the step's own one (bounds/window/svm.py). A K-RR's terms are p products, t b
corrections, y, m a' and what m multiplies of the coordinate's own increments, one sum or r: at most
p + t b + r + 1 additions, the product itself, and two roundings where it meets 1/lambda. Increments of a
coordinate that are summed before they meet its kernel entry are a tree over the same terms, each with one
product: no term is rounded more often. Products formed from the samples go through n more. The judge's own
product is with a itself, of which at most p and the distinct coordinates drawn are not 0.

Not every term can be rounded that often. Additions of N terms are a binary tree. The depths of j leaves add
up to the number of them below each inner node, summed over these, and the k-th largest inner node has at
most N - k + 1 leaves. So j leaves have depths of ``min(j, 2) + ... + min(j, N)`` together at most, which is
what N - 1, N - 1, N - 2, ..., 1 give, and by partial summation

    sum_i depth_i |x_i| <= (N - 1) |x|_(1) + (N - 1) |x|_(2) + (N - 2) |x|_(3) + ... + |x|_(N),

sizes in descending order: half of ``(N - 1) sum |x_i|`` where they are alike. A coordinate of which several
terms are increments is one entry of the sizes' sum: the right-hand side is convex in how it is split, so
largest where one of its terms is all. Sorting costs; it is done where steps are compared with exact ones.

*What an increment may differ by.* A log tells a exactly, and so the change of each coordinate. The
increment theta_t^ that a correction was made with may be off from that change theta_t by e_t
(bounds/step/clip.py, bounds/step/residual.py):

* in place, a clip: the stored value is the clipped one, the increment its rounded difference: u |theta_t|;
* added, a clip: the stored value is ``fl(value + increment)``: u |stored| + u |theta_t|;
* solved for, in place or added: the increment itself is what was computed: u |stored|.
  A coordinate that its block holds c times is stored c times, or its increments are summed first: with d
  what all of them together change, ``u (c |stored| + (c - 1) (|d| + e))`` where they are equal;
* frozen: both stored and used values are sums of at most r + 1 numbers, r draws of the coordinate so far,
  each off by at most about ``A_r = gamma_{r+1} (|a'_i| + moved_i)`` (`accumulation_error`), and the
  increment is the difference of two of them: A_r + A_{r-1}, where a' itself is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.compiled import compiled, inlined
from sstep_verify.declaration import Declaration
from sstep_verify.rounding.arithmetic import (
    ROUND_UP,
    counted,
    gamma,
    largest_normal,
    smallest_subnormal,
    unit_roundoff,
)

IN_PLACE, ADDED, FROZEN, SOLVED = range(4)
"""How a step comes by its increment and what it stores; `SOLVED` is a K-RR, in place or added."""

FORMS = {"in-place": IN_PLACE, "added": ADDED, "frozen": FROZEN}


class Factored(NamedTuple):
    """What products formed from the samples may cost more than those formed from kernel entries.

    Parameters
    ----------
    features : int
        Roundings of a term besides (n).
    length : float
        Largest ``sum_k |x_ik|``: smallest numbers that an entry of A'a that underflows may cost.
    height : float
        Largest ``|x_ik|``.
    """

    features: int = 0
    length: float = 0.0
    height: float = 0.0

    def may_overflow(self, alpha: np.ndarray, log: np.ndarray, largest: float) -> bool:
        """Whether an entry of A'a may exceed a size while a takes logged values, whatever a row's product.

        The increments of a coordinate are at most twice its logged values and the first of it together.
        """
        if not self.height:
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            most = self.height * (2.0 * np.abs(alpha).sum() + 4.0 * np.abs(log).sum())
        return not most <= largest

    def steps_within(self, alpha: np.ndarray, log: np.ndarray, largest: float) -> int:
        """Leading steps before which no entry of A'a may exceed a size, whatever a row's product.

        What a step itself left does not count: a wrong value says nothing of how the step was made.
        """
        if not self.may_overflow(alpha, log, largest):
            return len(log)
        with np.errstate(over="ignore", invalid="ignore"):
            left = np.cumsum(np.abs(log).sum(axis=1))
            most = self.height * (2.0 * np.abs(alpha).sum() + 4.0 * np.append(0.0, left[:-1]))
        # What may exceed it once may do so ever after.
        return int(np.count_nonzero(most <= largest))


NOT_FACTORED = Factored()


class SumConstants(NamedTuple):
    """What the error of every step's sum is made from, whatever the step makes of it.

    Parameters
    ----------
    longest : float
        gamma of the sum in the last step of a window, solver's and judge's share together.
    others : int
        Roundings of a term besides those of products and corrections (c, and n where products are formed
        from the samples).
    judge_others : int
        The same of the judge.
    each : int
        Of `others`, roundings that are no additions.
    ordered : bool
        Whether the sizes of terms are sorted: where exact steps are compared, and products are formed from
        kernel entries.
    u, judge_u : float
        Unit roundoffs of the solver and of the judge; 0 where an exact step takes the judge's place.
    underflow : float
        What numbers that underflow may cost a sum: the smallest number times the operations on it.
    largest : float
        Size that no number on the way may exceed, or nothing is promised (`largest_normal`).
    form : int
        `IN_PLACE`, `ADDED`, `FROZEN` or `SOLVED`.
    """

    longest: float
    others: int
    judge_others: int
    each: int
    ordered: bool
    u: float
    judge_u: float
    underflow: float
    largest: float
    form: int


def sum_constants(
    declaration: Declaration,
    samples: int,
    support: int,
    drawn: int,
    others: tuple[int, int, int],
    operations: float,
    factored: Factored,
    form: int,
    *,
    additions: int,
    judge: bool,
) -> SumConstants:
    """Constants of the sums of the steps of windows that draw `drawn` coordinates at most.

    `support` are the nonzero entries of a at most (p), `others` roundings of a term besides those of
    products and corrections: the solver's, the judge's, and those of the solver's that are no additions.
    `operations` on one sum may underflow; `additions` are what the corrections of a window's last step
    take; `judge` says whether the judge's own float64 step is part of the bound, or an exact one takes its
    place.
    """
    precision = declaration.precision
    u, judge_u = unit_roundoff(precision), unit_roundoff("float64") if judge else 0.0
    solver = counted(others[0] + factored.features, samples, drawn)
    judge_others, each = others[1], others[2] + factored.features
    longest = support + additions + solver
    return SumConstants(
        longest=gamma(longest, u) + gamma(samples + judge_others, judge_u),
        others=solver,
        judge_others=judge_others,
        each=each,
        ordered=factored == NOT_FACTORED and not judge,
        u=u,
        judge_u=judge_u,
        underflow=operations * (smallest_subnormal(precision) + smallest_subnormal("float64")),
        largest=largest_normal(precision),
        form=form,
    )


gamma_of = inlined(gamma)
"""`gamma` of rounding/arithmetic.py, compiled."""


@inlined
def sum_error(sums, support, corrections, held):
    """Error of a step's sum over the sum of absolute values, solver's and judge's share together.

    `support` and `held` are the nonzero entries of a at the window's start (p) and, at most, before the
    step; `corrections` the additions that the step's corrections take.
    """
    solver = support + corrections + sums.others
    return gamma_of(solver, sums.u) + gamma_of(held + sums.judge_others, sums.judge_u)


@inlined
def sorted_sum_error(sums, support, corrections, sizes):
    """Error of a step's sum by the sizes of its terms, which are sorted, any of them 0: the solver's.

    `support` and `corrections` are as for `sum_error`.
    """
    longest, each = support + corrections + sums.others, sums.each
    _sort(sizes)
    total, depth = 0.0, longest - each
    for place in range(sizes.size - 1, -1, -1):
        if sizes[place] == 0.0:
            break
        total += (max(depth, 1) + each) * sizes[place]
        if place < sizes.size - 1:
            depth -= 1
    if not longest * sums.u < 1.0:
        return np.inf
    return sums.u / (1.0 - longest * sums.u) * total


@compiled
def _sort(sizes):
    """Sort in place, which needs room of its own."""
    sizes.sort()


@inlined
def accumulation_error(sums, draws, size):
    """How far the sum of a frozen coordinate's value and its increments may be off; 0 in other forms.

    All of these, of r draws, are of `size`: no more than ``gamma_r S``, S the sizes of the value and of the
    increments that were added. Each of these is two such sums' errors from the logged one, so that
    ``S <= size + 2 r gamma_r S``. One rounding more is left for a sum that begins with 0.
    """
    if draws == 0 or sums.form != FROZEN:
        return 0.0
    k = (draws + 1) * sums.u
    rest = 1.0 - (1.0 + 2.0 * draws) * k
    return k / rest * size * ROUND_UP if rest > 0.0 else np.inf


@inlined
def increment_error(sums, draws, moved, size, logged, times=1):
    """How far the increment that a step used may be from the logged one (e_t).

    The coordinate was drawn `draws` times in the window (r), this step included, which may draw it several
    `times`; `moved` is ``|a'_i|`` and the sizes of its increments before, summed, `size` that of the logged
    one, `logged` the value after it.
    """
    if sums.form == FROZEN:
        before = accumulation_error(sums, draws - 1, moved)
        return before + accumulation_error(sums, draws, moved + size)
    error = 0.0
    if sums.form != SOLVED:
        error = sums.u * size
    if sums.form != IN_PLACE:
        error += sums.u * abs(logged)
    if times > 1:
        return (times * abs(logged) + (times - 1) * size) * sums.u / (1.0 - times * sums.u) * ROUND_UP
    return error


@inlined
def unequal_error(sums, draws, times, apart):
    """What is added to that where the increments of `times` draws of one step are `apart` from their mean.

    `apart` bounds the 2-norm of the differences.
    """
    if sums.form == FROZEN:
        return 2.0 * accumulation_error(sums, draws, times * apart)
    return times * (times - 1) * apart * sums.u / (1.0 - times * sums.u) * ROUND_UP
