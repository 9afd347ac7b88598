"""Bound D for K-SVM: how far a computed gap may be from the exact one, and what a gap says of a.

With ``p = Qa``, ``h_i = max(0, 1 - p_i)`` and omega = 0 (L1) or 1/(2C) (L2), for any a,

    primal P = 1/2 a'p + C sum h_i^q,   dual D = 1'a - 1/2 a'p - omega/2 a'a,   gap = P - D >= 0,

q = 1 or 2; the last for feasible a. A product computed in any order errs by ``d_i``
(rounding/kernel/products.py), h is 1-Lipschitz in p and rounds once more, ``e_i = d_i + u (1 + |Q||a|)_i``,
and the sums err by gamma_k times the sum of magnitudes, k = m + 8 (m terms, products, powers, factors, C
and omega rounded once each), taken twice for the formula below:

    |P^ - P| <= 1/2 |a|'d + C sum (q (h_i + e_i)^{q-1} e_i)
                + gamma_k (1/2 |a|'|Q||a| + C sum (h_i + e_i)^q),
    |D^ - D| <= 1/2 |a|'d + gamma_k (1'|a| + 1/2 |a|'|Q||a| + omega/2 a'a),

and a gap formed as their difference by the sum of both and u (|P| + |D|), and each by what underflows: in
one of its products at most the smallest number, times a, C or omega where that is multiplied by one of
them. The gap may also be summed from
terms that are non-negative for feasible a: their sizes are at most ``|a_i| (1 + (|Q||a|)_i)``,
``C h_i`` and, for L2, ``(a_i - 2 C h_i)^2 / (4 C) <= 2 (omega/2 a_i^2 + C h_i^2)``, so the bound holds for
that formula as well.

What a gap g proves of a feasible a. f = -D is convex with Hessian ``Q + omega I``, and ``D* - D(a) <= g``;
a* minimises f over the box, so ``1/2 |a - a*|^2_{Q + omega I} <= f(a) - f(a*) <= g``. Hence
``||a - a*|| <= sqrt(2 g / omega)`` (L2), the Q-seminorm of ``a - a*`` is at most ``sqrt(2 g)``, and by
Cauchy-Schwarz no decision value ``(Qa)_i`` is off by more than ``sqrt(2 g Q_ii)``.

The objective is strictly convex along Q's range only. All solutions share Qa*, so a coordinate whose
gradient exceeds ``sqrt(2 g Q_ii)`` in size sits on the same end of the box in every one of them; a* is
unique if Q is positive definite on the others (L1; in L2 always).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.numerics import dual_value, duality_gap, primal_value
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import (
    ROUND_UP,
    gamma,
    norm,
    smallest_subnormal,
    stored,
    unit_roundoff,
)
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.rounding.kernel.products import KernelProducts, kernel_products

FLOAT64 = Declaration("the judge")
"""Of the evaluation at hand, in float64."""


@dataclass(frozen=True)
class Evaluated:
    """A value in float64 with two error bounds.

    Parameters
    ----------
    value : float
        The value.
    judge_error : float
        Bound on ``|value - exact|``.
    solver_error : float
        Bound on ``|value by any correct evaluation in the declared precision - exact|``.
    """

    value: float
    judge_error: float
    solver_error: float

    @property
    def lower(self) -> float:
        """Lower end of the enclosure of the exact value."""
        return self._end(-1.0)

    @property
    def upper(self) -> float:
        """Upper end of the enclosure of the exact value."""
        return self._end(1.0)

    def _end(self, sign: float) -> float:
        bounded = np.isfinite(self.value + self.judge_error)
        return self.value + sign * self.judge_error * ROUND_UP if bounded else sign * np.inf


@dataclass(frozen=True)
class SvmValues:
    """Objectives of a K-SVM at one dual vector.

    Parameters
    ----------
    gap, primal, dual : Evaluated
        The values.
    attainable : float
        Gap that a correct run may end with although it measures less: the error of evaluating it, and
        ``C u sum_ij |Q_ij| |a_j|``, at which a run may give up.
    slopes, slope_errors : ndarray, shape (m,)
        ``(Qa)_i - 1`` in float64, and a bound on the error of that.
    """

    gap: Evaluated
    primal: Evaluated
    dual: Evaluated
    attainable: float
    slopes: np.ndarray
    slope_errors: np.ndarray


def svm_values(problem: Problem, declaration: Declaration, alpha: np.ndarray) -> SvmValues:
    """Evaluate gap, primal and dual value of a K-SVM at a, which may leave the box, with error bounds.

    The declaration is of the solver whose evaluations are bounded; errors are infinite where a kernel entry
    is not finite.
    """
    labels = problem.targets
    products = kernel_products(problem, declaration, labels * alpha)
    margins = labels * products.values
    with np.errstate(over="ignore", invalid="ignore"):
        judge, solver = (
            _errors(problem, alpha, margins, products, error, precision)
            for error, precision in (
                (products.judge_error, FLOAT64.precision),
                (products.solver_error, declaration.precision),
            )
        )
        values = (float(f(problem, margins, alpha)) for f in (duality_gap, primal_value, dual_value))
        gap, primal, dual = (Evaluated(*row) for row in zip(values, judge, solver, strict=True))
    plateau = problem.hinge.C * unit_roundoff(declaration.precision) * float(products.magnitude.sum())
    slope_errors = (products.judge_error + unit_roundoff("float64") * (1.0 + products.magnitude)) * ROUND_UP
    return SvmValues(
        gap, primal, dual, (gap.solver_error + plateau) * ROUND_UP, margins - 1.0, slope_errors
    )


def _errors(
    problem: Problem,
    alpha: np.ndarray,
    margins: np.ndarray,
    products: KernelProducts,
    products_error: np.ndarray,
    precision: str,
) -> tuple[float, float, float]:
    """Bounds on the errors of gap, primal and dual evaluated in a precision, of products that are off."""
    loss, u, magnitude = problem.hinge, unit_roundoff(precision), products.magnitude
    if not abs(float(stored(loss.C, precision)) - loss.C) <= u * loss.C:
        # C over- or underflows in the solver's precision: nothing can be promised.
        return np.inf, np.inf, np.inf
    power, k = loss.power, gamma(2 * problem.samples + 16, u)
    absolute = np.abs(alpha)
    error = products_error + u * (1.0 + magnitude)
    short = np.maximum(1.0 - margins, 0.0) + products.judge_error + u * (1.0 + magnitude) + error
    half = float(absolute @ products_error) / 2
    square = float(absolute @ magnitude) / 2
    losses = loss.C * float((short**power).sum())
    primal = half + loss.C * float((power * short ** (power - 1) * error).sum()) + k * (square + losses)
    own_square = float((loss.shift / 2 * absolute) @ absolute)
    dual = half + k * (float(absolute.sum()) + square + own_square)
    # What underflows, in products that are then multiplied by a, C or omega.
    times = 4.0 + float(absolute.sum()) + (loss.C + loss.shift if power == 2 else 0.0)
    underflow = smallest_subnormal(precision) * (problem.samples + 8) * times
    gap = primal + dual + u * (square * 2 + losses + float(absolute.sum()) + own_square)
    return outward(gap + 2 * underflow), outward(primal + underflow), outward(dual + underflow)


def outward(error: float) -> float:
    """An error bound rounded up; infinite where it could not be formed."""
    return error * ROUND_UP if error < np.inf else np.inf


def distance_bound(problem: Problem, gap: float) -> float:
    """Bound on ``||a - a*||_2`` of a feasible a with a gap of at most `gap`; infinite for K-SVM-L1."""
    shift = problem.hinge.shift
    return float(np.sqrt(2 * max(gap, 0.0) / shift)) * ROUND_UP if shift else np.inf


def seminorm_bound(gap: float) -> float:
    """Bound on the Q-seminorm ``sqrt((a - a*)'Q(a - a*))``, a feasible with a gap of at most `gap`."""
    return float(np.sqrt(2 * max(gap, 0.0))) * ROUND_UP


def uniqueness(problem: Problem, values: SvmValues) -> str:
    """Whether the solution a* is proved unique, in words.

    Parameters
    ----------
    problem : Problem
        A K-SVM.
    values : SvmValues
        Evaluated at a feasible a, the nearer to the optimum the better.

    Notes
    -----
    Positive definiteness is proved by a Cholesky factorisation of ``Q_FF - c I`` that runs to its end,
    ``c >= gamma_{k+1} / (1 - gamma_{k+1}) trace + ||E||_F``, E the errors of the entries; taken here are
    k + 3 and the larger trace before the shift. Source: Rump 2006, "Verification of positive
    definiteness", Corollary 2.4.
    """
    if problem.hinge.shift:
        return "unique: the dual of K-SVM-L2 is strongly convex"
    reach = seminorm_bound(values.gap.upper) * np.sqrt(largest_curvatures(problem)) * ROUND_UP
    undecided = np.flatnonzero(~(np.abs(values.slopes) > reach + values.slope_errors))
    size = undecided.size
    if size == 0:
        return "unique: every coordinate is held by its gradient"
    entries = kernel_entries(problem, FLOAT64, undecided)
    matrix, judge_error = entries.values[:, undecided], entries.judge_error[:, undecided]
    factor = gamma(size + 3, unit_roundoff("float64"))
    trace = float(np.trace(matrix))
    underflow = 2 * size**2 * (1 + trace) * smallest_subnormal("float64")
    shift = (factor / (1 - factor) * trace + norm(judge_error) + underflow) * ROUND_UP
    # Twice: the second covers the rounding of the subtraction, at most u trace < gamma_{k+3} trace.
    try:
        np.linalg.cholesky(matrix - 2 * shift * np.eye(size))
    except np.linalg.LinAlgError:
        return (
            f"not proved unique: Q is not proved positive definite on {size} free or undecided coordinates"
        )
    return f"unique: Q is positive definite on its {size} free or undecided coordinates"


def largest_curvatures(problem: Problem) -> np.ndarray:
    """Upper bounds on the kernel's diagonal K_ii, shape (m,): norms and powers of non-negative terms."""
    kernel, data = problem.kernel, problem.dense
    with np.errstate(over="ignore"):
        norms = (data * data).sum(axis=1)
        factor = 1 + gamma(problem.features + 1, unit_roundoff("float64"))
        norms = (norms * factor + problem.features * smallest_subnormal("float64")) * ROUND_UP
        return kernel.diagonal(norms) * ROUND_UP
