"""Bound D for K-RR: how far a computed residual may be from the exact one, and what it says of a.

``r = y - K a / lambda - m a``. A product in any order errs by d (rounding/kernel/products.py), the
quotient, the product with m, both subtractions and the norm round, and so may y, lambda on input:

    |r^ - r| <= d / lambda + gamma_8 (|y| + |K||a| / lambda + m |a|),
    | ||r^|| - ||r|| | <= || |r^ - r| ||_2 + gamma_{m+8} ||r^||.

A term of r rounds with lambda or m, in its quotient or product and in two subtractions, 4 times, and one of
the norm in its square, m - 1 sums and the root, m + 1 times; both counts are rounded up. A solver may form
the norm as a root of squares that underflow, each by the smallest number t at most: the root is then off by
``sqrt(m t)`` besides, as ``|sqrt(x) - sqrt(y)| <= sqrt(|x - y|)``.

M = K/lambda + m I with K positive semidefinite, so ``M >= m I`` and ``||a - a*|| <= ||r|| / m``. The
duality gap is exactly ``||r||^2 / (2m)``; a solver may form it as that or as primal minus dual value.

Objectives, with ``f = y - K a / lambda`` and e the error of f, k = m + 10: ``D = y'a - a'Ka/(2 lambda) -
m a'a/2`` errs by ``|a|'d / (2 lambda) + gamma_k (|y|'|a| + |a|'|K||a| / (2 lambda) + m a'a/2)`` (m terms
with their products, lambda and m, the factor 1/2, two sums: at most m + 6 roundings), f itself by a
quotient and a subtraction, within gamma_4, and
``P = a'Ka/(2 lambda) + f'f/(2m)`` by its first part's share of that and ``(2 |f| + e)'e / (2m) + gamma_k
(|f| + e)'(|f| + e) / (2m)``; the input's rounding is in d, e, and |fl(y) - y|'|a|. A product that
underflows errs by the smallest number at most, times a, 1/lambda or m where that is multiplied by one of
them.

Runs are judged on the problem that their solver holds (rounding/arithmetic.py). Values that it reports of
the given problem, whose optimum is asked for, may come from either: lambda and y are these or rounded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sstep_verify.bounds.optimum.svm import FLOAT64, Evaluated, outward
from sstep_verify.declaration import Declaration
from sstep_verify.numerics import dual_value, primal_value
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import (
    ROUND_UP,
    gamma,
    norm,
    norm_upper,
    rounded_up,
    smallest_subnormal,
    stored,
    unit_roundoff,
)
from sstep_verify.rounding.kernel.products import KernelProducts, kernel_products


class RidgeInputs(NamedTuple):
    """What rounding its input does to what an evaluation uses.

    Parameters
    ----------
    lower : float64
        The smaller of lambda and its rounded value, by which 0 / 0 is no number and 1 / 0 infinite.
    change : float
        Their relative difference.
    targets : ndarray, shape (m,)
        Errors of the targets.
    """

    lower: np.float64
    change: float
    targets: np.ndarray


def ridge_inputs(problem: Problem, precision: str) -> RidgeInputs:
    """Lambda and targets as an evaluation in a precision may hold them, whether or not a run does."""
    penalty = problem.ridge.penalty
    used = float(stored(penalty, precision))
    lower = np.float64(min(penalty, used))
    change = abs(used - penalty) / lower * ROUND_UP if lower > 0.0 else np.inf
    with np.errstate(invalid="ignore"):
        errors = np.abs(stored(problem.targets, precision) - problem.targets) * ROUND_UP
        return RidgeInputs(lower, change, errors)


@dataclass(frozen=True)
class RidgeValues:
    """Residual and gap of a K-RR at one dual vector.

    Parameters
    ----------
    residual : Evaluated
        2-norm of the residual.
    gap, primal, dual : Evaluated
        Duality gap and objectives.
    entries : ndarray, shape (m,)
        Residual in float64.
    errors : ndarray, shape (m,)
        Bound on the error of `entries`.
    """

    residual: Evaluated
    gap: Evaluated
    primal: Evaluated
    dual: Evaluated
    entries: np.ndarray
    errors: np.ndarray


def ridge_values(problem: Problem, declaration: Declaration, alpha: np.ndarray) -> RidgeValues:
    """Evaluate residual, gap and objectives of a K-RR at a with error bounds; see `svm_values`."""
    products, penalty = kernel_products(problem, declaration, alpha), problem.ridge.penalty
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        entries = problem.targets - products.values / penalty - problem.samples * alpha
        (judge_error, *judge), (solver, *others) = (
            _errors(problem, evaluated, alpha, products, products_error)
            for evaluated, products_error in (
                (FLOAT64, products.judge_error),
                (declaration, products.solver_error),
            )
        )
        residual = _norm(entries, judge_error, solver, declaration.precision)
        values = (f(problem, products.values, alpha) for f in (primal_value, dual_value))
        primal, dual = (Evaluated(*row) for row in zip(values, judge, others, strict=True))
    gap = _gap(residual, problem.samples, declaration.precision)
    # A gap formed as the difference of the objectives carries their errors.
    errors = primal.judge_error + primal.solver_error + dual.judge_error + dual.solver_error
    size = abs(primal.value) + abs(dual.value) + errors
    difference = (
        primal.solver_error + dual.solver_error + unit_roundoff(declaration.precision) * size
    ) * ROUND_UP
    gap = replace(gap, solver_error=max(gap.solver_error, difference))
    return RidgeValues(residual, gap, primal, dual, entries, judge_error)


def distance_bound(problem: Problem, residual: float) -> float:
    """Bound on ``||a - a*||_2`` where the residual's 2-norm is at most `residual`."""
    return float(rounded_up(residual / problem.samples))


