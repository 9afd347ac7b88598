"""Linear algebra of the interior point method in high precision, for kernels of low rank.

With unscaled polynomial kernels the entries of Q span so many magnitudes that float64 loses all that
decides the active set. Where the feature space has p < m dimensions, ``Q = F F'`` and each Newton system
reduces to p x p (Woodbury), which is affordable with hundreds of bits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from sstep_reference.arithmetic import Balls

from sstep_verify.errors import require
from sstep_verify.problems import LinearKernel, PolynomialKernel, Problem

HIGHEST_RANK = 200
"""Dimensions of the feature space (p) up to which the high precision search is tried."""


def feature_dimensions(problem: Problem) -> int | None:
    """Dimensions of the kernel's feature space, None if they are infinite or beyond `HIGHEST_RANK`."""
    kernel, n = problem.kernel, problem.features
    if isinstance(kernel, LinearKernel):
        p = n
    elif isinstance(kernel, PolynomialKernel):
        p = math.comb(n + (kernel.offset > 0) + kernel.degree - 1, kernel.degree)
    else:
        return None
    return p if p <= min(HIGHEST_RANK, problem.samples // 2) else None


class LowRankSystem:
    """``H = (Q + omega I) / scale`` as ``F F' + omega / scale I``: a `System` over midpoints of balls.

    Parameters
    ----------
    problem : Problem
        A K-SVM with a linear or polynomial kernel for which `feature_dimensions` is not None.
    arithmetic : Balls
        Its precision is that of the search. All methods must be called inside its `working()`.
    """

    small = 1e-40

    def __init__(self, problem: Problem, arithmetic: Balls):
        self._matrix: Any = require("flint", "exact").arb_mat
        self.samples = problem.samples
        rows = _features(problem, arithmetic)
        largest = max(float(sum((value * value for value in row), start=row[0] * 0)) for row in rows)
        # A power of four: its root is exact, and so are the box and the shift divided by it.
        self.scale = 4.0 ** math.ceil(math.log2(largest + problem.hinge.shift) / 2) if largest > 0 else 1.0
        root = math.sqrt(self.scale)
        self._rows = [[(value / root).mid() for value in row] for row in rows]
        self._features = self._matrix(self._rows)
        self._transposed = self._features.transpose()
        self._shift = arithmetic.number(problem.hinge.shift) / arithmetic.number(self.scale)

    def product(self, vector: np.ndarray) -> np.ndarray:
        """``H x``."""
        column = self._column(vector)
        return self._array(self._features * (self._transposed * column) + self._shift * column)

    def solver(self, weights: np.ndarray) -> Callable[[np.ndarray], np.ndarray] | None:
        """Solver by Woodbury's identity, or None where its p x p system cannot be solved."""
        inverse = 1 / (weights + self._shift)
        scaled = self._matrix(
            [[value * one for value in row] for row, one in zip(self._rows, inverse, strict=True)]
        )
        core = (self._transposed * scaled).mid()
        p = core.nrows()
        for k in range(p):
            core[k, k] = core[k, k] + 1
        try:
            inner = core.inv().mid()
        except ZeroDivisionError:
            return None

        def solve(rhs: np.ndarray) -> np.ndarray:
            part = self.settled(rhs * inverse)
            correction = inner * (self._transposed * self._column(part))
            return self.settled(part - inverse * self._array(self._features * correction))

        return solve

    def settled(self, vector: np.ndarray) -> np.ndarray:
        """Midpoints: radii carried through the iterations would grow beyond use."""
        found = np.empty(len(vector), dtype=object)
        found[:] = [value.mid() for value in vector]
        return found

    def _column(self, vector: np.ndarray) -> Any:
        return self._matrix(len(vector), 1, list(vector))

    def _array(self, column: Any) -> np.ndarray:
        found = np.empty(column.nrows(), dtype=object)
        found[:] = column.mid().entries()
        return found


def _features(problem: Problem, arithmetic: Balls) -> list[list]:
    """Rows ``y_i phi(a_i)``, whose inner products are the entries of Q."""
    samples = [[arithmetic.number(value) for value in row] for row in problem.dense.tolist()]
    kernel = problem.kernel
    if isinstance(kernel, PolynomialKernel):
        if kernel.offset > 0:
            root = arithmetic.number(kernel.offset).sqrt()
            samples = [[*row, root] for row in samples]
        monomials = list(combinations_with_replacement(range(len(samples[0])), kernel.degree))
        weights = [_multinomial(arithmetic, monomial) for monomial in monomials]
        samples = [
            [
                weight * math.prod(row[k] for k in monomial)
                for weight, monomial in zip(weights, monomials, strict=True)
            ]
            for row in samples
        ]
    labels = [int(label) for label in problem.targets]
    return [[label * value for value in row] for label, row in zip(labels, samples, strict=True)]


def _multinomial(arithmetic: Balls, monomial: tuple[int, ...]) -> Any:
    """Root of the multinomial coefficient of a monomial, given by its factors."""
    count = math.factorial(len(monomial))
    for repeated in Counter(monomial).values():
        count //= math.factorial(repeated)
    return arithmetic.number(count).sqrt()
