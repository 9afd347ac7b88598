"""Gap, objectives and residual from the product of the kernel matrix with a dual vector, and stagnation.

*Stagnation*: training stops because float64 attains no more, although the tolerance is not reached.
Looked at when 16, 32, 64, ... measurements were made, from the history alone, so that all ranks and a
resumed run decide alike. Training is *stagnant* iff

1. no progress: the least relative value of the later half of the measurements is more than half of that of
   the earlier half. Whatever converges like 1/t or faster halves it where t doubles;
2. out of reach: the tolerance is `FAR` times further below that least value than that is below the later
   half's median, so that it is not reached by the noise of the measurements either;
3. at the level: it is at most what float64 attains, computed at the current dual vector
   (`Monitor.attainable`): one rounding of every term changes gap or residual by as much.

K-SVM: each margin ``(Qa)_i`` is a sum of terms ``Q_ij a_j``; one rounding of each changes it by at most
``u sum_j |Q_ij| |a_j|``, and the gap, whose terms hold it times at most C (L1; for L2 its rate near the
optimum is less), by at most C times the sum. K-RR: one rounding of each term of ``y - m a - K a / lambda``
changes its norm by at most ``u || |y| + m |a| + |K| |a| / lambda ||``. Real roundings cancel: runs on duke,
colon-cancer and diabetes_scale stagnated at 0.04 to 0.8 of it.

1 and 2 are needed because the level is an upper bound: a run below it that still falls goes on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sstep_verify.problems import Problem
from sstep_verify.trajectory import Claim

FIRST = 16
"""Measurements at which is looked for the first time; then at twice as many, and so on."""

PROGRESS, FAR = 0.5, 1.5
"""Share of the least value that must not be reached any more; see condition 2."""


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


class Measured(NamedTuple):
    """Values at an iteration, counted from the first of all."""

    iteration: int
    values: Values


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


def best_without_progress(history: Sequence[Measured], tolerance: float) -> float | None:
    """The least relative value of the later half, where conditions 1 and 2 hold; else None.

    Training that is to end at tolerance 0, which is never, is never stagnant.
    """
    count = len(history)
    if tolerance <= 0 or count < FIRST or count & (count - 1):
        return None
    relative = [found.values.relative for found in history]
    later = sorted(relative[count // 2 :])
    least, median = later[0], later[len(later) // 2]
    if least <= PROGRESS * min(relative[: count // 2]) or not least < math.inf:
        return None
    return least if least * (least / median) >= FAR * tolerance else None
