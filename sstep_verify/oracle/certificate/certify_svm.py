"""Certificates of K-SVM optima: value, gap, and what is proved of every coordinate.

With ``H = Q + omega I`` and a feasible a, concavity of the dual gives, for every optimum a*,

    1/2 ||a - a*||_H^2 <= D* - D(a) <= P(a) - D(a) = gap.

So the gradient of every optimum is known to ``|(Ha - Ha*)_i| <= sqrt(H_ii) ||a - a*||_H <=
sqrt(2 H_ii gap)``, and where ``Ha - 1`` is certainly positive (negative) a*_i is 0 (C), whatever the active
set. With a on those ends exactly, ``a - a*`` lives on the remaining coordinates; if H has no eigenvalue
below mu > 0 there, the optimum is unique and ``||a - a*||_2 <= sqrt(2 gap / mu)``. All is evaluated at the
decimals written down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sstep_reference.arithmetic import exact_fraction

from sstep_verify.errors import InputError
from sstep_verify.oracle.balls.decimals import (
    ROOM,
    decimal_digits,
    enclosing_decimals,
    exact_decimal,
    lower_decimal,
    lower_fraction,
    nearest_decimal,
    upper_decimal,
    upper_fraction,
)
from sstep_verify.oracle.balls.svm_balls import BallDual, Enclosed
from sstep_verify.oracle.certificate.definite import smallest_eigenvalue
from sstep_verify.oracle.search.svm_optimum import search
from sstep_verify.oracle.verify import record as words
from sstep_verify.oracle.verify.record import Interval, SvmCertificate, subject_of
from sstep_verify.problems import Problem

LEAST_BITS = 300
BITS_PER_DIGIT = 12
"""Bits of the balls for a digit asked: the gap bounds the square of the error of a."""


def certify_svm(problem: Problem, digits: int = 30) -> SvmCertificate:
    """Certify the optimum of a K-SVM.

    Parameters
    ----------
    problem : Problem
        A K-SVM, m up to about a thousand.
    digits : int
        Decimal digits of the optimal value asked for, >= 1.

    Returns
    -------
    SvmCertificate
        Fewer digits are stated where they could not be had.

    Raises
    ------
    InputError
        If the problem is a K-RR or the number of digits is out of range.
    MissingExtraError
        If python-flint is not installed.
    """
    if not problem.is_svm:
        raise InputError(f"{problem.label}: certify_svm needs a K-SVM problem; use certify_ridge")
    if not 1 <= digits <= 130:
        raise InputError(f"digits = {digits}, but it must be in 1..130")
    bits = max(LEAST_BITS, BITS_PER_DIGIT * digits)
    # 10**(-2 digits - 6): then a itself has about as many digits as the value.
    found = search(problem, 10.0 ** -(2 * digits + 6), (bits, 2 * bits, 4 * bits))
    how = f"{found.method}; balls of {found.dual.arithmetic.bits} bits"
    return _stated(problem, found.dual, found.best, digits, how)


@dataclass(frozen=True)
class _Written:
    """A point as it is written down, with its enclosures."""

    decimals: tuple[str, ...]
    at: Enclosed
    gap: Any
    statuses: list[str]


def _stated(problem: Problem, dual: BallDual, best: Enclosed, digits: int, how: str) -> SvmCertificate:
    point = [exact_fraction(value) for value in best.point]
    written = _written(dual, point)
    end = Fraction(problem.hinge.C)
    ends = {words.ZERO: Fraction(0), words.UPPER: end}
    snapped = [ends.get(status, value) for status, value in zip(written.statuses, point, strict=True)]
    if snapped != point:
        written = _written(dual, snapped)
    statuses = written.statuses
    remaining = [i for i, status in enumerate(statuses) if status == words.UNDECIDED]
    matrix, least = smallest_eigenvalue(dual, remaining)
    eigenvalue = lower_decimal(least) if matrix == words.DEFINITE else ""
    radius = _radius(dual, written.gap, eigenvalue) if eigenvalue else ""
    if radius:
        for i in remaining:
            value = Fraction(written.decimals[i])
            if value > Fraction(radius) and (dual.upper is None or value + Fraction(radius) < end):
                statuses[i] = words.FREE
    lower, upper = lower_fraction(written.at.dual), upper_fraction(written.at.primal)
    count = math.ceil(dual.arithmetic.bits * math.log10(2))
    objective = Interval(*enclosing_decimals(lower, upper, count))
    return SvmCertificate(
        subject=subject_of(problem),
        digits=decimal_digits(Fraction(objective.radius), Fraction(objective.middle), digits),
        bits=dual.arithmetic.bits,
        alpha=written.decimals,
        statuses=tuple(statuses),
        objective=objective,
        dual=Interval(*enclosing_decimals(lower, upper_fraction(written.at.dual), count)),
        primal=Interval(*enclosing_decimals(lower_fraction(written.at.primal), upper, count)),
        gap=Interval(*enclosing_decimals(lower_fraction(written.gap), upper_fraction(written.gap), count)),
        remaining=matrix,
        eigenvalue=eigenvalue,
        radius=radius,
        how=how,
    )


def _written(dual: BallDual, point: list[Fraction]) -> _Written:
    """Write a point of the box in decimals, ends exactly, and enclose everything at the decimals."""
    count = math.ceil(dual.arithmetic.bits * math.log10(2))
    end = None if dual.upper is None else exact_fraction(dual.upper)
    decimals = []
    for value in point:
        text = exact_decimal(value) if value in (0, end) else nearest_decimal(value, count)
        if end is not None and Fraction(text) > end:
            text = exact_decimal(end)
        decimals.append(text)
    at = dual.enclosed([dual.arithmetic.from_fraction(Fraction(text)) for text in decimals])
    with dual.arithmetic.working():
        gap = at.primal - at.dual
    return _Written(tuple(decimals), at, gap, _statuses(dual, at, gap))


def _statuses(dual: BallDual, at: Enclosed, gap: Any) -> list[str]:
    """What the sign of every optimum's gradient proves; "undecided" where it is not known."""
    found = []
    with dual.arithmetic.working():
        reach = gap.abs_upper() * 2
        for i, (product, value) in enumerate(zip(at.products, at.point, strict=True)):
            slope = product - 1 + dual.shift * value
            radius = (dual.entry(i, i).abs_upper() * reach).sqrt().upper() * (1 + 2.0**-20)
            at_upper = dual.upper is not None and slope < -radius
            found.append(words.ZERO if slope > radius else words.UPPER if at_upper else words.UNDECIDED)
    return found


def _radius(dual: BallDual, gap: Any, eigenvalue: str) -> str:
    with dual.arithmetic.working():
        least = dual.arithmetic.from_fraction(Fraction(eigenvalue))
        return upper_decimal(upper_fraction((2 * gap.abs_upper() / least).sqrt()) * ROOM)
