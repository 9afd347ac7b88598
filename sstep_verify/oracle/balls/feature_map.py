"""Feature spaces of few dimensions: images whose inner products are the kernel's entries, in balls."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations_with_replacement
from typing import Any

from sstep_reference.arithmetic import Balls

from sstep_verify.problems import PolynomialKernel, Problem

HIGHEST_RANK = 200
"""Dimensions of the feature space (p) up to which it is used."""


def feature_dimensions(problem: Problem) -> int | None:
    """Dimensions of the feature space, None beyond `HIGHEST_RANK` or half the number of samples."""
    p = problem.kernel.dimensions(problem.features)
    return int(p) if p <= min(HIGHEST_RANK, problem.samples // 2) else None


def feature_rows(problem: Problem, arithmetic: Balls) -> list[list[Any]]:
    """Images of the samples in the feature space.

    Parameters
    ----------
    problem : Problem
        A problem for which `feature_dimensions` is not None.
    arithmetic : Balls
        Ball arithmetic; to be called inside its `working()`.

    Returns
    -------
    list of m lists of p balls
        Their inner products are the kernel's entries.
    """
    samples = [[arithmetic.number(value) for value in row] for row in problem.dense.tolist()]
    kernel = problem.kernel
    if not isinstance(kernel, PolynomialKernel):
        return samples
    if kernel.offset > 0:
        root = arithmetic.number(kernel.offset).sqrt()
        samples = [[*row, root] for row in samples]
    monomials = list(combinations_with_replacement(range(len(samples[0])), kernel.degree))
    weights = [_multinomial(arithmetic, monomial) for monomial in monomials]
    return [
        [
            weight * math.prod(row[k] for k in monomial)
            for weight, monomial in zip(weights, monomials, strict=True)
        ]
        for row in samples
    ]


def _multinomial(arithmetic: Balls, monomial: tuple[int, ...]) -> Any:
    """Root of the multinomial coefficient of a monomial, given by its factors."""
    count = math.factorial(len(monomial))
    for repeated in Counter(monomial).values():
        count //= math.factorial(repeated)
    return arithmetic.number(count).sqrt()