def _norm(entries: np.ndarray, judge_error: np.ndarray, solver: np.ndarray, precision: str) -> Evaluated:
    value, k = norm(entries), entries.size + 8
    error = (
        norm_upper(judge_error) + gamma(k, unit_roundoff("float64")) * value + smallest_subnormal("float64")
    )
    other = norm_upper(solver) + gamma(k, unit_roundoff(precision)) * (value + error + norm_upper(solver))
    other += float(np.sqrt(entries.size * smallest_subnormal(precision)))  # of squares that underflow
    return Evaluated(value, error * ROUND_UP, rounded_up(other + k * smallest_subnormal(precision)))


def _gap(residual: Evaluated, samples: int, precision: str) -> Evaluated:
    """``x^2 / (2m)`` of a norm: the error of the square, and three roundings of its own."""
    length, errors = np.float64(residual.value), []
    with np.errstate(over="ignore", invalid="ignore"):
        value = float(length**2 / (2 * samples))
        for error, name in ((residual.judge_error, "float64"), (residual.solver_error, precision)):
            reach = length + residual.judge_error + error
            square = (2 * reach + error) * error + gamma(3, unit_roundoff(name)) * (reach + error) ** 2
            square += 2 * samples * smallest_subnormal(name)
            errors.append(outward(square / (2 * samples)))
    return Evaluated(value, *errors)


def _errors(
    problem: Problem,
    evaluated: Declaration,
    alpha: np.ndarray,
    products: KernelProducts,
    products_error: np.ndarray,
) -> tuple[np.ndarray, float, float]:
    """Errors of residual, shape (m,), primal and dual value in a precision, of products that are off."""
    samples, absolute, targets = problem.samples, np.abs(alpha), np.abs(problem.targets)
    inputs, u = ridge_inputs(problem, evaluated.precision), unit_roundoff(evaluated.precision)
    penalty, subnormal = problem.ridge.penalty, smallest_subnormal(evaluated.precision)
    size, k = products.magnitude / inputs.lower, gamma(samples + 10, u)
    residual = products_error / inputs.lower + gamma(8, u) * (targets + samples * absolute + size)
    # A float32 solver that rounds its input subtracts other targets.
    residual += inputs.targets + 8 * subnormal
    if not inputs.change <= 2 * u:
        # Lambda over- or underflows in the solver's precision: nothing can be promised.
        residual[:] = np.inf
    products_error = (products_error + inputs.change * products.magnitude) / inputs.lower
    # What underflows, in products that are then multiplied by a, 1/lambda or m.
    times = samples + 4 + 1 / inputs.lower + float(absolute.sum())
    half = float(absolute @ (products_error + k * size)) / 2 + subnormal * (samples + 8) * times
    square = samples / 2 * float(alpha @ alpha)
    dual = half + float(inputs.targets @ absolute) + k * (float(targets @ absolute) + square)
    off = products_error + inputs.targets + gamma(4, u) * (targets + size)
    # The misfit at hand is itself off by what float64 lost.
    misfit = np.abs(problem.targets - products.values / penalty)
    float64 = products.judge_error / penalty + gamma(4, unit_roundoff("float64")) * (misfit + size)
    reach = misfit + off + float64
    primal = half + float(2 * reach @ off + k * reach @ reach + off @ off) / (2 * samples)
    residual = np.nan_to_num(residual * ROUND_UP, nan=np.inf, posinf=np.inf)
    return residual, outward(primal), outward(dual)
