"""Linear algebra of the interior point method in high precision, for kernels of low rank.

With unscaled polynomial kernels the entries of Q span so many magnitudes that float64 loses all that
decides the active set. Where the feature space has p < m dimensions, ``Q = F F'`` and each Newton system
reduces to p x p (Woodbury), which is affordable with hundreds of bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sstep_reference.arithmetic import Balls

from sstep_verify.errors import require
from sstep_verify.oracle.feature_map import feature_rows
from sstep_verify.problems import Problem


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
        rows = _signed_features(problem, arithmetic)
        largest = max(float(sum((value * value for value in row), start=row[0] * 0)) for row in rows)
        # A power of four: its root is exact, and so are the box and the shift divided by it.
        self.scale = 4.0 ** math.ceil(math.log2(largest + problem.hinge.shift) / 2) if largest > 0 else 1.0
        root = math.sqrt(self.scale)
        self._rows = [[(value / root).mid() for value in row] for row in rows]
        self._features = self._matrix(self._rows)
        self._transposed = self._features.transpose()
        p = self._features.ncols()
        self._identity = self._matrix(p, p, [int(k // p == k % p) for k in range(p * p)])
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
            # A search needs no enclosure of the inverse.
            inner = core.solve(self._identity, algorithm="approx").mid()
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


def _signed_features(problem: Problem, arithmetic: Balls) -> list[list]:
    """Rows ``y_i phi(a_i)``, whose inner products are the entries of Q."""
    rows = feature_rows(problem, arithmetic)
    return [[int(y) * value for value in row] for y, row in zip(problem.targets, rows, strict=True)]
