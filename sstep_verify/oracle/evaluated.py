"""The oracle over mpmath: the same answers, evaluated at p and at 2p bits instead of enclosed.

Windows and short runs come from the classical reference (Algorithms 1 and 3), the solution of a K-RR from
its closed form, objectives and gaps from the reference's kernel. It shares no arithmetic with Arb, so a
defect of either oracle shows where both judge the same runs. What it says is no proof (`two_precisions`):
it certifies no optimum, and no certificate rests on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sstep_reference.arithmetic import Arithmetic  # the package in reference/

from sstep_verify.errors import InputError
from sstep_verify.oracle.balls.exact_kernel import (
    classical_run,
    distances,
    exact_kernel,
    magnitude_interval,
)
from sstep_verify.oracle.balls.objectives import BITS, Interval, derivative, reported_values, signed
from sstep_verify.oracle.certificate.optimum import RidgeOptimum, SvmOptimum
from sstep_verify.oracle.facade import Oracle
from sstep_verify.oracle.two_precisions import Evaluated, TwoPrecisions
from sstep_verify.problems import Problem

MOST_EVALUATED = 200
"""Samples up to which it judges: the closed form of a K-RR with as many takes some 20 seconds."""


class EvaluatedOracle(Oracle):
    """What `Oracle` says of problems that share data and kernel, evaluated by mpmath.

    Parameters
    ----------
    problem : Problem
        Any of the problems, with at most `MOST_EVALUATED` samples.

    Raises
    ------
    InputError
        If it has more samples.
    """

    name: ClassVar[str] = "mpmath"
    encloses: ClassVar[bool] = False

    def __init__(self, problem: Problem):
        refuse_samples(problem.label, problem.samples)
        super().__init__(problem)

    def arithmetic(self, bits: int) -> TwoPrecisions:
        """Numbers of so many bits and of twice as many."""
        return TwoPrecisions(bits)

    def values(
        self, problem: Problem, alphas: Sequence[np.ndarray], bits: int = BITS
    ) -> list[dict[str, Interval]]:
        """What a solver may report about its dual vectors, with names as those of `exact_values`."""
        arithmetic = self.arithmetic(bits)
        points = [arithmetic.vector(alpha) for alpha in alphas]
        return [
            reported_values(problem, arithmetic, point, self._products(problem, point)) for point in points
        ]

    def drift(
        self, problem: Problem, alphas: Sequence[np.ndarray], weights: Sequence[np.ndarray]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """The distance of maintained weights from those of each a, as `exact_drift` gives it."""
        arithmetic = self.arithmetic(BITS)
        return [
            distances(arithmetic, arithmetic.vector(given), self._weights(problem, alpha))
            for given, alpha in zip(weights, alphas, strict=True)
        ]

    def ridge_optimum(self, problem: Problem) -> RidgeOptimum:
        """The solution of a K-RR in closed form, with its distance from the exact one as evaluated."""
        return self.kept(("optimum", problem.ridge), lambda: self._closed_form(problem))

    def svm_optimum(self, problem: Problem) -> SvmOptimum:
        """Raise InputError: an optimum of a K-SVM is certified by the ball oracle."""
        raise InputError(
            f"oracle = {self.name}: it certifies no optimum of {problem.label} (arb does); take arb"
        )

    def _closed_form(self, problem: Problem) -> RidgeOptimum:
        """The closed form at either precision, and its residual."""
        arithmetic, m = self.arithmetic(BITS), problem.samples
        solutions = (closed_form(problem, one) for one in (arithmetic.low, arithmetic.high))
        solution = [Evaluated(*pair) for pair in zip(*solutions, strict=True)]
        alpha, point = np.array([float(one) for one in solution]), [one.mid() for one in solution]
        residual = derivative(problem, arithmetic, point, self._products(problem, point))
        # M is at least m I, so a point is no farther from the solution than its residual over m.
        parts = [[one.rad() for one in solution], [one / m for one in residual]]
        parts.append([one - float(one) for one in point])
        lengths = (arithmetic.dot(part, part).upper().sqrt() for part in parts)
        error = magnitude_interval(sum(lengths, arithmetic.number(0)))[1]
        how = f"closed form by {arithmetic.name}: evaluated, not enclosed"
        return RidgeOptimum(alpha, error, how)

    def _weights(self, problem: Problem, alpha: np.ndarray) -> list[Any]:
        """The weights of a dual vector."""
        arithmetic = self.arithmetic(BITS)
        weighted = signed(problem, arithmetic.vector(alpha))
        return [arithmetic.dot(arithmetic.vector(x), weighted) for x in problem.dense.T]

    def _products(self, problem: Problem, point: Sequence[Any]) -> list[Any]:
        """Products of the kernel with a point, which it multiplies by labels where there are any."""
        arithmetic, kernel = self.arithmetic(BITS), self.kernel(BITS)
        weighted = signed(problem, point)
        return [arithmetic.dot(kernel.column(i), weighted) for i in range(problem.samples)]


def closed_form(problem: Problem, arithmetic: Arithmetic) -> Any:
    """The solution of a K-RR in an arithmetic: one step of Algorithm 3 on all coordinates, from zero."""
    m = problem.samples
    return classical_run(problem, exact_kernel(problem, arithmetic), [0.0] * m, [list(range(m))])


def refuse_samples(label: str, samples: int) -> None:
    """Raise InputError for more samples than mpmath judges."""
    if samples > MOST_EVALUATED:
        raise InputError(
            f"m = {samples}: {label} is too large for the oracle mpmath (at most {MOST_EVALUATED}); "
            "take the default, arb, or fewer samples"
        )
