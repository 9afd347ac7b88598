"""A factor in the symbols of the problem, such as 1/lambda^2: where 1/lambda is used instead of lambda.

A factor is known by an interval. It is given in symbols where the interval is narrow, and just one of the
powers and products below lies in it, and no plain number.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sstep_verify.problems import Problem
from sstep_verify.problems.kernels import parameters_of

PLAIN = frozenset({Fraction(1), Fraction(-1), Fraction(2), Fraction(1, 2), Fraction(4), Fraction(1, 4)})
"""Factors that are likely whatever the problem, of which no symbol says anything."""


WIDEST = 1e-3
"""Relative width of the widest interval of a factor that is given in symbols.

About twenty symbols are tried, so that a factor that is none of them meets one by chance in at most 3 % of
cases, were it spread evenly over one octave.
"""


def in_symbols(problem: Problem, low: float, high: float, *, of_sigma: bool = False) -> str:
    """Return the factor between two numbers in symbols; empty where none is, or more than one."""
    found = _between(_of_sigma(problem) if of_sigma else _of_penalty(problem), low, high)
    return found[0][0] if len(found) == 1 else ""


def is_known(problem: Problem, low: float, high: float) -> bool:
    """Whether one number of those in symbols or `PLAIN`, and no other of them, is between two numbers.

    A factor that is one of these was not fitted to the steps.
    """
    return len({value for _, value in _between(_of_penalty(problem), low, high)}) == 1


def _between(known: list[tuple[str, Fraction]], low: float, high: float) -> list[tuple[str, Fraction]]:
    """Those between two numbers that lie close together, plain ones among them without a name."""
    if not (math.isfinite(low) and math.isfinite(high)) or high - low > WIDEST * max(abs(low), abs(high)):
        return []
    plain = [("", value) for value in PLAIN]
    return [one for one in (*known, *plain) if Fraction(low) <= one[1] <= Fraction(high)]


def _of_penalty(problem: Problem) -> list[tuple[str, Fraction]]:
    """Powers of C or lambda and of m, and products of both."""
    p, value, m = problem.loss.symbol, Fraction(problem.loss.parameter), Fraction(problem.samples)
    powers = _powers(p, value)
    if problem.is_svm:  # omega is 1/(2C)
        omega = [(f"2*{p}", 2 * value), (f"1/(2*{p})", 1 / (2 * value)), (f"4*{p}^2", 4 * value**2)]
        return [*powers, *omega, *_powers("m", m)]
    products = [(f"m*{p}", m * value), (f"1/(m*{p})", 1 / (m * value)), (f"{p}/m", value / m)]
    return [*powers, *products, (f"m/{p}", m / value), *_powers("m", m)]


def _of_sigma(problem: Problem) -> list[tuple[str, Fraction]]:
    """Powers of sigma, among them those of 1/(2 sigma^2), and the number of features."""
    sigma, n = Fraction(parameters_of(problem.kernel)["sigma"]), Fraction(problem.features)
    width = [("1/sigma^3", 1 / sigma**3), ("1/(2*sigma^3)", 1 / (2 * sigma**3))]
    return [*_powers("sigma", sigma), *width, ("n", n), ("1/n", 1 / n)]


def _powers(name: str, value: Fraction) -> list[tuple[str, Fraction]]:
    return [
        (name, value), (f"1/{name}", 1 / value), (f"{name}^2", value**2), (f"1/{name}^2", 1 / value**2)
    ]  # fmt: skip
