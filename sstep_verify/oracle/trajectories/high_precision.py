"""The classical trajectory of an index stream to many digits: for drift figures, not for verdicts.

Balls carried over thousands of steps would grow beyond use, so the reference's algorithms run on midpoints
alone. What stands in for the radius is agreement: the run is made at two precisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sstep_reference import SingularSystemError
from sstep_reference.arithmetic import Balls
from sstep_reference.arithmetic.balls import BallVector
from sstep_reference.arithmetic.base import Scalar

from sstep_verify.errors import OracleDisagreementError
from sstep_verify.oracle.balls.exact_kernel import classical_run
from sstep_verify.oracle.balls.kernel_balls import BallKernel
from sstep_verify.problems import IndexStream, Problem
from sstep_verify.solver import RunRequest

AGREEMENT = 2.0**-60
"""Largest ``max |a - a'| / max |a'|`` of the two precisions: far below what float64 can show."""

MOST_BITS = 1 << 15


@dataclass(frozen=True, eq=False)
class HighPrecisionTrajectory:
    """The classical trajectory at chosen iterations, rounded to float64 at the very end.

    Parameters
    ----------
    iterations : ndarray of int64, shape (k,)
        Iterations, ascending.
    alphas : ndarray, shape (k, m)
        The dual vector at those iterations.
    """

    iterations: np.ndarray
    alphas: np.ndarray


class Midpoints(Balls):
    """Arb as floating point of many digits: sums, clips and solutions keep the midpoint alone."""

    def dot(self, u: BallVector, v: BallVector) -> Scalar:
        """Middle of the sum of the products."""
        return super().dot(u, v).mid()

    def clip(self, value: Scalar, lower: Scalar, upper: Scalar | None) -> Scalar:
        """``min(max(value, lower), upper)`` of the middle of a value."""
        return super().clip(value.mid(), lower, upper)

    def solve(self, matrix: Sequence[BallVector], rhs: BallVector) -> BallVector:
        """Middles of the solution of a system proved invertible."""
        return BallVector(column=super().solve(matrix, rhs).column().mid())


def high_precision_trajectory(
    problem: Problem, stream: IndexStream, iterations: int, at: Iterable[int] = (), bits: int = 256
) -> HighPrecisionTrajectory:
    """Run the classical method from zero in high precision, twice.

    Parameters
    ----------
    problem : Problem
        A K-SVM (blocks of one coordinate) or a K-RR, m up to about a thousand.
    stream : IndexStream
        Coordinates drawn.
    iterations : int
        Iterations to make (H).
    at : iterable of int
        Iterations at which a is wanted, in 0..H; empty: 0 and H.
    bits : int
        Precision of the first run, doubled where it leaves a block system singular; the second has twice as
        many.

    Returns
    -------
    HighPrecisionTrajectory
        From the second run.

    Raises
    ------
    InputError
        If the stream does not fit the problem or an iteration is out of range.
    OracleDisagreementError
        If the two runs differ by more than `AGREEMENT`.
    SingularSystemError
        If `MOST_BITS` leave a block system singular, which is ``>= m I``.
    """
    wanted = sorted({int(iteration) for iteration in at} or {0, iterations})
    RunRequest(problem, stream, 1, iterations, record=tuple(wanted))  # refuses what does not fit
    while True:
        try:
            coarse, fine = (_run(problem, stream, wanted, precision) for precision in (bits, 2 * bits))
            break
        except SingularSystemError as error:
            if 2 * bits > MOST_BITS:
                raise SingularSystemError(
                    f"{problem.label}: a block system cannot be told from a singular one at {bits} bits; "
                    "take a larger lambda"
                ) from error
            bits *= 2
    with Midpoints(2 * bits).working():
        for iteration, one, other in zip(wanted, coarse, fine, strict=True):
            size = max(map(abs, other))
            difference = max(abs(x - y).mid() for x, y in zip(one, other, strict=True))
            relative = float(difference if size.is_zero() else difference / size)
            if not relative <= AGREEMENT:
                raise OracleDisagreementError(
                    f"{problem.label}: the trajectory at {bits} and at {2 * bits} bits differs by "
                    f"{relative:.1e} relative after {iteration} iterations, allowed is {AGREEMENT:.1e}; "
                    f"ask for bits={2 * bits} or for fewer iterations"
                )
    alphas = np.array([[float(value) for value in state] for state in fine])
    return HighPrecisionTrajectory(np.array(wanted, dtype=np.int64), alphas)


def _run(problem: Problem, stream: IndexStream, wanted: list[int], bits: int) -> list[list]:
    """States at the wanted iterations by Algorithms 1 and 3, as exact points."""
    arithmetic = Midpoints(bits)
    kernel = BallKernel(problem, arithmetic)  # faster than the reference's
    alpha: Any = arithmetic.vector(np.zeros(problem.samples))
    states = []
    for begin, end in pairwise([0, *wanted]):
        alpha = classical_run(problem, kernel, alpha, stream.blocks(begin, end).tolist())
        states.append([value.mid() for value in alpha])
    return states
