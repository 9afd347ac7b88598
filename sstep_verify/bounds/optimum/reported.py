"""Bound D for what a solver reports: ranges of values, predictions, a vector written down with rounding.

*Overflow*, of a number on the way to a value, in the solver's precision. With ``p = |Q||a|`` (K-RR ``p =
|K||a|``, and q its quotient by lambda), every product and every partial sum of the values of
bounds/optimum/svm.py and ridge.py is, in whatever order it is formed, at most the sum of the sizes of all
terms,

    K-SVM  1'|a| + |a|'p + (1 + omega) a'a + (1 + C) sum (1 + p_i)^2,
    K-RR   1'p + |y|'|a| + |a|'p + |a|'q + m a'a + sum (|y| + q + m |a|)_i^2.

Computed numbers are at most twice as large: they round less than ``1/u`` times.

*Predictions*: how far a computed value of a sample may be from the exact one. The value of sample i is
``p_i = sum_j a_j y_j K_ij`` (K-SVM) or ``sum_j a_j K_ij / lambda`` (K-RR): a product of a kernel row with a
vector, which errs in any order by d_i (rounding/kernel/products.py), and for K-RR a quotient, with lambda
rounded on input:

    |p^_i - p_i| <= d_i                                         (K-SVM),
    |p^_i - p_i| <= d_i / lambda + gamma_2 (|K||a|)_i / lambda  (K-RR).

The labels are +1 and -1 and multiply exactly.

*A relative value* ``r^ = g^ / d^`` of two computed values with errors e and f rounds once, and may
underflow by the smallest number t. As ``r^ d - g = r^ (d - d^) + (g^ - g) + (r^ d^ - g^)``,

    |r^ d - g| <= |r^| f + e + (2 u |r^| + t) (|d| + f).

*A K-SVM vector that was written down with rounding*: how far its gap may be from its own. Shown is v, and
the solver's own a is somewhere in ``|a - v| <= r``. The box is convex and a clip moves no two numbers
apart, so both are taken as clipped. With ``e = |Q| r``, ``h_i = max(0, 1 - (Qv)_i)`` and

    gap(a) = a'Qa + omega/2 a'a - 1'a + C sum_i max(0, 1 - (Qa)_i)^q

(q = 1 or 2), the first three terms move by at most ``r'|2 Qv - 1 + omega v| + r'e + omega/2 r'r``, and loss
i, whose margin moves by at most e_i, by the larger of what it gains and what it loses:

    max(max(0, 1 - (Qv)_i + e_i)^q - h_i^q,  h_i^q - max(0, h_i - e_i)^q).

For K-RR nothing is to be derived: the distance from a* moves by at most ``||r||``.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.optimum.ridge import ridge_inputs
from sstep_verify.bounds.optimum.svm import FLOAT64, Evaluated, SvmValues
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import (
    ROUND_UP,
    gamma,
    largest_normal,
    smallest_subnormal,
    unit_roundoff,
)
from sstep_verify.rounding.kernel.products import kernel_products


def may_overflow(problem: Problem, declaration: Declaration, alpha: np.ndarray) -> bool:
    """Whether nothing can be promised of a value reported about a, float64, of shape (m,)."""
    size, sizes = np.abs(alpha), kernel_products(problem, declaration, alpha).magnitude
    with np.errstate(over="ignore", invalid="ignore"):
        if problem.is_svm:
            loss = problem.hinge
            terms = size + size * sizes + (1 + loss.shift) * size**2 + (1 + loss.C) * (1 + sizes) ** 2
        else:
            over, m = sizes / problem.ridge.penalty, problem.samples
            terms = sizes + (np.abs(problem.targets) + sizes + over + m * size) * size
            terms += (np.abs(problem.targets) + over + m * size) ** 2
        return not 2 * float(terms.sum()) <= largest_normal(declaration.precision)


def predictions(problem: Problem, declaration: Declaration, alpha: np.ndarray) -> list[Evaluated]:
    """Values of the training samples at a dual vector, shape (m,), with error bounds."""
    products = kernel_products(problem, declaration, problem.signs * alpha)
    values, judge_error, solver_error = products.values, products.judge_error, products.solver_error
    if not problem.is_svm:
        inputs, penalty = ridge_inputs(problem, declaration.precision), problem.ridge.penalty
        u = unit_roundoff(declaration.precision)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            size, values = products.magnitude / inputs.lower, values / penalty
            judge_error = (judge_error / penalty + gamma(2, unit_roundoff("float64")) * size) * ROUND_UP
            solver_error = (solver_error / inputs.lower + gamma(2, u) * size) * ROUND_UP
        if not inputs.change <= 2 * u:
            # Lambda over- or underflows in the solver's precision: nothing can be promised.
            solver_error = np.full_like(solver_error, np.inf)
        judge_error, solver_error = np.nan_to_num((judge_error, solver_error), nan=np.inf, posinf=np.inf)
    rows = zip(values.tolist(), judge_error.tolist(), solver_error.tolist(), strict=True)
    return [Evaluated(*row) for row in rows]


def relative_error(ratio: float, whole: float, error: float, whole_error: float, precision: str) -> float:
    """Bound on ``|r d - g|`` of a reported ratio r = g / d, in units of g.

    `whole` is at least ``|d|``, `error` and `whole_error` bound what evaluating g and d may be off by.
    """
    size = abs(ratio)
    own = (2 * unit_roundoff(precision) * size + smallest_subnormal(precision)) * (whole + whole_error)
    return (size * whole_error + error + own) * ROUND_UP


def written_gap(problem: Problem, alpha: np.ndarray, rounding: np.ndarray, values: SvmValues) -> float:
    """Bound on ``|gap(a) - gap(v)|`` of a K-SVM for every a within the rounding of what was written down.

    `alpha` is v, inside the box, at which `values` are evaluated, `rounding`, shape (m,), the largest error
    of writing each value down (r). In units of the objective; 0 where nothing was rounded.
    """
    if not rounding.any():
        return 0.0
    loss, u = problem.hinge, unit_roundoff("float64")
    with np.errstate(over="ignore", invalid="ignore"):
        moved = kernel_products(problem, FLOAT64, rounding).magnitude
        error = values.slope_errors
        slopes = 2 * np.abs(values.slopes) + 2 * error + 1 + loss.shift * np.abs(alpha)
        smooth = float(rounding @ (slopes + moved + loss.shift / 2 * rounding))
        missing = -values.slopes
        reach = np.maximum(missing + moved, 0.0) ** loss.power
        short = np.maximum(missing, 0.0)
        change = np.maximum(
            reach - short**loss.power, short**loss.power - np.maximum(short - moved, 0.0) ** loss.power
        )
        # The margins at hand are themselves off by `error`, and so is each loss by q (h + e)^{q-1} of it.
        evaluation_error = 2 * loss.power * (short + moved + error) ** (loss.power - 1) * error
        found = smooth + loss.C * float((np.maximum(change, 0.0) + evaluation_error).sum())
        found *= (1 + gamma(4 * problem.samples + 32, u)) * ROUND_UP
    return found if found < np.inf else np.inf
