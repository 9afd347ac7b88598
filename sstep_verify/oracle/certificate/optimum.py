"""Optima in float64 with a stated error: what `oracle.verify` proves of a point found, rounded outwards."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sstep_reference.arithmetic import Balls

from sstep_verify.errors import InputError
from sstep_verify.oracle.balls.exact_kernel import interval, magnitude_interval
from sstep_verify.oracle.certificate.certify import certify
from sstep_verify.oracle.search.ridge import DENSE_SAMPLES
from sstep_verify.oracle.search.svm import TARGET, search
from sstep_verify.oracle.verify.kernel import verifying_arithmetic
from sstep_verify.oracle.verify.svm import SvmProof
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import norm_lower, rounded_up

DIGITS = 18
"""Digits before that rounding."""

BITS = 128
"""Precision in which a proved error is added to what rounding loses."""


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
        if self.error == 0:
            return 0.0
        norm = norm_lower(self.alpha)
        return float(rounded_up(self.error / norm)) if norm > 0 else np.inf


def ridge_optimum(problem: Problem) -> RidgeOptimum:
    """Enclose the solution of a K-RR.

    Parameters
    ----------
    problem : Problem
        A K-RR.

    Returns
    -------
    RidgeOptimum
        The error is proved whatever it is; the aim is 2**-52, as rounding a* to float64 costs up to 2**-53.

    Raises
    ------
    InputError
        If the problem is a K-SVM.

    Notes
    -----
    Memory: `optimum_bytes`, and `ENTRIES_AT_ONCE` balls.
    """
    if problem.is_svm:
        raise InputError(f"{problem.label}: ridge_optimum needs a K-RR problem; use svm_optimum")
    certificate = certify(problem, DIGITS, keep=problem.samples <= DENSE_SAMPLES)
    alpha, rounding = _rounded(certificate.alpha)
    with Balls(BITS).working():
        error = magnitude_interval(rounding + Balls(BITS).from_fraction(Fraction(certificate.radius)))[1]
    return RidgeOptimum(alpha, error, certificate.how)


@dataclass(frozen=True, eq=False)
class SvmOptimum:
    """An enclosure of the optimal value of a K-SVM.

    Parameters
    ----------
    value_lower, value_upper : float
        Float64 interval, rounded outwards, that contains ``D* = P*``.
    alpha : ndarray, shape (m,)
        Feasible dual vector at which the enclosure was proved, rounded to float64 within the box.
    relative_width : float
        Width of the enclosure in balls over its lower end, before rounding to float64; infinite if
        the lower end is not positive.
    how : str
        How it was found, for reports.
    """

    value_lower: float
    value_upper: float
    alpha: np.ndarray
    relative_width: float
    how: str


def svm_optimum(problem: Problem) -> SvmOptimum:
    """Enclose the optimal value of a K-SVM.

    Parameters
    ----------
    problem : Problem
        A K-SVM, m up to some thousands.

    Returns
    -------
    SvmOptimum
        Of the best point found; `relative_width` says how narrow, whatever it is.

    Raises
    ------
    InputError
        If the problem is a K-RR.

    Notes
    -----
    Memory: `optimum_bytes`.
    """
    if not problem.is_svm:
        raise InputError(f"{problem.label}: svm_optimum needs a K-SVM problem; use ridge_optimum")
    point, bits, method = search(problem)[:3]
    proof = SvmProof(problem, point, verifying_arithmetic(bits))
    width = proof.relative_width()
    how = f"{method}, active set in balls of {bits} bits"
    if not width <= TARGET:
        how = f"weak duality at the best point, relative width {width:.1e}: no active set was confirmed"
    lower, upper = interval(proof.dual)[0], interval(proof.primal)[1]
    return SvmOptimum(max(lower, 0.0), upper, _rounded(point)[0], width, how)


def _rounded(decimals: tuple[str, ...]) -> tuple[np.ndarray, Any]:
    """Float64 numbers nearest to a point, inside its box too; ball of how far they are from it."""
    exact = [Fraction(text) for text in decimals]
    alpha = np.array([float(value) for value in exact])
    arithmetic = Balls(BITS)
    with arithmetic.working():
        pairs = zip(exact, alpha.tolist(), strict=True)
        squares = (arithmetic.from_fraction(x - Fraction(value)) ** 2 for x, value in pairs)
        return alpha, sum(squares, arithmetic.number(0)).sqrt()
