"""Gap, objectives and residual from the product of the kernel matrix with a dual vector."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sstep_verify.problems import Problem
from sstep_verify.trajectory import Claim


class Values(NamedTuple):
    """Numbers at one dual vector.

    Parameters
    ----------
    gap, primal, dual : float
        Duality gap and objectives; the dual one is the negative of what is minimised.
    residual : float
        K-RR: 2-norm of ``y - M a``; NaN for K-SVM.
    relative : float
        K-SVM: gap over dual value, which is never less than gap over optimal value; infinite while the
        dual value is not positive. K-RR: residual over ``||y||``.
    """

    gap: float
    primal: float
    dual: float
    residual: float
    relative: float

    def claims(self, iterations: int) -> dict[str, Claim]:
        """Claims of a trajectory of some iterations that ends here."""
        told = {"gap": self.gap, "primal": self.primal, "dual": self.dual}
        if not math.isnan(self.residual):
            told["residual"] = self.residual
        return {name: Claim(value) for name, value in told.items()} | {"iterations": Claim(iterations)}


def svm_values(problem: Problem, margins: np.ndarray, alpha: np.ndarray) -> Values:
    """Values of a K-SVM from its margins ``Q a``, shape (m,).

    The gap is summed from terms that are not negative for feasible a, so that it keeps its digits when it
    is small: with ``h_i = max(0, 1 - (Qa)_i)``, L1 ``(C - a_i) h_i`` where the margin is short, else
    ``a_i ((Qa)_i - 1)``; L2 ``a_i max((Qa)_i - 1, 0) + C (h_i - a_i / (2 C))^2``. No square is taken of a
    number that may be as small as C, so that nothing underflows where C is small.
    """
    hinge = problem.hinge
    short, excess = np.maximum(1.0 - margins, 0.0), np.maximum(margins - 1.0, 0.0)
    if hinge.power == 1:
        gap = float(np.sum((hinge.C - alpha) * short + alpha * excess))
    else:
        gap = float(np.sum(alpha * excess + hinge.C * (short - alpha / (2 * hinge.C)) ** 2))
    half_square = float(alpha @ margins) / 2
    primal = half_square + hinge.C * float(np.sum(short**hinge.power))
    dual = float(np.sum(alpha)) - half_square - float((hinge.shift * alpha) @ alpha) / 2
    return Values(gap, primal, dual, math.nan, gap / dual if dual > 0 else math.inf)


def ridge_values(problem: Problem, products: np.ndarray, alpha: np.ndarray) -> Values:
    """Values of a K-RR from ``K a``, shape (m,); its gap is exactly ``||y - M a||^2 / (2 m)``."""
    samples, targets, penalty = problem.samples, problem.targets, problem.ridge.penalty
    misfit = targets - products / penalty
    residual = norm(misfit - samples * alpha)
    half_square = float(alpha @ products) / (2 * penalty)
    primal = half_square + float(misfit @ misfit) / (2 * samples)
    dual = float(targets @ alpha) - half_square - samples * float(alpha @ alpha) / 2
    scale = norm(targets)
    relative = residual / scale if scale > 0 else _without_scale(residual)
    return Values(residual * residual / (2 * samples), primal, dual, residual, relative)


def norm(vector: np.ndarray) -> float:
    """The 2-norm, through a power of two that keeps squares from overflow and underflow."""
    _, exponent = math.frexp(float(np.max(np.abs(vector), initial=0.0)))
    return float(np.ldexp(np.linalg.norm(np.ldexp(vector, -exponent)), exponent))


def _without_scale(value: float) -> float:
    """A value relative to nothing: 0 stays 0, NaN stays NaN."""
    return value if value == 0 or math.isnan(value) else math.inf
