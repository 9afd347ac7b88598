"""Relative values that a run reports, and limits that it states: comparisons of the check claim-honesty."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sstep_verify.bounds.optimum.reported import relative_error
from sstep_verify.bounds.optimum.svm import Evaluated
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.comparison import Comparison
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, norm, unit_roundoff
from sstep_verify.trajectory import AT_LEAST, AT_MOST, Claim
from sstep_verify.verdict import Place

Interval = tuple[float, float]
Enclosed = Callable[[str], Interval]
"""Enclosure of a value at a dual vector, by its name."""

LESS, MORE = 1 - 2.0**-52, 1 + 2.0**-52
"""A number that is rounded by at most half an ulp is moved by these by at least a whole one."""


def relative(problem: Problem, enclosed: Enclosed) -> Interval:
    """Gap over dual value (K-SVM), residual over ``||y||`` (K-RR); infinite above where that may be 0."""
    part, whole = enclosed(part_of(problem)), _whole(problem, enclosed)
    low = max(part[0], 0.0) / whole[1] * LESS if whole[1] > 0 else math.inf
    return low, part[1] / whole[0] * MORE if whole[0] > 0 else math.inf


def part_of(problem: Problem) -> str:
    """Name of what is stated relative to something."""
    return "gap" if problem.is_svm else "residual"


def _whole(problem: Problem, enclosed: Enclosed) -> Interval:
    """What it is stated relative to."""
    if problem.is_svm:
        return enclosed("dual")
    size, error = norm(problem.targets), _error_of_norm(problem, "float64")
    return max(size - error, 0.0) * LESS, (size + error) * MORE


def _error_of_norm(problem: Problem, precision: str) -> float:
    return gamma(problem.samples + 8, unit_roundoff(precision)) * norm(problem.targets) * ROUND_UP


def of_ratio(
    case: Case, claim: Claim, floats: dict[str, Evaluated], enclosed: Enclosed, item: str
) -> Comparison:
    """Compare a relative value with the exact one, in units of what is stated relative to something.

    It is infinite only where what it is relative to may be computed as no more than 0.
    """
    problem, precision, ratio = case.problem, case.formulas.precision, claim.value
    part, whole = enclosed(part_of(problem)), _whole(problem, enclosed)
    place = Place(found=ratio, item=item)
    error = floats["dual"].solver_error if problem.is_svm else _error_of_norm(problem, precision)
    if not math.isfinite(ratio):
        lawful = ratio == math.inf and not whole[0] > error
        return (
            Comparison(0.0, 0.0, 0.0, place=Place(item=item))
            if lawful
            else Comparison(math.inf, math.inf, 0.0, place=place)
        )
    largest = max(map(abs, whole))
    bound = relative_error(ratio, largest, floats[part_of(problem)].solver_error, error, precision)
    bound += claim.rounding * largest
    ends = sorted((ratio * whole[0], ratio * whole[1]))
    # Two products and a difference are rounded.
    slack = (max(map(abs, ends)) + max(map(abs, part))) * 2.0**-51
    lower = max(ends[0] - part[1], part[0] - ends[1], slack) - slack
    upper = max(ends[1] - part[0], part[1] - ends[0]) + slack
    if math.isnan(lower + upper):
        lower, upper = 0.0, math.inf
    return Comparison(lower, upper, bound, place=place)


def limited(name: str) -> str:
    """Name of the value of which a claim is a limit; empty if it is none."""
    for words in (AT_MOST, AT_LEAST):
        if name.endswith(words):
            return name.removesuffix(words)
    return ""


def of_limit(name: str, claim: Claim, true: Interval) -> Comparison:
    """Compare a limit with the exact value, which is enclosed: how far that is beyond."""
    sign = 1.0 if name.endswith(AT_MOST) else -1.0
    low, high = sorted((sign * true[0], sign * true[1]))
    limit, place = sign * claim.value, Place(found=claim.value, item=name)
    if math.isnan(limit):
        return Comparison(math.inf, math.inf, 0.0, place=place)
    with np.errstate(invalid="ignore"):
        lower, upper = max(low - limit, 0.0) * LESS, max(high - limit, 0.0) * MORE
    return Comparison(lower, upper, claim.rounding, place=place)
