"""Certified solutions of kernel ridge regression: a* of ``(K/lambda + m I) a = y``.

The exact kernel is positive semidefinite, so the exact matrix is ``>= m I`` and every point x obeys
``||x - a*|| <= ||y - M x|| / m``. The residual is enclosed in balls; no inverse is needed.

One pass over the exact kernel serves twice. It encloses the residual r of the float64 solution x; the
correction d solved from r leaves the residual ``r - M d``, whose norm is bounded in float64: there an
error of the float64 kernel is multiplied by d, which is small, and not by x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sstep_reference import Kernel
from sstep_reference.arithmetic import Arithmetic, Balls, Mpmath

from sstep_verify.errors import InputError, require
from sstep_verify.numerics.rounding import OUTWARD, gamma, unit_roundoff
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.oracle.balls.kernel_balls import BallKernel, upper
from sstep_verify.oracle.search.float_ridge import FloatRidge
from sstep_verify.problems import Problem

TARGET = 2.0**-52
"""Relative error at which refinement ends: rounding a* to float64 already costs up to 2**-53."""

BITS = 128
MOST_BITS = 2048
DENSE_SAMPLES = 800
"""Largest m for which the whole matrix is held and factorised in balls when float64 is not enough."""

MOST_PASSES, MOST_LARGE_PASSES = 40, 4
LARGE = 2000
"""Number of samples from which a pass over a nonlinear kernel costs seconds."""


@dataclass(frozen=True, eq=False)
class RidgeOptimum:
    """An enclosure of the solution of a K-RR.

    Parameters
    ----------
    alpha : ndarray, shape (m,)
        Its centre, float64.
    error : float
        Proved upper bound on ``||alpha - a*||_2``, rounding of `alpha` included.
    how : str
        How it was found, for reports.
    """

    alpha: np.ndarray
    error: float
    how: str

    @property
    def relative(self) -> float:
        """Bound on the error over the norm of `alpha`; infinite if `alpha` is 0 and a* may not be."""
        norm = float(np.linalg.norm(self.alpha))
        if self.error == 0:
            return 0.0
        return self.error / norm if norm > 0 else np.inf

    @property
    def digits(self) -> float:
        """Proved decimal digits of `alpha` in the Euclidean norm."""
        return max(-float(np.log10(self.relative)), 0.0) if self.relative > 0 else np.inf


def ridge_optimum(problem: Problem, penalties: tuple[float, ...] = ()) -> dict[float, RidgeOptimum]:
    """Enclose the K-RR solutions of several penalties, which share the passes over the exact kernel.

    Parameters
    ----------
    problem : Problem
        A K-RR.
    penalties : tuple of float
        Regularisation parameters (lambda), each > 0; empty: that of the problem.

    Returns
    -------
    dict of float to RidgeOptimum
        By penalty. The error reached is stated whatever it is; the aim is `TARGET`.

    Raises
    ------
    InputError
        If the problem is a K-SVM or a penalty is not positive and finite.
    MissingExtraError
        If python-flint is not installed.

    Notes
    -----
    Memory: `oracle.memory.optimum_bytes`, and `ENTRIES_AT_ONCE` balls.
    """
    if problem.is_svm:
        raise InputError(f"{problem.label}: ridge_optimum needs a K-RR problem; use svm_optimum")
    penalties = tuple(dict.fromkeys(penalties or (problem.ridge.penalty,)))
    for penalty in penalties:
        if not 0 < penalty < np.inf:
            raise InputError(f"{problem.label}: lambda = {penalty}, but it must be finite and > 0")
    found = _refined(problem, penalties)
    if problem.samples <= DENSE_SAMPLES:
        poor = tuple(penalty for penalty in penalties if not found[penalty].relative <= TARGET)
        found |= {penalty: _dense(problem, penalty, found[penalty]) for penalty in poor}
    return found


def ridge_optimum_mpmath(problem: Problem, digits: int = 50) -> list[Any]:
    """Closed-form solution with many digits, without python-flint: an independent check for m <= 100.

    Parameters
    ----------
    problem : Problem
        A K-RR.
    digits : int
        Decimal digits of the arithmetic.

    Returns
    -------
    list of mpmath numbers, length m
        ``(K/lambda + m I)^{-1} y`` by an ``L D L'`` factorisation.
    """
    arithmetic = Mpmath(int(digits * np.log2(10)) + 16)
    kernel = exact_kernel(problem, arithmetic)
    rows = _system(kernel, arithmetic, problem.ridge.penalty)
    return arithmetic.solve(rows, arithmetic.vector(problem.targets))


def _system(kernel: Kernel, arithmetic: Arithmetic, penalty: float) -> list[list]:
    """Rows of ``K/lambda + m I`` as scalars."""
    m = kernel.samples
    with arithmetic.working():
        divisor = arithmetic.number(penalty)
        return [
            [value / divisor + (m if i == j else 0) for j, value in enumerate(kernel.column(i))]
            for i in range(m)
        ]


def _refined(problem: Problem, penalties: tuple[float, ...]) -> dict[float, RidgeOptimum]:
    """Refine float64 solutions against residuals in balls until all errors meet `TARGET` or stall."""
    arithmetic = Balls(BITS)
    exact, approximate = BallKernel(problem, arithmetic), FloatRidge(problem)
    cheap = problem.samples < LARGE or problem.kernel.linear
    points = [exact.column(approximate.solve(penalty, problem.targets)) for penalty in penalties]
    best: dict[float, RidgeOptimum] = {}
    for passes in range(1, (MOST_PASSES if cheap else MOST_LARGE_PASSES) + 1):
        residuals = _residuals(exact, points, penalties)
        improved = False
        for k, penalty in enumerate(penalties):
            points[k], optimum = _corrected(approximate, exact, points[k], residuals[k], penalty, passes)
            known = best.get(penalty)
            if known is None or optimum.error < known.error:
                improved |= known is None or optimum.error < known.error / 2
                best[penalty] = optimum
        if not improved or all(optimum.relative <= TARGET for optimum in best.values()):
            break
    return best


def _residuals(exact: BallKernel, points: list, penalties: tuple[float, ...]) -> list[list]:
    """Enclosures of ``y - K x / lambda - m x``, one list of balls a penalty, by one pass over K."""
    arithmetic, problem = exact.arithmetic, exact.problem
    m = problem.samples
    with arithmetic.working():
        together = [list(row) for row in zip(*(point.entries() for point in points), strict=True)]
        products = exact.product(require("flint", "exact").arb_mat(together)).tolist()
        residuals = []
        for k, penalty in enumerate(penalties):
            divisor = arithmetic.number(penalty)
            residuals.append(
                [
                    arithmetic.number(target) - product[k] / divisor - m * values[k]
                    for target, product, values in zip(
                        problem.targets.tolist(), products, together, strict=True
                    )
                ]
            )
        return residuals


def _corrected(approximate: FloatRidge, exact: BallKernel, point, residual: list, penalty, passes: int):
    """Correct a point by one float64 solve; bound the new residual without another pass over K."""
    arithmetic, problem = exact.arithmetic, exact.problem
    middles = np.array([float(value) for value in residual])
    with arithmetic.working():
        # What float64 drops of the residual: the radius, and the tail of the midpoint.
        spread = np.array(
            [upper(value - middle) for value, middle in zip(residual, middles.tolist(), strict=True)]
        )
    change = approximate.solve(penalty, middles)
    remaining = (approximate.residual_bound(penalty, middles, change) + _norm(spread)) * OUTWARD
    with arithmetic.working():
        moved = point + exact.column(change)
        alpha = np.array([float(value) for value in moved.entries()])
        rounding = np.array([upper(value) for value in (moved - exact.column(alpha)).entries()])
    error = (remaining / problem.samples + _norm(rounding)) * OUTWARD
    passes_text = f"{passes} pass{'es' if passes > 1 else ''}"
    how = f"float64 Cholesky, {passes_text} over the exact kernel in balls of {arithmetic.bits} bits"
    return moved.mid(), RidgeOptimum(alpha, float(error) if error == error else np.inf, how)


def _dense(problem: Problem, penalty: float, known: RidgeOptimum) -> RidgeOptimum:
    """Solve the whole system in balls, with more bits until the target is met."""
    flint = require("flint", "exact")
    best, bits = known, 2 * BITS
    while bits <= MOST_BITS and not best.relative <= TARGET:
        arithmetic = Balls(bits)
        exact = BallKernel(problem, arithmetic)
        m = problem.samples
        with arithmetic.working():
            matrix = exact.matrix() / arithmetic.number(penalty)
            for i in range(m):
                matrix[i, i] = matrix[i, i] + m
            targets = exact.column(problem.targets)
            try:
                point = matrix.solve(targets, algorithm="lu").mid()
            except ZeroDivisionError:
                point = flint.arb_mat(m, 1)
            alpha = np.array([float(value) for value in point.entries()])
            residual = np.array([upper(value) for value in (targets - matrix * point).entries()])
            rounding = np.array([upper(value) for value in (point - exact.column(alpha)).entries()])
        error = (_norm(residual) / m + _norm(rounding)) * OUTWARD
        if error < best.error:
            best = RidgeOptimum(alpha, float(error), f"the whole system solved in balls of {bits} bits")
        bits *= 2
    return best


def _norm(values: np.ndarray) -> float:
    """Upper bound on the Euclidean norm of non-negative upper bounds."""
    largest = float(values.max(initial=0.0))
    if not 0 < largest < np.inf:
        return largest
    factor = 1 + gamma(values.size + 8, unit_roundoff("float64"))
    # Scaled by the largest, so that no square overflows; those that underflow are below its rounding.
    return largest * float(np.linalg.norm(values / largest)) * factor * OUTWARD
